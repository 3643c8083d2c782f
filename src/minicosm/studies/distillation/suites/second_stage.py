"""Students whose neurons are collinear, students that keep their signs, and the width of teachers."""

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import distillation as theory

from ..trials import SecondStage

K = 4
"""Of the regressions."""


def run(config: SecondStage, progress: Progress) -> TrialResult:
    ledger = Ledger()
    first = 1000 * config.seed + 300
    ledger.add(theory.unequal_example())
    for done, (d, k) in enumerate(config.sizes):
        for m in config.widths:
            progress(done, len(config.sizes), f"students of teachers of width {m}")
            for i in range(config.teachers):
                ledger.add(theory.theorem_23_student(d, k, m, first + i), seed=first + i)
    for d in config.dims:
        progress(len(config.sizes), len(config.sizes) + 1, f"regressions at d = {d}")
        for i in range(config.runs):
            fits = theory.student_fits(d, K, config.wide, config.batch, first + i)
            for kind, fit in fits.items():
                ledger.measure("Students", d=d, kind=kind, error=fit.error, recall=fit.recall)
        for m in (config.wide, config.narrow):
            for i in range(config.fits):
                error = theory.lemma_65_error(d, K, m, first + i)
                ledger.measure("Teachers", d=d, m=m, error=error)
    return ledger.result()
