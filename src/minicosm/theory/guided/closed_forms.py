"""Closed forms: worlds whose verifier errs by the last token, secret parity, needle, lagged errors."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..checks import probabilities, real, reals, whole
from ..signatures import checked

TINY = float(np.finfo(float).tiny)


class LastTokenErrors(NamedTuple):
    """What guidance comes to if tokens are independent under `pi*` and `r = V / V*` depends on the last."""

    kl_plain: float
    kl_first_leaf: float
    hitting_time: float  # steps that are not lazy
    leaf_mass: float


@checked(
    target=probabilities((None,)),
    ratio=reals(lambda given: given["target"].shape, least=TINY),
    horizon=whole(1),
)
def last_token_errors(target: Any, ratio: Any, horizon: int) -> LastTokenErrors:
    """Tokens have the law p = `target` under `pi*`; `r = ratio[last token]` on levels 1..H-1, one at leaves.

    With `W = V* g`: g = 1 at leaves, and going up `sigma = sum_b p_b g_b`, `g_b = r_b sigma / (r_b + sigma)`;
    the first leaf has tokens of law `p_b g_b / sigma`. Plain guidance has `p_b r_b / sum p r`.
    """
    p, r = np.asarray(target, np.float64), np.asarray(ratio, np.float64)
    g, kl_first = np.ones_like(p), 0.0
    visits: list[
        tuple[float, float]
    ] = []  # E[r / (r + sigma)], E[r (r + n) / (r + sigma)] by level
    ahead = 1.0  # n = E[r] one level further
    sigma = 1.0
    for _ in range(horizon - 1):
        share = r / (r + sigma)
        visits.append((float(p @ share), float(p @ (share * (r + ahead)))))
        g, ahead = r * sigma / (r + sigma), float(p @ r)
        sigma = float(p @ g)
        kl_first += float(p @ np.log(sigma / g))
    mean = float(p @ r)
    time, reached = (mean if horizon > 1 else 1.0) / sigma, 1 / sigma
    for back, weighted in reversed(visits):
        time += reached * weighted
        reached *= back
    plain = (horizon - 1) * float(p @ np.log(mean / r))
    return LastTokenErrors(plain, kl_first, time, 1 / (2 * (1 + (horizon - 1) * mean)))


@checked(horizon=whole(1), bias=real(least=0, below=1))
def biased_coin_errors(horizon: int, bias: float) -> LastTokenErrors:
    """Fair bits; the verifier says 1 + bias after a one and 1 - bias after a zero."""
    return last_token_errors([0.5, 0.5], [1 - bias, 1 + bias], horizon)


@checked(horizon=whole(1), weight=real(above=0))
def delayed_errors(horizon: int, weight: float) -> LastTokenErrors:
    """`tau = weight^(ones)`; the verifier is one step late: `r = (1 + weight) / (2 weight^bit)`."""
    p = np.array([1, weight]) / (1 + weight)
    return last_token_errors(p, 0.5 / p, horizon)


def parity_queries(candidates: int, *, confirm: bool = False) -> Fraction:
    """Expected queries of a search for the secret among N = `candidates` in uniformly random order:
    `(N + 1)/2 - 1/N`, the last one is known by elimination; `(N + 1)/2` if it must be queried too."""
    N = candidates
    return Fraction(N + 1, 2) - (0 if confirm else Fraction(1, N))


def fewest_queries(candidates: int) -> Fraction:
    """The least expected number of queries of any deterministic search for a uniformly random secret.

    A query tells only whether it hit, and one outside the candidates left tells nothing:
    `f(1) = 0`, `f(N) = 1 + (1 - 1/N) f(N - 1)`. By Yao's lemma no randomised search has a smaller worst case.
    """
    least = Fraction(0)
    for n in range(2, candidates + 1):
        least = 1 + (1 - Fraction(1, n)) * least
    return least


class NeedleCosts(NamedTuple):
    """Expected calls to the generator (steps for VGB) until the only accepted string is drawn."""

    rejection: int  # D 2^D
    restart: int  # 2^(D+1) - 2: from scratch at the first token that is rejected
    tokenwise: int  # 2 D
    vgb: int  # 2^(D+2) - 4 - 3 D steps that are not lazy, guided by the feasibility verifier
    leaf_mass: float  # 2^-D / (2 (1 - 2^-D))


def needle_costs(horizon: int) -> NeedleCosts:
    D, power = horizon, 2**horizon
    return NeedleCosts(
        D * power, 2 * power - 2, 2 * D, 4 * power - 4 - 3 * D, 1 / (2 * (power - 1))
    )


def some_zero_tv(horizon: int) -> Fraction:
    """Total variation of tokenwise rejection from the uniform law on A: `(2^D - 2) / (2^D (2^D - 1))`."""
    power = 2**horizon
    return Fraction(power - 2, power * (power - 1))


class LaggedOutcome(NamedTuple):
    accuracy: float
    calls: float | None  # None where there is no closed form


def lagged_outcome(
    horizon: int, position: int, lag: int, chance: float, *, quota: int, stride: int, refill: str
) -> LaggedOutcome:
    """Algorithm 1 on the lagged-error world, for a verifier that notices before the end.

    A stride of at most the lag never takes the bad token back. A longer one does: the argmax refill is
    right at once, with `D + B chance` calls (B tokens or the whole string, if shorter); without refill
    the token is drawn up to `quota + 1` times, `1 - chance^(quota + 1)`.
    """
    if quota == 0 or stride <= lag or position + lag > horizon:
        return LaggedOutcome(1 - chance, float(horizon) if quota == 0 else None)
    if refill == "argmax":
        return LaggedOutcome(1.0, horizon + min(stride, position + lag) * chance)
    erased = min(stride, position + lag)
    backtracks = sum(chance**i for i in range(1, quota + 1))
    return LaggedOutcome(1 - chance ** (quota + 1), horizon + erased * backtracks)
