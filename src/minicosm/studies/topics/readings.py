"""Numbers out of results: statistics of seeds, guards, when norms have doubled, ratios of pairs of words."""

from collections.abc import Iterable
from math import log
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Results, least, only_if, worst

from .trials import Training

NATS = {"": 3.5, "penalty": 4.2, "table 2.1": 3.4}
"""Cross-entropy on held-out documents of 100 words below which a model counts as trained."""
SQUARED = 0.955
WORDS, STEPS = 100, 500  # of the source's world, and of the shortest recipe


# -- one-layer models ---------------------------------------------------------------------------------


def of_seeds(results: Results, arm: str, *path: str) -> np.ndarray:
    """One number of every seed of an arm."""
    column: Any = results[arm].numbers
    for name in path:
        column = column[name]
    return np.asarray(column, float)


def statistic(results: Results, arm: str, name: str, when: str = "end") -> np.ndarray:
    """A block statistic of the value matrix (or of the Gram matrix, where embeddings are trained)."""
    return of_seeds(results, arm, when, name)


def estimates(results: Results, arms: Iterable[str], name: str) -> dict[str, Estimate]:
    """Means over seeds of a block statistic, by arm."""
    return {arm: Estimate.of(statistic(results, arm, name)) for arm in arms}


def limit_of(config: Training, kind: str = "") -> float:
    """The held-out loss below which an arm counts as trained. It is stated for 100 words; in other worlds it
    is as far below the loss of a uniform guess, the squared one times 100 over the number of words."""
    words = config.topics * config.words
    if config.loss == "squared":
        return 1 - 1 / words - (1 - 1 / WORDS - SQUARED) * WORDS / words
    return log(words) - (log(WORDS) - NATS["penalty" if config.penalty else kind])


def held_out(results: Results, arm: str) -> np.ndarray:
    """The loss that an arm was trained on, of every seed, on held-out documents."""
    kind = results[arm].config.loss
    return of_seeds(results, arm, "held out", kind.replace("-", "_"))


def if_trained(results: Results, arms: Iterable[str], outcome: Outcome, kind: str = "") -> Outcome:
    """The outcome, undecided where a seed of an arm has not learned."""
    for arm in arms:
        limit = limit_of(results[arm].config, kind)
        most = worst(held_out(results, arm))
        remark = f"{arm}: a model has a held-out loss of {most:.3f}, above {limit:.3f}; it has not learned."
        outcome = only_if(bool(most <= limit), remark, outcome)
    return outcome


def if_full(results: Results, outcome: Outcome) -> Outcome:
    """The outcome, undecided where worlds or trainings are smaller than the recipes'."""
    configs = [result.config for result in results.values()]
    words = least([config.topics * config.words for config in configs])
    steps = least([getattr(config, "steps", 0) or STEPS for config in configs])
    remark = f"There are {words:.0f} words and {steps:.0f} steps; recipes have {WORDS} and {STEPS} or more."
    return only_if(bool(words >= WORDS and steps >= STEPS), remark, outcome)


def doubled(steps: Iterable[float], norms: np.ndarray, times: float = 2.0) -> np.ndarray:
    """By column, the first step at which a norm has grown by this factor; infinite if it never has."""
    grown = norms >= times * norms[0]
    at = np.asarray(list(steps), float)
    return np.where(grown.any(axis=0), at[grown.argmax(axis=0)], np.inf)


def at_step(steps: Iterable[float], values: np.ndarray, when: np.ndarray) -> np.ndarray:
    """By column, the value at the measurement of this step, or at the last one before it; NaN without any."""
    at = np.asarray(list(steps), float)
    rows = np.searchsorted(at, when, "right") - 1
    found = np.take_along_axis(values, np.clip(rows, 0, len(at) - 1)[None], axis=0)[0]
    return np.where(np.isfinite(when), found, np.nan)


# -- text ---------------------------------------------------------------------------------------------


def sizes(results: Results) -> tuple[int, ...]:
    return next(iter(results.values())).config.sizes


def pairs(
    results: Results, size: int, kind: str, measure: str, model: str = "trained"
) -> np.ndarray:
    """A mean over pairs of words, of every seed."""
    return np.array([r.numbers[model][str(size)][kind][measure] for r in results.values()], float)


def differences(
    results: Results, first: str, second: str, measure: str, model: str = "trained"
) -> dict[str, Estimate]:
    """Means over seeds of the difference of two kinds of pairs, by the number of words of a topic."""
    return {
        f"{size} words": Estimate.of(
            pairs(results, size, first, measure, model)
            - pairs(results, size, second, measure, model)
        )
        for size in sizes(results)
    }


def ratios(
    results: Results, first: str, second: str, measure: str, model: str = "trained"
) -> dict[int, np.ndarray]:
    """Ratios of two kinds of pairs, of every seed, by the number of words of a topic."""
    return {
        size: pairs(results, size, first, measure, model)
        / pairs(results, size, second, measure, model)
        for size in sizes(results)
    }


def named(values: dict[int, np.ndarray]) -> dict[str, Estimate]:
    return {f"{size} words": Estimate.of(each) for size, each in values.items()}


GAIN = 0.4  # nats below the entropy of single words


def if_text_learned(results: Results, outcome: Outcome) -> Outcome:
    """The outcome, undecided where a model of text is not 0.4 nats below the entropy of words."""
    gains = [r.numbers["unigram entropy"] - worst(r.numbers["loss"]) for r in results.values()]
    remark = f"A model is {least(gains):.2f} nats below the entropy of words; it needs {GAIN}."
    return only_if(bool(least(gains) >= GAIN), remark, outcome)
