"""Step sizes and precision: where normalised descent survives what plain gradients do not."""

from typing import Literal

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import nce as theory
from minicosm.theory.nce import Contrast
from minicosm.worlds import GaussianMean

from ..arms import KINDS, METHODS, Kind
from ..trials import Precision

PRECISIONS: tuple[Literal["float64", "float32"], ...] = ("float64", "float32")
NODES = 2401  # the poles of the integrand are π/R from the line
POINTS = 50  # of a path at which directions are compared
STEPS = 2000  # of the runs whose precisions are compared
LONG = 0.05  # a step with which they come half of the way; beside 0.1/R, the study's step of NGD


def run(config: Precision, progress: Progress) -> TrialResult:
    ledger = Ledger()
    world = GaussianMean(config.R)
    for i, kind in enumerate(KINDS):
        progress(i, len(KINDS) + 1, "step sizes")
        contrast = Contrast(world, kind, NODES)
        for method in METHODS:
            for precision in PRECISIONS:
                for rate in config.rates:
                    path = theory.descend(
                        contrast, method, rate, steps=config.steps, precision=precision
                    )
                    ledger.measure(
                        "sweep",
                        kind=kind,
                        method=method,
                        precision=precision,
                        rate=rate,
                        best=float(path.best[-1]) / config.R,
                        status=path.status,
                    )
    progress(len(KINDS), len(KINDS) + 1, "precisions")
    for kind in KINDS:
        _apart(ledger, config, kind)
        _dead(ledger, config, kind)
    return ledger.result()


def _apart(ledger: Ledger, config: Precision, kind: Kind) -> None:
    """How far NGD in float32 strays from float64, by two step sizes, and how far its directions are from
    those of float64 at the same points of the longer path."""
    contrast = Contrast(GaussianMean(config.far), kind, NODES)
    for step in (0.1 / config.far, LONG):
        double, single = (
            theory.descend(contrast, "ngd", step, steps=STEPS, precision=precision).tau
            for precision in PRECISIONS
        )
        rows = min(len(double), len(single))
        ledger.measure(
            "float32, paths",
            kind=kind,
            R=config.far,
            step=step,
            steps=rows - 1,
            apart=float(np.linalg.norm(double[:rows] - single[:rows], axis=1).max()),
            travelled=float(np.linalg.norm(double[-1] - double[0])),
        )
    turned = []
    for tau in double[:: max(1, len(double) // POINTS)]:
        one, other = (
            np.diff(theory.descend(contrast, "ngd", 1.0, tau, 1, each).tau, axis=0)[0]
            for each in PRECISIONS
        )
        turned.append(float(np.linalg.norm(one - other)))
    ledger.measure(
        "float32, directions",
        kind=kind,
        R=config.far,
        turned=float(np.max(turned)),
        points=len(turned),
    )


def _dead(ledger: Ledger, config: Precision, kind: Kind) -> None:
    """Steps of NGD from points at distance 1/R of τ*, in float32: with plain gradients, and without their
    common factor."""
    world = GaussianMean(config.beyond)
    contrast = Contrast(world, kind, NODES)
    for unit in theory.directions(12):
        start = world.truth + unit / config.beyond
        plain, scaled = (
            theory.descend(
                contrast, "ngd", 0.1, start=start, steps=1, precision="float32", scaled=scaled
            )
            for scaled in (False, True)
        )
        ledger.measure(
            "dead gradients",
            kind=kind,
            R=config.beyond,
            plain=len(plain.tau) - 1,
            scaled=len(scaled.tau) - 1,
        )
