"""What claims about trained models share: their guards and tables."""

import numpy as np

from minicosm.lab import Cell, Outcome, Results, Table, only_if

from .. import readings

NOT_LEARNED = "Fewer than six runs of an arm have learned, or it was not trained at this size."
IF_LEARNED = (
    " Only runs with at most one wrong read of a thousand on strings of the law of "
    "training count; with fewer "
    "than six of an arm, undecided."
)
NOT_SOLVED = "Fewer than six runs of an arm simulate the automaton at the density of training."
IF_SOLVED = (
    " Only runs with at most one wrong state of a thousand at the density of training count; with fewer than "
    "six of an arm, undecided."
)


def if_learned(results: Results, outcome: Outcome, *arms: str) -> Outcome:
    """The outcome, if enough runs of these arms have learned."""
    return only_if(readings.enough(results, *arms), NOT_LEARNED, outcome)


def if_solved(results: Results, outcome: Outcome, *arms: str) -> Outcome:
    """The outcome, if enough runs of these simulations have."""
    enough = [len(readings.solved(results, arm)) >= readings.ENOUGH for arm in arms]
    return only_if(sum(enough) == len(arms), NOT_SOLVED, outcome)


def errors(results: Results) -> Table:
    """Wrong reads of every arm: runs that learned, medians, runs without an error."""
    lines: list[tuple[Cell, ...]] = []
    for arm in results:
        kept = readings.learned(results, arm)
        row: list[Cell] = [arm, readings.config_of(results, arm).length, len(kept),
                           readings.config_of(results, arm).members]  # fmt: skip
        for name in readings.SETS:
            found = readings.wrong(results, arm, name)
            row += [float(np.median(found)), int(readings.reads(results, arm, name))]
        total = np.sum([readings.wrong(results, arm, name) for name in readings.SETS], axis=0)
        lines.append((*row, int(np.sum(total == 0))))
    return Table(
        "Wrong reads: median over all runs, of so many",
        ("arm", "T", "learned", "of", "inside", "reads", "sparse", "reads", "dense", "reads",
         "runs without any"),
        tuple(lines),
    )  # fmt: skip


def looks(results: Results) -> Table:
    """What every simulation came to, medians over runs."""
    names = (
        "error", "error_.9", "error_.98", "entropy", "zeros", "ideal", "mass", "first", "onset", "end",
        "onset_two", "end_two", "norm",
    )  # fmt: skip
    lines: tuple[tuple[Cell, ...], ...] = tuple(
        (
            arm,
            readings.simulated(results, arm).members,
            *(float(np.median(readings.values(results, arm, name))) for name in names),
        )
        for arm in results
    )
    return Table(
        "Medians over runs",
        ("arm", "runs", "error", "at .9", "at .98", "entropy", "zeros", "ideal", "mass", "first", "onset",
         "weight at end", "onset, two", "at end, two", "norm"),
        lines,
        note="Ideal, first: shares of rows whose largest weight is on the latest, the first setting; mass: "
        "mean weight of the latest; zeros: share of weights up to 1e-8; two: on the probe with two "
        "settings, from the second on.",
    )  # fmt: skip
