"""Mean norms and mixing: Equation 2.2 and Lemmas 3 to 5."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import contrastive as theory
from minicosm.worlds.diffusions import (
    LOG_COSH,
    QUADRATIC,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
)

from ..trials import Chains

START = (
    2300  # seeds of this study begin here: criteria were written with runs on seeds near 0 in view
)
STEPS = (1, 2, 3, 5, 8)
STARTS = np.linspace(0, 10, 21)
TIMES = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)


def run(config: Chains, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for rho in (0.5, 1.0, 2.0):
        for d in range(1, 21):
            world = OrnsteinUhlenbeck(rho * np.eye(d), 1.0)
            ledger.add(theory.equation_2_2(world), rho=rho)
            ledger.add(theory.equation_2_2_as_printed(world), rho=rho)
    ledger.add(theory.equation_2_2(GridDiffusion(LOG_COSH, 1.0)))
    _pairs(ledger, config, progress)
    _points(ledger)
    return ledger.result()


def _pairs(ledger: Ledger, config: Chains, progress: Progress) -> None:
    """Lemma 4 on random reversible chains, and Lemma 3 on grids."""
    two = np.array([[0.6, 0.4], [0.4, 0.6]]), np.full(2, 0.5), np.full((2, 2), 0.5)
    ledger.add(theory.lemma_4(*two, 1))
    ledger.add(theory.lemma_4_as_printed(*two, 1))
    for number in range(config.chains):
        progress(number, config.chains, "random chains")
        rng = np.random.default_rng([START + config.seed, number])
        n = int(rng.integers(2, 7))
        edges = rng.gamma(0.5, size=(n, n)) + 1e-3
        edges = edges + edges.T
        law = edges.sum(axis=1) / edges.sum()
        P = edges / edges.sum(axis=1, keepdims=True)
        q = rng.dirichlet(np.ones(n), size=n if rng.random() < 0.5 else 1) + 1e-9
        q = np.broadcast_to(q / q.sum(axis=1, keepdims=True), (n, n))
        for i in STEPS[:3]:
            ledger.add(theory.lemma_4(P, law, q, i))
            ledger.add(theory.lemma_4_as_printed(P, law, q, i))
    for name, potential, radius in (("OU", QUADRATIC, 5.0), ("log cosh", LOG_COSH, 3.6)):
        for gap in (0.1, 0.3, 1.0):
            world = GridDiffusion(potential, gap, points=101, radius=radius)
            for contrast in (Stationary(), Local()):
                for i in STEPS:
                    found = theory.lemma_3(world, contrast, i)
                    ledger.add(found, world=name, gap=gap, i=i, contrast=type(contrast).__name__)


def _points(ledger: Ledger) -> None:
    """Lemma 5 from starts up to ten; the mixing coefficients of points beside their bound."""
    line = OrnsteinUhlenbeck(1.0, 1.0)
    wide = GridDiffusion(LOG_COSH, 1.0, points=221, radius=11.0)
    for name, world in (("OU", line), ("log cosh", wide)):
        for time in TIMES:
            ledger.add(theory.lemma_5(world, STARTS, time), world=name)
            ledger.add(theory.lemma_5_as_printed(world, STARTS, time), world=name)
            beta = theory.beta(line, time) if world is line else wide.beta(time)
            ledger.measure(
                "mixing",
                world=name,
                time=time,
                beta=beta,
                bound=world.mean_norm() / np.sqrt(np.pi * time),
            )
