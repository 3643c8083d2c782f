"""The second stage, and how many samples reveal the support: Theorems 22 and 23."""

import numpy as np

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    Table,
    above,
    all_above,
    all_below,
    all_of,
    all_within,
    at_most,
    counterexample,
    holds,
    only_if,
    rows,
)

from .. import readings
from ..figures.theory import batches_figure, leak_figure, students_figure, unequal_figure
from ..study import STUDY, THESIS
from ..trials import batches, second_stage

claim = STUDY.section(__doc__)


@claim(
    id="distillation/lemma-65-width",
    title="A second stage needs width",
    source=f"{THESIS}, Lemma 65",
    statement=(
        r"After the first step a network of width $m = \Omega(2^k \log(k/\delta))$ fits the parity, and a "
        "much narrower one does not. A ridge regression on 4000 samples is in the place of the long "
        "second stage."
    ),
    criterion="On 4096 fresh inputs no errors at $m = 512$, and some at $m = 128$, in every run ($k = 4$).",
    trials=second_stage,
    uses=("distillation/lemma-63",),
    kind="lemma",
)
def lemma_65(results: Results) -> Outcome:
    config = results["suite"].config
    found = rows(results, "Teachers")
    by = {
        m: [e for e, width in zip(found["error"], found["m"], strict=True) if width == m]
        for m in (config.wide, config.narrow)
    }
    return all_of(
        at_most(f"largest error at m = {config.wide}", by[config.wide], 0.0),
        above(f"least error at m = {config.narrow}", by[config.narrow], 0.0),
    )


@claim(
    id="distillation/theorem-23-student-as-printed",
    title="The student's second stage, as printed",
    source=f"{THESIS}, Theorem 23, item 1, last sentence of its proof",
    statement=(
        "The second stage of a student that took its first step from the one-step teacher is that of the "
        "teacher: it reaches every loss."
    ),
    criterion=(
        "The median over teachers of the student's best hinge loss (over all output weights, all biases, "
        "the best of 25 step sizes, and without weights off the support) is at most 0.1, for every "
        "$(d, k)$ and width."
    ),
    trials=second_stage,
    expected="fails",
    figure=students_figure,
    erratum=Erratum(
        "gap",
        "All neurons of the student move along one vector $c$, whatever their start, so the second stage "
        r"fits a function of the one number $\langle c, x \rangle$; the teacher's neurons have all sign "
        r"patterns. The proof would go through for $|c_j|$ that are equal; $c \propto (1, 1, 1/2, 1/2)$ "
        r"gives a loss of at least $1/4$ for every function of $\langle c, x \rangle$.",
        "distillation/theorem-23-kept-signs",
    ),
    uses=(
        "distillation/student-gradient",
        "distillation/lemma-64-random-walk",
        "distillation/unequal-coefficients",
    ),
)
def student_as_printed(results: Results) -> Outcome:
    losses = readings.student_losses(results)
    medians = {size: float(np.median(values)) for size, values in losses.items()}
    table = Table(
        "Best hinge loss of students of one-step teachers",
        ("d", "k", "m", "teachers", "median", "above 0.1"),
        tuple(
            (*size, len(values), medians[size], float(np.mean(values > 0.1)))
            for size, values in losses.items()
        ),
    )
    return all_of(
        counterexample("largest median of the best loss", medians, 0.1),
        tables=(table,),
        numbers={"least loss at (1, 1, 1/2, 1/2)": _example(results)},
    )


def _example(results: Results) -> float:
    return rows(results, "Theorem 23, unequal coefficients")["least loss"][0]


