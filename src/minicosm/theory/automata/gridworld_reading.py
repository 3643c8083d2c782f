"""The second MLP of Theorem 12: from what the heads found to the state, in three ways.

Hidden units are described by rows of affine functions of the units before them. All numbers that are passed
on are not negative, so a unit relu(x) with weight 1 passes x.
"""

from math import ceil, log, log2
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array

from .layers import MLP

Printed = Literal["nothing", "step 2(a)", "unmatched heads", "centre head", "output"]

MOVE, PAD, GAMMA, X, ONE, COS, SIN, STATE = range(8)
FOUND = 8  # then gamma and x of every head


class Grid(NamedTuple):
    """A gridworld of places 0..S in a network: sizes that its parts depend on."""

    S: int
    start: int
    length: int
    walls: int
    """Moves to the left that are put in front, at least S + 1."""

    @property
    def T(self) -> int:
        """The padded length."""
        return self.length + self.walls + self.start

    @property
    def heads(self) -> int:
        return 2 * self.S + 1

    @property
    def gamma(self) -> Int[np.ndarray, " heads"]:
        """Dimensions of what the heads return: ln(2T - j) of their positions j."""
        return FOUND + np.arange(self.heads)

    @property
    def x(self) -> Int[np.ndarray, " heads"]:
        """Dimensions of the prefix sums there, over 2T."""
        return FOUND + self.heads + np.arange(self.heads)

    @property
    def width(self) -> int:
        return FOUND + 2 * self.heads


