"""Exact numbers of the Dyck sandbox: strings of D brackets that close when they must.

At depth d with R brackets left: open if d = 0, close if d = R, otherwise open with probability q; an opening
bracket is of the first type with probability p.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from math import comb, log
from typing import Any

import numpy as np
from jaxtyping import Float

from minicosm.worlds.arrays import check_whole_numbers, short

from ..checks import Given, real, whole
from ..signatures import checked
from ..theorem import Theorem
from .conditions import largest
from .rules import even

OPEN, CLOSE = 1, -1
MOST = 1024  # brackets of a string whose depths are followed
MOST_WRITTEN = 26  # brackets of strings that are written out: there are 742,900

MOST_LEFT = 64  # brackets of completions that are counted by kind
SHARE = real(least=0, most=1)
DEEPEST = whole(1, None)


def _skeleton(name: str, value: Any, given: Given) -> tuple[int, ...]:
    """A balanced string as +1 and -1."""
    moves = np.asarray(check_whole_numbers(name, value, -1, 1, (None,)), int)
    depths = np.cumsum(moves)
    if not moves.size or (moves == 0).any() or (depths < 0).any() or depths[-1:].any():
        raise ValueError(
            f"{name} is {short(moves.tolist())}; it must be a balanced string of 1 and -1"
        )
    return tuple(moves.tolist())


@checked(depth=whole(0, None), left=whole(0, None), opening=SHARE, deepest=DEEPEST)
def opening_probability(depth: int, left: int, opening: float, deepest: int | None = None) -> float:
    """With `deepest`, brackets at that depth close too."""
    return _opens(depth, left, opening, deepest)


def _opens(depth: int, left: int, opening: float, deepest: int | None = None) -> float:
    if depth == 0:
        return 1.0
    return 0.0 if depth >= left or depth == deepest else opening


@checked(length=even(MOST), opening=SHARE, deepest=DEEPEST)
def depth_law(
    length: int, opening: float = 0.5, deepest: int | None = None
) -> Float[np.ndarray, "levels depths"]:
    """`[i, d]`: probability of depth d after i brackets."""
    law = np.zeros((length + 1, length + 2))
    law[0, 0] = 1
    for i in range(length):
        for d in range(length + 1):
            up = _opens(d, length - i, opening, deepest)
            law[i + 1, d + 1] += law[i, d] * up
            if d:
                law[i + 1, d - 1] += law[i, d] * (1 - up)
    return law[:, : length + 1]


@checked(length=even(MOST), square=SHARE, opening=SHARE, deepest=DEEPEST)
def entropy(
    length: int = 32, square: float = 0.2, opening: float = 0.5, deepest: int | None = None
) -> float:
    """Nats of a whole string; an end token adds nothing. Opening brackets add the entropy of their type."""

    def h(x: float) -> float:
        return 0.0 if x in (0, 1) else -x * log(x) - (1 - x) * log(1 - x)

    law = depth_law(length, opening, deepest)
    total = 0.0
    for i in range(length):
        for d in range(length + 1):
            up = _opens(d, length - i, opening, deepest)
            total += law[i, d] * (h(up) + up * h(square))
    return float(total)


@checked(depth=whole(0, None), left=whole(0, 2**14), types=whole(1, None))
def completions(depth: int, left: int, types: int = 2) -> int:
    """How many valid completions a prefix of this depth has with `left` brackets to go:
    `k^((m-d)/2) [C(m, (m-d)/2) - C(m, (m-d)/2 - 1)]`, zero unless `d <= m` have the same parity."""
    if depth > left or (left - depth) % 2:
        return 0
    opens = (left - depth) // 2
    return types**opens * (comb(left, opens) - (comb(left, opens - 1) if opens else 0))


@cache
def _completion_kinds(depth: int, left: int) -> dict[tuple[int, int, int], int]:
    """Skeletons of completions by (openings, of them free ones, free closings): how many there are."""
    if left == 0:
        return {(0, 0, 0): 1}
    result: dict[tuple[int, int, int], int] = defaultdict(int)
    forced = depth == 0 or depth == left
    if depth < left:
        for (n, f, c), count in _completion_kinds(depth + 1, left - 1).items():
            result[n + 1, f + (not forced), c] += count
    if depth:
        for (n, f, c), count in _completion_kinds(depth - 1, left - 1).items():
            result[n, f, c + (not forced)] += count
    return dict(result)


@checked(
    depth=whole(0, None),
    left=whole(0, MOST_LEFT),
    square=SHARE,
    opening=SHARE,
    samples=whole(1, None),
)
def distinct_completions(
    depth: int, left: int, square: float = 0.2, opening: float = 0.5, samples: int = 10
) -> float:
    """Expected number of distinct strings among ideal completions of one prefix: `sum_y 1 - (1 - P(y))^n`."""
    if not completions(depth, left):
        raise ValueError(f"depth is {depth}; with {left} brackets left no string is completed")
    total = 0.0
    for (n, f, c), count in _completion_kinds(depth, left).items():
        skeleton = opening**f * (1 - opening) ** c
        for squares in range(n + 1):
            chance = skeleton * square**squares * (1 - square) ** (n - squares)
            total += count * comb(n, squares) * (1 - (1 - chance) ** samples)
    return total


@checked(
    prefix=whole(0, MOST), length=even(MOST), square=SHARE, opening=SHARE, samples=whole(1, None)
)
def ideal_diversity(
    prefix: int, length: int = 32, square: float = 0.2, opening: float = 0.5, samples: int = 10
) -> float:
    """The same, over prefixes of a length drawn from the law."""
    if prefix > length:
        raise ValueError(f"prefix is {prefix}; strings have {length} brackets")
    law = depth_law(length, opening)[prefix]
    left = length - prefix
    return float(
        sum(
            law[d] * distinct_completions(d, left, square, opening, samples)
            for d in range(min(prefix, left) + 1)
            if law[d] > 0
        )
    )


@checked(length=even(MOST_WRITTEN))
def skeletons(length: int) -> Iterator[tuple[int, ...]]:
    """All balanced strings of one type, as +1 and -1."""

    def grow(start: tuple[int, ...], depth: int) -> Iterator[tuple[int, ...]]:
        left = length - len(start)
        if left == 0:
            yield start
            return
        if depth < left:
            yield from grow((*start, OPEN), depth + 1)
        if depth:
            yield from grow((*start, CLOSE), depth - 1)

    yield from grow((), 0)


@checked(skeleton=_skeleton, opening=SHARE)
def printed_weight(skeleton: tuple[int, ...], opening: float, *, strict: bool) -> float:
    """The weight of Equations 3.3 and 3.4 without types: q for openings after which the depth exceeds one,
    1 - q for closings with `d(w_{1:i}) <= D - i` as printed, or `<` with `strict`."""
    return _printed_weight(skeleton, opening, strict)


def _printed_weight(skeleton: tuple[int, ...], opening: float, strict: bool) -> float:
    weight, depth, length = 1.0, 0, len(skeleton)
    for i, move in enumerate(skeleton, 1):
        depth += move
        if move == OPEN:
            weight *= opening if depth > 1 else 1
        elif depth < length - i or (depth == length - i and not strict):
            weight *= 1 - opening
    return weight


@checked(skeleton=_skeleton, opening=SHARE)
def process_probability(skeleton: tuple[int, ...], opening: float) -> float:
    """The probability of a skeleton under the process of Remark 3.2.1, step by step."""
    return _process_probability(skeleton, opening)


def _process_probability(skeleton: tuple[int, ...], opening: float) -> float:
    chance, depth = 1.0, 0
    for i, move in enumerate(skeleton):
        up = _opens(depth, len(skeleton) - i, opening)
        chance *= up if move == OPEN else 1 - up
        depth += move
    return chance


@checked(length=even(MOST_WRITTEN), opening=SHARE)
def equation_3_4(length: int, opening: float = 0.5) -> Theorem:
    """With `d(w_{1:i}) < D - i` the weights sum to one and are the probabilities of the process."""
    weights, process = _weights(length, opening)
    error = largest(float(np.abs(weights - process).max()), abs(float(weights.sum()) - 1))
    return Theorem.identity("Equation 3.4", error, cases=len(process), details={"D": length})


def _weights(
    length: int, opening: float
) -> tuple[Float[np.ndarray, " skeletons"], Float[np.ndarray, " skeletons"]]:
    every = list(skeletons(length))
    weights = [_printed_weight(skeleton, opening, strict=True) for skeleton in every]
    return np.array(weights), np.array([_process_probability(s, opening) for s in every])


@checked(prefix=whole(0, 32))
def flipped_diversity(prefix: int) -> Theorem:
    """Ideal completions of a prefix of a string of 32 brackets are as different, of ten, if square and round
    brackets change roles. The detail `distinct` is how many differ."""
    distinct = ideal_diversity(prefix)
    error = abs(distinct - ideal_diversity(prefix, square=0.8))
    details = {"prefix": prefix, "distinct": distinct}
    return Theorem.identity("ideal diversity", error, details=details)
