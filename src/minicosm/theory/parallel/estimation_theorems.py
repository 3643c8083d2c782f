"""What masked examples teach (Sections 4.1.2 and 4.3.1 to 4.3.3), as functions of a world."""

from collections.abc import Callable
from math import inf

import numpy as np
from jaxtyping import Bool, Float

from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.joint.counterexamples import two_bits
from minicosm.worlds.joint.joint import context_sums

from ..checks import kind
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import information, kernels, mixing
from .rules import FUNCTION, MASK, SCORES, parameters, positions
from .rules import hidden as k_hidden
from .rules import masks as mask_law

WELL_CONDITIONED = 1e8
"""Where the information's condition number is larger, rounding decides the order of covariances."""

Statistics = Float[np.ndarray, "states d"]


@checked(found=kind(information.Covariance))
def identifiable(found: information.Covariance) -> Condition:
    """The masked information is invertible, and well enough conditioned for double precision."""
    reason = ""
    if not found.identifiable:
        reason = str(found)
    elif found.condition >= WELL_CONDITIONED:
        reason = f"the condition number is {found.condition:.3g}; it must be below 1e8"
    numbers = {"condition number": found.condition}
    return Condition("the masked information is invertible", not reason, numbers, reason)


def _connected(joint: Joint, masks: MaskLaw) -> Condition:
    C = mixing.poincare(kernels.block_dynamics(joint, masks), joint.probabilities)
    reason = "" if inf > C else "the support falls into parts between which no mask moves"
    return Condition("the chain is connected", inf > C, {"C": C}, reason)


@checked(statistics=SCORES, theta=parameters("statistics"), masks=mask_law)
def lemma_4_1_2(
    joint: Joint, statistics: Statistics, theta: Float[np.ndarray, " d"], masks: MaskLaw
) -> Theorem:
    """At the truth the Hessian of the masked loss is the covariance of the masked score; with masks that
    look at the sequence this is Lemma 4.3.3. The Hessian is found by differences of the loss."""
    counts = mpl.averaged_counts(joint.probabilities, masks)

    def loss(at: np.ndarray) -> float:
        return float(mpl.loss(at, counts, statistics, masks, joint.vocab))

    error = np.abs(_hessian(loss, theta) - information.information(joint, statistics, masks)).max()
    return Theorem.identity(_equality(masks), float(error), within=1e-6)


@checked(statistics=SCORES, masks=mask_law)
def zero_mean_score(joint: Joint, statistics: Statistics, masks: MaskLaw) -> Theorem:
    """The masked score has mean zero: the other half of Lemmas 4.1.2 and 4.3.3."""
    mean = sum(w @ s for w, s in information.masked_scores(joint, statistics, masks))
    error = float(np.abs(mean).max())
    return Theorem.identity(f"{_equality(masks)}, mean score", error, within=1e-12)


def _equality(masks: MaskLaw) -> str:
    return "Lemma 4.3.3" if masks.looks else "Lemma 4.1.2"


def _hessian(value: Callable[[np.ndarray], float], theta: np.ndarray) -> np.ndarray:
    """Second differences at steps h and 2h, extrapolated: an error of h^4."""
    d = len(theta)
    corners = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
    estimates = []
    for h in (2e-3, 4e-3):
        unit = h * np.eye(d)
        found = np.zeros((d, d))
        for a in range(d):
            for b in range(a, d):
                total = sum(c * value(theta + s * unit[a] + t * unit[b]) for s, t, c in corners)
                found[a, b] = found[b, a] = total / (4 * h * h)
        estimates.append(found)
    return (4 * estimates[0] - estimates[1]) / 3


@checked(
    scores=SCORES,
    k=k_hidden,
    more=positions("joint"),
)
def theorem_4_1_1(joint: Joint, scores: Statistics, k: int, more: int | None = None) -> Theorem:
    """With one mask per example, `Gamma^(k+1) <= Gamma^k`: hiding more teaches more. With `more` positions
    in place of k + 1 it is the theorem applied several times."""
    first, second = (
        information.asymptotic_covariance(joint, scores, MaskLaw.uniform(joint.length, size))
        for size in (k, k + 1 if more is None else more)
    )
    return covariance_falls(first, second)


@checked(first=kind(information.Covariance), second=kind(information.Covariance))
def covariance_falls(first: information.Covariance, second: information.Covariance) -> Theorem:
    """What Theorem 4.1.1 says of two covariances: the second is at most the first. The slack is the least
    eigenvalue of their difference, in units in which the first is one."""
    known = identifiable(first)
    if not known.holds:
        return Theorem("Theorem 4.1.1", (known,))
    gap = information.whitened_gap(first.matrix, second.matrix) if second.identifiable else -inf
    return Theorem.inequality(
        "Theorem 4.1.1",
        gap,
        within=1e-8,
        conditions=(known,),
        details={
            "condition number": first.condition,
            "trace before": first.trace,
            "trace after": second.trace,
        },
    )


