"""Numbers out of results: students with zero loss, slopes, shares."""

from collections.abc import Iterable
from math import log10
from typing import Any

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    TrialResult,
    all_of,
    all_true,
    least,
    only_if,
)

from .trials import BlindSize, Students

ZERO_LOSS = 1e-9  # largest residual of a student whose loss counts as zero
ENOUGH = 30  # students with zero loss that a task needs in every world
ROUNDING = 1e-17  # distances of 0 are drawn here
SAME_MINIMUM = 1e-6  # share by which sums of squares at one minimum may differ


def worlds_of(results: Results) -> list[str]:
    """The trials that fitted students."""
    return [name for name, result in results.items() if isinstance(result.config, Students)]


def solved(results: Results, task: str, world: str) -> list[float]:
    """Distances of the students with zero loss in one world; none if the task was not run."""
    fits = results[world].numbers.get(task)
    if fits is None:
        return []
    pairs = zip(fits["residual"], fits["distance"], strict=True)
    return [distance for residual, distance in pairs if residual < ZERO_LOSS]


def enough(results: Results, tasks: Iterable[str]) -> bool:
    """Whether every task has enough students with zero loss in every world."""
    counts = [len(solved(results, task, w)) for task in tasks for w in worlds_of(results)]
    return bool(counts) and min(counts) >= ENOUGH


def all_solved(results: Results, task: str) -> list[float]:
    """Distances of the students with zero loss, of all worlds."""
    return [distance for world in worlds_of(results) for distance in solved(results, task, world)]


def orders(distances: Iterable[float]) -> list[float]:
    """Their decimal logarithms."""
    return [log10(max(distance, ROUNDING)) for distance in distances]


def slopes(distances: Any, sizes: Iterable[int], first: int, last: int) -> Estimate:
    """The slope of log distance on log n between two sizes, set by set: mean and interval."""
    n = list(sizes)
    if first not in n or last not in n:
        return Estimate.of([])
    a, b = np.log(distances[:, n.index(first)]), np.log(distances[:, n.index(last)])
    return Estimate.of((b - a) / np.log(last / first))


def share(right: int, of: int) -> Estimate:
    """A share with Wilson's 95% interval."""
    from scipy.special import ndtri

    if of == 0:
        return Estimate.of([])
    z = float(ndtri(0.975))
    p, n = right / of, of
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Estimate(p, float(centre - half), float(centre + half), n)


def stuck(result: TrialResult) -> int:
    """How many fits to drawn triples have a sum of squares above the one that the fit from the true world
    reaches: those that ended in a local minimum."""
    squares, reached = result.arrays["squares"], result.arrays["from truth"]
    return int(np.sum(~(squares <= reached * (1 + SAME_MINIMUM))))


# -- blind fits of Gaussian worlds ----------------------------------------------------------------

BLIND = ("x2|x1", "x2,x3|x1", "x1,x3|x2")
EXACT = 3  # exact fits that every world needs


def blind_fits(results: Results, tasks: tuple[str, ...]) -> Outcome:
    """Whether the exact fits of each world are as many different ones as the theory says: with unit means
    one, and for the middle token of two states two."""
    parts, exact = [], []
    for result in results.values():
        if not isinstance(result.config, BlindSize):
            continue
        fits = result.numbers["fits"]
        k = result.config.hidden
        for i, task in enumerate(fits["task"]):
            if task in tasks:
                wanted = 2 if k == 2 and task == "x1,x3|x2" else 1
                exact.append(fits["exact"][i])
                parts.append(fits["solutions"][i] == wanted)
    found = all_of(
        all_true("worlds with as many solutions by blind fits as predicted", parts),
        numbers={"least number of exact fits": least(exact)},
    )
    return only_if(least(exact) >= EXACT, "Too few fits are exact.", found)
