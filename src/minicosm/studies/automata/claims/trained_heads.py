"""Where heads that have learned a gridworld look: Section 3.4.2 and Figures 3.6 and 3.17."""

import numpy as np

from minicosm.lab import (
    Cell,
    Estimate,
    Outcome,
    Results,
    Table,
    all_above,
    all_below,
    all_of,
    at_least,
)

from .. import experiment_readings as readings
from ..experiment_trials import GRID, GRID_LINEAR, arms
from ..figures.trained_heads import heads_figure
from ..study import STUDY, THESIS
from .trained_guards import IF_LEARNED, if_learned

claim = STUDY.section(__doc__)

WALLS = ("0", "S")


def _table(results: Results) -> Table:
    found = readings.wall_heads(results, GRID)
    columns = [100 * found[name] for name in ("on", "control", "before", "before_even")]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (int(m) + 1, int(h) + 1, WALLS[int(w)], *map(float, values))
        for m, h, w, *values in zip(
            found["member"], found["head"], found["wall"], *columns, strict=True
        )
    )
    return Table(
        "The chosen head of the last layer: attention in per cent on the second half of the strings",
        (
            "member",
            "head",
            "wall",
            "latest visit",
            "same lag, no wall",
            "before the visit",
            "if even",
        ),
        rows,
    )


@claim(
    id="automata/wall-heads",
    title="Heads of the last layer lock onto the latest visit to a wall",
    source=f"{THESIS}, Section 3.4.5.1.2 and Figures 3.6 and 3.17",
    statement=(
        r"In two-layer models of $\mathrm{Grid}_4$, some head of the last layer attends to the "
        r"latest earlier "
        "position at which the state was a wall."
    ),
    criterion=(
        "Of each member the head and the wall (0 or $S$) that are best on one half of the strings are "
        "measured on the other: mean attention on the latest earlier visit to that wall, less mean "
        "attention "
        "on positions away from the walls in the same row and at the same lag. The 95% interval "
        "over members "
        "lies above 0 and the ratio of the two means is at least 1.5: holds; the interval below 0 or the "
        "ratio below 1.5: fails; otherwise undecided." + IF_LEARNED
    ),
    trials=arms(GRID),
    figure=heads_figure,
    kind="experiment",
)
def wall_heads(results: Results) -> Outcome:
    found = readings.wall_heads(results, GRID)
    gain = Estimate.of(100 * (found["on"] - found["control"]))
    ratio = float(np.sum(found["on"]) / np.sum(found["control"])) if len(found["on"]) else np.nan
    outcome = all_of(
        all_above("points more than at the same lag", gain),
        at_least("ratio of the means", ratio, 1.5),
        tables=(_table(results),),
    )
    return if_learned(results, outcome)


@claim(
    id="automata/reset-heads",
    title="Nothing before the latest visit to a wall is attended to",
    source=f"{THESIS}, Section 3.4.5.1.2 and Figure 3.17",
    statement=(
        "The heads of `automata/wall-heads` put no attention on positions before the latest visit: "
        "a visit "
        "resets the state."
    ),
    criterion=(
        "Mean attention of the same head on all that stands before the latest visit to its wall, "
        "over rows "
        "where something does: the 95% interval over members lies below 5%: holds; above: fails; "
        "otherwise "
        "undecided." + IF_LEARNED
    ),
    trials=arms(GRID),
    figure=heads_figure,
    kind="experiment",
)
def reset_heads(results: Results) -> Outcome:
    before = Estimate.of(100 * readings.wall_heads(results, GRID)["before"])
    outcome = all_of(all_below("per cent before the visit", before, 5.0), tables=(_table(results),))
    return if_learned(results, outcome)


@claim(
    id="automata/prefix-sum-head",
    title="A head of the first layer sums with even attention",
    source=f"{THESIS}, Section 3.4.2 and Figure 3.6(a)",
    statement=(
        r"In two-layer models of $\mathrm{Grid}_4$, some head of the first layer attends nearly "
        r"evenly to all "
        "positions, as a prefix sum needs."
    ),
    criterion=(
        r"Of each member the head of the first layer that is best on one half of the strings is "
        r"measured on "
        r"the other: the mean over rows $t \ge 6$ of the entropy of the row over $\ln t$. The 95% "
        r"interval "
        "over members lies above .95: holds; below: fails; otherwise undecided. Models with linear "
        "positions are shown beside." + IF_LEARNED
    ),
    trials=arms(GRID, GRID_LINEAR),
    figure=heads_figure,
    kind="experiment",
)
def prefix_sum_head(results: Results) -> Outcome:
    even = {arm: Estimate.of(readings.even_heads(results, arm)) for arm in results}
    outcome = all_of(
        all_above("entropy of a row over log t", even[GRID], 0.95),
        numbers={"with linear positions": even[GRID_LINEAR]},
    )
    return if_learned(results, outcome, GRID)
