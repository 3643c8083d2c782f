"""A decision tree of parities: one checkpoint or several. Section 4.2.7.3."""

from functools import partial

from minicosm.lab import Estimate, Outcome, Results, Table, all_above, at_most

from .. import readings
from ..figures.hierarchy import blocks_figure, schedules_figure
from ..study import STUDY, THESIS
from ..trials import SINGLES, hierarchy
from . import judging

claim = STUDY.section(__doc__)

judged = partial(judging.judged, trial="hierarchy")


def shares_table(results: Results) -> Table:
    """How many students solved the tree, and the mean accuracy at the end."""
    lines = tuple(
        (
            arm,
            float(readings.solved(results, arm).sum()),
            len(readings.learned(results, "hierarchy")),
            100 * readings.mean(readings.curve(results, arm, "hierarchy")[-1]),
        )
        for arm in ("labels", *SINGLES, "two", "progressive")
    )
    return Table(
        "Students of the tree",
        ("arm", "with 99%", "of", "mean accuracy (%)"),
        lines,
        note="Singles: at 0.8 x the root's peak, at it, half-way, at the child's peak, at 1.1 x it.",
    )


@claim(
    id="distillation/tree-progressive",
    title="Progressive distillation succeeds on a tree where labels fail",
    source=f"{THESIS}, Figure 4.18",
    statement=(
        "With all checkpoints in turn, a narrow student of a decision tree of parities reaches 99%; from "
        "labels it does not within the same steps."
    ),
    criterion=(
        "The 95% interval of the paired difference of the shares of students with 99% at the end lies "
        "above 0: holds; below: fails; otherwise undecided." + judging.PAIRED
    ),
    trials=hierarchy,
    figure=schedules_figure,
    kind="figure",
)
def tree_progressive(results: Results) -> Outcome:
    gap = readings.more_solved(results, "progressive", "labels")
    return judged(results, all_above("points with 99%", gap), tables=(shares_table(results),))


@claim(
    id="distillation/blocks-in-order",
    title="The blocks of the tree spike one after the other, the root first",
    source=f"{THESIS}, Figure 4.20",
    statement=(
        "The teacher's correlation with pairs of the root's block is largest before that with pairs of the "
        "block of its child."
    ),
    criterion=(
        "The 95% interval of the child's peak step less the root's lies above 0: holds; below: fails; "
        "otherwise undecided." + judging.PAIRED
    ),
    trials=hierarchy,
    figure=blocks_figure,
    kind="figure",
)
def blocks_in_order(results: Results) -> Outcome:
    root, child = readings.peaks(results)
    return judged(results, all_above("steps from root to child", Estimate.of(child - root)))


@claim(
    id="distillation/two-checkpoints",
    title="Two checkpoints are better than one",
    source=f"{THESIS}, Figure 4.21",
    statement=(
        "A student that follows the checkpoints at the peaks of the root's and of the child's block reaches "
        "99% more often than one that follows a single checkpoint, and than one that follows labels."
    ),
    criterion=(
        "The 95% intervals of the paired differences of the share with 99% at the end, against the mean of "
        "five single checkpoints and against labels, lie above 0: holds; one below: fails; otherwise "
        "undecided." + judging.PAIRED
    ),
    trials=hierarchy,
    uses=("distillation/blocks-in-order",),
    figure=schedules_figure,
    kind="figure",
)
def two_checkpoints(results: Results) -> Outcome:
    gaps = {
        "less five singles": readings.more_solved(results, "two", *SINGLES),
        "less labels": readings.more_solved(results, "two", "labels"),
    }
    return judged(results, all_above("points with 99%", gaps), tables=(shares_table(results),))


@claim(
    id="distillation/no-single-checkpoint",
    title="No single checkpoint is enough for a tree",
    source=f"{THESIS}, Section 4.2.7.3 and Figure 4.21",
    statement="With one intermediate checkpoint and the final teacher no student of a tree reaches 99%.",
    criterion="Of each of the five single checkpoints no student has 99% at the end."
    + judging.PAIRED,
    trials=hierarchy,
    figure=schedules_figure,
    kind="figure",
)
def no_single(results: Results) -> Outcome:
    shares = {arm: readings.mean(readings.solved(results, arm)) for arm in SINGLES}
    most = at_most("largest share with 99%", shares, 0.0)
    return judged(results, most, tables=(shares_table(results),))
