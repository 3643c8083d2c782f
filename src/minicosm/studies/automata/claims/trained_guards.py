"""What claims about trained models share: their guards, and the table of accuracies."""

from minicosm.lab import Cell, Outcome, Results, Table, only_if

from .. import experiment_readings as readings

RECIPE = (
    "The recipe does not work here: a member of the gridworld at two layers is below 99%, or one of the "
    "models that are compared is less than 5 points better than the position alone."
)
IF_RECIPE = (
    " Undecided unless every member is at least 5 points better than the position alone and every member "
    r"of $\mathrm{Grid}_4$ at two layers has 99%."
)
NOT_LEARNED = "Too few members have learned the task at the length of training."
IF_LEARNED = (
    " Only members that have learned count (98% at the length of training, an LSTM or a scratchpad "
    "99.9%); "
    "with fewer than four of an arm, or three where three are trained, undecided."
)


def if_recipe(results: Results, outcome: Outcome) -> Outcome:
    """The outcome, if the recipe works for all arms."""
    return only_if(readings.recipe_works(results), RECIPE, outcome)


def if_learned(results: Results, outcome: Outcome, *arms: str) -> Outcome:
    """The outcome, if enough members of these arms (default: of all) have learned."""
    return only_if(readings.enough(results, *(arms or tuple(results))), NOT_LEARNED, outcome)


def fails_only_if(condition: bool, otherwise: str, outcome: Outcome) -> Outcome:
    """The outcome, in which a failure counts only under a condition."""
    return only_if(outcome.verdict != "fails" or condition, otherwise, outcome)


def accuracies(results: Results) -> Table:
    """What every arm came to, beside the exact floors."""
    rows = []
    for arm in results:
        config, numbers = readings.config_of(results, arm), results[arm].numbers
        windows = dict(zip(config.windows, numbers["window"], strict=False))
        rows.append(
            (
                arm,
                config.length,
                readings.mean(results, arm),
                100 * readings.median(results, arm),
                100 * readings.best(results, arm),
                readings.reach(results, arm),
                100 * numbers["position"],
                *(100 * windows[w] if w in windows else "" for w in (4, 8)),
            )
        )
    return Table(
        "Accuracy over members in per cent, and what the position and the last symbols alone tell",
        ("arm", "T", "mean", "median", "best", "reach", "position", "last 4", "last 8"),
        tuple(rows),
        note="Reach: the largest t with at least 95% at every position up to t, median over members.",
    )


def beyond(results: Results) -> Table:
    """Accuracy at the length of training and after it, of the members that have learned."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            arm,
            len(readings.learned(results, arm)),
            readings.config_of(results, arm).members,
            readings.mean(results, arm),
            *(readings.span_mean(results, arm, begin, end) for begin, end in SPANS),
        )
        for arm in results
    )
    return Table(
        "Accuracy in per cent: of all members at the length of training, of those that learned beyond it",
        ("arm", "learned", "of", "up to T", "T+1 to 1.5 T", "T+1 to 2 T", "up to 2 T"),
        rows,
    )


SPANS = ((1, 1.5), (1, 2), (0, 2))
