"""Sparse parity with Transformers: heads, one checkpoint, leaks and attention. Section 4.2.7.2."""

from functools import partial
from math import log

from minicosm.lab import Estimate, Outcome, Results, Table, all_above, all_of, at_least, only_if

from .. import readings
from .. import transformer_readings as reading
from ..figures.attention import attention_figure, leaks_figure, times_figure
from ..leak_trials import leaks
from ..study import STUDY, THESIS
from ..transformer_trials import attention
from . import judging

claim = STUDY.section(__doc__)

GUARD = " Only seeds count whose teacher has 97% at the end; with fewer than four the claim is undecided."
judged = partial(judging.judged, trial=reading.PARITY)


def times_table(results: Results) -> Table:
    lines = tuple(
        (
            arm,
            readings.median(reading.steps_to_90(results, arm)),
            int(reading.ever_90(results, arm).sum()),
            len(readings.learned(results, reading.PARITY)),
        )
        for arm in ("teacher", "labels", "one-shot, warm", "middle", "progressive")
    )
    return Table(
        "Steps to 90%",
        ("arm", "median steps", "reached it", "of"),
        lines,
        note="A time that is never reached counts as the horizon.",
    )


@claim(
    id="distillation/more-heads",
    title="More heads find the support sooner",
    source=f"{THESIS}, (R6) and Figures 4.10 (right) and 4.13 (a)",
    statement="From labels a Transformer with one head needs more steps to 90% than one with four.",
    criterion=(
        r"The 95% interval of $\log(t_{90} / t_{90}^\mathrm{four})$ lies above 0: holds; below: fails; "
        "otherwise undecided." + GUARD
    ),
    trials=attention,
    figure=times_figure,
    kind="figure",
)
def more_heads(results: Results) -> Outcome:
    gap = reading.log_times(results, "labels", "teacher")
    return judged(results, all_above("log ratio of times", gap), tables=(times_table(results),))


@claim(
    id="distillation/attention-one-checkpoint",
    title="One checkpoint speeds up a Transformer's student",
    source=f"{THESIS}, Section 4.2.7.2 and Figure 4.16",
    statement=(
        "A student with one head that follows one checkpoint from the teacher's transition, then the final "
        r"teacher, is at 90% before one that learns from labels, and before one that follows the final "
        r"teacher at $\tau = 1$."
    ),
    criterion=(
        "The 95% intervals of both paired differences of $\\log t_{90}$ lie above 0: holds; one below: "
        "fails; otherwise undecided." + GUARD
    ),
    trials=attention,
    figure=times_figure,
    kind="figure",
)
def one_checkpoint(results: Results) -> Outcome:
    gaps = {
        f"{other} to one checkpoint": reading.log_times(results, other, "middle")
        for other in ("labels", "one-shot, warm")
    }
    return judged(results, all_above("log ratio of times", gaps), tables=(times_table(results),))


@claim(
    id="distillation/attention-leak",
    title="In its transition a Transformer leaks single variables of the support",
    source=f"{THESIS}, Section 4.2.7.2 and Figure 4.15",
    statement=(
        "When the teacher first exceeds 70%, its answer correlates more with single variables of the support "
        "than with the others. Correlations are over all $2^d$ inputs, above $d = 20$ over held-out ones."
    ),
    criterion=(
        r"The 95% interval of the mean logarithm of the ratio lies above $\log 3$: holds; below: fails; "
        "otherwise undecided." + GUARD
    ),
    trials=leaks,
    figure=leaks_figure,
    kind="figure",
)
def leak(results: Results) -> Outcome:
    k = results[reading.LEAKS].config.k
    first = Estimate.of(reading.leak(results, 1))
    others = {
        f"degree {degree}": readings.mean(reading.leak(results, degree))
        for degree in (2, 3)
        if degree < k
    }
    start = {"degree 1, before training": Estimate.of(reading.leak(results, 1, reading.START))}
    return judging.judged(
        results,
        all_above("log ratio, degree 1", first, log(3)),
        trial=reading.LEAKS,
        numbers=others | start,
    )


@claim(
    id="distillation/attention-on-support",
    title="Attention on the support rises with accuracy",
    source=f"{THESIS}, Section 4.2.7.2.1 and Figure 4.14",
    statement=(
        "Within the transition the attention that goes from the last position to the support through both "
        "layers rises and falls with the accuracy."
    ),
    criterion=(
        "Spearman's correlation between the last evaluation before the transition and its end is at least "
        "0.8 for every teacher whose transition has four evaluations; undecided with fewer than four such "
        "teachers." + GUARD
    ),
    trials=attention,
    figure=attention_figure,
    kind="figure",
)
def on_support(results: Results) -> Outcome:
    ranks = reading.rank_correlations(results)
    outcome = all_of(
        at_least("least rank correlation", ranks, 0.8), numbers={"teachers": len(ranks)}
    )
    several = only_if(
        len(ranks) >= readings.FEWEST, "Fewer than four transitions have four evaluations.", outcome
    )
    return judged(results, several)
