"""The chapter's bounds as formulas: learning the joint law, reaching a mode, being stuck."""

from dataclasses import dataclass
from math import ceil, comb, exp, expm1, floor, inf, isfinite, log, log1p, sqrt, tanh
from typing import Any, NamedTuple

import numpy as np

from minicosm.worlds import CliqueIsing

from ..checks import Given, whole
from ..signatures import checked
from ..theorem import Condition
from .rules import CONSTANT, DELTA, NOT_NEGATIVE, POSITIVE, SIZE, hidden

MOST_LOG = 709.0  # e^709 is near the largest double


def _exp(x: float) -> float:
    """`e^x`, infinite where it exceeds a double: a bound of that size says nothing."""
    return exp(x) if x < MOST_LOG else inf


# -- Theorem 4.1.4 ------------------------------------------------------------------------------


SIZES = {
    "length": SIZE,
    "vocab": SIZE,
    "examples": SIZE,
    "masks_per_example": SIZE,
    "delta": DELTA,
    "epsilon": POSITIVE,
    "log_cover": NOT_NEGATIVE,
    "log_margin": NOT_NEGATIVE,
}


@dataclass(frozen=True)
class Sizes:
    """What the bound of Theorem 4.1.4 depends on besides the constants of the learned law."""

    length: int  # N
    vocab: int  # |Omega|
    examples: int  # n
    masks_per_example: int  # m
    delta: float
    epsilon: float
    log_cover: float  # ln C_eps(Theta)
    log_margin: float  # ln(1 / beta)

    def __post_init__(self) -> None:
        for name, rule in SIZES.items():
            rule(name, getattr(self, name), {})


@checked(length=SIZE, parameters=SIZE, radius=POSITIVE, epsilon=POSITIVE)
def margin_and_cover(
    length: int, parameters: int, radius: float, epsilon: float
) -> tuple[float, float]:
    """`ln(1 / beta)` and `ln C_eps` of Ising models with `|theta_a| <= radius`.

    Conditionals are at least `2^-N exp(-2 R d)`, and log conditionals are 2-Lipschitz in the sum of
    absolute values, so `ceil(8 R d / eps)^d` cubes cover.
    """
    margin = length * log(2) + 2 * radius * parameters
    cover = parameters * log(ceil(8 * radius * parameters / epsilon))
    return margin, cover


@checked()
def loss_gap(sizes: Sizes) -> float:
    """`B ln(1 / beta) + eps` of Corollary 4.3.2, with
    `B = sqrt(2^(3N) |Omega|^N C_eps / (m delta)) + sqrt(ln(8 C_eps / delta) / (2n))`."""
    N = sizes.length
    masks = _exp((3 * N * log(2) + N * log(sizes.vocab) + sizes.log_cover) / 2) / sqrt(
        sizes.masks_per_example * sizes.delta
    )
    sample = sqrt((log(8 / sizes.delta) + sizes.log_cover) / (2 * sizes.examples))
    lead = (masks + sample) * sizes.log_margin if sizes.log_margin else 0.0
    return lead + sizes.epsilon


@checked(length=SIZE, vocab=SIZE, examples=SIZE, delta=DELTA)
def empirical_gap(length: int, vocab: int, examples: int, delta: float) -> float:
    """Lemma 4.3.6, with n where a line of its proof prints m: the empirical law is within
    `sqrt(|Omega|^(3N) / (16 delta n))` in total variation with probability `1 - delta`."""
    return _exp(1.5 * length * log(vocab)) / sqrt(16 * delta * examples)


@checked(entropy_constant=CONSTANT, loss=NOT_NEGATIVE)
def joint_bound(sizes: Sizes, entropy_constant: float, loss: float) -> float:
    """Theorem 4.1.4: with probability `1 - delta`, the total variation between the learned and the
    true law is below `sqrt(C_AT (L + B ln(1/beta) + eps) / 2) + sqrt(|Omega|^(3N) / (8 delta n))`.
    The root covers the whole product."""
    half = empirical_gap(sizes.length, sizes.vocab, sizes.examples, sizes.delta / 2)
    return sqrt(entropy_constant * (loss + loss_gap(sizes)) / 2) + half