@claim(
    id="distillation/theorem-23-kept-signs",
    title="A student that keeps its signs on what it found learns",
    source=f"{THESIS}, Theorem 23, item 1, repaired",
    statement=(
        r"If a student keeps its own signs, $\tilde w_{ij} = \tilde w_{ij}^{(0)} / (2k)$, on the $k$ "
        "coordinates with the largest squared first gradients and has 0 elsewhere, it is in the "
        "teacher's situation, and learns the parity whenever these coordinates are the support."
    ),
    criterion=(
        "No errors on 4096 fresh inputs in every run whose $k$ coordinates are the support. Undecided with "
        "fewer than 5 such runs."
    ),
    trials=second_stage,
    uses=("distillation/student-gradient", "distillation/lemma-65-width"),
    figure=students_figure,
)
def kept_signs(results: Results) -> Outcome:
    found = rows(results, "Students")
    errors: dict[str, list[float]] = {"kept signs": [], "as printed": []}
    for kind, error, recall in zip(found["kind"], found["error"], found["recall"], strict=True):
        if recall == 1.0:
            errors[kind].append(error)
    count = len(errors["kept signs"])
    runs = sum(kind == "kept signs" for kind in found["kind"])
    outcome = all_of(
        at_most("largest error where the support was found", errors["kept signs"], 0.0),
        numbers={
            "runs with the support": count,
            "of": runs,
            "mean error of the printed student there": float(
                np.mean(errors["as printed"] or np.nan)
            ),
        },
    )
    return only_if(count >= 5, "The support was found in fewer than 5 runs.", outcome)


claim(
    id="distillation/unequal-coefficients",
    title="Unequal coefficients cannot be fitted",
    source=f"our counterexample to {THESIS}, Theorem 23, item 1",
    statement=(
        r"For $c \propto (1, 1, 1/2, 1/2)$ no function of $\langle c, x \rangle$ has a hinge loss below "
        r"$1/4$ on the parity of four variables."
    ),
    criterion="By enumeration, to 1e-9.",
    trials=second_stage,
    check=holds("Theorem 23, unequal coefficients"),
    figure=unequal_figure,
    kind="lemma",
)


@claim(
    id="distillation/theorem-23-batch",
    title="From the intermediate teacher the support costs a batch that does not grow with d",
    source=f"{THESIS}, Theorems 22 and 23",
    statement=(
        r"The batch with which a student's first gradient reveals the support grows like $d^{k-1}$ from "
        "labels, and at most logarithmically in $d$ from the teacher after its first step."
    ),
    criterion=(
        "For $k = 4$, of the slope of the log batch for 60% recall in $\\log d$: the 95% interval (bootstrap "
        "over 30 seeds) lies below 0.75 for the teacher and above 2 for labels: holds; one on the other "
        "side: fails; otherwise undecided."
    ),
    trials=batches,
    uses=(
        "distillation/student-gradient",
        "distillation/lemma-64-random-walk",
        "distillation/lemma-64-off-support",
        "distillation/claim-7",
        "distillation/majority-gap",
        "distillation/lemma-66-counting",
    ),
    figure=batches_figure,
)
def batch(results: Results) -> Outcome:
    tables = tuple(
        Table(
            f"Batch for 60% recall from {source}",
            ("d", "batch"),
            tuple(
                zip(
                    readings.sides(results)[source][0],
                    readings.batch_sizes(results, source).tolist(),
                    strict=True,
                )
            ),
        )
        for source in ("teacher", "labels")
    )
    return all_of(
        all_below("slope from the teacher", readings.batch_slope(results, "teacher"), 0.75),
        all_above("slope from labels", readings.batch_slope(results, "labels"), 2.0),
        tables=tables,
    )


@claim(
    id="distillation/leak-costs-squares",
    title="A final teacher that leaks a little costs the inverse square of its leak",
    source=f"{THESIS}, Theorem 22, the one-shot side",
    statement=(
        r"From a teacher $y + \epsilon \sum_{j \in S} x_j$ the batch that reveals the support grows like "
        r"$\epsilon^{-2}$."
    ),
    criterion=(
        r"The 95% interval (bootstrap over seeds) of the slope of the log batch for 75% recall in "
        r"$\log \epsilon$ lies within $-2 \pm 0.4$: holds; outside: fails; otherwise undecided ($d = 51$)."
    ),
    trials=batches,
    uses=("distillation/corollary-4-clipped",),
    figure=leak_figure,
)
def leak(results: Results) -> Outcome:
    slope = readings.batch_slope(results, "leak")
    return all_within("slope in the leak", slope, 0.4, around=-2.0)
