"""Theorem 12 and what its proof rests on, as statements about a gridworld: Algorithm 1, Lemmas 22 and
23."""

from math import cos, log, pi

import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation.checks import (
    check_choice,
    check_flag,
    check_real,
    check_token_rows,
    check_whole,
)
from minicosm.sentences import shown
from minicosm.worlds import Semiautomaton

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .gridworld import Reading, Suffix, algorithm_1, grid_network
from .gridworld_reading import Grid, Printed, deep_layers
from .network import side_by_side
from .simulation import (
    automaton,
    check_network_length,
    constructed,
    exact_states,
    sizes_within,
)

MOST_PLACES = 64  # of a gridworld, as there are two heads for each
STEPS = np.array([-1, 0, 1])


def gridworld_moves(
    world: Semiautomaton, shape: tuple[int, ...] | None = None
) -> tuple[Condition, Int[np.ndarray, "symbols axes"]]:
    """Whether every symbol moves every coordinate by -1, 0 or +1 and is stopped by walls only; and the
    moves.

    States are the places of a grid of this `shape`, the last coordinate fastest; the default is a line.
    """
    delta, _ = automaton(world)
    places = (world.states,) if shape is None else shape
    if not isinstance(places, tuple | list) or not places:
        raise TypeError(f"shape is {shown(shape)}; it must be a tuple of numbers of places")
    places = tuple(check_whole("shape", n, 1) for n in places)
    if int(np.prod([float(n) for n in places])) != world.states:
        raise ValueError(
            f"shape is {places}; its places must be the {world.states} states of world"
        )
    before = np.array(np.unravel_index(np.arange(world.states), places))
    moves = np.zeros((len(delta), len(places)), int)
    reason = ""
    for s, row in enumerate(delta):
        after = np.array(np.unravel_index(row, places))
        for i, n in enumerate(places):
            fits = [(np.clip(before[i] + m, 0, n - 1) == after[i]).all() for m in (0, -1, 1)]
            if not any(fits):
                reason = reason or _no_move(s, i, before[i], after[i], n, len(places))
                continue
            moves[s, i] = (0, -1, 1)[fits.index(True)]
    return Condition("gridworld", not reason, {"places": places}, reason), moves


def _no_move(s: int, axis: int, before: np.ndarray, after: np.ndarray, n: int, axes: int) -> str:
    """Why a symbol is no move: the first state at which it differs from all three."""
    agree = [np.clip(before + m, 0, n - 1) == after for m in (0, -1, 1)]
    nearest = max(agree, key=lambda right: right.sum())
    q = int(np.argmin(nearest))
    where = "" if axes == 1 else f"coordinate {axis} of "
    return (
        f"symbol {s} takes {where}state {q} from {before[q]} to {after[q]}; in a gridworld of {n} places a "
        "symbol moves all states to the left, all to the right or none, but for the walls"
    )


def theorem_12(
    world: Semiautomaton,
    length: int,
    *,
    read: Reading = "count",
    shape: tuple[int, ...] | None = None,
    sharpness: float | None = None,
    printed: Printed = "nothing",
) -> Theorem:
    """A gridworld in two layers of attention, `2S + 1` heads; a grid of several dimensions as copies side
    by side.

    `read` is how the second MLP finds the state: by counting comparisons, by a tree of minima ("deep"), or
    by a table ("wide"). `sharpness` is beta, 40 T^3 by default. `printed` takes a step of the deep reading
    as it stands in the source.
    """
    length = check_network_length(length)
    check_choice("read", read, ("count", "deep", "wide"))
    parts = ("nothing", "step 2(a)", "unmatched heads", "centre head", "output")
    check_choice("printed", printed, parts)
    if printed != "nothing" and read != "deep":
        raise ValueError(
            f"read is {read!r}; what is printed ({printed}) is about the reading 'deep'"
        )
    if sharpness is not None:
        check_real("sharpness", sharpness, above=0)
    name = "Theorem 12" if printed == "nothing" else f"Theorem 12, {printed} as printed"
    condition, moves = gridworld_moves(world, shape)
    if not condition.holds:
        return Theorem(name, (condition,))
    places = condition.numbers["places"]
    check_whole("the largest number of places", max(places), 1, MOST_PLACES)
    networks = [
        grid_network(grid, STEPS, read=read, sharpness=sharpness, printed=printed)
        for grid in grids(places, int(world.start), length)
    ]
    network = side_by_side(networks, moves + 1)
    return constructed(name, (condition,), network, world)


