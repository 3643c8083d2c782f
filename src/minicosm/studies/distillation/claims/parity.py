"""Sparse parity with MLPs: who is fast, which checkpoint helps, and what it tells. Section 4.2.2.1."""

from math import log

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    all_above,
    all_of,
    all_within,
    only_if,
)

from .. import readings
from ..figures.parity import (
    checkpoints_figure,
    correlations_figure,
    curves_figure,
    edited_figure,
    temperatures_figure,
    widths_figure,
)
from ..study import STUDY, THESIS
from ..trials import parity
from .judging import PAIRED, judged

claim = STUDY.section(__doc__)

ARMS = (
    "teacher", "labels", "one-shot, warm", "one-shot", "progressive", "before", "start", "middle", "end",
    "after",
)  # fmt: skip


def times_table(results: Results, *arms: str) -> Table:
    """Median steps to 90%, how many got there, and how many in time."""
    lines = tuple(
        (
            arm,
            readings.median(readings.times(results, arm)),
            int(readings.ever(results, arm).sum()),
            float(readings.in_time(results, arm).sum()),
            float(readings.in_time(results, arm, 1.0).sum()),
            len(readings.learned(results)),
        )
        for arm in arms
    )
    return Table(
        "Steps to 90%",
        ("arm", "median steps", "reached it", "in 1.5 x the teacher's", "in the teacher's", "of"),
        lines,
        note="A time that is never reached counts as the horizon.",
    )


def more_in_time(
    results: Results, arm: str, others: tuple[str, ...], factor: float, name: str,
    shown: tuple[str, ...] = ARMS,
) -> Outcome:  # fmt: skip
    """Whether more students of an arm than of each of the others are at 90% within so many times the
    teacher's own steps."""
    gaps = {f"less {other}": readings.more_in_time(results, arm, other, factor) for other in others}
    return judged(results, all_above(name, gaps), tables=(times_table(results, *shown),))


FINAL = ("labels", "one-shot, warm", "one-shot")


