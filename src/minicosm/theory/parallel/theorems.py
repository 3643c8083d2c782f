"""The chapter's theorems as functions: from a world to conditions, and to both sides exactly.

Each returns a `Relation`: the conditions with their numbers and, where they hold, whether the statement
does and by how much. The two propositions that construct a Transformer return a `Theorem`.
"""

from math import inf, log
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import CliqueIsing, Joint, MaskLaw
from minicosm.worlds.joint.joint import all_sequences, row_marginals

from ..theorem import Certificate, Condition, Relation, Theorem
from . import bounds, hitting, information, kernels, lumped, mixing, transformers

ROUNDING = 1e-9


def theorem_4_1_1(joint: Joint, scores: Float[np.ndarray, "states d"], k: int) -> Relation:
    """With one mask per example, `Gamma^(k+1) <= Gamma^k`: hiding more teaches more.

    By its proof, `I^(k+1) = I^k + E_S E_{a not in S} E[g g^T]` (`information.chain_rule_term`). The slack
    is the least eigenvalue of the difference of covariances, in units in which the larger is one.
    """
    one, two = (
        information.information(joint, scores, MaskLaw.uniform(joint.length, size))
        for size in (k, k + 1)
    )
    known = _identifiable(joint, scores, MaskLaw.uniform(joint.length, k))
    if not known.holds:
        return Relation("Theorem 4.1.1", (known,))
    term = information.chain_rule_term(joint, scores, k)
    error = float(np.abs(two - one - term).max() / max(np.abs(two).max(), 1.0))
    slack = information.whitened_gap(np.linalg.inv(one), np.linalg.inv(two))
    numbers = {
        "error of the identity": error,
        "condition number": known.numbers["condition number"],
        "trace at k": float(np.trace(np.linalg.inv(one))),
        "trace at k + 1": float(np.trace(np.linalg.inv(two))),
    }
    return Relation("Theorem 4.1.1", (known,), error < 1e-12 and slack > -1e-8, slack, numbers)


def theorem_4_1_2(joint: Joint, scores: Float[np.ndarray, "states d"], masks: MaskLaw) -> Relation:
    """`Gamma <= C I^-1`, C the Poincaré constant of block dynamics; with masks that look at the
    sequence this is Theorem 4.1.3. The slack is `1 - lambda_max(I Gamma) / C`."""
    name = "Theorem 4.1.3" if masks.looks else "Theorem 4.1.2"
    C = mixing.poincare(kernels.block_dynamics(joint, masks), joint.probabilities)
    reason = "" if inf > C else "the support falls into parts between which no mask moves"
    conditions = (
        Condition("the chain is connected", inf > C, {"C": C}, reason),
        _identifiable(joint, scores, masks),
    )
    if not all(condition.holds for condition in conditions):
        return Relation(name, conditions)
    gamma = information.asymptotic_covariance(joint, scores, masks)
    worst = information.relative_inefficiency(information.fisher(joint, scores), gamma.matrix)
    slack = 1 - worst / C
    numbers = {"C": C, "lambda_max(I Gamma)": worst, "condition number": gamma.condition}
    return Relation(name, conditions, slack >= -ROUNDING, slack, numbers)


def _identifiable(joint: Joint, scores: np.ndarray, masks: MaskLaw) -> Condition:
    found = information.asymptotic_covariance(joint, scores, masks)
    return Condition(
        "the masked information is invertible",
        found.identifiable,
        {"condition number": found.condition},
        "" if found.identifiable else str(found),
    )


def proposition_4_1_4(world: CliqueIsing, k: int, delta: float = 0.1) -> Relation:
    """From any state a k-Gibbs step with k >= c enters R_1 with probability at least `1 - c_R1`, so
    that R_1 was visited after `ceil(ln delta / ln c_R1)` steps with probability `1 - delta`."""
    conditions = (bounds.strongly_ferromagnetic(world), _covers(world, k))
    if not all(condition.holds for condition in conditions):
        return Relation("Proposition 4.1.4", conditions)
    bound, steps = bounds.reach_probability(world, k), bounds.reach_steps(world, k, delta)
    P, start, target, exact = _reaching(world, k)
    missed = hitting.survival_at(P, target, start, steps)
    slack = exact / bound - 1
    holds = slack >= -1e-12 and missed <= delta * (1 + ROUNDING)
    numbers = {"exact": exact, "bound": bound, "steps": steps, "not visited": missed}
    return Relation("Proposition 4.1.4", conditions, holds, slack, numbers)


def _covers(world: CliqueIsing, k: int) -> Condition:
    reason = "" if k >= world.clique else f"k is {k}, less than the clique's {world.clique} spins"
    return Condition("k >= c", not reason, {"k": k, "c": world.clique}, reason)


