"""Chains built from conditionals and learning the joint law (Sections 4.1.2.2, 4.1.3 and 4.3.4)."""

from collections.abc import Iterator
from dataclasses import replace
from math import comb, inf, isfinite, sqrt

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, xlogy

from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import Ising, Joint, MaskLaw

from ..checks import kind, probabilities, real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import bounds, kernels, mixing
from .rules import CONSTANT, DELTA, LAW, MASKED_LAWS, POSITIVE, SIZE, square
from .rules import masks as mask_law

EXACT = 1e-12
STEPS = 20
ROUNDING = 1e-9  # relative, of a bound
MOST_SAMPLES = 2**22
CLAIMED = real(above=0, infinite=True)  # a constant that may be too small
SAMPLES, RNG = whole(1, 2**16), kind(np.random.Generator)

Law = Float[np.ndarray, " states"]


@checked(P=square)
def rows_are_laws(P: kernels.Kernel) -> Theorem:
    """Entries are not negative, and rows sum to one."""
    return Theorem.identity("rows are laws", kernels.stochastic_error(P), within=EXACT)


@checked(masks=mask_law)
def block_dynamics_are_reversible(joint: Joint, masks: MaskLaw) -> Theorem:
    """Block dynamics (Definitions 4.1.6 and 4.1.8) are reversible for p, with eigenvalues in [0, 1]."""
    P, p = kernels.block_dynamics(joint, masks), joint.probabilities
    values = mixing.eigenvalues(P, p)
    errors = (kernels.reversibility_error(P, p), -values[0], values[-1] - 1)
    return Theorem.identity("Definition 4.1.6", float(np.max(errors)), within=EXACT)


def _decay(name: str, found: np.ndarray, bound: np.ndarray) -> Theorem:
    """A divergence at every step is at most its bound, up to 1e-9 of the bound and 1e-13."""
    slack = float((bound * (1 + ROUNDING) - found).min())
    return Theorem.inequality(name, slack, within=1e-13, cases=len(found))


@checked(masks=mask_law, start=LAW)
def chi_squared_decay(joint: Joint, masks: MaskLaw, start: Law) -> Theorem:
    """`chi2(p_t, p) <= (1 - 1/C)^(2t) chi2(p_0, p) <= e^(-2t/C) chi2(p_0, p)` along block dynamics, C the
    Poincaré constant (remark after Definition 4.1.5)."""
    P, p = kernels.block_dynamics(joint, masks), joint.probabilities
    found = mixing.chi_squared(kernels.evolve(P, start, STEPS), p)
    C, t = mixing.poincare(P, p), np.arange(STEPS + 1)
    sharp = bounds.chi_squared_rate(C) ** t * found[0]
    if not (sharp <= np.exp(-2 * t / C) * found[0] * (1 + EXACT)).all():
        return Theorem.inequality("chi-squared decay", -inf, cases=len(t))
    return _decay("chi-squared decay", found, sharp)


@checked(masks=mask_law, start=LAW, constant=CONSTANT)
def kl_decay(
    joint: Joint, masks: MaskLaw, start: Law, constant: float, *, as_printed: bool = False
) -> Theorem:
    """`KL(p_t || q) <= (1 - 1/C_AT)^t KL(p_0 || q)` along block dynamics; as printed after Definition 4.1.9
    the rate is `e^(-2/C_AT)`."""
    laws = kernels.evolve(kernels.block_dynamics(joint, masks), start, STEPS)
    found = mixing.kl(laws, joint.probabilities)
    rate = bounds.printed_kl_rate(constant) if as_printed else bounds.kl_rate(constant)
    name = "decay of KL as printed" if as_printed else "decay of KL"
    return _decay(name, found, rate ** np.arange(STEPS + 1) * found[0])


