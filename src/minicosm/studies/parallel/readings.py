"""Numbers out of results: seeds of arms, differences in pairs, deviations from exact means."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Results, Rows, least, only_if, percent

from .trials import CAUSAL, DATA, Data, Refining

PASSES = (1, 2, 4, 10)
LEARNED = (
    0.25  # share of tokens that a decoder has right in its first pass if it has learned anything
)


def median(values: Iterable[float]) -> float:
    """The middle value; NaN if there is none, or if one is NaN."""
    found = np.array([np.nan if value is None else value for value in values], float)
    return float(np.median(found)) if found.size else float("nan")


def where(found: Rows, column: str, **fields: Any) -> list[Any]:
    """A column, in the rows in which other columns have these values."""
    return [
        value
        for i, value in enumerate(found[column])
        if all(found[name][i] == wanted for name, wanted in fields.items())
    ]


def standard_errors(sample: Any, wanted: float, deviation: float = 0.0) -> float:
    """How many standard errors the mean of a sample is from a number. The deviation is the larger of that of
    the sample and the one given: few runs of a skewed law tell little about it."""
    sample = np.asarray(sample, float)
    spread = np.maximum(sample.std(ddof=1), deviation)
    return float(np.abs(sample.mean() - wanted) / np.maximum(spread / len(sample) ** 0.5, 1e-9))


# -- translators ------------------------------------------------------------------------------------


def of_seeds(results: Results, arm: str, *path: str) -> np.ndarray:
    """One number of every seed of an arm."""
    column = results[arm].numbers["seeds"]
    for name in path:
        column = column[name]
    return np.asarray(column, float)


def after(results: Results, arm: str, passes: int, name: str = "valid") -> np.ndarray:
    """One number of every seed after this number of passes."""
    return of_seeds(results, arm, "passes", str(passes), name)


def searched(results: Results, data: Data, name: str = "valid") -> np.ndarray:
    """One number of every seed of the model that decodes token by token, with a beam."""
    return of_seeds(results, CAUSAL[data], "beam", name)


def refiners(results: Results) -> list[str]:
    """The arms that refine, trained or exact."""
    return [
        name
        for name, result in results.items()
        if not (isinstance(result.config, Refining) and result.config.causal)
    ]


def shared(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the seeds that both arms have."""
    both = np.minimum(len(first), len(second))
    return first[:both], second[:both]


def apart(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Differences, seed by seed, of the seeds that both arms have."""
    return np.subtract(*shared(first, second))


def points(first: np.ndarray, second: np.ndarray) -> Estimate:
    """The mean difference of shares, seed by seed, in points, with its 95% interval."""
    return percent(apart(first, second))


def neighbours(
    results: Results, data: str, of: str, kind: str, measure: str
) -> tuple[np.ndarray, np.ndarray]:
    """[seed] of (mean, deviation, pairs) of a measure of attention: where neighbours repeat, and elsewhere.
    `of` says which hypotheses, `kind` is self or cross."""
    there, elsewhere = (
        of_seeds(results, data, of, kind, group, measure) for group in ("stutter", "other")
    )
    return there, elsewhere


def if_learned(check: Callable[[Results], Outcome]) -> Callable[[Results], Outcome]:
    """The check, undecided where a decoder that was trained on 15% of the tokens has not learned."""

    @wraps(check)
    def checked(results: Results) -> Outcome:
        right = [
            after(results, data, 1, "given_length_accuracy").mean()
            for data in DATA
            if data in results
        ]
        share = least(right)
        remark = f"A decoder has {share:.0%} of the tokens right: it has not learned."
        return only_if(share >= LEARNED, remark, check(results))

    return checked
