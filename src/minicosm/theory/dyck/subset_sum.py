"""Which subset of given numbers has the sum nearest to a target, by meeting in the middle.

The sums of all subsets of either half are listed; for every sum of the first half the best partner
in the second is found by bisection. For n numbers that is `n 2^(n/2)` work in place of `2^n`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..signatures import checked

MOST_VALUES = 40  # two lists of 2^20 sums


class Subsets(NamedTuple):
    """For every target the best subset, its sum, and how far that is from the target."""

    chosen: Bool[np.ndarray, "targets n"]
    sums: Float[np.ndarray, " targets"]
    errors: Float[np.ndarray, " targets"]  # |sum - target|


@checked()
def closest_subsets(
    values: Float[np.ndarray, "*targets n"], targets: Float[np.ndarray, " targets"]
) -> Subsets:
    """`argmin_I |sum_{i in I} values_i - target|` for every target, in double precision.

    `values` has one row per target, or is one row that all targets share. The empty subset counts
    and is preferred for a target of exactly zero.
    """
    values, targets = np.asarray(values, np.float64), np.asarray(targets, np.float64)
    n = values.shape[-1]
    if n > MOST_VALUES:
        raise ValueError(
            f"values has {n} entries to choose from; subset sums are exact for at most {MOST_VALUES}"
        )
    if values.ndim > 2 or (values.ndim == 2 and len(values) != len(targets)):
        raise ValueError(
            f"values has shape {values.shape} for {len(targets)} targets; "
            "one row for all or one per target is needed"
        )
    codes = np.zeros(len(targets), np.int64)
    wanted = np.flatnonzero(targets)
    shared = _halves(values) if values.ndim == 1 and len(wanted) else None
    for at in wanted:
        codes[at] = _best(_halves(values[at]) if shared is None else shared, targets[at])
    chosen = (codes[:, None] >> np.arange(n)) & 1 == 1
    sums = np.sum(np.where(chosen, values, 0.0), axis=1)
    return Subsets(chosen, sums, np.abs(sums - targets))


def subset_sums(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " subsets"]:
    """The sums of all subsets: entry c is that of the values at the binary digits of c."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


class _Halves(NamedTuple):
    first: Float[np.ndarray, " a"]  # sums of the first half of the values
    second: Float[np.ndarray, " b"]  # sorted sums of the second half
    codes: Int[np.ndarray, " b"]  # whose sums they are
    middle: int  # size of the first half


def _halves(values: Float[np.ndarray, " n"]) -> _Halves:
    middle = len(values) // 2
    first, second = subset_sums(values[:middle]), subset_sums(values[middle:])
    order = np.argsort(second)
    return _Halves(first, second[order], order, middle)


def _best(halves: _Halves, target: float) -> int:
    """The code of the best subset: bits below `middle` are the first half's."""
    first, second, codes, middle = halves
    above = np.searchsorted(second, target - first)
    below, above = np.maximum(above - 1, 0), np.minimum(above, len(second) - 1)
    gap_below = np.abs(first + second[below] - target)
    gap_above = np.abs(first + second[above] - target)
    at = int(np.argmin(np.minimum(gap_below, gap_above)))
    partner = below[at] if gap_below[at] <= gap_above[at] else above[at]
    return at + (int(codes[partner]) << middle)