@checked(bracket=kind(mixing.Bracket))
def entropy_bracket(bracket: mixing.Bracket) -> Theorem:
    """No law found by ascent is above the certified upper end of the block entropy constant."""
    details = {"lower": bracket.lower, "upper": bracket.upper}
    slack = 0.0 if bracket.upper == bracket.lower else bracket.upper - bracket.lower
    return Theorem.inequality("Definition 4.1.9, bracket", slack, within=0.0, details=details)


@checked(**MASKED_LAWS, constant=CLAIMED)
def definition_4_1_9(r: Law, q: Law, masks: MaskLaw, vocab: int, constant: float) -> Theorem:
    """`KL(r || q) <= C_AT E KL(r(. | x_-K, K) || q(. | x_-K, K))`: Proposition 4.3.1 with the loss in KL."""
    inside = mixing.conditional_kl(r, q, masks, vocab)
    slack = _times(constant, inside) * (1 + ROUNDING) - float(mixing.kl(r, q))
    return Theorem.inequality("Definition 4.1.9", slack, within=0.0)


def _times(constant: float, loss: float) -> float:
    """Their product; an infinite constant bounds nothing, whatever the loss."""
    return inf if constant == inf else constant * loss


def cross_entropy(r: Law, q: Law, masks: MaskLaw, vocab: int) -> float:
    """The masked cross-entropy of q on r: `L_PL` as it is defined."""
    if not (q > 0).all():
        raise ValueError(f"q[{int(np.argmin(q))}] is 0; its logarithm must be finite")
    counts = (r[:, None] * masks.table(len(r))).T
    return float(mpl.loss(np.ones(1), counts, np.log(q)[:, None], masks, vocab))


@checked(**MASKED_LAWS, constant=CLAIMED)
def proposition_4_3_1(r: Law, q: Law, masks: MaskLaw, vocab: int, constant: float) -> Theorem:
    """`KL(r || q) <= C_AT L_PL(q)`, the loss in cross-entropy."""
    bound = _times(constant, cross_entropy(r, q, masks, vocab)) * (1 + ROUNDING)
    slack = bound - float(mixing.kl(r, q))
    return Theorem.inequality("Proposition 4.3.1", slack, within=0.0)


@checked(**MASKED_LAWS)
def proposition_4_3_1_as_printed(r: Law, q: Law, masks: MaskLaw, vocab: int) -> Theorem:
    """The mean conditional KL equals the masked loss, in cross-entropy."""
    error = abs(cross_entropy(r, q, masks, vocab) - mixing.conditional_kl(r, q, masks, vocab))
    return Theorem.identity("Proposition 4.3.1 as printed", error, within=1e-3)


def _constant(law: Joint, masks: MaskLaw) -> float:
    """The certified upper end of the block entropy constant of a law."""
    p = law.probabilities
    C, least = mixing.poincare(kernels.block_dynamics(law, masks), p), float(p[p > 0].min())
    return mixing.entropy_upper(C, least) if least < 1 else 1.0


@checked(
    empirical=probabilities(lambda given: given["learned"].probabilities.shape),
    masks=mask_law,
)
def equation_4_30(learned: Joint, empirical: Law, masks: MaskLaw) -> Theorem:
    """`TV(p_emp, p_hat) <= sqrt(C_AT(p_hat) L_tilde(p_hat) / 2)`, the loss in KL."""
    q = learned.probabilities
    inside = mixing.conditional_kl(empirical, q, masks, learned.vocab)
    found = float(mixing.total_variation(empirical, q))
    bound = sqrt(_times(_constant(learned, masks), inside) / 2)
    details = {"ratio": found / bound if found else 0.0}
    return Theorem.inequality("Equation 4.30", bound - found, within=0.0, details=details)


# -- Theorem 4.1.4 and its lemmas ------------------------------------------------------------------


def _says_something(bound: float, most: float) -> Condition:
    """A bound above the largest value that is possible cannot be violated."""
    reason = "" if bound < most else f"the bound is {bound:.3g}; no value is above {most:.3g}"
    return Condition("the bound can be violated", not reason, {"bound": bound}, reason)


