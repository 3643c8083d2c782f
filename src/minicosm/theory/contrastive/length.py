"""How long a trajectory must be: Lemma 2 and Theorem 1 of Section 2.1, and the rates that their argument
gives."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float

from minicosm.adaptation.checks import brief

from ..checks import INSIDE, POSITIVE, real
from ..signatures import checked
from ..theorem import Theorem

SHARES = np.geomspace(1e-6, 1 - 1e-6, 200)  # of delta that the approximation by blocks may take


@checked(mu=real(least=2), K=POSITIVE, delta=INSIDE)
def generalisation_bound(mu: float, K: float, delta: float) -> float:
    """Lemma 2 with Assumption 4: `K sqrt(log mu / mu) + sqrt(log(2 / delta) / (2 mu))` for mu blocks that
    count as independent, at the probability delta that is left."""
    return float(_bound(mu, K, delta))


def _bound(mu: Any, K: float, delta: Any) -> Any:
    return K * np.sqrt(np.log(mu) / mu) + np.sqrt(np.log(2 / delta) / (2 * mu))


def least_blocks(K: float, delta: Float[np.ndarray, " n"], gap: float) -> Float[np.ndarray, " n"]:
    """For every delta the least mu from which on the bound is at most `gap`, by bisection.

    The bound falls in mu from e on, where it is largest.
    """
    low, high = np.full(len(delta), np.e), np.full(len(delta), 4.0)
    while (short := _bound(high, K, delta) > gap).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    for _ in range(60):
        middle = np.sqrt(low * high)
        short = _bound(middle, K, delta) > gap
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


@checked(K=POSITIVE, delta=INSIDE, gap=real(above=0, below=1))
def trajectory_length(
    mixing_time: Callable[[float], float], K: float, delta: float, gap: float
) -> float:
    """The least duration T at which Lemma 2 bounds the generalisation gap by `gap` with probability `1 -
    delta`.

    `mixing_time(b)` is the time after which the mixing coefficient is at most b. Of delta a share goes to the
    blocks, `2 (mu - 1) beta(T / 2 mu)`, and the rest to the bound; the best share is taken.
    """
    best = np.inf
    for share, mu in zip(SHARES, least_blocks(K, (1 - SHARES) * delta, gap), strict=True):
        allowed = float(share * delta / (2 * (mu - 1)))
        try:
            time = mixing_time(allowed)
        except Exception as error:
            raise ValueError(
                f"mixing_time raised {type(error).__name__} for a coefficient of {allowed:.2g}"
            ) from error
        if not (isinstance(time, Real) and 0 < time < np.inf):
            raise ValueError(
                f"mixing_time is {brief(time)} for a coefficient of {allowed:.2g}; it must be a positive time"
            )
        best = min(best, 2 * mu * float(time))
    return float(best)


@checked(B=POSITIVE)
def root_mixing(B: float) -> Callable[[float], float]:
    """`beta(t) = B / sqrt(pi t)`, which Lemma 5 gives: the time is `B^2 / (pi b^2)`."""
    return lambda b: B**2 / (np.pi * b**2)


@checked(rho=POSITIVE)
def exponential_mixing(rho: float) -> Callable[[float], float]:
    """`beta(t) = e^{-rho t}`, which strong convexity gives: the time is `log(1 / b) / rho`."""
    return lambda b: np.log(1 / b) / rho


@checked(K=POSITIVE, delta=INSIDE)
def exponent(
    mixing_time: Callable[[float], float], K: float, delta: float, gaps: tuple[float, float]
) -> float:
    """The local exponent of the least duration in one over the generalisation gap, between two gaps."""
    first, second = (trajectory_length(mixing_time, K, delta, gap) for gap in gaps)
    return float(np.log(second / first) / np.log(gaps[0] / gaps[1]))


@checked(K=POSITIVE, delta=INSIDE, gap=real(above=0, below=1))
def printed_side(K: float, delta: float, gap: float) -> float:
    """The left side of (2.20) over the gap, with C = 1, at the printed `mu = K sqrt(log(1 / delta)) /
    gap`."""
    mu = K * np.sqrt(np.log(1 / delta)) / gap
    side = (K * np.sqrt(np.log(mu)) + np.sqrt(np.log(1 / delta))) / np.sqrt(mu)
    return float(side / gap)


@checked(K=POSITIVE, delta=INSIDE)
def theorem_1_proof_as_printed(K: float = 3.0, delta: float = 0.05) -> Theorem:
    """The printed choice of mu satisfies (2.20) up to a constant: from gaps of .1 to .001 the left side over
    the gap stays within a factor of 2. The slack is 2 less the factor."""
    sides = [printed_side(K, delta, gap) for gap in (0.1, 0.01, 0.001)]
    factor = float(np.max(sides) / np.min(sides))
    return Theorem.inequality(
        "Proof of Theorem 1 as printed",
        2 - factor,
        within=0,
        details={"factor": factor, "at .1": sides[0], "at .01": sides[1], "at .001": sides[2]},
    )