SAMPLE = {
    "length": SIZE,
    "vocab": SIZE,
    "log_margin": POSITIVE,
    "masks_per_example": SIZE,
    "examples": SIZE,
}


@checked(**SAMPLE, e=POSITIVE, t=NOT_NEGATIVE)
def pointwise_gap(
    length: int, vocab: int, log_margin: float, masks_per_example: int, examples: int,
    e: float, t: float,
) -> tuple[float, float]:  # fmt: skip
    """Lemma 4.3.5: `|L_hat - L_tilde| < 2^N e ln(1/beta) + t / n` except with the probability
    `2^(N-2) |Omega|^N / (e^2 m) + 2 exp(-2 t^2 / (n ln(1/beta)^2))`; both numbers."""
    gap = _exp(length * log(2)) * e * log_margin + t / examples
    fails = _exp((length - 2) * log(2) + length * log(vocab)) / (e**2 * masks_per_example)
    return gap, fails + 2 * exp(-2 * t**2 / (examples * log_margin**2))


@checked(**SAMPLE, delta=DELTA)
def corollary_choice(
    length: int, vocab: int, log_margin: float, masks_per_example: int, examples: int, delta: float
) -> tuple[float, float]:
    """e and t with which Lemma 4.3.5 gives Corollary 4.3.1: `e = sqrt(2^(N-1) |Omega|^N / (m delta))`
    (print has the exponent 3N - 1 here) and `t = sqrt(n ln(4 / delta) / 2) ln(1 / beta)`."""
    e = _exp(((length - 1) * log(2) + length * log(vocab)) / 2) / sqrt(masks_per_example * delta)
    return e, sqrt(examples * log(4 / delta) / 2) * log_margin


@checked(**SAMPLE, delta=DELTA)
def corollary_gap(
    length: int, vocab: int, log_margin: float, masks_per_example: int, examples: int, delta: float
) -> float:
    """Corollary 4.3.1: with probability `1 - delta`, `|L_hat - L_tilde|` is below
    `(sqrt(2^(3N-1) |Omega|^N / (m delta)) + sqrt(ln(4 / delta) / (2n))) ln(1 / beta)`."""
    masks = _exp(((3 * length - 1) * log(2) + length * log(vocab)) / 2)
    masks /= sqrt(masks_per_example * delta)
    return (masks + sqrt(log(4 / delta) / (2 * examples))) * log_margin


# -- Assumption 4.1.5, Propositions 4.1.4 and 4.1.5, Corollary 4.1.1 -------------------------------


@checked()
def strongly_ferromagnetic(world: CliqueIsing) -> Condition:
    """Assumption 4.1.5: `h_G > sum of |h_i| outside the clique` and `J_0 = J - |h|_1 > 0`."""
    outside = float(abs(world.h[world.clique :]).sum())
    field, slack = world.clique_field, world.slack
    reason = ""
    if field <= outside:
        reason = f"h_G is {field:g}, not more than the fields outside the clique, {outside:g}"
    elif slack <= 0:
        reason = f"J_0 = J - |h|_1 is {slack:g}; it must be positive"
    return Condition(
        "Assumption 4.1.5", not reason, {"h_G": field, "outside": outside, "J_0": slack}, reason
    )


@checked(k=hidden)
def reach_probability(world: CliqueIsing, k: int) -> float:
    """`1 - c_R1` of Proposition 4.1.4: a k-Gibbs step enters R_1 with at least the probability

    `binom(N-c, k-c) / binom(N, k) * e^(2 (J_0 + h_G)) / (e^(2 (J_0 + h_G)) + e^(2 J_0) + 2^c - 2)`.

    The printed exponent of the last terms is garbled in two places.
    """
    return exp(log_reach_probability(world, k))


@checked(k=hidden)
def log_reach_probability(world: CliqueIsing, k: int) -> float:
    """Its logarithm: with hundreds of spins the probability itself may be below a double."""
    N, c = world.length, world.clique
    if k < c:
        raise ValueError(f"k is {k}; the clique of {c} spins needs k in {c}..{N}")
    all_hidden = log(comb(N - c, k - c)) - log(comb(N, k))
    # divided by e^(2 (J_0 + h_G))
    slack, field = world.slack, world.clique_field
    others = [0.0, -2 * field, log(2**c - 2) - 2 * (slack + field)]
    return all_hidden - float(np.logaddexp.reduce(others))