@checked(examples=SIZE, delta=DELTA)
def lemma_4_3_6(joint: Joint, examples: int, delta: float) -> Theorem:
    """`TV(p_emp, p) < sqrt(|Omega|^(3N) / (16 delta n))` with probability `1 - delta`, by summing the
    probabilities of all samples; the slack is delta less the exact probability to be outside."""
    p = joint.probabilities
    cases = comb(examples + len(p) - 1, len(p) - 1)
    if cases > MOST_SAMPLES:
        raise ValueError(f"examples is {examples}; that makes {cases:.3g} samples, too many to sum")
    bound = bounds.empirical_gap(joint.length, joint.vocab, examples, delta)
    condition = _says_something(bound, 1 - float(p[p > 0].min()))
    outside = sum(
        probability
        for counts, probability in _samples(p, examples)
        if mixing.total_variation(counts / examples, p) >= bound - EXACT
    )
    return Theorem.inequality(
        "Lemma 4.3.6",
        delta - outside,
        within=EXACT,
        conditions=(condition,),
        details={"bound": bound, "outside": float(outside)},
    )


def _samples(p: Law, examples: int) -> Iterator[tuple[np.ndarray, float]]:
    """All counts of that many examples, with their probabilities."""

    def counted(states: int, left: int) -> Iterator[tuple[int, ...]]:
        if states == 1:
            yield (left,)
            return
        for first in range(left + 1):
            for rest in counted(states - 1, left - first):
                yield (first, *rest)

    for sample in counted(len(p), examples):
        counts = np.array(sample, float)
        logs = gammaln(examples + 1) - gammaln(counts + 1).sum() + xlogy(counts, p).sum()
        yield counts, float(np.exp(logs))


@checked(length=SIZE, vocab=SIZE, margin=POSITIVE, m=SIZE, n=SIZE, delta=DELTA)
def corollary_4_3_1(
    length: int, vocab: int, margin: float, m: int, n: int, delta: float
) -> Theorem:
    """With `e = sqrt(2^(N-1) |Omega|^N / (m delta))` and `t = sqrt(n ln(4/delta) / 2) ln(1/beta)` Lemma
    4.3.5 states the corollary's bound with probability `1 - delta`, exactly; the error is relative."""
    stated = bounds.corollary_gap(length, vocab, margin, m, n, delta)
    if not isfinite(stated):
        raise ValueError(f"length is {length} and vocab {vocab}; the bound is beyond a double")
    e, t = bounds.corollary_choice(length, vocab, margin, m, n, delta)
    gap, fails = bounds.pointwise_gap(length, vocab, margin, m, n, e, t)
    error = float(np.max([abs(gap / stated - 1), abs(fails / delta - 1)]))
    return Theorem.identity("Corollary 4.3.1", error, within=EXACT)


@checked(
    masks=mask_law,
    n=whole(1, 2**40),
    m=whole(1, 2**40),
    delta=DELTA,
    radius=POSITIVE,
    samples=SAMPLES,
    rng=RNG,
)
def lemma_4_3_5(
    world: Ising,
    masks: MaskLaw,
    n: int,
    m: int,
    *,
    delta: float,
    radius: float,
    samples: int,
    rng: np.random.Generator,
) -> Theorem:
    """`|L_hat - L_tilde| < 2^N e ln(1/beta) + t/n` at the true parameters, except with the probability that
    the lemma states; e and t are those of Corollary 4.3.1. The slack is the share of samples inside less
    the share that is promised."""
    N, T, theta = world.length, world.statistics(), world.parameters()
    margin, _ = bounds.margin_and_cover(N, len(theta), radius, 1.0)
    e, t = bounds.corollary_choice(N, 2, margin, m, n, delta)
    gap, fails = bounds.pointwise_gap(N, 2, margin, m, n, e, t)
    counts = mpl.draw_counts(rng, world.joint(), masks, n, masks_per_example=m, repeats=samples)
    whole = mpl.averaged_counts(counts.sum(axis=1), masks)
    at = np.broadcast_to(theta, (samples, len(theta)))
    apart = np.abs(mpl.loss(at, counts, T, masks, 2) - mpl.loss(at, whole, T, masks, 2))
    return Theorem.inequality(
        "Lemma 4.3.5",
        float((apart < gap).mean() - (1 - fails)),
        within=0.0,
        cases=samples,
        conditions=(_within(theta, radius), _says_something(gap, margin)),
        details={"bound": gap, "largest difference": float(apart.max())},
    )


