"""Permutation-reset automata as networks: Lemma 20.

A part works on the dimensions `elements` (the code of a group element), `inverse` (as many), `value` (a
state, codes from 1) and `blank` (1 where the symbol resets nothing). Before them stand four that all parts
share: the mark of the pad at position 0, the countdown of Lemma 15, and t/T and 1 of Lemma 16. The pad holds
the start as if it were a reset.
"""

from dataclasses import dataclass
from math import log2

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import Semiautomaton

from ..signatures import checked
from ..theorem import Condition, Theorem
from .counters import countdown, latest_write
from .gadgets import Dims, lookup, lookup_1d
from .groups import Group, derived_series, group, perfect_name
from .layers import MLP, Layer, Table, identity_layer
from .network import Decoder, Network
from .semigroups import kinds, permutation_reset
from .simulation import check_network_length, constructed, sizes_within
from .solvable import Simulation, simulate_solvable

MOST_ROWS = 2**14
"""Of a table that is compiled to an MLP; a larger one is looked up, and the audit says so."""
PAD, COUNTDOWN, PLACE, ONE = range(4)
SHARED = 4


@checked()
def permutation_group(world: Semiautomaton) -> Group:
    """The group that the symbols that are bijections generate (Definition 7)."""
    delta = np.asarray(world.delta)
    moves = [row for row, kind in zip(delta, kinds(world), strict=True) if kind == "permutation"]
    return group([np.arange(world.states), *moves])


def solvable_group(world: Semiautomaton) -> Condition:
    """The permutation group is solvable."""
    G = permutation_group(world)
    last = derived_series(G)[-1]
    whole = "" if last.order == G.order else f" inside a group of order {G.order}"
    reason = "" if last.order == 1 else f"{perfect_name(last.order)} is perfect{whole}"
    return Condition("solvable group", not reason, {"order": G.order}, reason)


@dataclass(frozen=True, eq=False)
class ResetPart:
    """A permutation-reset automaton with a simulation of its group, and the dimensions it works on."""

    world: Semiautomaton
    group: Group
    simulation: Simulation
    first: int
    """The first of its dimensions."""

    @classmethod
    def of(cls, world: Semiautomaton, length: int, first: int) -> "ResetPart":
        G = permutation_group(world)
        return cls(world, G, simulate_solvable(G, length), first)

    @property
    def width(self) -> int:
        return 2 * self.simulation.rep_dim + 2

    @property
    def elements(self) -> list[int]:
        return [self.first + i for i in range(self.simulation.rep_dim)]

    @property
    def inverse(self) -> list[int]:
        return [dim + self.simulation.rep_dim for dim in self.elements]

    @property
    def value(self) -> int:
        return self.first + self.width - 2

    @property
    def blank(self) -> int:
        return self.first + self.width - 1

    @property
    def inputs(self) -> list[int]:
        """The dimensions that a symbol sets: group, value, blank."""
        return [*self.elements, self.value, self.blank]

    def encoded(self) -> Int[np.ndarray, "symbols inputs"]:
        """What each symbol writes there: a bijection its code and a blank, a reset the identity and its
        state."""
        rows = []
        for row, kind in zip(np.asarray(self.world.delta), kinds(self.world), strict=True):
            if kind == "permutation":
                rows.append([*self.simulation.codes[self.group.number(row)], 0, 1])
            else:
                rows.append(self.reset_to(int(row[0])))
        return np.array(rows)

    def reset_to(self, state: int) -> list[int]:
        """What a reset to a state writes there."""
        return [*([0] * self.simulation.rep_dim), state + 1, 0]

    def layers(self, width: int, depth: int) -> list[Layer]:
        """Prefix products of the group in `depth` layers, then the memory that fetches the latest reset
        with the product at it, then `(g, h, q) -> Phi(g h^-1)(q)` (Equation 3.2)."""
        sim, m = self.simulation, self.world.states
        found = list(sim.placed(self.elements, width, PAD, COUNTDOWN))
        found += [identity_layer(width)] * (depth - len(found))
        fetch = latest_write(
            width,
            sim.length,
            max(m, sim.rep_size - 1),
            [self.value, *self.elements],
            [self.value, *self.inverse],
            blank=self.blank,
            place=PLACE,
            one=ONE,
            positions=sim.length + 1,
        )
        codes = np.arange(1.0, m + 1)
        rounding = lookup_1d(codes, codes[:, None], self.value, [self.value], gap=1.0)
        attention, mlp = np.ones(width, bool), np.ones(width, bool)
        attention[[self.value, *self.inverse]] = False
        mlp[self.value] = False
        found.append(Layer((fetch,), (rounding,), attention, mlp))
        n = self.group.order
        g, h, q = (a.ravel() for a in np.indices((n, n, m)))
        after = self.group.elements[self.group.table[g, self.group.inverses[h]], q]
        keys = np.concatenate([sim.codes[g], sim.codes[h], q[:, None] + 1], axis=1)
        reads = [*self.elements, *self.inverse, self.value]
        found.append(table_layer(keys, after[:, None] + 1, reads, [self.value], width))
        return found


