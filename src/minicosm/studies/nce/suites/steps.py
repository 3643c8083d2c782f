"""How many steps descent on the population losses takes (Theorems 17 to 20, Corollary 2)."""

import math

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import nce as theory
from minicosm.theory.nce import Contrast
from minicosm.theory.nce.descent_theorems import COUNTED
from minicosm.worlds import GaussianMean

from ..arms import KINDS
from ..trials import StepCounts


def run(config: StepCounts, progress: Progress) -> TrialResult:
    ledger = Ledger()
    parts = (_slow, _newton, _normalised, _theorems, _balls, _others)
    for i, part in enumerate(parts):
        progress(i, len(parts), part.__name__.strip("_"))
        part(ledger, config)
    return ledger.result()


def _slow(ledger: Ledger, config: StepCounts) -> None:
    """Gradient descent with its standard step size until 0.1 R."""
    for R in config.gd:
        ledger.add(theory.theorem_17(GaussianMean(R)))


def _newton(ledger: Ledger, config: StepCounts) -> None:
    """Newton's method, damped as in Theorem 18, and with step size 1."""
    for R in config.newton:
        ledger.add(theory.theorem_18(GaussianMean(R)))
    for R in config.undamped:
        ledger.add(theory.newton_undamped(GaussianMean(R)))


def _normalised(ledger: Ledger, config: StepCounts) -> None:
    """NGD with steps of 0.1/R until 1/R, on both losses."""
    for R in config.ngd:
        runs = {
            kind: theory.steps_to(Contrast(GaussianMean(R), kind, COUNTED), "ngd", 0.1 / R, 1 / R)
            for kind in KINDS
        }
        found = {kind: run.steps if run.reached else math.nan for kind, run in runs.items()}
        ledger.measure("NGD", R=R, **found)


def _theorems(ledger: Ledger, config: StepCounts) -> None:
    """Theorems 19 and 20 and Corollary 2, with the step sizes that they set."""
    for R in config.theorem_19:
        for kind in KINDS:
            ledger.add(theory.theorem_19(Contrast(GaussianMean(R), kind, COUNTED), 1 / R), R=R)
    for R in config.corollary_2:
        for delta in (1 / R, 0.1 / R):
            contrast = Contrast(GaussianMean(R), "nce", COUNTED)
            ledger.add(theory.corollary_2(contrast, delta), part=delta * R)
    for R in config.theorem_20:
        log_bound, steps = theory.theorem_20_bound(GaussianMean(R))
        ledger.measure("Theorem 20", R=R, log_bound=log_bound, steps=steps)


def _balls(ledger: Ledger, config: StepCounts) -> None:
    """β_u and β_l of both losses about τ*."""
    for R in config.neighbourhood:
        for kind in KINDS:
            contrast = Contrast(GaussianMean(R), kind, COUNTED)
            found = theory.neighbourhood(contrast, 1 / R)
            ledger.measure("Assumption 15", R=R, kind=kind, upper=found.upper, lower=found.lower)


def _others(ledger: Ledger, config: StepCounts) -> None:
    """Momentum with the standard step size, and Adam with rate 0.01, until 0.1 R."""
    for R in config.adam:
        contrast = Contrast(GaussianMean(R), "nce", COUNTED)
        momentum = theory.steps_to(contrast, "momentum", 8 / (R**2 + 2), 0.1 * R, most=10**6)
        adam = theory.steps_to(contrast, "adam", 0.01, 0.1 * R, most=10**6)
        ledger.measure(
            "other methods",
            R=R,
            momentum=momentum.steps if momentum.reached else math.nan,
            adam=adam.steps if adam.reached else math.nan,
        )
