"""What a loss says: Lemmas 1 and 6, Theorems 2 and 3, Remark 1."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import contrastive as theory
from minicosm.worlds.diffusions import (
    LOG_COSH,
    QUADRATIC,
    Contrast,
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
    Table,
)

from ..trials import Kernels
from .mixing import START

BATCH = 500
SHOWN = 2000  # kernels whose loss and divergence are drawn
GAPS = (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
STIFFER = 1.5


def run(config: Kernels, progress: Progress) -> TrialResult:
    ledger = Ledger()
    _optimum(ledger, config)
    _kernels(ledger, config, progress)
    _global(ledger)
    for gap in (0.01, 0.1, 1.0):
        for rho in (0.5, 1.0, 2.0):
            ledger.add(theory.lemma_6(OrnsteinUhlenbeck(rho, gap), 4.0, 8.0), gap=gap)
    for gap in (0.05, 0.2, 1.0):
        grid = GridDiffusion(LOG_COSH, gap, points=321, radius=5.0)
        ledger.add(theory.lemma_6(grid, 4.0, 8.0), gap=gap)
    for radius in (1.0, 2.0, 3.0, 4.0):
        world = OrnsteinUhlenbeck(1.0, 0.5)
        contrasts: dict[str, Contrast] = {"fixed": Gaussian(0.0, 1.0), "local": Local()}
        for name, contrast in contrasts.items():
            ledger.measure(
                "c_q", contrast=name, radius=radius, c_q=theory.c_q(world, contrast, radius)
            )
    return ledger.result()


def _optimum(ledger: Ledger, config: Kernels) -> None:
    """Lemma 1 with contrast laws that look at the anchor and that do not."""
    rng = np.random.default_rng([START + config.seed, 1])
    for potential, radius in ((QUADRATIC, 5.0), (LOG_COSH, 3.6)):
        for gap in (0.1, 0.5, 2.0):
            world = GridDiffusion(potential, gap, points=101, radius=radius)
            rows = rng.dirichlet(np.ones(101), size=101)
            for contrast in (Stationary(), Gaussian(0.5, 2.0), Local(), Table(rows)):
                ledger.add(theory.lemma_1(world, contrast, seed=config.seed), gap=gap)


def _kernels(ledger: Ledger, config: Kernels, progress: Progress) -> None:
    """Theorem 2 and Remark 1 on random kernels, in batches of one size."""
    batches = max(1, config.kernels // BATCH)
    shown: list[np.ndarray] = []
    for number in range(batches):
        progress(number, batches, "random kernels")
        rng = np.random.default_rng([START + config.seed, 2, number])
        drawn = random_kernels(rng, BATCH, 2 + number % 4)
        ledger.add(theory.theorem_2(*drawn))
        ledger.add(theory.theorem_2_sharper(*drawn))
        ledger.add(theory.remark_1(*drawn))
        if number * BATCH < SHOWN:
            found = theory.comparison(*drawn)
            bound = (1 + found.c_q) ** 5 / found.least_ratio**2
            shown.append(np.stack([found.excess, found.divergence, bound * found.excess]))
    ledger.picture(kernels=np.concatenate(shown, axis=1))


def random_kernels(
    rng: np.random.Generator, count: int, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Laws, true kernels, learned ones with `p / p*` up to 7/6, and contrast laws."""
    law = _floored(rng.dirichlet(np.ones(n), size=count))
    truth = _floored(rng.dirichlet(np.full(n, rng.uniform(0.3, 3)), size=(count, n)))
    spread = rng.uniform(0, 1.5, size=(count, 1, 1))
    q = truth * np.exp(spread * rng.normal(size=truth.shape))
    q /= q.sum(axis=-1, keepdims=True)
    delta = rng.normal(size=truth.shape)
    delta -= (truth * delta).sum(axis=-1, keepdims=True)
    # The largest step that keeps 1 + delta between 0.05 and 7/6, times a random share.
    high = delta.max(axis=(-2, -1), keepdims=True) * 6
    low = -delta.min(axis=(-2, -1), keepdims=True) / 0.95
    share = rng.uniform(0.05, 1, size=(count, 1, 1))
    return law, truth, truth * (1 + share * delta / np.maximum(high, low)), q


def _floored(laws: np.ndarray) -> np.ndarray:
    """Laws without entries below .002."""
    laws = np.maximum(laws, 0.002)
    return laws / laws.sum(axis=-1, keepdims=True)


def _global(ledger: Ledger) -> None:
    """Theorem 3 for two Ornstein-Uhlenbeck kernels: Equation 2.32, how its sides scale, and the moment."""
    contrasts: dict[str, Contrast] = {
        "local": Local(),
        "N(0, 1)": Gaussian(0.0, 1.0),
        "N(0, 4)": Gaussian(0.0, 4.0),
    }
    for gap in GAPS:
        truth, other = OrnsteinUhlenbeck(1.0, gap), OrnsteinUhlenbeck(STIFFER, gap)
        for name, contrast in contrasts.items():
            found = theory.global_quantities(truth, other, contrast)
            ratio = theory.scaled_ratio(found, gap)
            ledger.measure("scaled ratio", contrast=name, gap=gap, ratio=float(ratio))
        ledger.add(theory.theorem_3(truth, other, Local()), gap=gap)
    for d, gap in ((1, 0.005), (2, 0.002)):
        moment = theory.local_moment(gap, d, STIFFER)
        ledger.measure("moment", d=d, gap=gap, ratio=moment / theory.moment_limit(d))