def table_layer(
    keys: Int[np.ndarray, "rows i"],
    values: Int[np.ndarray, "rows o"],
    reads: Dims,
    writes: Dims,
    width: int,
) -> Layer:
    """A layer without heads that writes `values[j]` in the place of what stood in the dimensions `writes`
    where those of `reads` hold `keys[j]`: Lemma 11."""
    keep = np.ones(width, bool)
    keep[np.asarray(writes)] = False
    return Layer((), (table_map(keys, values, reads, writes),), np.ones(width, bool), keep)


def table_map(
    keys: Int[np.ndarray, "rows i"], values: Int[np.ndarray, "rows o"], reads: Dims, writes: Dims
) -> MLP | Table:
    """The MLP of Lemma 11, or beyond MOST_ROWS rows the table itself."""
    if len(keys) > MOST_ROWS:
        return Table(keys, values.astype(float), np.asarray(reads), np.asarray(writes))
    return lookup(keys.astype(float), values.astype(float), list(reads), list(writes), gap=1.0)


def shared_positions(length: int, width: int) -> Float[np.ndarray, "p d"]:
    """Countdown, t/T and 1 of positions 0..T."""
    rows = np.zeros((length + 1, width))
    rows[:, COUNTDOWN] = countdown(length)
    rows[:, PLACE] = np.arange(length + 1) / length
    rows[:, ONE] = 1
    return rows


def reset_network(world: Semiautomaton, length: int) -> Network:
    """Lemma 20: a permutation-reset automaton whose group is solvable, in `depth_G + 2` layers and `2 rep_dim
    + 6` dimensions.

    `q_t = Phi(g_{<=t} g_{<=r}^-1)(q_r)` where r is the latest reset, position 0 if there is none.
    """
    part = ResetPart.of(world, length, SHARED)
    width = SHARED + part.width
    encoder, pads = np.zeros((world.vocab, width)), np.zeros((1, width))
    encoder[:, part.inputs] = part.encoded()
    pads[0, PAD] = 1
    pads[0, part.inputs] = part.reset_to(int(world.start))
    layers = part.layers(width, part.simulation.depth)
    decoder = Decoder.of_scalar(part.value, np.arange(1, world.states + 1))
    return Network(encoder, pads, shared_positions(length, width), tuple(layers), decoder)


# -- statements --------------------------------------------------------------------------------------


@checked()
def lemma_20(world: Semiautomaton, length: int) -> Theorem:
    """A permutation-reset automaton with a solvable group in constant depth."""
    length = check_network_length(length)
    conditions = (permutation_reset(world), solvable_group(world))
    applies = all(condition.holds for condition in conditions)
    network = reset_network(world, length) if applies else None
    return constructed("Lemma 20", conditions, network, world)


@checked()
def lemma_20_sizes(world: Semiautomaton, length: int) -> Theorem:
    """Depth at most `3 log2 |G| + 2`, `d = 2 rep_dim + 6 <= 2|G| + 4`, heads at most `2|G| + 1`, of width at
    most `|G| + 2`, MLP width at most `20 n T |G| + 4|Q| + |G|^2 |Q|`."""
    return _lemma_20_sizes("Lemma 20, sizes", world, length, printed=False)


@checked()
def lemma_20_size_as_printed(world: Semiautomaton, length: int) -> Theorem:
    """As printed: `d <= |G| + |Q| + 4` and heads of width at most `|Q| + 3`."""
    return _lemma_20_sizes("Lemma 20, sizes as printed", world, length, printed=True)


def _lemma_20_sizes(name: str, world: Semiautomaton, length: int, *, printed: bool) -> Theorem:
    network = lemma_20(world, length).construction
    G, Q = permutation_group(world).order, world.states
    claimed: dict[str, float] = {
        "width": G + Q + 4 if printed else 2 * G + 4,
        "head_width": Q + 3 if printed else G + 2,
    }
    if not printed:
        claimed |= {
            "depth": 3 * log2(G) + 2,
            "heads": 2 * G + 1,
            "mlp_width": 20 * Q * length * G + 4 * Q + G * G * Q,
        }
    return sizes_within(name, network, claimed)
