"""Numbers out of results: scaled divergences, slopes, differences of logarithms."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Results, Rows, TrialResult, unpaired

from .trials import PLANE

CONTRASTS = ("stationary", "$N(0.5, 2)$", "local", "random table")
"""The contrast laws of Lemma 1, in the order in which the suite runs them at every gap."""


def where(found: Rows, column: str, **fields: Any) -> list[Any]:
    """A column, in the rows in which other columns have these values."""
    return [
        value
        for i, value in enumerate(found[column])
        if all(found[name][i] == wanted for name, wanted in fields.items())
    ]


def only(found: Rows, column: str, **fields: Any) -> float:
    """The entry of the one row in which other columns have these values; NaN if there is no such row, or more
    than one."""
    values = where(found, column, **fields)
    return values[0] if len(values) == 1 else float("nan")


def scaled(divergences: Any, length: float, gap: float) -> Estimate:
    """The mean of `T KL / gap`, which tends to the price of the contrast law."""
    return Estimate.of(np.asarray(divergences) * length / gap)


def slopes(values: Any, sizes: Any) -> Estimate:
    """The slope of log value on log size, row by row: mean and interval."""
    logs, x = np.log(np.asarray(values)), np.log(np.asarray(sizes, float))
    x = x - x.mean()
    return Estimate.of(logs @ x / (x @ x))


def log_difference(first: Any, second: Any) -> Estimate:
    """The difference of the means of the logarithms, with Welch's 95% interval."""
    a, b = (np.log(np.asarray(values)).tolist() for values in (first, second))
    found = unpaired(a, b)  # which is in hundredths
    return Estimate(found.value / 100, found.low / 100, found.high / 100, found.count)


def ratio_of_means(first: Any, second: Any) -> Estimate:
    """The ratio of two means with a 95% interval, by the variances of both (the delta method)."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    ratio = a.mean() / b.mean()
    relative = a.var(ddof=1) / len(a) / a.mean() ** 2 + b.var(ddof=1) / len(b) / b.mean() ** 2
    half = 1.96 * ratio * np.sqrt(relative)
    return Estimate(float(ratio), float(ratio - half), float(ratio + half), len(a) + len(b))


LEARNED = 0.01  # excess loss of a classifier that has learned


def learned(results: Results) -> float:
    """The largest excess loss of all classifiers."""
    losses = [loss for result in results.values() for loss in result.numbers["excess"]]
    return float(np.max(losses)) if losses else float("nan")


def against_euler(results: Results) -> dict[str, Estimate]:
    """For every gap the mean of log KL(learned) less log KL(one Euler step)."""
    return {
        name.removesuffix(", local"): Estimate.of(
            np.log(result.numbers["divergence"]) - np.log(result.numbers["euler"])
        )
        for name, result in results.items()
    }


def local_gain(results: Results) -> dict[str, Estimate]:
    """The mean of log KL with the stationary contrast law less that with the local one, on the line and in
    the plane if it was run."""
    return {
        prefix: log_difference(
            results[f"{prefix}stationary"].numbers["divergence"],
            results[f"{prefix}local"].numbers["divergence"],
        )
        for prefix in ("", PLANE)
        if f"{prefix}local" in results
    }


def on_the_line(results: Results) -> list[TrialResult]:
    return [result for name, result in results.items() if not name.startswith(PLANE)]


def in_the_plane(results: Results) -> list[TrialResult]:
    return [result for name, result in results.items() if name.startswith(PLANE)]