def _within(theta: np.ndarray, radius: float) -> Condition:
    most = float(np.abs(theta).max())
    reason = "" if most <= radius else f"a parameter is {most:.3g}; the radius is {radius:.3g}"
    return Condition("parameters within the radius", not reason, {"largest": most}, reason)


@checked(
    masks=mask_law,
    sizes=kind(bounds.Sizes),
    radius=POSITIVE,
    samples=SAMPLES,
    rng=RNG,
)
def theorem_4_1_4(
    world: Ising,
    masks: MaskLaw,
    sizes: bounds.Sizes,
    *,
    radius: float,
    samples: int,
    rng: np.random.Generator,
) -> Theorem:
    """`TV(p_hat, p) < sqrt(C_AT (L + B ln(1/beta) + eps) / 2) + sqrt(|Omega|^(3N) / (8 delta n))` with
    probability `1 - delta`, L the masked loss in KL. Fits outside the radius are not counted; the slack is
    the share of the others inside the bound less `1 - delta`."""
    N, T, joint = world.length, world.statistics(), world.joint()
    margin, cover = bounds.margin_and_cover(N, T.shape[1], radius, sizes.epsilon)
    sizes = replace(sizes, log_cover=cover, log_margin=margin)
    counts = mpl.draw_counts(
        rng,
        joint,
        masks,
        sizes.examples,
        masks_per_example=sizes.masks_per_example,
        repeats=samples,
    )
    fits = mpl.fit(counts, T, masks, 2)
    inside, largest, least = 0, 0.0, inf
    fitted = [i for i in range(samples) if fits.converged[i]]
    fitted = [i for i in fitted if np.abs(fits.theta[i]).max() <= radius]
    for i in fitted:
        learned = Ising.from_parameters(fits.theta[i], N).joint()
        q, empirical = learned.probabilities, counts[i].sum(axis=0) / counts[i].sum()
        loss = mixing.conditional_kl(empirical, q, masks, 2)
        bound = bounds.joint_bound(sizes, _constant(learned, masks), loss)
        apart = float(mixing.total_variation(q, joint.probabilities))
        inside += apart < bound
        largest, least = float(np.maximum(largest, apart)), float(np.minimum(least, bound))
    share = inside / len(fitted) if fitted else 0.0
    conditions = (_within(world.parameters(), radius), _says_something(least, 1.0))
    return Theorem.inequality(
        "Theorem 4.1.4",
        share - (1 - sizes.delta),
        within=0.0,
        cases=len(fitted),
        conditions=conditions if fitted else conditions[:1],
        details={"bound": least, "largest distance": largest},
    )


@checked()
def independent_parallel_law(world: Ising) -> Theorem:
    """The independent parallel sampler of an Ising world is reversible for `kernels.parallel_stationary`
    (footnote to Definition 4.1.11, which leaves its law open), and all its moves are possible. `distance`
    is the total variation between this law and the world's own."""
    joint = world.joint()
    P, pi = kernels.independent_parallel(joint), kernels.parallel_stationary(world.h, world.J)
    impossible = float((P <= 0).sum())
    errors = (kernels.reversibility_error(P, pi), np.abs(pi @ P - pi).max(), impossible)
    distance = float(mixing.total_variation(pi, joint.probabilities))
    return Theorem.identity(
        "law of independent parallel",
        float(np.max(errors)),
        within=EXACT,
        details={"distance": distance},
    )
