"""Majority coefficients, the first step of teachers and students, clipped correlations, two Transformers."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import distillation as theory

from ..trials import FirstStage

DIMS = (21, 51, 101, 201)
DEGREES = (3, 5, 7)
MOST_DIM, MOST_K = 401, 12
ENUMERATED = 64
"""Width of the networks whose gradients are enumerated."""
INPUTS = ((6, 2), (10, 4), (14, 6), (50, 4), (100, 6))
"""Pairs (d, k) for the Transformers."""


def run(config: FirstStage, progress: Progress) -> TrialResult:
    ledger = Ledger()
    seeds = [1000 * config.seed + i + 100 for i in range(config.starts)]
    for i in DEGREES:
        ledger.add(theory.majority_scaling(i, DIMS, printed=True))
        ledger.add(theory.majority_scaling(i, DIMS))
    for k in range(2, MOST_K + 1, 2):
        for d in range(2 * k + 1, MOST_DIM + 1, 2):
            ledger.add(theory.majority_gap(d, k))
    for done, (d, k) in enumerate(config.sizes):
        progress(done, len(config.sizes), f"({d}, {k})")
        for seed in seeds:
            _first_steps(ledger, config, d, k, seed)
        for batch in config.batches:
            errors = [theory.sampled_step_error(d, k, 32, batch, seed) for seed in seeds]
            ledger.measure(
                "Noise of the first step", d=d, k=k, batch=batch, error=float(np.mean(errors))
            )
        _correlations(ledger, d, k, seeds)
    for d, k in INPUTS:
        ledger.add(theory.proposition_9(d, k, config.seed))
        if k <= 6:
            ledger.add(theory.proposition_10(d, k, config.seed))
    for tau in (0.01, 0.03, 0.1):
        ledger.add(theory.lemma_66(16, 6, config.neurons, tau, config.seed))
    return ledger.result()


def _first_steps(ledger: Ledger, config: FirstStage, d: int, k: int, seed: int) -> None:
    ledger.add(theory.claim_7(d, k, ENUMERATED, seed))
    ledger.add(theory.lemma_63(d, k, ENUMERATED, seed))
    ledger.add(theory.student_gradient(d, k, ENUMERATED, 16, seed))
    ledger.add(theory.corollary_3(d, k, ENUMERATED, seed))
    ledger.add(theory.lemma_64(d, k, 512, seed, aligned=True))
    for m in config.widths:
        found = theory.lemma_64(d, k, m, seed)
        name = found.name if m == max(config.widths) else "Lemma 64, narrower"
        ledger.add(found, name, seed=seed)
        ledger.measure(
            "Linear coefficients", d=d, k=k, m=m, seed=seed,
            on=found.details["rms on"], off=found.details["rms off"],
        )  # fmt: skip


def _correlations(ledger: Ledger, d: int, k: int, seeds: list[int]) -> None:
    """Functions near the label, far from it, and the one that refutes the printed form."""
    x = theory.sign_cube(d)
    y = np.prod(x[:, :k], axis=1)
    ledger.add(theory.corollary_4(11 * y + 10 * x[:, 0], k, clipped=False))
    ledger.add(theory.corollary_4(11 * y + 10 * x[:, 0], k))
    for seed in seeds:
        rng = np.random.default_rng([seed, 4])
        noise = 10 ** rng.uniform(-2, 1) * rng.normal(size=len(y))
        values = 10 ** rng.uniform(-1, 1) * y + noise
        ledger.add(theory.corollary_4(values, k))
        ledger.add(theory.corollary_4(values, k, clipped=False))