def grids(places: tuple[int, ...], start: int, length: int) -> list[Grid]:
    """One line of places for each coordinate, with as many pads."""
    starts = [int(q) for q in np.unravel_index(start, places)]
    front = max(n + q for n, q in zip(places, starts, strict=True))
    return [Grid(n - 1, q, length, front - q) for n, q in zip(places, starts, strict=True)]


def theorem_12_sizes(world: Semiautomaton, length: int, *, read: Reading = "count") -> Theorem:
    """On a line: two layers, `2S + 1` heads, and MLPs of width O(T) and

    - "deep": depth O(log S), width O(S): `5 + ceil(log2(S + 1))` matrices, at most `10 (2S + 1)` units;
    - "wide": depth O(1), width 2^O(S): 5 matrices, at most `max(8 (3S + 1), (S + 1)^3)` units;
    - "count": depth O(1), width O(S): 3 matrices, at most `5 (2S + 1)` units.

    The first MLP has `4 (2T + 1)` units. Norms are at most `beta^(1/2)` times 4, and `8T + 2`.
    """
    theorem = theorem_12(world, length, read=read)
    name = f"Theorem 12, sizes ({read})"
    if theorem.construction is None:
        return Theorem(name, theorem.conditions)
    S, network = world.states - 1, theorem.construction
    T = len(network.positions) - 1
    matrices = {"deep": deep_layers(S), "wide": 5, "count": 3}[read]
    units = {
        "deep": 10 * (2 * S + 1),
        "wide": max(8 * (3 * S + 1), (S + 1) ** 3),
        "count": 5 * (2 * S + 1),
    }[read]
    return sizes_within(
        name,
        network,
        {
            "depth": 2,
            "heads": 2 * S + 1,
            "mlp_layers": matrices,
            "mlp_width": max(4 * (2 * T + 1), units),
            "largest_weight": max(4 * (40.0 * T**3) ** 0.5, 8 * T + 2),
        },
    )


@checked(length=whole(1, 2**20))
def theorem_12_margins(length: int) -> Theorem:
    """By how much the head of layer 2 prefers what it looks for, of T = length positions: a match over any
    other value, `1 - cos(pi/2T) - c ln 2 > 0`, times T^2; and, with beta = 40 T^3, the latest match over
    the one before, `beta c / 2T >= 17`. The slack is the lesser of the first and of the second less 17."""
    T = length
    c = pi**2 / (16 * log(2) * T**2)
    value = (1 - cos(pi / (2 * T)) - c * log(2)) * T**2
    recency = 40.0 * T**3 * c / (2 * T)
    return Theorem.inequality(
        "Theorem 12, margins",
        min(value, recency - 17),
        within=0.0,
        details={"length": T, "value": value, "recency": recency},
    )


# -- Algorithm 1 and the lemmas -------------------------------------------------------------------


def _line(world: Semiautomaton, inputs: object) -> tuple[Condition, np.ndarray, np.ndarray]:
    """The condition that it is a gridworld of several places on a line, moves of the strings, and the
    strings."""
    condition, moves = gridworld_moves(world)
    given = np.asarray(check_token_rows("inputs", inputs, world.vocab)).astype(np.int64)
    return condition, moves[:, 0][given], given


def algorithm_1_is_exact(world: Semiautomaton, inputs: Int[np.ndarray, "n T"]) -> Theorem:
    """Algorithm 1 gives the state of every prefix; the error counts those it has wrong."""
    condition, moves, inputs = _line(world, inputs)
    if not condition.holds:
        return Theorem("Algorithm 1", (condition,))
    found = algorithm_1(moves, world.states - 1, int(world.start))
    wrong = found.states != exact_states(world, inputs)
    return Theorem.identity(
        "Algorithm 1", int(wrong.sum()), within=0, cases=wrong.size, conditions=(condition,)
    )


