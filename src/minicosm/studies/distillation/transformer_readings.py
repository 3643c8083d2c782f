"""Numbers out of results of Transformers: times and attention on a parity, points between arms at the ends of
nodes of a grammar, and on a user's text."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Estimate, Results, finite

from .readings import T90, curve, learned, mean

if TYPE_CHECKING:
    from .transformer_trials import Attention, NextTokens, Text

PARITY = "attention"
LEAKS = "leaks"
START, MIDDLE = 0, 1
"""The moments at which a teacher is asked about all inputs."""
NEXT = "next tokens"
SHARP = 4
"""Evaluations that a transition must have for a rank correlation."""
CLOSED = 0.65
"""The share of the gap between the loss of single tokens and the exact one that a teacher must have
closed."""
ROOM = 0.5
"""Points below the exact law at which students can still gain."""
BELOW = 0.4
"""Nats below the entropy of words that a teacher of a text must have reached."""


# -- a parity as a sequence ------------------------------------------------------------------------


def attention_config(results: Results) -> "Attention":
    return results[PARITY].config


def steps_to_90(results: Results, arm: str) -> np.ndarray:
    """The first evaluation with 90%, for the seeds whose teacher has learned; the horizon where there is
    none, NaN where an accuracy is NaN."""
    name = "steps" if arm == "teacher" else "student_steps"
    steps = np.asarray(results[PARITY].arrays[name], float)
    found = curve(results, arm, PARITY)
    reached = found >= T90
    first = np.where(reached.any(axis=0), steps[np.argmax(reached, axis=0)], steps[-1])
    return first + 0 * found.sum(axis=0)


def ever_90(results: Results, arm: str) -> np.ndarray:
    return np.asarray((curve(results, arm, PARITY) >= T90).any(axis=0))


def log_times(results: Results, first: str, second: str) -> Estimate:
    """`log(t90 of one / t90 of the other)`, seed by seed."""
    return Estimate.of(np.log(steps_to_90(results, first) / steps_to_90(results, second)))


def leak(results: Results, degree: int, moment: int = MIDDLE) -> np.ndarray:
    """`log(on / off)` of one degree before training (`START`) or where the teacher first exceeds 70%
    (`MIDDLE`), for the teachers that have learned; NaN where it is not known."""
    found = []
    for i in learned(results, LEAKS):
        on, off = (
            float(results[LEAKS].arrays[name][moment, i, degree - 1]) for name in ("on", "off")
        )
        found.append(np.log(on / off) if on > 0 and off > 0 else np.nan)
    return np.array(found)


def rank_correlations(results: Results) -> np.ndarray:
    """Spearman's correlation of attention on the support and accuracy from the last evaluation before the
    transition to its end, for teachers that have learned and whose transition has at least four
    evaluations."""
    from scipy.stats import spearmanr

    result = results[PARITY]
    steps = np.asarray(result.arrays["steps"], float)
    found = []
    for i in learned(results, PARITY):
        start, end = (result.numbers[name][i] for name in ("start", "end"))
        if start is None or end is None:
            continue
        first = max(0, int(np.searchsorted(steps, start)) - 1)
        last = int(np.searchsorted(steps, end)) + 1
        if last - first < SHARP:
            continue
        attention = np.asarray(result.arrays["support"], float)[first:last, i]
        accuracy = np.asarray(result.arrays["teacher_curve"], float)[first:last, i]
        known = finite(attention) and finite(accuracy)
        found.append(float(spearmanr(attention, accuracy).statistic) if known else np.nan)
    return np.array(found)


# -- the ends of nodes -----------------------------------------------------------------------------


def next_config(results: Results) -> "NextTokens":
    return results[NEXT].config


def next_taught(results: Results) -> np.ndarray:
    """The students whose teachers have learned at every height; none, if a loss is not known."""
    config = next_config(results)
    good = np.ones(config.teachers, bool)
    for height in config.heights:
        numbers = results[NEXT].numbers[str(height)]
        gap = numbers["floor"] - numbers["bayes"]
        loss = np.asarray(numbers["loss"], float)
        shares = (numbers["floor"] - loss) / gap if gap > 0 else np.full(len(loss), np.nan)
        good &= shares >= CLOSED if finite(shares) else False
    return np.flatnonzero(good[np.arange(config.pairs) % config.teachers])


def next_points(results: Results, height: int, first: str, second: str) -> np.ndarray:
    """Top-1 accuracy under one arm less that under another, in points, student by student."""
    found = results[NEXT].numbers[str(height)]["accuracy"]
    gap = np.asarray(found[first], float) - np.asarray(found[second], float)
    return 100 * gap[next_taught(results)]


def next_room(results: Results) -> bool:
    """Whether one-shot students are, in the mean, half a point or more below the exact law at every
    height."""
    gaps = []
    for height in next_config(results).heights:
        numbers = results[NEXT].numbers[str(height)]
        gaps.append(
            100 * (numbers["ceiling"] - mean(np.asarray(numbers["accuracy"]["one-shot"], float)))
        )
    return finite(gaps) and bool((np.array(gaps) >= ROOM).all())


def next_above_ceiling(results: Results) -> np.ndarray:
    """By how much every model's top-1 accuracy exceeds the exact one's plus two standard errors."""
    found = []
    for height in next_config(results).heights:
        numbers = results[NEXT].numbers[str(height)]
        tops = [numbers["teacher_accuracy"], *numbers["accuracy"].values()]
        limit = numbers["ceiling"] + 2 * numbers["error"]
        found += [np.asarray(top, float) - limit for top in tops]
    return np.concatenate(found)


# -- a user's text ---------------------------------------------------------------------------------


def text_config(results: Results) -> "Text":
    return results["sentences"].config


def text_learned(results: Results) -> np.ndarray:
    """The students whose teacher is far enough below the entropy of words; none, if a loss is not known."""
    numbers, config = results["sentences"].numbers, text_config(results)
    loss = np.asarray(numbers["loss"], float)
    if not finite(loss):
        return np.array([], int)
    good = loss <= numbers["floor"] - BELOW
    return np.flatnonzero(good[np.arange(config.pairs) % config.teachers])


def text_points(results: Results) -> np.ndarray:
    """Top-1 accuracy of progressive students less one-shot ones at the shortest horizon, in points."""
    found = results["sentences"].numbers["accuracy"][str(min(text_config(results).horizons))]
    gap = np.asarray(found["progressive"], float) - np.asarray(found["one-shot"], float)
    return 100 * gap[text_learned(results)]


def text_falls(results: Results) -> np.ndarray:
    """The largest median of L_robust for n = 2 less the last, of every teacher."""
    robust = np.asarray(results["sentences"].arrays["robust"], float)[:, :, 0]
    return robust.max(axis=0) - robust[-1]
