"""What is proved about how fast VGB mixes if values err, as functions that return a `Theorem`."""

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from ..checks import whole
from ..signatures import checked
from ..theorem import Theorem
from . import mixing
from .conditions import least, same_support, where
from .prefix_tree import PrefixTree


@checked()
def gap_bounds(tree: PrefixTree) -> Theorem:
    """`gap >= min_w [c(w)/2M] / [2H mu(T_w) (1 - mu(T_w))] >= 1 / (4H (1 + 2 kappa^2 (H - 1)))`; the slack is
    that of the closer one of the two, relative to its right side."""
    needs = (same_support(tree),)
    details: dict[str, float] = {}

    def slack() -> float:
        gap, canonical, closed = mixing.gap_bounds(tree)
        details.update(gap=gap, canonical=canonical, closed=closed)
        return least(gap / canonical, canonical / closed) - 1

    result = where(needs, slack)
    return Theorem.inequality("gap", result, conditions=needs, details=details)


@checked(steps=whole())
def decay(tree: PrefixTree, steps: int) -> Theorem:
    """From the root `TV_t <= 1/2 sqrt((1 - mu_0) / mu_0) (1 - gap)^t`; `steps` are followed."""

    def slack() -> float:
        bound = mixing.tv_bound(float(tree.stationary()[0]), tree.gap(), steps)
        return float((bound - mixing.tv_curve(tree, steps)[0]).min())

    needs = (same_support(tree),)
    return Theorem.inequality("decay", where(needs, slack), conditions=needs)


@checked()
def time_to_the_root(tree: PrefixTree) -> Theorem:
    """The expected lazy time from a leaf drawn from `pi*` to the root is that of `mixing.root_time`. The
    error is relative, against `(1 - P) t = 1` off the root."""

    def error() -> float:
        kernel = tree.kernel()
        rest = csc_array((eye_array(kernel.shape[0]) - kernel)[1:, 1:])
        whole = np.zeros(len(tree.mass))
        whole[np.flatnonzero(tree.alive)[1:]] = splu(rest).solve(np.ones(rest.shape[0]))
        return abs(mixing.root_time(tree) / float(tree.target() @ whole[tree.leaves]) - 1)

    needs = (same_support(tree),)
    return Theorem.identity("time to the root", where(needs, error), conditions=needs)


@checked(steps=whole(1))
def coverage(tree: PrefixTree, steps: int) -> Theorem:
    """The average law over T = `steps` steps has `nu_T(y) / mu(y) >= 1/2 P_y(the root is hit by T/2)`."""

    def slack() -> float:
        share, bound = mixing.coverage(tree, steps)
        return float((share - bound).min())

    needs = (same_support(tree),)
    return Theorem.inequality("coverage", where(needs, slack), conditions=needs)