def lemma_22(world: Semiautomaton, inputs: Int[np.ndarray, "n T"]) -> Theorem:
    """Where the later of the last minimum and the last maximum stands, the state is the wall: 0 at a
    minimum, S at a maximum. The error counts prefixes where it is not."""
    condition, moves, inputs = _line(world, inputs)
    if not condition.holds:
        return Theorem("Lemma 22", (condition,))
    found = algorithm_1(moves, world.states - 1, int(world.start))
    path = _padded_states(world, found, exact_states(world, inputs))
    at_wall = np.take_along_axis(path, found.wall_at - 1, axis=1)
    wrong = at_wall != found.wall
    return Theorem.identity(
        "Lemma 22", int(wrong.sum()), within=0, cases=wrong.size, conditions=(condition,)
    )


def _padded_states(
    world: Semiautomaton, found: Suffix, states: Int[np.ndarray, "n T"]
) -> Int[np.ndarray, "n padded"]:
    """States along the padded strings: at the left wall, then up to the start, then the string's own."""
    front = found.sums.shape[1] - states.shape[1]
    before = np.maximum(np.arange(1, front + 1) - (front - int(world.start)), 0)
    return np.concatenate([np.broadcast_to(before, (len(states), front)), states], axis=1)


def lemma_23(
    world: Semiautomaton, length: int, inputs: Int[np.ndarray, "n T"], *, printed: bool = False
) -> Theorem:
    """What the heads of layer 2 return, with hard attention: those whose value was reached are an interval
    around the centre, and return the latest position of it; going out from the centre positions are earlier
    and earlier. The others return the latest position of the nearest value that was reached; as printed, t
    itself.

    The error counts heads of all positions of which that is not true.
    """
    name = "Lemma 23 as printed" if check_flag("printed", printed) else "Lemma 23"
    condition, moves, inputs = _line(world, inputs)
    if not condition.holds:
        return Theorem(name, (condition,))
    S, start = world.states - 1, int(world.start)
    grid = grids((world.states,), start, check_network_length(length))[0]
    network = theorem_12(world, length).construction.as_hard(2)
    wrong = total = 0
    for string, path in zip(inputs, moves, strict=True):
        position, latest, reached = _latest(path, S, start)
        gamma = network.hidden(string, 2)[-len(string) :, grid.gamma]
        returned = 2 * grid.T - np.exp(gamma)
        aim = np.where(reached, latest, position[:, None] if printed else latest)
        off = np.abs(returned - aim) > 1e-6
        left, right = returned[:, : S + 1], returned[:, S:]
        inside_left, inside_right = reached[:, : S + 1], reached[:, S:]
        unordered = (np.diff(left) <= 1e-6) & inside_left[:, :-1]
        unordered_right = (np.diff(right) >= -1e-6) & inside_right[:, 1:]
        gaps = (~inside_left[:, 1:] & inside_left[:, :-1]) | (
            ~inside_right[:, :-1] & inside_right[:, 1:]
        )
        wrong += int(off.sum() + unordered.sum() + unordered_right.sum() + gaps.sum())
        total += off.size
    return Theorem.identity(name, wrong, within=0, cases=total, conditions=(condition,))


def _latest(
    moves: Int[np.ndarray, " T"], S: int, start: int
) -> tuple[Int[np.ndarray, " T"], Float[np.ndarray, "T heads"], np.ndarray]:
    """By looking through each prefix: positions of the string in the padded one, the latest position of
    every value `z_t + s - S` or, where it was not reached, of the nearest one that was; and whether it
    was."""
    front = [-1] * (S + 1) + [1] * start
    z = np.cumsum([*front, *moves])
    position = np.arange(len(front) + 1, len(z) + 1)
    latest = np.zeros((len(moves), 2 * S + 1))
    reached = np.zeros(latest.shape, bool)
    for row, t in enumerate(position):
        seen = {int(value): i for i, value in enumerate(z[:t], 1)}
        for s in range(2 * S + 1):
            value = int(z[t - 1]) + s - S
            reached[row, s] = value in seen
            nearest = min(seen, key=lambda other: abs(other - value))
            latest[row, s] = seen[nearest]
    return position, latest, reached
