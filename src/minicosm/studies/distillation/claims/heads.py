"""Sparse parity with Transformers of one width: more heads, concatenated or averaged. Section 4.2.7.2."""

from minicosm.lab import Outcome, Results, Table, all_above, all_of, only_if

from .. import head_readings as reading
from ..figures.heads import averaged_figure, concatenated_figure
from ..head_trials import averaged, concatenated
from ..readings import median
from ..study import STUDY, THESIS

claim = STUDY.section(__doc__)

CRITERION = (
    r"The 95% interval of $\log(t_{90} / t_{90}^\mathrm{four})$ lies above 0: holds; below: fails; "
    "otherwise undecided. Every seed counts, with the horizon for a time that is never reached; if fewer "
    "than four models with four heads have 97% at the end the claim is undecided."
)
FEW = "Fewer than four models with more heads have learned."


def judged(results: Results) -> Outcome:
    outcome = all_of(
        all_above("log ratio of times", reading.log_ratio(results)), tables=(times_table(results),)
    )
    return only_if(reading.enough(results), FEW, outcome)


def times_table(results: Results) -> Table:
    config = reading.heads_config(results)
    lines = tuple(
        (
            getattr(config, arm),
            median(reading.times(results, arm)),
            int(reading.reached(results, arm)[-1].sum()),
            reading.curve(results, arm).shape[1],
        )
        for arm in ("few", "many")
    )
    return Table(
        "Steps to 90%",
        ("heads", "median steps", "reached it", "of"),
        lines,
        note="A time that is never reached counts as the horizon.",
    )


@claim(
    id="distillation/more-heads-fixed-width",
    title="More heads find the support sooner at the same width",
    source=f"{THESIS}, Section 4.2.7.2 and Figure 4.13 (b)",
    statement=(
        "From labels a Transformer with one head needs more steps to 90% than one with four heads of a "
        "quarter of its dimensions each, which is as wide and has the same MLP."
    ),
    criterion=CRITERION,
    trials=concatenated,
    uses=("distillation/more-heads",),
    figure=concatenated_figure,
    kind="figure",
)
def fixed_width(results: Results) -> Outcome:
    return judged(results)


@claim(
    id="distillation/more-heads-averaged",
    title="More heads find the support sooner where they are averaged",
    source=f"{THESIS}, Section 4.2.7.2 and Figure 4.13 (c)",
    statement=(
        "From labels a Transformer with one head needs more steps to 90% than one with four heads of the "
        "same dimension whose outputs are averaged, which is as wide and has the same MLP."
    ),
    criterion=CRITERION,
    trials=averaged,
    uses=("distillation/more-heads",),
    figure=averaged_figure,
    kind="figure",
)
def averaged_heads(results: Results) -> Outcome:
    return judged(results)