class _Units:
    """Rows of weights and biases that become one matrix of an MLP."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.rows: list[dict[int, float]] = []
        self.biases: list[float] = []

    def add(self, weights: dict[int, float], bias: float = 0.0) -> int:
        """The number of a new unit."""
        self.rows.append(weights)
        self.biases.append(bias)
        return len(self.rows) - 1

    def passed(self, unit: int) -> int:
        return self.add({unit: 1.0})

    def matrix(self) -> csr_array:
        entries = [(i, j, w) for i, row in enumerate(self.rows) for j, w in row.items()]
        values = np.array([w for _, _, w in entries])
        places = np.array([(i, j) for i, j, _ in entries], int).reshape(-1, 2).T
        return csr_array((values, tuple(places)), (len(self.rows), self.inputs))


def _mlp(layers: list[_Units], grid: Grid) -> MLP:
    return MLP(
        tuple(layer.matrix() for layer in layers),
        tuple(np.array(layer.biases, float) for layer in layers),
        np.arange(grid.width),
        np.array([STATE]),
    )


def _plus(*terms: tuple[dict[int, float], float]) -> dict[int, float]:
    """A linear combination of rows."""
    total: dict[int, float] = {}
    for row, factor in terms:
        for unit, weight in row.items():
            total[unit] = total.get(unit, 0.0) + factor * weight
    return total


def _first(grid: Grid) -> tuple[_Units, list[int], list[dict[int, float]]]:
    """The first hidden layer of every reading: gamma of each head, passed on, and four units whose
    combination (the row returned) is 1 if the head has a match, `x_found = x_t + (s - S)/2T`, else 0."""
    T, units = grid.T, _Units(grid.width)
    gammas = [units.passed(int(dim)) for dim in grid.gamma]
    matched = []
    for s, dim in enumerate(grid.x):
        slope = 8.0 * T  # 4 / gap with the gap 1/2T of Lemma 10
        aim = (s - grid.S) / (2 * T)
        row = {int(dim): slope, X: -slope}
        edges = (2.0, 1.0, -1.0, -2.0)
        corners = [units.add(row, -slope * aim + edge) for edge in edges]
        matched.append(dict(zip(corners, (1.0, -1.0, -1.0, 1.0), strict=True)))
    return units, gammas, matched


def _later(
    units: _Units, a: int, b: int, gammas: list[int], matched: list[dict[int, float]], T: int
) -> tuple[int, int]:
    """Two units of Lemma 12 whose difference is 1 if head a was at its value before head b, or never.

    Their argument is `gamma_a - gamma_b + matched_b - matched_a`: two matches differ by at least 1/2T in
    gamma, and all gammas lie within ln 2 < 1.
    """
    argument = _plus(
        ({gammas[a]: 1.0}, 1), ({gammas[b]: 1.0}, -1), (matched[b], 1), (matched[a], -1)
    )
    slope = 4.0 * T  # 1 / gap with the gap 1/4T
    row = _plus((argument, slope))
    return units.add(row, 0.5), units.add(row, -0.5)


def count_reading(grid: Grid) -> MLP:
    """`q = #{s in 0..S-1: z_t + s - S was seen later than z_t + s + 1}`; three matrices, 5 (2S + 1) units.

    Window s is that of heads s..s+S. Windows s and s + 1 differ in one value each, and the shorter suffix is
    that of the window whose own value was seen later. Going out from z_t on either side, values were last
    seen earlier and earlier (Lemma 23), so the comparisons change sign once, at the best window, and their
    number is q = S - s. No minimum is needed: neither the width 2^O(S) nor the depth O(log S).
    """
    first, gammas, matched = _first(grid)
    second = _Units(len(first.rows))
    output = _Units(0)
    total: dict[int, float] = {}
    for s in range(grid.S):
        on, off = _later(second, s + grid.S + 1, s, gammas, matched, grid.T)
        total |= {on: 1.0, off: -1.0}
    output.inputs = len(second.rows)
    output.add(total)
    return _mlp([first, second, output], grid)


def wide_reading(grid: Grid) -> MLP:
    """The O(1)-depth reading: comparisons and matches as bits, then the table of Lemma 11 on them.

    Bits are whether head s has a match, s = 0..2S, and whether window s beats window s + 1, s = 0..S-1. By
    Lemma 23 matches are an interval around S of at least S + 1 heads and comparisons change once, so the
    table has one row for each choice of the ends a <= S <= b, and of the best window within them.
    """
    S = grid.S
    first, gammas, matched = _first(grid)
    second = _Units(len(first.rows))
    bits: list[dict[int, float]] = [{second.add(row): 1.0} for row in matched]
    for s in range(S):
        on, off = _later(second, s + S + 1, s, gammas, matched, grid.T)
        bits.append({on: 1.0, off: -1.0})
    rows, states = [], []
    for a in range(S + 1):
        for b in range(max(S, a + S), 2 * S + 1):
            for best in range(a, b - S + 1):
                match = [a <= s <= b for s in range(grid.heads)]
                beats = [s >= best for s in range(S)]
                rows.append([*match, *beats])
                states.append(S - best)
    third, fourth, output = _Units(len(second.rows)), _Units(0), _Units(0)
    indicators = []  # of each bit: of 0 and of 1, four units each
    for bit in bits:
        pair = []
        for value in (0, 1):
            slopes = _plus((bit, 4.0))
            corners = [third.add(slopes, -4.0 * value + e) for e in (2.0, 1.0, -1.0, -2.0)]
            pair.append(dict(zip(corners, (1.0, -1.0, -1.0, 1.0), strict=True)))
        indicators.append(pair)
    fourth.inputs = len(third.rows)
    for row in rows:
        chosen = [(indicators[i][int(value)], 1.0) for i, value in enumerate(row)]
        fourth.add(_plus(*chosen), 1.0 - len(row))
    output.inputs = len(fourth.rows)
    output.add({i: float(state) for i, state in enumerate(states)})
    return _mlp([first, second, third, fourth, output], grid)


def deep_reading(grid: Grid, printed: Printed = "nothing") -> MLP:
    """The O(log S)-depth reading: `f(s) = max(gamma_s, gamma_{s+S})` of every window, their least by pairwise
    minima, and `q = S - s` of the window that has it. Heads without a match count as ln 2T.

    What may be as printed: in step 2(a) "unmatched heads" are those that return `ln(2T - t)`, and the "centre
    head" counts as one of them; in step 2(d) the "output" is `2S + 1 - s` if the lower end of the window was
    seen later.
    """
    S, T, never = grid.S, grid.T, log(2 * grid.T)
    by_time = printed in ("step 2(a)", "unmatched heads")
    first, gammas, matched = _printed_first(grid) if by_time else _first(grid)
    if printed == "unmatched heads":  # the centre head, which always returns t, is left as it is
        matched[S] = {first.add({}, 1.0): 1.0}
    if printed == "centre head":
        matched[S] = {}
    layers = [first]

    def following() -> _Units:
        layers.append(_Units(len(layers[-1].rows)))
        return layers[-1]

    # gamma' = max(gamma, ln 2T (1 - matched)) = relu(gamma - ln 2T (1 - matched)) + ln 2T (1 - matched)
    units = following()
    times: list[dict[int, float]] = []
    for g, match in zip(gammas, matched, strict=True):
        above = units.add(_plus(({g: 1.0}, 1), (match, never)), -never)
        missing = units.add(_plus((match, -1.0)), 1.0)
        times.append({above: 1.0, missing: never})
    # f(s) = gamma'_{s+S} + relu(gamma'_s - gamma'_{s+S}); B_s = 1[gamma'_s > gamma'_{s+S}]
    units = following()
    ends: list[dict[int, float]] = []
    lower: list[dict[int, float]] = []
    for s in range(S + 1):
        late = units.add(times[s + S])
        more = units.add(_plus((times[s], 1), (times[s + S], -1)))
        ends.append({late: 1.0, more: 1.0})
        if printed == "output":
            row = _plus((times[s], 4.0 * T), (times[s + S], -4.0 * T))
            lower.append({units.add(row, 0.5): 1.0, units.add(row, -0.5): -1.0})
    kept, best = ends, ends
    while len(best) > 1:
        units = following()
        kept = [{units.add(row): 1.0} for row in kept]
        lower = [{units.add(row): 1.0} for row in lower]
        pairs = [best[i : i + 2] for i in range(0, len(best), 2)]
        # min(a, b) = a - relu(a - b)
        best = [
            {units.add(pair[0]): 1.0, units.add(_plus((pair[0], 1), (pair[1], -1))): -1.0}
            if len(pair) == 2
            else {units.add(pair[0]): 1.0}
            for pair in pairs
        ]
    # M_s = 1[f(s) <= least], by Lemma 12 with the gap 1/4T: other windows are at least 1/2T longer
    units = following()
    total: dict[int, float] = {}
    for s in range(S + 1):
        row = _plus((best[0], 4.0 * T), (kept[s], -4.0 * T))
        total |= {units.add(row, 1.5): float(S - s), units.add(row, 0.5): -float(S - s)}
        if printed == "output":  # M_s [B (S-s) + (1-B) (2S+1-s)] = (S-s) M_s + (S+1) relu(M_s - B)
            total[units.add(_plus((row, 2.0), (lower[s], -1.0)), 1.0)] = float(S + 1)
    output = following()
    output.add(total)
    return _mlp(layers, grid)


def _printed_first(grid: Grid) -> tuple[_Units, list[int], list[dict[int, float]]]:
    """The first hidden layer with the matches of the printed step 2(a): a head has none if it returns
    `ln(2T - t)`, the gamma of t itself."""
    T, units = grid.T, _Units(grid.width)
    gammas = [units.passed(int(dim)) for dim in grid.gamma]
    matched = []
    for dim in grid.gamma:
        slope = 4.0 * T
        row = {int(dim): slope, GAMMA: -slope}  # gamma_found - gamma_t is 0 or at least 1/2T
        matched.append({units.add(row, -0.5): 1.0, units.add(row, -1.5): -1.0})
    return units, gammas, matched


def deep_layers(S: int) -> int:
    """Matrices of the deep reading: 5 + ceil(log2(S + 1))."""
    return 5 + ceil(log2(S + 1))
