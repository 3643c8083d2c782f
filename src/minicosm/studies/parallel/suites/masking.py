"""Masked information: Lemma 4.1.2, Theorems 4.1.1 to 4.1.3 and what surrounds them."""

from itertools import combinations, pairwise
from math import comb, inf

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.parallel import information as info
from minicosm.theory.parallel import kernels, mixing, theorems
from minicosm.theory.theorem import Relation
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Joint, MaskLaw
from minicosm.worlds.joint.counterexamples import two_bits, two_islands
from minicosm.worlds.joint.ising import random_ising
from minicosm.worlds.joint.joint import context_sums

from ...common.ledger import Ledger
from .worlds import Worlds, any_masks, random_adaptive, random_worlds


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, (rng, joint, T, theta) in enumerate(random_worlds(config)):
        progress(i, config.worlds, "random worlds")
        _equality(ledger, rng, joint, T, theta, i)
        _convex(ledger, np.random.default_rng([config.seed, i, 1]), joint, T)
        _more_is_better(ledger, joint, T, i)
        _poincare(ledger, rng, joint, T, i)
        _adaptive(ledger, rng, joint, T, theta)
    _tables(ledger)
    _independent(ledger)
    _averaged(ledger, config)
    _two_bits(ledger)
    _islands(ledger)
    return ledger.result()


def _equality(ledger: Ledger, rng, joint: Joint, T, theta, i: int) -> None:
    """Lemmas 4.1.2 and 4.3.3: the Hessian by differences of the population loss."""
    masks = any_masks(rng, joint, i)
    counts = mpl.averaged_counts(joint.probabilities, masks)
    wanted = info.information(joint, T, masks)
    found = _hessian(lambda at: float(mpl.loss(at, counts, T, masks, joint.vocab)), theta)
    mean = sum(w @ s for w, s in info.masked_scores(joint, T, masks))
    name = "adaptive" if masks.looks else "fixed"
    ledger.add(f"equality-{name}", error=float(np.abs(found - wanted).max()))
    ledger.add(f"mean-score-{name}", error=float(np.abs(mean).max()))
    # As printed, Fisher's matrix is the covariance of the gradient of p in place of log p.
    p = joint.probabilities
    gradient = p[:, None] * (T - p @ T)
    centred = gradient - p @ gradient
    printed = centred.T @ (p[:, None] * centred)
    ledger.add("fisher-printed", error=float(np.abs(printed - info.fisher(joint, T)).max()))


def _convex(ledger: Ledger, rng, joint: Joint, T) -> None:
    """Proposition 4.3.6 by its definition: on random segments the loss of the middle is at most the
    mean of the ends, for all four kinds of masks."""
    for kind in range(4):
        masks = any_masks(rng, joint, kind)
        counts = mpl.averaged_counts(joint.probabilities, masks)
        for size in (0.1, 1.0, 5.0):
            middle, half = rng.normal(size=(2, T.shape[1]))
            ends = [
                float(mpl.loss(middle + sign * size * half, counts, T, masks, joint.vocab))
                for sign in (-1, 0, 1)
            ]
            bend = ends[0] + ends[2] - 2 * ends[1]
            ledger.add("convex", holds=bend >= -1e-12 * max(1.0, *ends), bend=bend)


def _hessian(value, theta) -> np.ndarray:
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


def _more_is_better(ledger: Ledger, joint: Joint, T, i: int) -> None:
    """Theorem 4.1.1 by its identity, and the order of informations and covariances."""
    N = joint.length
    infos = [info.information(joint, T, MaskLaw.uniform(N, k)) for k in range(1, N + 1)]
    for k in range(1, N):
        gained = info.least_eigenvalue(infos[k] - infos[k - 1])
        ledger.add("order", holds=gained > -info.PSD)
        found = theorems.theorem_4_1_1(joint, T, k)
        if found.applies:
            ledger.add("chain-rule", error=found.numbers["error of the identity"])
            if found.numbers["condition number"] < 1e8:
                ledger.add("covariances", gap=found.slack)
    rank = int(np.linalg.matrix_rank(infos[-1] - infos[-2], tol=1e-9))
    ledger.add(
        "strict",
        rank=rank,
        bound=N * (joint.vocab - 1),
        parameters=T.shape[1],
        holds=rank <= N * (joint.vocab - 1),
        strict=rank == T.shape[1],
    )
    rates = np.linspace(0.1, 1, 10)
    bernoulli = [info.information(joint, T, MaskLaw.bernoulli(N, r)) for r in rates]
    least = min(info.least_eigenvalue(b - a) for a, b in pairwise(bernoulli))
    ledger.add("nested", holds=least > -info.PSD, least=least)
    # Any coupling K within K': every block gets one position more, whichever it is.
    rng = np.random.default_rng(i)
    small = MaskLaw.uniform(N, 1)
    grown = small.masks | np.eye(N, dtype=bool)[rng.integers(N, size=len(small.masks))]
    difference = info.information(joint, T, MaskLaw(grown, small.weights)) - infos[0]
    ledger.add("nested", holds=info.least_eigenvalue(difference) > -info.PSD, least=0.0)


