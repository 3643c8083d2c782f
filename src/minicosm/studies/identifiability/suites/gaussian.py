"""Gaussian emissions: Theorems 5, 8 and 9, Lemmas 7 and 8, and gaps."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import identifiability as theory
from minicosm.worlds import GaussianHMM, gaussian_world, predictor

from ..trials import Worlds
from .worlds import gaussian_worlds, key_of

SIZES = ((2, 2), (3, 3), (5, 3), (6, 4))
FAMILY = 20  # worlds of every family of Theorem 8, if there are as many
FREE, TIGHT = 0.9, 1.1  # largest entry of T in shares of 2 / k, for orthonormal means


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, world in gaussian_worlds(config, 30, SIZES):
        progress(i, config.worlds, "unit means")
        M = np.asarray(world.M)
        ledger.add(theory.theorem_5(world), d=world.dimension, k=world.hidden)
        ledger.add(theory.lemma_7(M))
        ledger.add(theory.theorem_9(world))
        rng = np.random.default_rng([config.seed, i, 30])
        if M.shape[0] > M.shape[1]:
            ledger.add(theory.lemma_7_as_printed(M, theory.turned_means(M, rng.uniform(0.5, 2.5))))
        ledger.add(theory.lemma_8_permutation(M, rng.permutation(M.shape[1])))
        d, k = SIZES[i % len(SIZES)]
        other = gaussian_world(key_of(config, 31, i), hidden=k, dimension=d)
        ledger.add(theory.lemma_8(M, np.asarray(other.M)))
        ledger.add(theory.gaussian_gap(world, 2 + i % 2))
    for i, world in gaussian_worlds(config, 32, SIZES, unit=False):
        progress(i, config.worlds, "any means")
        ledger.add(theory.theorem_5(world, any_norms=True), d=world.dimension, k=world.hidden)
    _printed_mean(ledger)
    for gap in range(2, 9):
        pair = theory.gaussian_gap_pair(gap)
        statement = theory.not_identified("Twins across a gap", *pair, f"x{gap + 1}|x1", 0.1)
        ledger.add(statement, gap=gap)
    _theorem_8(ledger, config, progress)
    return ledger.result()


def _printed_mean(ledger: Ledger) -> None:
    """Lemma 7 as printed, with rational entries."""
    M = np.array([[3 / 5, 3 / 5], [4 / 5, -4 / 5], [0, 0]])
    other = np.array([[9 / 25, 9 / 25], [4 / 5, -4 / 5], [12 / 25, 12 / 25]])
    ledger.add(theory.lemma_7_as_printed(M, other))


def _theorem_8(ledger: Ledger, config: Worlds, progress: Progress) -> None:
    """Six families of worlds: four of random means, orthonormal means with a chain that the twin can
    or cannot have."""
    for number in range(3):
        ledger.add(theory.theorem_8_as_printed(number))
    each = min(config.worlds, FAMILY)
    for family in range(6):
        progress(family, 6, "Theorem 8")
        for i in range(each):
            world = _of_family(config, family, i)
            for task in theory.TWO_TOKENS:
                ledger.add(theory.theorem_8(world, task), family=family)
            if family == 0:
                ledger.add(theory.two_states(world))
    first, second = theory.middle_pair(1)
    x = np.array([[0.5, 0.8]])
    ledger.picture(
        means=np.stack([first.M, second.M]),
        middle=np.stack([np.asarray(predictor(w, "x1,x3|x2")(x))[0] for w in (first, second)]),
        ends=np.stack([np.asarray(predictor(w, "x1|x2")(x))[0] for w in (first, second)]),
        chains=np.stack([first.A, second.A]),
    )


def _of_family(config: Worlds, family: int, i: int) -> GaussianHMM:
    key = key_of(config, 33, family, i)
    if family < 4:
        d, k = SIZES[family]
        return gaussian_world(key, hidden=k, dimension=d)
    k, share = 3 + i % 2, FREE if family == 4 else TIGHT
    T = np.asarray(gaussian_world(key, hidden=k, dimension=k).A)
    # Mixed with the uniform chain, or with a permutation, until its largest entry is where it should be.
    largest, wanted = T.max(), share * 2 / k
    if largest > wanted:
        t = (wanted - 1 / k) / (largest - 1 / k)
        return GaussianHMM(t * T + (1 - t) / k, np.eye(k))
    if family == 4:
        return GaussianHMM(T, np.eye(k))
    at = np.unravel_index(T.argmax(), T.shape)
    P = np.roll(np.eye(k), int(at[0] - at[1]), axis=0)
    t = (wanted - largest) / (1 - largest)
    return GaussianHMM((1 - t) * T + t * P, np.eye(k))
