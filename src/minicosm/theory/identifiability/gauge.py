"""Which worlds agree on all that one token says of another: they are joined by a change of basis of the
states.

Under Assumptions 5 to 7, with a token chain that is irreducible, two HMMs have the same predictor of x2 from
x1 iff `O' = O S^-1` and `T' = S T S^T` for an invertible S whose rows and columns sum to one. They agree on
x3 from x1, too, iff moreover S is orthogonal; then they agree on every pairwise task at every gap, `T'^g = S
T^g S^T`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.linalg import expm

from minicosm.worlds import HMM
from minicosm.worlds.arrays import check_flag
from minicosm.worlds.hmm.draws import generator

from ..checks import reals, whole
from ..signatures import checked
from .distance import matched_distance

ROUNDING = 1e-12  # an entry this far below zero is one of zero
STEP, MOST_STEPS = 0.05, 100  # along a curve of unit speed


class Gauge(NamedTuple):
    """The S that joins two worlds, and by how much each of its properties fails."""

    S: Float[np.ndarray, "k k"]
    emissions: float  # |O - O' S|
    chain: float  # |T' - S T S^T|
    sums: float  # of rows and columns, from one
    orthogonality: float  # |S^T S - I|


@checked()
def gauge(first: HMM, second: HMM) -> Gauge:
    """`S = O'^+ O`, and how well it joins the worlds."""
    if first.W.shape != second.W.shape:
        raise ValueError(
            f"second has emissions of shape {second.W.shape}; first has {first.W.shape}"
        )
    O, T, other_O, other_T = (
        np.asarray(a, np.float64) for a in (first.W, first.A, second.W, second.A)
    )
    S = np.linalg.pinv(other_O) @ O
    sums = np.concatenate([S.sum(axis=0), S.sum(axis=1)])
    return Gauge(
        S,
        float(np.abs(O - other_O @ S).max()),
        float(np.abs(other_T - S @ T @ S.T).max()),
        float(np.abs(sums - 1).max()),
        float(np.abs(S.T @ S - np.eye(len(S))).max()),
    )


@checked(S=reals((None, None)))
def joined(world: HMM, S: Float[np.ndarray, "k k"]) -> HMM:
    """The world `O S^-1`, `S T S^T`; raises if one of its entries is negative."""
    k = world.hidden
    if S.shape != (k, k):
        raise ValueError(f"S has shape {S.shape}; it must have shape ({k}, {k})")
    sums = np.concatenate([S.sum(axis=0), S.sum(axis=1)])
    if np.abs(sums - 1).max() > 1e-8:
        raise ValueError(
            f"S has a row or column that sums to 1 ± {np.abs(sums - 1).max():.2g}; all must sum to 1"
        )
    if np.linalg.cond(S) > 1e8:
        raise ValueError(f"S has condition number {np.linalg.cond(S):.2g}; it must be invertible")
    O, T = _moved(np.asarray(world.W, np.float64), np.asarray(world.A, np.float64), S)
    least = min(O.min(), T.min())
    if least < -ROUNDING:
        raise ValueError(f"S makes an entry {least:.2g}; the entries of a world are not negative")
    return HMM(np.maximum(T, 0), np.maximum(O, 0), np.full(k, 1 / k))


def _moved(O: np.ndarray, T: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return O @ np.linalg.inv(S), S @ T @ S.T


@checked(tries=whole(1, 10_000))
def gauge_twin(world: HMM, key: PRNGKeyArray, *, orthogonal: bool = False, tries: int = 16) -> HMM:
    """Another world with the same predictor of x2 from x1; with `orthogonal`, of every token from any other.

    Along each of `tries` random curves `S = expm(t G)`, where rows and columns of G sum to zero (and G is
    skew for rotations), t grows until an entry becomes zero; of all worlds on the way the farthest is taken.
    With two states there are no rotations.
    """
    check_flag("orthogonal", orthogonal)
    k = world.hidden
    if k < (3 if orthogonal else 2):
        raise ValueError(
            f"world has {k} states; with {'fewer than three' if orthogonal else 'one'} there is no twin"
        )
    O, T = np.asarray(world.W, np.float64), np.asarray(world.A, np.float64)
    rng = generator(key)
    centre = np.eye(k) - 1 / k
    best, found = 0.0, (O, T)
    for _ in range(tries):
        G = rng.normal(size=(k, k))
        G = centre @ (G - G.T if orthogonal else G) @ centre
        G /= np.linalg.norm(G)
        for direction in (G, -G):
            for S in _curve(O, T, direction):
                other_O, other_T = _moved(O, T, S)
                apart = matched_distance(O, T, other_O, other_T)
                if apart > best:
                    best, found = apart, (other_O, other_T)
    return HMM(found[1], found[0], np.full(k, 1 / k))


def _curve(O: np.ndarray, T: np.ndarray, G: np.ndarray) -> Iterator[np.ndarray]:
    """`expm(t G)` in steps of t for as long as both matrices are nonnegative, and at the end the last such
    t."""

    def inside(S: np.ndarray) -> bool:
        moved = _moved(O, T, S)
        return bool(min(part.min() for part in moved) >= 0 and np.linalg.cond(S) < 1e4)

    low, one, S = 0.0, expm(STEP * G), np.eye(len(G))
    for _ in range(MOST_STEPS):
        if not inside(S @ one):
            break
        low, S = low + STEP, S @ one
        yield S
    high = low + STEP
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(expm(middle * G)) else (low, middle)
    yield expm(low * G)
