"""Numbers out of results about sentences of a grammar: who has learned, points between arms, phases of
teachers."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Results, finite

from .readings import mean
from .trials import PLACES

if TYPE_CHECKING:
    from .trials import Sentences

CLOSED = 0.65
"""The share of the gap between the unigram law's loss and the exact one that a teacher must have closed."""


def sentences_config(results: Results) -> "Sentences":
    return results["sentences"].config


def closed(results: Results) -> np.ndarray:
    """The share of the gap between the unigram loss and Bayes' that every teacher has closed."""
    numbers = results["sentences"].numbers
    gap = numbers["floor"] - numbers["bayes"]
    loss = np.asarray(numbers["loss"], float)
    return (numbers["floor"] - loss) / gap if gap > 0 else np.full(len(loss), np.nan)


def taught(results: Results) -> np.ndarray:
    """The students whose teacher has learned; none, if a loss is not known."""
    shares, config = closed(results), sentences_config(results)
    if not finite(shares):
        return np.array([], int)
    good = shares[np.arange(config.pairs) % config.teachers] >= CLOSED
    return np.flatnonzero(good)


def top_accuracy(results: Results, arm: str, horizon: int) -> np.ndarray:
    """Top-1 accuracy of the students whose teacher has learned."""
    found = results["sentences"].numbers["accuracy"][str(horizon)][arm]
    return np.asarray(found, float)[taught(results)]


def points(results: Results, first: str, second: str, horizon: int) -> np.ndarray:
    """Top-1 accuracy under one arm less that under another, in points, student by student."""
    return 100 * (top_accuracy(results, first, horizon) - top_accuracy(results, second, horizon))


def good_teachers(results: Results) -> np.ndarray:
    """The teachers that have learned; none, if a loss is not known."""
    shares = closed(results)
    return np.flatnonzero(shares >= CLOSED) if finite(shares) else np.array([], int)


def drop(results: Results, share: float) -> np.ndarray:
    """The share of all steps after which each good teacher's loss has made this share of its whole drop."""
    arrays = results["sentences"].arrays
    steps = np.asarray(arrays["steps"], float)
    losses = np.asarray(arrays["losses"], float)[:, good_teachers(results)]
    made = (losses[0] - losses) / (losses[0] - losses.min(axis=0))
    first = np.argmax(made >= share, axis=0)
    return steps[first] / steps[-1] + 0 * losses.sum(axis=0)


def steepest_third(results: Results) -> np.ndarray:
    """Of each good teacher: the share of all steps at which the shortest stretch ends that has a third of the
    whole drop of the log loss; NaN if a step is."""
    arrays = results["sentences"].arrays
    steps = np.asarray(arrays["steps"], float)
    ends = []
    for curve in np.asarray(arrays["losses"], float)[:, good_teachers(results)].T:
        level = np.log(curve) if (curve > 0).all() else np.full(len(curve), np.nan)
        need = (level[0] - level.min()) / 3
        best, end = np.inf, np.nan
        for i in range(len(level)):
            far = np.flatnonzero(level[i] - level[i:] >= need)
            if len(far) and need > 0 and steps[i + far[0]] - steps[i] < best:
                best, end = steps[i + far[0]] - steps[i], steps[i + far[0]] / steps[-1]
        ends.append(end)
    return np.array(ends) + 0 * steps.sum()


def reliance(results: Results, n: int = 2) -> np.ndarray:
    """The median of L_robust of every good teacher, `[step, teacher]`."""
    found = np.asarray(results["sentences"].arrays["robust"], float)
    return found[:, good_teachers(results), n - 2]


def best_place(results: Results) -> tuple[int, int]:
    """Among the single checkpoints: the number of the one with the best students, and of the one nearest, on
    logarithmic scale, to where L_robust for n = 2 is largest (means over teachers)."""
    horizon = min(sentences_config(results).horizons)
    means = [mean(top_accuracy(results, place, horizon)) for place in PLACES]
    if not len(good_teachers(results)):
        return -1, -1
    curve = reliance(results).mean(axis=1)
    if not finite(means) or not finite(curve):
        return -1, -1
    steps = np.asarray(results["sentences"].arrays["steps"], float)
    peak = steps[int(np.argmax(curve))] / steps[-1]
    near = np.abs(np.log(np.array(list(PLACES.values()))) - np.log(peak))
    return int(np.argmax(means)), int(np.argmin(near))


def peak_share(results: Results) -> np.ndarray:
    """The share of all steps at which L_robust for n = 2 of each good teacher is largest; NaN if it
    holds one."""
    curve = reliance(results)
    steps = np.asarray(results["sentences"].arrays["steps"], float)
    return steps[np.argmax(curve, axis=0)] / steps[-1] + 0 * curve.sum(axis=0)


def shortest(results: Results) -> int:
    return min(sentences_config(results).horizons)


def longest(results: Results) -> int:
    return max(sentences_config(results).horizons)


def above_ceiling(results: Results) -> np.ndarray:
    """By how much every model's top-1 accuracy exceeds the exact one's plus two standard errors."""
    numbers = results["sentences"].numbers
    students = [top for arms in numbers["accuracy"].values() for top in arms.values()]
    tops = [np.asarray(top, float) for top in (numbers["teacher_accuracy"], *students)]
    return np.concatenate(tops) - numbers["ceiling"] - 2 * numbers["error"]


def student_reliance(results: Results, arm: str, n: int) -> np.ndarray:
    """The median of L_robust of the students of an arm at the shortest horizon."""
    found = np.asarray(results["sentences"].numbers["robust"][arm], float)
    return found[taught(results), n - 2]


def probe_accuracy(results: Results, arm: str) -> np.ndarray:
    """How often probes tell the non-terminal that ends at a token, `[student, height - 2]`, for the heights
    below the root."""
    found = np.asarray(results["sentences"].numbers["probe"][arm], float)
    return found[taught(results)]


def head_times(results: Results, size: str) -> np.ndarray:
    """The steps after which models from labels with few heads ("small") or many ("large") first have 80% of
    their own accuracy at the end; NaN where an accuracy is NaN."""
    arrays = results["sentences"].arrays
    top = np.asarray(arrays[f"head_top_{size}"], float)
    first = np.argmax(top >= 0.8 * top[-1], axis=0)
    return np.asarray(arrays["head_steps"], float)[first] + 0 * top.sum(axis=0)


def head_tops(results: Results, size: str) -> np.ndarray:
    """Their accuracy at the end."""
    return np.asarray(results["sentences"].arrays[f"head_top_{size}"], float)[-1]
