"""Masked information: Lemma 4.1.2, Theorems 4.1.1 to 4.1.3 and what surrounds them."""

from itertools import combinations, pairwise
from math import inf

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import parallel as theory
from minicosm.theory.parallel import information as info
from minicosm.theory.parallel import kernels, mixing
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import two_bits

from ..trials import COUPLINGS, MaskedWorlds
from .worlds import any_masks, key_of, random_adaptive, random_cover, random_worlds


def run(config: MaskedWorlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, (rng, joint, T, theta) in enumerate(random_worlds(config)):
        progress(i, config.worlds, "random worlds")
        masks = any_masks(rng, joint, i)
        ledger.add(theory.lemma_4_1_2(joint, T, theta, masks))
        ledger.add(theory.zero_mean_score(joint, T, masks))
        _convex(ledger, np.random.default_rng([config.seed, i, 1]), joint, T)
        _more_is_better(ledger, joint, T)
        _poincare(ledger, rng, joint, T)
        _adaptive(ledger, rng, joint, T, theta)
    _larger(ledger, config)
    _four_spins(ledger)
    _two_bits(ledger, config)
    return ledger.result()


def _convex(ledger: Ledger, rng: np.random.Generator, joint: Joint, T: np.ndarray) -> None:
    """Random segments of three sizes, for all four kinds of masks."""
    for kind in range(4):
        masks = any_masks(rng, joint, kind)
        for size in (0.1, 1.0, 5.0):
            middle, half = rng.normal(size=(2, T.shape[1]))
            ledger.add(theory.proposition_4_3_6(joint, T, masks, middle, size * half))


def _more_is_better(ledger: Ledger, joint: Joint, T: np.ndarray) -> None:
    """Theorem 4.1.1 by its identity, and the order of informations and covariances."""
    for k in range(1, joint.length):
        less, more = (MaskLaw.uniform(joint.length, size) for size in (k, k + 1))
        ledger.add(theory.theorem_4_1_1(joint, T, k))
        ledger.add(theory.chain_rule(joint, T, k))
        ledger.add(
            theory.information_grows(joint, T, less, more), "Theorem 4.1.1, order of informations"
        )


def _poincare(ledger: Ledger, rng: np.random.Generator, joint: Joint, T: np.ndarray) -> None:
    """Theorem 4.1.2, and how the constant falls with k."""
    for k in range(1, joint.length + 1):
        ledger.add(theory.theorem_4_1_2(joint, T, MaskLaw.uniform(joint.length, k)))
        ledger.add(theory.poincare_improves(joint, k))
    ledger.add(theory.theorem_4_1_2(joint, T, random_cover(rng, joint.length)))


def _adaptive(
    ledger: Ledger, rng: np.random.Generator, joint: Joint, T: np.ndarray, theta: np.ndarray
) -> None:
    """Proposition 4.1.1 and Theorem 4.1.3 on functions of x; what the chain on pairs does."""
    masks = random_adaptive(rng, joint)
    f, g = rng.normal(size=(2, len(joint.probabilities)))
    ledger.add(theory.proposition_4_1_1(joint, masks, f, g))
    ledger.add(theory.theorem_4_1_2(joint, T, masks))
    ledger.add(theory.equation_4_26_as_printed(joint, masks))
    included, left_out = theory.mask_as_evidence(joint, T, theta, masks)
    ledger.measure("mask as evidence", included=included, left_out=left_out)


def _larger(ledger: Ledger, config: MaskedWorlds) -> None:
    """Theorem 4.1.1 in sparse random graphs of three neighbours on average."""
    for N in config.lengths:
        rng = np.random.default_rng([config.seed, N])
        J = np.triu(rng.normal(size=(N, N)) * 0.5, 1) * (rng.random((N, N)) < 3 / (N - 1))
        joint = Ising(rng.normal(size=N) * 0.3, J + J.T).joint()
        edges = np.argwhere(np.triu(J, 1) != 0)
        x = 2.0 * joint.states - 1
        T = np.hstack([x, x[:, edges[:, 0]] * x[:, edges[:, 1]]])
        covariances = {
            k: info.asymptotic_covariance(joint, T, MaskLaw.uniform(N, k)) for k in (1, 2, 3, N)
        }
        for k, more in pairwise(covariances):
            falls = theory.covariance_falls(covariances[k], covariances[more])
            ledger.add(falls, "Theorem 4.1.1, larger graphs")
            less_masked, more_masked = (MaskLaw.uniform(N, size) for size in (k, more))
            grows = theory.information_grows(joint, T, less_masked, more_masked)
            ledger.add(grows, "order of informations, larger graphs")
        for k, covariance in covariances.items():
            ledger.measure("larger graphs", N=N, k=k, trace=covariance.trace)


def _four_spins(ledger: Ledger) -> None:
    """The two worlds of Figures 4.1 and 4.2: four spins in a clique without fields."""
    for J in COUPLINGS.values():
        world = CliqueIsing(4, 4, J, 0.0).ising()
        joint, T = world.joint(), world.statistics()
        for k in range(1, 5):
            masks = MaskLaw.uniform(4, k)
            one = info.asymptotic_covariance(joint, T, masks)
            ledger.measure(
                "four spins",
                J=J,
                k=k,
                trace=one.trace,
                averaged=info.asymptotic_covariance(joint, T, masks, inf).trace,
                constant=mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities),
                inefficiency=info.relative_inefficiency(info.fisher(joint, T), one.matrix),
            )


def _two_bits(ledger: Ledger, config: MaskedWorlds) -> None:
    """Lemmas 4.3.1 and 4.3.2 in their own world, the latter in random ones too."""
    ledger.add(theory.lemma_4_3_1())
    ledger.add(theory.lemma_4_3_1_as_printed())
    ledger.add(theory.lemma_4_3_2(*two_bits(), np.array([True, False])))
    for seed in range(8):
        joint = random_ising(key_of(config, 43, seed), 3).joint()
        masks = random_adaptive(np.random.default_rng([config.seed, seed]), joint)
        for size in (1, 2):
            for K in combinations(range(3), size):
                ledger.add(theory.lemma_4_3_2(joint, masks, np.isin(np.arange(3), K)))