@checked(k=hidden, delta=DELTA)
def reach_steps(world: CliqueIsing, k: int, delta: float) -> int:
    """`T = ceil(ln delta / ln c_R1)`: R_1 was visited by then with probability `1 - delta`.

    Beyond 1e300 steps `ln c_R1 = c_R1 - 1` and T is a whole number of which twelve digits are right.
    """
    log_reach = log_reach_probability(world, k)
    if log_reach < -690:
        bits = (log(-log(delta)) - log_reach) / log(2)
        low = floor(bits) - 52
        return ceil(2.0 ** (bits - low)) * 2**low
    reach = exp(log_reach)
    return 1 if reach >= 1 - delta else ceil(log(delta) / log1p(-reach))


class Stuck(NamedTuple):
    """Proposition 4.1.5: from a clique with sum <= -2 the independent parallel sampler stays there
    for `steps` steps with probability `1 - delta`."""

    rate: float  # c_stuck
    steps: int
    applies: bool  # r = c tanh(J_0) / 2 - 1 > 0, without which Hoeffding's inequality says nothing
    r: float


@checked(delta=DELTA)
def stuck(world: CliqueIsing, delta: float) -> Stuck:
    """`r = c tanh(J_0) / 2 - 1`, `c_stuck = 2 r^2 / c`, `T = floor(delta e^c_stuck / 2)`.

    The condition r > 0, that is `c tanh(J_0) > 2`, is missing in print.
    """
    c = world.clique
    r = c / 2 * tanh(world.slack) - 1
    rate = 2 * r**2 / c
    return Stuck(rate, floor(delta / 2 * exp(min(rate, 700.0))), r > 0, r)


@checked(clique=whole(1, 2**14))
def stuck_at_start(clique: int) -> float:
    """P(sum <= -2) of `clique` uniform spins."""
    middle = comb(clique, clique // 2) / 2**clique
    return (1 - middle) / 2 if clique % 2 == 0 else 1 / 2 - middle


class Separation(NamedTuple):
    """The least sizes under which Corollary 4.1.1 separates 1 step from more than M steps."""

    clique: int
    clique_field: float
    slack: float


@checked(budget=SIZE, delta=DELTA)
def separation(budget: int, delta: float) -> Separation:
    """Assumption 4.1.6: `c >= 8 (1 + ln(4M / delta))`, `h_G >= ln(2 (4 - delta) / delta) / 2`,
    `J_0 >= c ln 2 / 2`."""
    c = ceil(8 * (1 + log(4 * budget / delta)))
    return Separation(c, log(2 * (4 - delta) / delta) / 2, c / 2 * log(2))


def _in_length(name: str, value: Any, given: Given) -> int:
    return whole(1, given["length"])(name, value, given)


@checked(length=whole(1, 2**50), clique=_in_length, delta=DELTA)
def least_k(length: int, clique: int, delta: float) -> int:
    """Assumption 4.1.7: `k >= max(c, N - delta (N + 1) / ((4 - delta) c + delta))`."""
    return max(clique, ceil(length - delta * (length + 1) / ((4 - delta) * clique + delta) - 1e-12))


@checked(C=CONSTANT)
def chi_squared_rate(C: float) -> float:
    """`(1 - 1/C)^2`: what a step leaves of chi-squared; at most `e^(-2/C)`."""
    return (1 - 1 / C) ** 2 if isfinite(C) else 1.0


@checked(C=CONSTANT)
def kl_rate(C: float) -> float:
    """`1 - 1/C_AT`: what a step of block dynamics leaves of KL at most (corrected)."""
    return 1 - 1 / C if isfinite(C) else 1.0


@checked(C=CONSTANT)
def printed_kl_rate(C: float) -> float:
    """`e^(-2 / C_AT)`, as printed after Definition 4.1.9; false."""
    return 1 + expm1(-2 / C) if inf > C else 1.0