def _poincare(ledger: Ledger, rng, joint: Joint, T, i: int) -> None:
    """Theorem 4.1.2, its sharpness, and how the constant falls with k."""
    N, p = joint.length, joint.probabilities
    first = mixing.poincare(kernels.k_gibbs(joint, 1), p)
    full = i % 3 < 2  # Ising: all fields and pair couplings
    for k in range(1, N + 1):
        found = theorems.theorem_4_1_2(joint, T, MaskLaw.uniform(N, k))
        if not _judged(ledger, found):
            continue
        C = found.numbers["C"]
        if full and N - k <= 2:
            ledger.add("sharp", error=abs(found.slack))
        ledger.add("constant-falls", holds=bool(first / k * (1 + 1e-9) >= C))
    _judged(ledger, theorems.theorem_4_1_2(joint, T, any_masks(rng, joint, 2)))


def _judged(ledger: Ledger, found: Relation, name: str = "poincare") -> bool:
    """Note a theorem where it applies and the information is far from singular."""
    if not found.applies or found.numbers["condition number"] >= 1e8:
        return False
    ledger.add(name, holds=bool(found.holds), ratio=1 - found.slack)
    return True


def _adaptive(ledger: Ledger, rng, joint: Joint, T, theta) -> None:
    """Proposition 4.1.1 and Theorem 4.1.3 on functions of x; what the chain on pairs does."""
    masks = random_adaptive(rng, joint)
    p = joint.probabilities
    P = kernels.block_dynamics(joint, masks)
    f, g = rng.normal(size=(2, len(p)))
    error = mixing.dirichlet(P, p, f, g) - mixing.conditional_covariance(joint, masks, f, g)
    ledger.add("dirichlet", error=abs(error))
    _judged(ledger, theorems.theorem_4_1_2(joint, T, masks), "adaptive")
    if len(masks.masks) > 1:
        pairs, law = kernels.pair_chain(joint, masks)
        ledger.add("pairs", parts=mixing.parts(pairs, law), constant=mixing.poincare(pairs, law))
    counts = mpl.averaged_counts(p, masks)
    right, _ = mpl.derivatives(theta, counts, T, masks, joint.vocab)
    wrong, _ = mpl.derivatives(theta, counts, T, masks, joint.vocab, mask_is_evidence=False)
    ledger.add("evidence", right=float(np.abs(right).max()), wrong=float(np.abs(wrong).max()))


def _tables(ledger: Ledger) -> None:
    """The two worlds of Figures 4.1 and 4.2: four spins in a clique without fields."""
    for J in (0.05, 0.3):
        world = CliqueIsing(4, 4, J, 0.0).ising()
        joint, T = world.joint(), world.statistics()
        I = info.fisher(joint, T)  # noqa: E741
        for k in range(1, 5):
            masks = MaskLaw.uniform(4, k)
            one = info.asymptotic_covariance(joint, T, masks)
            whole = info.asymptotic_covariance(joint, T, masks, inf)
            spread = np.sqrt(2 * np.trace(one.matrix @ one.matrix))
            ledger.add(
                f"table {J:g}",
                k=k,
                trace=one.trace,
                fields=float(np.trace(one.matrix[:4, :4])),
                couplings=float(np.trace(one.matrix[4:, 4:])),
                spread=float(spread),
                constant=mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities),
                worst=info.relative_inefficiency(I, one.matrix),
                averaged=whole.trace,
                aligned=float(joint.probabilities[[0, -1]].sum()),
            )