@claim(
    id="distillation/as-fast-as-the-teacher",
    title="A narrow student that follows the checkpoints is about as fast as the wide teacher",
    source=f"{THESIS}, Section 4.2.2 and Figure 4.4 (left)",
    statement=(
        "A student of width 16 that follows the checkpoints of a teacher of width 512 reaches 90% about "
        "when the teacher does."
    ),
    criterion=(
        r"The 95% interval of $\log(t_{90} / t_{90}^\mathrm{teacher})$ lies within $\pm \log 1.5$: holds; "
        "outside: fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    figure=curves_figure,
    kind="experiment",
)
def as_fast(results: Results) -> Outcome:
    ratio = readings.log_ratio(results, "progressive", "teacher")
    within = all_within("log of the ratio of times", ratio, log(1.5))
    return judged(results, within, tables=(times_table(results, *ARMS),))


@claim(
    id="distillation/before-labels",
    title="Progressive distillation is in time where labels and the final teacher are late",
    source=f"{THESIS}, Section 4.2.2 and Figure 4.4 (left)",
    statement=(
        "More students reach 90% within 1.5 times the teacher's own steps under progressive distillation "
        r"than from labels, and than from the final teacher at $\tau = 1$ and at $\tau = 10^{-4}$."
    ),
    criterion=(
        "The 95% intervals of all three paired differences of the share in time lie above 0: holds; one "
        "below: fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    figure=curves_figure,
    kind="figure",
)
def before_labels(results: Results) -> Outcome:
    return more_in_time(results, "progressive", FINAL, readings.IN_TIME, "points in time")


@claim(
    id="distillation/one-checkpoint",
    title="One checkpoint is enough",
    source=f"{THESIS}, (R2) and Figure 4.5 (right)",
    statement=(
        "A student that follows one checkpoint from the middle of the teacher's transition for a while, and "
        "then the final teacher, reaches 90% no later than the teacher did; from labels or from the final "
        "teacher alone it does not."
    ),
    criterion=(
        "The 95% intervals of the paired differences of the share of students with 90% in at most the "
        "teacher's own steps lie above 0 against labels and against the final teacher at both "
        "temperatures: holds; one below: fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    uses=("distillation/theorem-23-batch",),
    figure=checkpoints_figure,
    kind="figure",
)
def one_checkpoint(results: Results) -> Outcome:
    return more_in_time(results, "middle", FINAL, 1.0, "points no later")


@claim(
    id="distillation/only-in-the-transition",
    title="Only a checkpoint from the transition helps",
    source=f"{THESIS}, (R2), Figures 4.5 (right) and 4.11",
    statement=(
        "A checkpoint from before the transition, from its end or from after it does not make the student "
        "as fast as one from the middle."
    ),
    criterion=(
        "The 95% intervals of the paired differences of the share of students with 90% in at most the "
        "teacher's own steps, middle less before (0.6 of the step with 55%), less end (97%) and less after "
        "(20000 steps later), lie above 0: holds; one below: fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    uses=("distillation/one-checkpoint",),
    figure=checkpoints_figure,
    kind="figure",
)
def only_in_transition(results: Results) -> Outcome:
    others = ("before", "end", "after")
    return more_in_time(results, "middle", others, 1.0, "points no later")


@claim(
    id="distillation/low-degree-spike",
    title="In its transition, and only then, the teacher leaks low-degree monomials of the support",
    source=f"{THESIS}, (R1), Figures 4.5 (middle) and 4.12",
    statement=(
        r"The correlation of the teacher's prediction with monomials of degree $k - 2$ on the support is "
        "several times that with other monomials in the middle of the transition, and not before or after."
    ),
    criterion=(
        "Of the log ratio of the mean correlations on and off the support, the 95% interval lies above "
        r"$\log 3$ at the middle, and within $\pm \log 3$ at half the start and at 1.5 times the end of the "
        "transition: holds; one on the other side: fails; otherwise undecided. Seeds whose 1.5 times the "
        "end is beyond the horizon do not count there; with fewer than four, undecided." + PAIRED
    ),
    trials=parity,
    figure=correlations_figure,
    kind="figure",
)
def low_degree_spike(results: Results) -> Outcome:
    degree = readings.leaking_degree(results)
    middle = readings.correlation(results, degree, readings.phase(results, "middle"))
    early = readings.correlation(results, degree, readings.phase(results, "start") / 2)
    late = readings.known(
        readings.correlation(results, degree, 1.5 * readings.phase(results, "end"))
    )
    outcome = all_of(
        all_above("log ratio at the middle", Estimate.of(middle), log(3)),
        all_within("log ratio at half the start", Estimate.of(early), log(3)),
        all_within("log ratio at 1.5 x the end", Estimate.of(late), log(3)),
        numbers={"degree": degree, "seeds at 1.5 x the end": len(late)},
    )
    many = len(late) >= readings.FEWEST
    late_enough = only_if(many, "Fewer than four horizons reach 1.5 times the end.", outcome)
    return judged(results, late_enough)


@claim(
    id="distillation/degree-one-spike",
    title="In its transition the teacher leaks single variables of the support",
    source=f"{THESIS}, (R1), Figure 4.5 (middle), at its rate of 0.005",
    statement=(
        "In the middle of the transition the teacher's prediction is correlated with single variables of "
        "the support more than with others."
    ),
    criterion=(
        r"The 95% interval of the log ratio of the mean correlations lies above $\log 2$: holds; below: "
        "fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    uses=("distillation/lemma-64-random-walk",),
    figure=correlations_figure,
    kind="figure",
)
def degree_one_spike(results: Results) -> Outcome:
    ratio = readings.correlation(results, 1, readings.phase(results, "middle"))
    return judged(results, all_above("log ratio of degree 1", Estimate.of(ratio), log(2)))


@claim(
    id="distillation/width",
    title="Wider models learn sparse parity sooner",
    source=f"{THESIS}, Figure 4.10 (left)",
    statement="From labels, students of width 256 reach 90% sooner than students of width 16.",
    criterion=(
        r"The 95% interval of $\log t_{90}$ of the narrow less that of the wide lies above 0: holds; below: "
        "fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    figure=widths_figure,
    kind="figure",
)
def width(results: Results) -> Outcome:
    ratio = readings.log_ratio(results, "labels", "labels, wide")
    return judged(results, all_above("log of the ratio of times", ratio))


@claim(
    id="distillation/temperature",
    title="Low temperatures are alike, and a high one is slower",
    source=f"{THESIS}, Figure 4.17 (there with Transformers)",
    statement=(
        r"With one checkpoint from the middle, $\tau = 10^{-2}$ is as fast as $\tau = 10^{-4}$, and "
        r"$\tau = 1$ is slower."
    ),
    criterion=(
        r"The 95% interval of the log ratio of times of $\tau = 10^{-2}$ to $10^{-4}$ lies within "
        r"$\pm \log 1.25$, and that of $\tau = 1$ to $10^{-4}$ above 0: holds; one on the other side: "
        "fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    uses=("distillation/one-checkpoint",),
    figure=temperatures_figure,
    kind="figure",
)
def temperature(results: Results) -> Outcome:
    low = readings.log_ratio(results, "middle, tau .01", "middle")
    high = readings.log_ratio(results, "middle, tau 1", "middle")
    alike = all_within("log ratio at 0.01", low, log(1.25))
    return judged(results, alike, all_above("log ratio at 1", high))


@claim(
    id="distillation/low-degree-alone",
    title="The low-degree part of the checkpoint is what helps",
    source=f"our control of {THESIS}, (R1) and (R2)",
    statement=(
        "A student that follows the sign of the checkpoint's low-degree part on the support alone, and then "
        "labels, is no later than the teacher; one that follows the checkpoint without this part is not."
    ),
    criterion=(
        "The 95% intervals of the paired differences of the share of students with 90% in at most the "
        "teacher's own steps, low degree alone less removed and less labels, lie above 0: holds; one "
        "below: fails; otherwise undecided." + PAIRED
    ),
    trials=parity,
    uses=("distillation/low-degree-spike", "distillation/one-checkpoint"),
    figure=edited_figure,
    kind="control",
)
def low_degree_alone(results: Results) -> Outcome:
    alone, removed = "low degree alone", "low degree removed"
    shown = ("teacher", "labels", "middle", alone, removed)
    return more_in_time(results, alone, (removed, "labels"), 1.0, "points no later", shown)
