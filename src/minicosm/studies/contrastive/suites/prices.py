"""Integrals that are not drawn: what a contrast law costs, the rates of Theorem 1, and drifts."""

from itertools import pairwise

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import contrastive as theory
from minicosm.worlds.diffusions import (
    LOG_COSH,
    QUADRATIC,
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
)

from ..trials import Exact

GAPS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0)
SHIFTS = (0, 1, 2, 3, 4, 5, 6)
TARGETS = (1e-2, 1e-3, 1e-4, 1e-5)
K, DELTA, B = 3.0, 0.05, 0.8


def run(config: Exact, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, gap in enumerate(GAPS):
        progress(i, len(GAPS), "prices")
        world = OrnsteinUhlenbeck(1.0, gap)
        for name, contrast in (("stationary", Stationary()), ("local", Local())):
            ledger.measure(
                "price by gap",
                gap=gap,
                contrast=name,
                price=theory.price(world, contrast),
                log_loss=theory.price(world, contrast, "log"),
                optimal_loss=theory.optimal_loss(world, contrast),
            )
    for shift in SHIFTS:
        price = theory.price(OrnsteinUhlenbeck(1.0, 0.5), Gaussian(float(shift), 1.0))
        ledger.measure("price by shift", shift=shift, price=price)
    for first, second in pairwise(TARGETS):
        progress(0, 1, "rates of Theorem 1")
        gaps = (first, second)
        ledger.measure(
            "exponents",
            gap=first,
            root=theory.exponent(theory.root_mixing(B), K, DELTA, gaps),
            exponential=theory.exponent(theory.exponential_mixing(1.0), K, DELTA, gaps),
        )
    ledger.add(theory.theorem_1_proof_as_printed(K, DELTA))
    for name, potential, gap, radius, most in (
        ("OU", QUADRATIC, 0.5, 5.0, 2.0),
        ("log cosh", LOG_COSH, 0.3, 3.6, 1.5),
    ):
        points = 161 if name == "log cosh" else 101
        grid = GridDiffusion(potential, gap, points=points, radius=radius)
        inside = np.abs(grid.points) < most
        truth = -potential.slope(grid.points)
        spectral, naive = (
            float(np.abs(drift - truth)[inside].max())
            for drift in (grid.drift(), grid.naive_drift())
        )
        ledger.measure("drift", world=name, spectral=spectral, naive=naive)
    return ledger.result()
