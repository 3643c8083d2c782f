"""Stationary hidden Markov worlds with a doubly stochastic chain (Assumptions 5 to 9 of Liu's thesis, Section
2.2)."""

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..arrays import check_flag, check_number, check_size
from .draws import check_sizes, redraw
from .gaussian import GaussianHMM
from .hmm import HMM

SWEEPS = 2000
SHIFT = 0.02


def doubly_stochastic_world(
    key: PRNGKeyArray, *, hidden: int, vocab: int, least: float = 0.02
) -> HMM:
    """Assumptions 5, 6 and 7: a doubly stochastic A that starts uniform, W without a row of zeros, both of
    full rank. The columns of W are Dirichlet(1); A is a Gamma(1) matrix plus 0.02 scaled to be doubly
    stochastic. Redrawn until the least singular values of A and of W are above `least`."""
    _check(hidden, least, vocab=vocab)

    def draw(rng: np.random.Generator) -> HMM | None:
        A, W = _chain(rng, hidden), rng.dirichlet(np.ones(vocab), size=hidden).T
        fine = min(least_singular(A), least_singular(W)) > least and W.any(axis=1).all()
        return HMM(A, W, np.full(hidden, 1 / hidden)) if fine else None

    return redraw(key, draw, f"world whose least singular values are above {least:g}")


def gaussian_world(
    key: PRNGKeyArray, *, hidden: int, dimension: int, unit: bool = True, least: float = 0.1
) -> GaussianHMM:
    """Assumptions 5 and 8: a doubly stochastic A as in `doubly_stochastic_world`, and independent means.
    With `unit` they are unit vectors (Assumption 9), otherwise their lengths are uniform in [0.6, 1.6]."""
    check_flag("unit", unit)
    _check(hidden, least, dimension=dimension)

    def draw(rng: np.random.Generator) -> GaussianHMM | None:
        A, M = _chain(rng, hidden), rng.normal(size=(dimension, hidden))
        M /= np.linalg.norm(M, axis=0)
        if not unit:
            M *= rng.uniform(0.6, 1.6, size=hidden)
        fine = min(least_singular(A), least_singular(M)) > least
        return GaussianHMM(A, M) if fine else None

    return redraw(key, draw, f"world whose least singular values are above {least:g}")


def _check(hidden: int, least: float, **size: int) -> None:
    check_sizes(hidden=hidden, **size)
    ((name, value),) = size.items()
    if value < hidden:
        raise ValueError(f"{name} is {value}; {hidden} independent columns need at least {hidden}")
    check_size(f"a chain of hidden = {hidden} states", hidden**2, 2**16)
    check_size(f"columns of {name} = {value}", hidden * value, 2**20)
    if float(check_number("least", least, 0)) >= 1:
        raise ValueError(f"least is {least:g}; it must be less than 1")


def _chain(rng: np.random.Generator, size: int) -> Float[np.ndarray, "k k"]:
    return sinkhorn(rng.gamma(1.0, size=(size, size)) + SHIFT)


def sinkhorn(A: Float[np.ndarray, "k k"], sweeps: int = SWEEPS) -> Float[np.ndarray, "k k"]:
    """A positive matrix with its rows and columns scaled, in turn, until all sums are one."""
    for _ in range(sweeps):
        before, A = A, A / A.sum(axis=1, keepdims=True)
        A = A / A.sum(axis=0)
        if np.abs(A - before).max() == 0:
            break
    return A


def least_singular(matrix: Float[np.ndarray, "m n"]) -> float:
    """The least of the n singular values; 0 if there are fewer rows than columns."""
    if matrix.shape[0] < matrix.shape[1]:
        return 0.0
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])