def _independent(ledger: Ledger) -> None:
    """J = 0: the information of a field is k / N, of a coupling 1 - binom(N-2, k) / binom(N, k)."""
    for N in (3, 4, 5):
        world = random_ising(np.random.default_rng(0), N, field=0, coupling=0)
        joint, T = world.joint(), world.statistics()
        for k in range(1, N + 1):
            pair = 1 - comb(N - 2, k) / comb(N, k)
            wanted = np.diag([k / N] * N + [pair] * comb(N, 2))
            found = info.information(joint, T, MaskLaw.uniform(N, k))
            ledger.add("independent", error=float(np.abs(found - wanted).max()))


def _averaged(ledger: Ledger, config: Worlds) -> None:
    """With all masks averaged: the maximum likelihood estimate, and no order."""
    rng = np.random.default_rng(config.seed)
    for J in (0.05, 0.3):
        joint, T = (w := CliqueIsing(4, 4, J, 0.0).ising()).joint(), w.statistics()
        counts = rng.multinomial(1000, joint.probabilities, size=4).astype(np.float64)
        fits = []
        for k in (2, 3, 4):
            masks = MaskLaw.uniform(4, k)
            fits.append(mpl.fit(mpl.averaged_counts(counts, masks), T, masks, 2).theta)
        for found in fits[:-1]:
            ledger.add("averaged-mle", error=float(np.abs(found - fits[-1]).max()))
    world = CliqueIsing(5, 5, 0.9, 1.7).ising()
    joint, T = world.joint(), world.statistics()
    one, two = (info.asymptotic_covariance(joint, T, MaskLaw.uniform(5, k), inf) for k in (1, 2))
    ledger.add(
        "averaged-order",
        gap=info.whitened_gap(one.matrix, two.matrix),
        condition=max(one.condition, two.condition),
    )


def _two_bits(ledger: Ledger) -> None:
    """Lemma 4.3.1's law, by its definition and by the package's routines."""
    joint, masks = two_bits()
    p, table = joint.probabilities, masks.weights
    zero, one = masks.masks

    def law(hidden, weights, state):
        """P[x_hidden = x's | the rest] under weights over states."""
        return float(weights[state] / context_sums(weights, hidden, 2)[state])

    given0, given1 = p * table[:, 0], p * table[:, 1]
    ledger.add(
        "two-bits",
        printed_with=law(one, given0, 0),  # x_1 given x_0 = 0 and mask {0}: the visible coordinate
        printed_without=law(one, p, 0),
        masked0_with=law(zero, given0, 0),  # x_0 given x_1 = 0 and mask {0}
        masked0_without=law(zero, p, 0),
        masked1_with=law(one, given1, 0),
        masked1_without=law(one, p, 0),
    )
    weight0 = context_sums(given0, zero, 2)[0] / context_sums(p, zero, 2)[0]
    other = law(zero, given1, 0)  # x_0 given x_1 = 0 and mask {1}
    averaged = weight0 * law(zero, given0, 0) + (1 - weight0) * other
    ledger.add("two-bits-average", weight=float(weight0), other=other, averaged=float(averaged))
    # Lemma 4.3.2 at every state, position and mask of random worlds
    for seed in range(8):
        rng = np.random.default_rng(seed)
        world = random_ising(rng, 3).joint()
        law_ = random_adaptive(rng, world)
        q = world.probabilities
        for size in (1, 2):
            for K in combinations(range(3), size):
                hidden = np.isin(np.arange(3), K)
                direct = q / context_sums(q, hidden, 2)
                mixed = np.zeros_like(q)
                for m in range(len(law_.masks)):
                    w = q * law_.weights[:, m]
                    context = context_sums(w, hidden, 2)
                    mixed += context / context_sums(q, hidden, 2) * (w / context)
                ledger.add("mixture", error=float(np.abs(mixed - direct).max()))


def _islands(ledger: Ledger) -> None:
    """Two states that differ in both bits: nothing is identifiable from one hidden bit."""
    for t in (0.3, 0.5, 0.99):
        joint = two_islands(t)
        score = np.array([[-1 / (1 - t)], [0], [0], [1 / t]])
        for k in (1, 2):
            masks = MaskLaw.uniform(2, k)
            found = info.information(joint, score, masks)[0, 0]
            gamma = info.asymptotic_covariance(joint, score, masks)
            C = mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities)
            bracket = mixing.entropy_constant(joint, masks, starts=2, steps=5)
            wanted = 0.0 if k == 1 else 1 / (t * (1 - t))
            ledger.add(
                f"islands-{k}",
                error=abs(found - wanted),
                constant=C,
                entropy=bracket.lower,
                trace=gamma.trace,
                said="not identifiable" in str(gamma),
            )
