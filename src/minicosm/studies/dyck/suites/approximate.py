"""Theorem 2.2.2: near-optimal models are near balance, with every constant written out."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.dyck import approximate, losses, merging
from minicosm.worlds import Dyck

from ..trials import Approximate

SHAPES = ((2, 4), (2, 2), (3, 3))  # types, depth
NOISES = (None, 0.0, 1e-3, 1e-2, 1e-1)  # None: far from balance


def run(config: Approximate, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for trial in range(config.sets):
        progress(trial, config.sets, "sets of parameters")
        rng = np.random.default_rng([config.seed, trial])
        types, depth = SHAPES[trial % len(SHAPES)]
        noise = NOISES[trial % len(NOISES)]
        scale = float(rng.choice([0.3, 1, 2]))
        given = approximate.random_parameters(rng, types, depth, scale=scale, noise=noise)
        length = 8 * depth + 1 + int(rng.integers(100))
        ledger.add(approximate.theorem_2_2_2(given, length), noise=-1.0 if noise is None else noise)
        _strings(ledger, given, length, rng)
    for trial in range(config.triples):
        _merging(ledger, np.random.default_rng([config.seed, trial, 1]))
    for k, D in SHAPES:
        for q in (0.1, 0.5, 0.9):
            for length in (8 * D + 1, 12 * D, 40 * D):
                ledger.add(losses.loss_as_printed(Dyck(k, D, q), q, length))
                ledger.add(losses.excess_loss(Dyck(k, D, q), q, length))
    return ledger.result()


def _strings(
    ledger: Ledger, given: approximate.Parameters, length: int, rng: np.random.Generator
) -> None:
    """The strings of one query, for all d' = 0..D-1."""
    k, D = given.types, given.depth
    q = float(rng.uniform(0.1, 0.9))
    kind, inner, depth = int(rng.integers(k)), int(rng.integers(k)), int(rng.integers(2, D + 1))
    strings = approximate.Strings(given, length, kind, depth, inner)
    ledger.add(approximate.equation_2_72(strings, Dyck(k, D, q), q))
    ledger.add(approximate.equation_2_73(strings))
    ledger.add(approximate.equation_2_73(strings, printed=True))
    ledger.add(approximate.telescope(strings))


def _merging(ledger: Ledger, rng: np.random.Generator) -> None:
    """Lemma 2.2.1 with |r| exactly at the least that it asks for, in any unit of length."""
    epsilon, n = 10 ** rng.uniform(-3, 0.3), int(rng.integers(2, 8))
    a, b, r = rng.normal(size=(3, n)) * 10 ** rng.uniform(-3, 3)
    b = b * rng.uniform()
    if rng.random() < 0.5:  # a and b opposite and across r: the worst case
        a = a - (a @ r) / (r @ r) * r
        b = -a
    size = float(np.linalg.norm([np.linalg.norm(a), np.linalg.norm(b)], np.inf))
    unit = r * (size / np.linalg.norm(r)) * (1 + 1e-12)
    ledger.add(merging.lemma_2_2_1(a, b, unit * merging.merging_ratio(epsilon), epsilon))
    printed = unit * merging.merging_ratio(epsilon, size)
    ledger.add(merging.lemma_2_2_1(a, b, printed, epsilon, printed=True))
