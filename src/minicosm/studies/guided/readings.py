"""Numbers out of results: arms, differences between them, and how means over generators decide."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Rows,
    Table,
    above,
    all_above,
    all_below,
    all_of,
    at_least,
    below,
    finite,
)

Samples = np.ndarray  # one number of every generator

TOP_PS = ("0.9", "1")
LEARNED = 0.05
"""Nats per token. Generators of test cases whose loss exceeds the least possible one by more have not
learned the task, and no claim about them is judged."""
ENOUGH = 2 / 3
"""Of the generators of brackets have to come to the error at which they are kept; else no claim about
them is judged."""
GROUPS = {"top_p .95": ".95", "top_p 1": "1", "top_p 1, temperature 1.2": "1, T 1.2"}
"""What Algorithm 1 and its baseline have in common, and the ending of the names of their arms."""


def table(title: str, columns: Mapping[str, Sequence[Any]], note: str = "") -> Table:
    """A table whose columns are lists of the same length."""
    return Table(title, tuple(columns), tuple(zip(*columns.values(), strict=True)), note)


# -- exact suites -----------------------------------------------------------------------------


def selected(data: Rows, column: str, **at: Any) -> np.ndarray:
    """The numbers of a column in the rows where other columns have these values."""
    on = np.all([np.array(data[name]) == value for name, value in at.items()], axis=0)
    return np.array(data[column], float)[on]


# -- trained generators -----------------------------------------------------------------------


def config(results: Results) -> Any:
    """The configuration of the trials, but for their seeds."""
    return next(iter(results.values())).config


def names(results: Results, *path: str) -> list[str]:
    """The names of what was measured at a place of the results."""
    return list(_at(next(iter(results.values())).numbers, path))


def every(results: Results, *path: str) -> np.ndarray:
    """One number, or one list of numbers, of every generator of all ensembles."""
    parts = [np.asarray(_at(one.numbers, path), float) for one in results.values()]
    return np.concatenate(parts)


def column(results: Results, *path: str) -> np.ndarray:
    """The same of the generators that are counted."""
    numbers = every(results, *path)
    return numbers[counted(results)] if _brackets(results) else numbers


def _brackets(results: Results) -> bool:
    return "kept_ood" in next(iter(results.values())).numbers


def counted(results: Results) -> np.ndarray:
    """The places of the generators of brackets that are counted: those that came to the error at which they
    are kept, unless too few did, when nothing is judged and all are shown."""
    came = every(results, "kept_ood") <= config(results).kept_at
    return np.flatnonzero(came) if came.mean() >= ENOUGH else np.arange(len(came))


def _at(numbers: Any, path: Iterable[str]) -> Any:
    for name in path:
        numbers = numbers[name]
    return numbers


def total(results: Results, *path: str) -> int:
    """The sum of a count over generators."""
    return round(float(column(results, *path).sum()))


def arm(results: Results, name: str, what: str = "accuracy") -> Samples:
    """The mean over repetitions of an arm of the test cases, for every generator."""
    return column(results, "arms", name, what).mean(axis=1)


def gain(results: Results, first: str, second: str, what: str = "accuracy") -> Samples:
    """By how much the first arm exceeds the second, for every generator."""
    return arm(results, first, what) - arm(results, second, what)


def errors(results: Results, name: str, top_p: str) -> Samples:
    """The share of wrong completions of fresh prompts."""
    return column(results, "unseen", name, top_p)


def cell(results: Results, *path: str, quota: int, stride: int) -> Samples:
    """One cell of a table by quota and stride."""
    sizes = config(results)
    at = sizes.quotas.index(quota), sizes.strides.index(stride)
    return column(results, "quota", *path)[:, at[0], at[1]]


def brackets_learned(results: Results) -> bool:
    """Whether enough generators of brackets have come to the error at which they are kept."""
    kept = every(results, "kept_ood")
    return finite(kept) and bool(np.mean(kept <= config(results).kept_at) >= ENOUGH)


def cases_learned(results: Results) -> bool:
    """Whether the loss of the generators of test cases is on average near the least possible one."""
    return bool(column(results, "excess").mean() <= LEARNED)


def share(successes: int, count: int) -> Estimate:
    """A share with Wilson's 95% interval."""
    if count == 0:
        return Estimate(float("nan"), 0.0, 1.0, 0)
    z, p = 1.959964, successes / count
    middle = (p + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return Estimate(p, middle - half, middle + half, count)


# -- verdicts by means, with intervals that can refute -----------------------------------------


def rising(name: str, columns: Iterable[Samples]) -> Outcome:
    """Holds iff means over generators rise from column to column; fails if the interval of a step lies
    below 0; otherwise undecided."""
    steps = {i: Estimate.of(after - before) for i, (before, after) in enumerate(pairwise(columns))}
    met = above(f"least {name}", [step.value for step in steps.values()], 0.0)
    return _either(met, all_above(name, steps))


def lower(name: str, differences: Mapping[str, Estimate]) -> Outcome:
    """Holds iff every mean is below 0; fails if an interval lies above; otherwise undecided."""
    met = below(f"largest {name}", [e.value for e in differences.values()], 0.0)
    return _either(met, all_below(name, differences))


def exceeds(name: str, gains: Mapping[str, Samples], errors: float = 1.0) -> Outcome:
    """Holds iff every mean exceeds `errors` standard errors (-1: minus one); fails if an interval lies
    below 0; otherwise undecided."""
    margins = [float(g.mean()) - errors * standard_error(g) for g in gains.values()]
    compare = above if errors > 0 else at_least
    met = compare(f"least {name} less {errors:g} standard errors", margins, 0.0)
    return _either(met, all_above(name, _estimates(gains)))


def standard_error(samples: Samples) -> float:
    if len(samples) < 2:
        return float("nan")
    return float(np.std(samples, ddof=1) / sqrt(len(samples)))


def _estimates(samples: Mapping[str, Samples]) -> dict[str, Estimate]:
    return {name: Estimate.of(values) for name, values in samples.items()}


def _either(met: Outcome, intervals: Outcome) -> Outcome:
    """What the means decide if they meet the criterion, otherwise what the intervals refute."""
    if met.verdict == "holds":
        return all_of(met, numbers=intervals.numbers)
    return intervals