def _reaching(world: CliqueIsing, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The k-Gibbs chain, its start with all clique spins -, R_1, and the least chance to enter it."""
    if np.ptp(world.h[: world.clique]) == 0:
        state = world.lumped()
        P = lumped.k_gibbs(state, k)
        target = np.arange(len(P)) == world.clique
        return P, lumped.at(state, 0), target, float(P[:, -1].min())
    joint = world.ising().joint()
    P = kernels.k_gibbs(joint, k)
    start = np.zeros(len(P))
    start[0] = 1
    target = world.mode(1)
    return P, start, target, float(P[:, target].sum(axis=1).min())


def proposition_4_1_5(world: CliqueIsing, delta: float, *, most: int = 10**6) -> Relation:
    """From a start with clique sum <= -2, independent parallel sampling keeps it so for
    `floor(delta e^c_stuck / 2)` steps with probability `1 - delta`, if `c tanh(J_0) > 2` (which print
    leaves out). More than `most` steps are not taken, since rounding adds up."""
    found = bounds.stuck(world, delta)
    reason = "" if found.applies else f"r = c tanh(J_0) / 2 - 1 is {found.r:.3g}; it must be > 0"
    conditions = (
        bounds.strongly_ferromagnetic(world),
        Condition("c tanh(J_0) > 2", found.applies, {"r": found.r}, reason),
    )
    if not all(condition.holds for condition in conditions):
        return Relation("Proposition 4.1.5", conditions)
    stays = _stays(world, min(found.steps, most))
    slack = stays - (1 - delta)
    numbers = {"stays": stays, "steps": found.steps, "c_stuck": found.rate}
    return Relation("Proposition 4.1.5", conditions, slack >= -1e-12, slack, numbers)


def _stays(world: CliqueIsing, steps: int) -> float:
    """The chance that the clique's sum stays <= -2 for so many steps, from the worst start."""
    if np.ptp(world.h[: world.clique]) == 0:
        state = world.lumped()
        low = 2 * np.arange(world.clique + 1) - world.clique <= -2
        worst = lumped.at(state, int(np.flatnonzero(low)[-1]))
        return hitting.survival_at(lumped.independent_parallel(state), ~low, worst, steps)
    joint = world.ising().joint()
    low = (2 * joint.states[:, : world.clique] - 1).sum(axis=1) <= -2
    inside = kernels.independent_parallel(joint)[np.ix_(low, low)]
    return float(np.linalg.matrix_power(inside, steps).sum(axis=1).min())


def corollary_4_1_1(world: CliqueIsing, k: int, budget: int, delta: float) -> Relation:
    """One k-Gibbs step from a clique of sum <= -2 enters R_1, and `budget` independent parallel steps do
    not leave, each with probability `1 - delta / 2`. The clique's fields must be equal."""
    need = bounds.separation(budget, delta)
    least = bounds.least_k(world.length, world.clique, delta)
    short = [
        f"{name} is {value:.6g}; it must be at least {bound:.6g}"
        for name, value, bound in (
            ("c", world.clique, need.clique),
            ("h_G", world.clique_field, need.clique_field),
            ("J_0", world.slack, need.slack),
        )
        if value < bound * (1 - 1e-12)
    ]
    reason = "" if k >= least else f"k is {k}; it must be at least {least}"
    conditions = (
        bounds.strongly_ferromagnetic(world),
        Condition("Assumption 4.1.6", not short, {"J_0": world.slack}, "; ".join(short)),
        Condition("Assumption 4.1.7", not reason, {"k": k, "least": least}, reason),
    )
    if not all(condition.holds for condition in conditions):
        return Relation("Corollary 4.1.1", conditions)
    state, c = world.lumped(), world.clique
    low = 2 * np.arange(c + 1) - c <= -2
    reach = float(lumped.k_gibbs(state, k)[low, c].min())
    worst = lumped.at(state, int(np.flatnonzero(low)[-1]))
    left = hitting.hit_probability(lumped.independent_parallel(state), ~low, worst, budget)
    slack = min(reach - (1 - delta / 2), delta / 2 - left)
    missed, rate = 1 - bounds.reach_probability(world, k), bounds.stuck(world, delta).rate
    steps_of_proof = (
        missed <= delta / 2 + 1e-12
        and rate >= c / 8 - 1
        and c / 8 - 1 >= log(4 * budget / delta) - ROUNDING
    )
    numbers = {"one step enters": reach, "independent steps leave": left, "c_R1": missed}
    holds = bool(slack >= 0 and steps_of_proof)
    return Relation("Corollary 4.1.1", conditions, holds, slack, numbers)


def proposition_4_1_2(image: Int[np.ndarray, "states N"], vocab: int) -> Theorem:
    """Any step `f` of sequences is taken by a one-layer Transformer whose most likely tokens are f."""

    def check() -> Certificate:
        laws = transformers.laws_of(model, image.shape[1])
        wrong = (laws.argmax(axis=2) != image).any(axis=1)
        top = np.sort(laws, axis=2)
        margin = float((top[:, :, -1] - top[:, :, -2]).min()) if vocab > 1 else 1.0
        count = len(image)
        return Certificate(count, True, 0, count, int(wrong.sum()), 0.0, margin)

    model = transformers.deterministic(image, vocab)
    return Theorem("Proposition 4.1.2", (), model, check)


def proposition_4_1_3(P: kernels.Kernel, vocab: int, length: int) -> Theorem:
    """A chain can be taken in parallel iff each of its rows is a product over positions; the
    construction is the Transformer, with probabilities below 1e-26 raised to it."""
    dependence = transformers.row_dependence(P, vocab, length)
    worst = int(dependence.argmax())
    holds = bool(dependence[worst] <= 1e-10)
    reason = (
        ""
        if holds
        else f"the row of {all_sequences(vocab, length)[worst].tolist()} has a total correlation of "
        f"{dependence[worst]:.4g} nats; it must be a product"
    )
    numbers: dict[str, Any] = {"largest total correlation": float(dependence[worst])}
    conditions = (Condition("every row is a product", holds, numbers, reason, worst),)
    if not holds:
        return Theorem("Proposition 4.1.3", conditions)
    model = transformers.product(row_marginals(P, vocab, length))

    def check() -> Certificate:
        error = float(np.abs(transformers.kernel_of(model, length) - P).max())
        return Certificate(len(P), True, 0, len(P), int(error > 1e-12), error, 0.0)

    return Theorem("Proposition 4.1.3", conditions, model, check)