@checked(scores=SCORES, k=k_hidden)
def chain_rule(joint: Joint, scores: Statistics, k: int) -> Theorem:
    """`I^(k+1) = I^k + E_S E_{a not in S} E[g g^T]`, by which Theorem 4.1.1 is proved
    (`information.chain_rule_term`); the error is relative to the largest entry, if that is above 1."""
    one, two = (
        information.information(joint, scores, MaskLaw.uniform(joint.length, size))
        for size in (k, k + 1)
    )
    term = information.chain_rule_term(joint, scores, k)
    error = float(np.abs(two - one - term).max() / max(np.abs(two).max(), 1.0))
    return Theorem.identity("Theorem 4.1.1, chain rule", error, within=1e-12)


@checked(scores=SCORES, less=mask_law, more=mask_law)
def information_grows(joint: Joint, scores: Statistics, less: MaskLaw, more: MaskLaw) -> Theorem:
    """`I_more - I_less` is positive semidefinite, if masks can be drawn together so that `more` hides
    whatever `less` does. The slack is the least eigenvalue, relative to the largest."""
    first, second = (information.information(joint, scores, masks) for masks in (less, more))
    slack = information.least_eigenvalue(second - first)
    return Theorem.inequality("order of informations", slack, within=information.PSD)


@checked(
    statistics=SCORES,
    masks=mask_law,
    middle=parameters("statistics"),
    half=parameters("statistics"),
)
def proposition_4_3_6(
    joint: Joint,
    statistics: Statistics,
    masks: MaskLaw,
    middle: Float[np.ndarray, " d"],
    half: Float[np.ndarray, " d"],
) -> Theorem:
    """The masked loss of an exponential family is convex: here on the segment `middle ± half`. The slack
    is the sum at the ends less twice the loss in the middle, relative to the largest, if above 1."""
    counts = mpl.averaged_counts(joint.probabilities, masks)
    low, at, high = (
        float(mpl.loss(middle + sign * half, counts, statistics, masks, joint.vocab))
        for sign in (-1, 0, 1)
    )
    slack = (low + high - 2 * at) / max(1.0, low, at, high)
    return Theorem.inequality("Proposition 4.3.6", slack, within=1e-12)


@checked(scores=SCORES, masks=mask_law)
def theorem_4_1_2(joint: Joint, scores: Statistics, masks: MaskLaw) -> Theorem:
    """`Gamma <= C I^-1`, C the Poincaré constant of block dynamics; with masks that look at the
    sequence this is Theorem 4.1.3. The slack is `1 - lambda_max(I Gamma) / C`."""
    name = "Theorem 4.1.3" if masks.looks else "Theorem 4.1.2"
    gamma = information.asymptotic_covariance(joint, scores, masks)
    conditions = (_connected(joint, masks), identifiable(gamma))
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    C = conditions[0].numbers["C"]
    worst = information.relative_inefficiency(information.fisher(joint, scores), gamma.matrix)
    details = {"C": C, "lambda_max(I Gamma)": worst, "condition number": gamma.condition}
    return Theorem.inequality(name, 1 - worst / C, conditions=conditions, details=details)


@checked(k=k_hidden)
def poincare_improves(joint: Joint, k: int) -> Theorem:
    """`C_k <= C_1 / k` for the k-Gibbs sampler (remark after Definition 4.1.10, from Lee 2023). The slack
    is `C_1 / (k C_k) - 1`."""
    conditions = tuple(
        _connected(joint, MaskLaw.uniform(joint.length, size)) for size in dict.fromkeys((1, k))
    )
    first, last = conditions[0].numbers["C"], conditions[-1].numbers["C"]
    return Theorem.inequality("C_k <= C_1 / k", first / k / last - 1, conditions=conditions)


@checked(masks=mask_law, f=FUNCTION, g=FUNCTION)
def proposition_4_1_1(
    joint: Joint,
    masks: MaskLaw,
    f: Float[np.ndarray, " states"],
    g: Float[np.ndarray, " states"],
) -> Theorem:
    """`E(f, g) = E_{x,K} Cov(f, g | x_-K, K)` for functions of x, E being the Dirichlet form of adaptive
    block dynamics, seen on x."""
    P = kernels.block_dynamics(joint, masks)
    form = mixing.dirichlet(P, joint.probabilities, f, g)
    error = abs(form - mixing.conditional_covariance(joint, masks, f, g))
    return Theorem.identity("Proposition 4.1.1", error, within=1e-10)


