"""Students with zero loss (ours: the source has no experiments)."""

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    all_above,
    all_of,
    at_most,
    only_if,
)

from ..figures.students import students_figure
from ..readings import ENOUGH, all_solved, enough, orders, solved, worlds_of
from ..study import STUDY, THESIS
from ..trials import PAIRWISE, TASKS, TWO_TOKENS, students

claim = STUDY.section(__doc__)


@claim(
    id="identifiability/zero-loss-students",
    title="Zero loss, another world",
    source=f"added to {THESIS}, Theorems 4, 6 and 7",
    statement=(
        "Models of the right form that reach zero loss on one token from another, at any gap or all gaps "
        "together, have wrong parameters; those that reach it on two tokens are the true HMM."
    ),
    criterion=(
        "Of students fitted from random starts those with residual below $10^{-9}$ count, of all worlds "
        "together. For each pairwise task the 95% interval of the mean $\\log_{10}$ distance lies above "
        "$-2$, and no student of a task of two tokens is more than $10^{-6}$ away: holds. An interval "
        "below $-2$, or one such student more than $10^{-4}$ away: "
        f"fails. Undecided with fewer than {ENOUGH} such students for a task in a world."
    ),
    trials=students,
    uses=("identifiability/theorem-4", "identifiability/theorem-6", "identifiability/theorem-7-x1"),
    figure=students_figure,
    kind="experiment",
)
def zero_loss(results: Results) -> Outcome:
    wrong = {task: Estimate.of(orders(all_solved(results, task))) for task in PAIRWISE}
    right = [all_solved(results, task) for task in TWO_TOKENS]
    close = at_most("largest distance, two tokens", right, 1e-6)
    far = at_most("largest distance, two tokens", right, 1e-4)
    if close.verdict == "fails" and far.verdict == "holds":  # between the two limits
        close = Outcome("undecided", close.numbers)
    lines = tuple(
        (task, world, len(found), _median(found), _largest(found))
        for task in TASKS
        for world in worlds_of(results)
        if (found := solved(results, task, world)) or task in results[world].config.tasks
    )
    columns = ("task", "world", "students with zero loss", "median distance", "largest distance")
    outcome = all_of(
        all_above("log10 distance", wrong, -2.0),
        close,
        tables=(Table("Students with zero loss", columns, lines),),
    )
    few = "Too few students reached zero loss."
    return only_if(enough(results, (*PAIRWISE, *TWO_TOKENS)), few, outcome)


def _median(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None


def _largest(values: list[float]) -> float | None:
    return sorted(values)[-1] if values else None
