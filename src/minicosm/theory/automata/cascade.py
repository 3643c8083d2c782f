"""Cascades of permutation-reset automata as networks: Lemma 21 and Theorem 11.

To the four shared dimensions of `resets` come the symbol and the point of the circle that finds the position
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from jaxtyping import Int

from minicosm.adaptation.checks import check_whole
from minicosm.worlds import Semiautomaton
from minicosm.worlds.arrays import check_whole_numbers

from ..signatures import checked
from ..theorem import Theorem
from .gadgets import circle, previous_position
from .holonomy import Action, Decomposition, holonomy, solvable
from .layers import Layer, beside
from .network import Decoder, Network
from .resets import ONE, PAD, SHARED, ResetPart, shared_positions, table_map
from .semigroups import named, permutation_reset
from .simulation import check_network_length, constructed, sizes_within

MOST_COORDINATES = 2**14
"""How many coordinates of a cascade are listed."""
SYMBOL, COS, SIN = range(SHARED, SHARED + 3)


@dataclass(frozen=True, eq=False)
class Cascade:
    """Permutation-reset automata in levels, and the coordinates that words lead to (Definition 6)."""

    parts: tuple[Semiautomaton, ...]
    levels: tuple[int, ...]
    """Of every part, 1 first; what a part reads depends on the parts of earlier levels and on the symbol."""
    reached: Int[np.ndarray, "n parts"]
    """Coordinates, those of the start first."""
    inputs: Int[np.ndarray, "n vocab parts"]
    """In each of them, the symbol that each part reads."""
    world: Semiautomaton
    """The automaton that the cascade runs."""
    labels: Int[np.ndarray, " n"]
    """The state that coordinates stand for."""

    def wiring(self, level: int) -> tuple[Int[np.ndarray, "rows i"], Int[np.ndarray, "rows o"]]:
        """Of one level: the coordinates of earlier levels with the symbol, and what its parts read. Raises
        if it depends on anything else."""
        check_whole("level", level, 1, max(self.levels, default=1))
        before = [i for i, at in enumerate(self.levels) if at < level]
        here = [i for i, at in enumerate(self.levels) if at == level]
        n, vocab, _ = self.inputs.shape
        symbols = np.tile(np.arange(vocab), n)[:, None]
        keys = np.concatenate([np.repeat(self.reached[:, before], vocab, axis=0), symbols], axis=1)
        both = np.concatenate([keys, self.inputs[:, :, here].reshape(n * vocab, -1)], axis=1)
        rows = np.unique(both, axis=0)
        found = rows[:, : keys.shape[1]], rows[:, keys.shape[1] :]
        if len(np.unique(found[0], axis=0)) < len(rows):
            raise ValueError(f"what level {level} reads depends on more than earlier levels")
        return found


@checked()
def cascade_of(
    parts: Sequence[Semiautomaton], wiring: Sequence[Any], levels: Any = None
) -> Cascade:
    """A cascade by its wiring, as `worlds.automata.cascade` takes it; every part is a level of its own
    unless `levels` are given."""
    from minicosm.worlds import automata

    world = automata.cascade(list(parts), list(wiring))
    for i, part in enumerate(parts):
        if not (found := permutation_reset(part)).holds:
            raise ValueError(f"parts[{i}] is no permutation-reset automaton: {found.reason}")
    levels = np.arange(1, len(parts) + 1) if levels is None else levels
    levels = np.asarray(check_whole_numbers("levels", levels, 1, len(parts), (len(parts),)))
    if levels[0] != 1 or (np.diff(levels) < 0).any() or (np.diff(levels) > 1).any():
        raise ValueError(f"levels are {levels.tolist()}; they must begin with 1 and rise by 0 or 1")
    sizes = tuple(part.states for part in parts)
    wires = [np.asarray(wires) for wires in wiring]

    def read(at: tuple[int, ...], symbol: int) -> list[int]:
        return [symbol, *(int(wires[i - 1][(*at[:i], symbol)]) for i in range(1, len(parts)))]

    def label(at: tuple[int, ...]) -> int:
        return int(np.ravel_multi_index(at, sizes))

    return _listed(parts, levels.tolist(), world, read, label)


@checked()
def krohn_rhodes(world: Semiautomaton) -> Cascade:
    """The holonomy decomposition as a cascade (Theorem 15)."""
    found = holonomy(world)
    numbers: list[dict[Action, int]] = [{} for _ in found.components]
    rows: list[list[Any]] = []
    reached = _reached(found)
    for at in reached:
        rows.append([])
        for symbol in range(world.vocab):
            actions = []
            for c, action in enumerate(found.actions(at, symbol)):
                rest = tuple(range(len(found.components[c].tiles)))
                actions.append(numbers[c].setdefault(action or rest, len(numbers[c])))
            rows[-1].append(actions)
    count = len(found.components)
    parts = [Semiautomaton(list(known), reached[0][c]) for c, known in enumerate(numbers)]
    return Cascade(
        tuple(parts),
        tuple(part.level for part in found.components),
        np.array(reached, int).reshape(len(reached), count),
        np.array(rows, int).reshape(len(reached), world.vocab, count),
        world,
        np.array([found.decode(at) for at in reached]),
    )


def _reached(found: Decomposition) -> list[tuple[int, ...]]:
    """The coordinates that words lead to from those of the start."""
    start = found.encode(int(found.world.start))
    return _closure(start, found.world.vocab, found.step, named(found.world))


def _closure(start: tuple[int, ...], vocab: int, step: Any, name: str) -> list[tuple[int, ...]]:
    listed, at = [start], 0
    known = {start}
    while at < len(listed):
        for symbol in range(vocab):
            if (new := step(listed[at], symbol)) not in known:
                if len(listed) == MOST_COORDINATES:
                    raise ValueError(
                        f"the cascade of {name} reaches more than {MOST_COORDINATES} coordinates; at most "
                        f"{MOST_COORDINATES} are compiled"
                    )
                known.add(new)
                listed.append(new)
        at += 1
    return listed


def _listed(parts: Any, levels: Any, world: Semiautomaton, read: Any, label: Any) -> Cascade:
    deltas = [np.asarray(part.delta) for part in parts]

    def step(at: tuple[int, ...], symbol: int) -> tuple[int, ...]:
        symbols = read(at, symbol)
        return tuple(int(delta[s, q]) for delta, s, q in zip(deltas, symbols, at, strict=True))

    start = tuple(int(part.start) for part in parts)
    reached = _closure(start, world.vocab, step, named(world))
    inputs = [[read(at, symbol) for symbol in range(world.vocab)] for at in reached]
    labels = np.array([label(at) for at in reached])
    return Cascade(tuple(parts), tuple(levels), np.array(reached), np.array(inputs), world, labels)


def cascade_network(cascade: Cascade, length: int, *, printed: bool = False) -> Network:
    """Lemma 21: level after level, with a layer of wiring before each but the first.

    The wiring reads the states before the step: a head copies those of the earlier level from the position
    before, and the table of Lemma 11 turns them and the symbol into what the next level reads. As printed the
    layer has no head and reads the states of its own position.
    """
    parts: list[ResetPart] = []
    width = SHARED + 3
    for world in cascade.parts:
        parts.append(ResetPart.of(world, length, width))
        width += parts[-1].width
    vocab, start = cascade.world.vocab, cascade.reached[0]
    encoder, pads = np.zeros((vocab, width)), np.zeros((1, width))
    encoder[:, SYMBOL] = np.arange(vocab)
    pads[0, [PAD, SYMBOL]] = 1, vocab
    positions = shared_positions(length, width)
    positions[:, [COS, SIN]] = circle(length + 1, np.arange(length + 1))
    layers: list[Layer] = []
    for level in range(1, max(cascade.levels, default=0) + 1):
        here = [i for i, at in enumerate(cascade.levels) if at == level]
        written = [dim for i in here for dim in parts[i].inputs]
        at_start = [code for i in here for code in parts[i].reset_to(int(start[i]))]
        keys, symbols = cascade.wiring(level)
        codes = [parts[i].encoded()[symbols[:, at]] for at, i in enumerate(here)]
        values = np.concatenate(codes, axis=1)
        if level == 1:
            encoder[:, written] = values
            pads[0, written] = at_start
        else:
            before = [i for i, at in enumerate(cascade.levels) if at < level]
            keys[:, :-1] += 1  # states have codes from 1
            keys = np.vstack([keys, [*(start[before] + 1), vocab]])
            values = np.vstack([values, at_start])
            last = [i for i in before if cascade.levels[i] == level - 1]
            layers.append(
                _wiring(parts, before, last, keys, values, written, width, length, printed)
            )
        depth = max(parts[i].simulation.depth for i in here)
        columns = zip(*(parts[i].layers(width, depth) for i in here), strict=True)
        everywhere = [np.arange(width)] * len(here)
        layers += [beside(column, everywhere, width) for column in columns]
    # Without parts there is one state, and what is 1 everywhere stands for it.
    reads = np.array([part.value for part in parts] or [ONE])
    read_codes = cascade.reached + 1 if parts else np.ones((1, 1), int)
    decoder = Decoder(reads, read_codes, cascade.labels, cascade.world.states)
    return Network(encoder, pads, positions, tuple(layers), decoder)


def _wiring(
    parts: list[ResetPart],
    before: list[int],
    last: list[int],
    keys: Int[np.ndarray, "rows i"],
    values: Int[np.ndarray, "rows o"],
    written: list[int],
    width: int,
    length: int,
    printed: bool,
) -> Layer:
    """The layer between two levels. A part that is done keeps the state before the step where its blanks
    were."""
    keep = np.ones(width, bool)
    if printed:
        reads = [*(parts[i].value for i in before), SYMBOL]
        return Layer((), (table_map(keys, values, reads, written),), keep, keep)
    reads = [*(parts[i].blank for i in before), SYMBOL]
    largest = max(parts[i].world.states for i in last)
    states, blanks = [parts[i].value for i in last], [parts[i].blank for i in last]
    head = previous_position(width, length, largest, [COS, SIN], states, blanks)
    attention = keep.copy()
    attention[blanks] = False
    return Layer((head,), (table_map(keys, values, reads, written),), attention, keep)


# -- statements --------------------------------------------------------------------------------------


@checked()
def theorem_15(world: Semiautomaton) -> Theorem:
    """The holonomy decomposition is a cascade of permutation-reset automata that runs the automaton.

    The error counts violations over all coordinates that words lead to from the start: steps that decode to
    a wrong state, actions that neither permute nor reset, and actions that are no function of the symbol and
    of the coordinates of earlier levels.
    """
    found = holonomy(world)
    delta = np.asarray(world.delta)
    steps = kind = dependence = cases = 0
    seen: dict[Any, Action | None] = {}
    for at in _reached(found):
        state = found.decode(at)
        for symbol in range(world.vocab):
            actions = found.actions(at, symbol)
            moved = tuple(q if a is None else a[q] for q, a in zip(at, actions, strict=True))
            steps += found.decode(moved) != int(delta[symbol, state])
            for part, (c, action) in zip(found.components, enumerate(actions), strict=True):
                if action is not None:
                    kind += len(set(action)) not in (1, len(action))
                earlier = tuple(
                    q
                    for q, other in zip(at, found.components, strict=True)
                    if other.level < part.level
                )
                dependence += seen.setdefault((c, earlier, symbol), action) != action
            cases += 1
    return Theorem.identity(
        "Theorem 15",
        steps + kind + dependence,
        within=0,
        cases=cases,
        details={
            "wrong steps": int(steps),
            "neither permutation nor reset": int(kind),
            "dependence": int(dependence),
            "levels": found.levels,
            "components": len(found.components),
            "largest component": max((len(c.tiles) for c in found.components), default=0),
            "states": world.states,
        },
    )


@checked()
def lemma_21(cascade: Cascade, length: int) -> Theorem:
    """A cascade as a network whose wiring reads the states of the position before."""
    length = check_network_length(length)
    return constructed("Lemma 21", (), cascade_network(cascade, length), cascade.world)


@checked()
def lemma_21_as_printed(cascade: Cascade, length: int) -> Theorem:
    """A cascade as a network whose wiring reads the states of its own position."""
    network = cascade_network(cascade, check_network_length(length), printed=True)
    return constructed("Lemma 21 as printed", (), network, cascade.world)


@checked()
def lemma_21_sizes(cascade: Cascade, length: int) -> Theorem:
    """Of L levels: depth at most `L (largest depth of a part + 1) - 1`; d at most the sum of `2 rep_dim + 6`
    over parts, and three more (the symbol and two for the head that looks back); heads at most those of all
    parts, one more for each than its group has."""
    network = lemma_21(cascade, length).construction
    parts = [ResetPart.of(world, length, SHARED) for world in cascade.parts]
    depth = max((part.simulation.depth + 2 for part in parts), default=0)
    heads = [
        1 + max((len(layer.heads) for layer in part.simulation.layers), default=0) for part in parts
    ]
    return sizes_within(
        "Lemma 21, sizes",
        network,
        {
            "depth": max(max(cascade.levels, default=0) * (depth + 1) - 1, 0),
            "width": (sum(part.width + SHARED for part in parts) or SHARED) + 3,
            "heads": sum(heads),
        },
    )


@checked()
def theorem_11(world: Semiautomaton, length: int) -> Theorem:
    """A solvable automaton in a depth that does not depend on T: its decomposition as a network."""
    length = check_network_length(length)
    condition = solvable(world)
    network = cascade_network(krohn_rhodes(world), length) if condition.holds else None
    return constructed("Theorem 11", (condition,), network, world)


@checked()
def theorem_11_depth(world: Semiautomaton, length: int) -> Theorem:
    """`depth <= 3 |Q|^2 log2 |Q| + 7 |Q|`."""
    theorem = theorem_11(world, length)
    if theorem.construction is None:
        raise ValueError(f"Theorem 11 constructs nothing here: {theorem}")
    network, Q = theorem.construction, world.states
    return sizes_within("Theorem 11, depth", network, {"depth": 3 * Q**2 * log2(Q) + 7 * Q})