@checked(masks=mask_law)
def equation_4_26_as_printed(joint: Joint, masks: MaskLaw) -> Theorem:
    """The adaptive chain on pairs (x, K) has a unique law: its support is one part. The error is the
    number of further parts; the Poincaré constant is infinite if there is one."""
    several = len(masks.masks) > 1
    condition = Condition("there are several masks", several, {"masks": len(masks.masks)})
    P, law = kernels.pair_chain(joint, masks)
    parts = mixing.parts(P, law)
    return Theorem.identity(
        "Equation 4.26 as printed",
        float(parts - 1),
        within=0.0,
        conditions=(condition,),
        details={"parts": parts, "constant": mixing.poincare(P, law)},
    )


def _law(hidden: np.ndarray, weights: np.ndarray) -> float:
    """`P(x_hidden = 0 | the rest is 0)` of two bits under weights over their states."""
    return float(weights[0] / context_sums(weights, hidden, 2)[0])


FRACTIONS = {
    "x_0 given x_1, mask {0}": 6 / 7,
    "x_0 given x_1": 3 / 4,
    "x_1 given x_0, mask {1}": 9 / 17,
    "x_1 given x_0": 3 / 5,
}


def two_bit_laws() -> dict[str, float]:
    """Probabilities of 0 given 0 in the world of Lemma 4.3.1, with and without the mask as evidence."""
    joint, masks = two_bits()
    p, (zero, one) = joint.probabilities, masks.masks
    first, second = (p * masks.weights[:, m] for m in (0, 1))
    return {
        "x_0 given x_1, mask {0}": _law(zero, first),
        "x_0 given x_1, mask {1}": _law(zero, second),
        "x_0 given x_1": _law(zero, p),
        "x_1 given x_0, mask {0}": _law(one, first),
        "x_1 given x_0, mask {1}": _law(one, second),
        "x_1 given x_0": _law(one, p),
        "mask {0} given x_1": float(context_sums(first, zero, 2)[0] / context_sums(p, zero, 2)[0]),
    }


def lemma_4_3_1() -> Theorem:
    """Which positions are hidden is evidence: in the lemma's world the law of a hidden bit is 6/7 and 9/17
    with the mask, and 3/4 and 3/5 without it."""
    found = two_bit_laws()
    error = np.max([abs(found[name] - value) for name, value in FRACTIONS.items()])
    return Theorem.identity(
        "Lemma 4.3.1", float(error), within=1e-12, cases=len(FRACTIONS), details=found
    )


def lemma_4_3_1_as_printed() -> Theorem:
    """The proof's 9/13 is the law of the bit that the mask {0} hides."""
    found = two_bit_laws()
    error = abs(found["x_0 given x_1, mask {0}"] - 9 / 13)
    details = {
        "law of the hidden bit": found["x_0 given x_1, mask {0}"],
        "law of the visible bit": found["x_1 given x_0, mask {0}"],
    }
    return Theorem.identity("Lemma 4.3.1 as printed", error, within=1e-12, details=details)


@checked(masks=mask_law, hidden=MASK)
def lemma_4_3_2(joint: Joint, masks: MaskLaw, hidden: Bool[np.ndarray, " N"]) -> Theorem:
    """`p(x_K | x_-K)` is the mean of `p(x_K | x_-K, K')` over `K' ~ P(. | x_-K)`, for every x of positive
    probability; `hidden` is K."""
    p, possible = joint.probabilities, joint.probabilities > 0
    total = context_sums(p, hidden, joint.vocab)
    mixed = np.zeros_like(p)
    for _, law in masks.items(len(p)):
        weights = p * law
        context = context_sums(weights, hidden, joint.vocab)
        seen = context > 0
        share = np.where(seen, context, 0) / np.where(total > 0, total, 1)
        mixed += share * np.where(seen, weights / np.where(seen, context, 1), 0)
    error = np.abs(mixed - p / np.where(total > 0, total, 1))[possible].max()
    return Theorem.identity("Lemma 4.3.2", float(error), within=1e-12, cases=int(possible.sum()))


@checked(statistics=SCORES, theta=parameters("statistics"), masks=mask_law)
def mask_as_evidence(
    joint: Joint, statistics: Statistics, theta: Float[np.ndarray, " d"], masks: MaskLaw
) -> tuple[float, float]:
    """Remark 4.1.3: the largest entry of the population gradient at the truth if the model's conditional
    includes `P(K | x)`, and if it does not."""
    counts = mpl.averaged_counts(joint.probabilities, masks)
    with_it, without = (
        mpl.derivatives(theta, counts, statistics, masks, joint.vocab, mask_is_evidence=included)[0]
        for included in (True, False)
    )
    return float(np.abs(with_it).max()), float(np.abs(without).max())
