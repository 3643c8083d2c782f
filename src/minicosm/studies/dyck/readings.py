"""Numbers out of the results of trained models: arms, differences between them, correlations over seeds.

Arms that differ in the loss alone start from the same weights and see the same strings, seed by seed, so
they are compared in pairs.
"""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Estimate, Results, least

if TYPE_CHECKING:
    from .trials import Training

FLOOR = 0.8125
"""Accuracy of the last token alone on long closing queries."""
SOLVED = 0.97
"""Closing accuracy at the lengths of training from which on a model has learned the language."""
ENOUGH = 1000
"""Steps below which a model that has not learned says nothing."""
STACK_LIKE = 0.9
"""A model is stack-like if closed brackets attend most to the last open one more often than this."""


def config_of(results: Results, arm: str) -> "Training":
    """The configuration that an arm was trained with."""
    return results[arm].config


def column(results: Results, arm: str, name: str) -> np.ndarray:
    """One number of every seed of an arm."""
    return np.asarray(results[arm].numbers[name], float)


def mean(results: Results, arm: str, name: str) -> Estimate:
    return Estimate.of(column(results, arm, name))


def least_accuracy(results: Results, arm: str) -> float:
    """The closing accuracy at the lengths of training of the worst seed."""
    return least(column(results, arm, "within"))


def learned(results: Results) -> bool:
    """Whether every seed of every arm has learned the language at the lengths of training."""
    return all(least_accuracy(results, arm) >= SOLVED for arm in results)


def trained(results: Results) -> bool:
    """Whether every arm was trained long enough for what it has not learned to count."""
    return all(config_of(results, arm).steps >= ENOUGH for arm in results)


def gain(results: Results, first: str, second: str, name: str) -> Estimate:
    """The mean of `first - second` over seeds, in pairs."""
    return Estimate.of(column(results, first, name) - column(results, second, name))


def jackknife(matrix: np.ndarray) -> Estimate:
    """The mean over pairs of seeds of a symmetric matrix, with the interval of the jackknife over seeds.

    Pairs share seeds: with t the mean over pairs and t_i the mean over pairs without seed i, the interval
    is that of `n t - (n - 1) t_i`.
    """
    n = len(matrix)
    total = matrix.sum()
    each = matrix.sum(axis=1)
    if n < 2:
        return Estimate(float("nan"), -np.inf, np.inf, n)
    whole = total / (n * (n - 1))
    if n < 3:
        return Estimate(float(whole), -np.inf, np.inf, n)
    without = (total - 2 * each) / ((n - 1) * (n - 2))
    return Estimate.of(n * whole - (n - 1) * without)


def variation(
    results: Results, arm: str, layer: int = -1, strings: str = "probe", way: str = "distances"
) -> Estimate:
    """The mean over pairs of seeds (and strings) of the squared distance of attention maps.

    The maps are those of the model, with the start token; `way` "dropped" leaves its row and column out,
    "renormalised" makes rows sum to one again after that.
    """
    return jackknife(results[arm].arrays[f"{strings}_{way}"][:, layer].mean(axis=0))


def solved_seeds(results: Results, arm: str) -> np.ndarray:
    """Which seeds have learned the language at the lengths of training."""
    return np.flatnonzero(column(results, arm, "within") >= SOLVED)


def layer_variations(results: Results, arm: str, way: str = "distances") -> list[Estimate]:
    """The variation on sentences between the seeds that have learned, layer by layer."""
    kept = solved_seeds(results, arm)
    distances = results[arm].arrays[f"sentence_{way}"].mean(axis=0)
    return [jackknife(matrix[np.ix_(kept, kept)]) for matrix in distances]


def layer_steps(results: Results, arm: str) -> list[Estimate]:
    """What each layer varies more than the one before, between the same seeds."""
    kept = solved_seeds(results, arm)
    distances = results[arm].arrays["sentence_distances"].mean(axis=0)
    return [jackknife(matrix[np.ix_(kept, kept)]) for matrix in np.diff(distances, axis=0)]


def difference(first: Estimate, second: Estimate, factor: float = 1.0) -> Estimate:
    """`first - factor * second` of independent estimates, with the half widths added in squares."""
    half = np.hypot(first.high - first.value, factor * (second.high - second.value))
    value = first.value - factor * second.value
    return Estimate(value, float(value - half), float(value + half), min(first.count, second.count))


def ratio(estimate: Estimate, by: float) -> Estimate:
    """An estimate in units of a number."""
    return Estimate(estimate.value / by, estimate.low / by, estimate.high / by, estimate.count)


def random_level(length: int, start: bool = True) -> float:
    """The variation of independent random attention over a start token, if there is one, and a string of
    this length."""
    from minicosm.models.attention_patterns import random_variation

    return random_variation(length + start)


def stack_like(results: Results, arm: str, name: str = "stack_rate") -> float:
    """The share of seeds that are stack-like; NaN if the rate of one is not known."""
    rates = column(results, arm, name)
    return float(np.mean(rates > STACK_LIKE)) if np.isfinite(rates).all() else float("nan")


def spearman(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Spearman's correlation with the 95% interval of Fisher's z, deviation `sqrt(1.06 / (n - 3))`."""
    from scipy.stats import spearmanr

    n = len(first)
    r = float(spearmanr(first, second).statistic)
    if n < 4 or not abs(r) < 1:
        return Estimate(r, -1.0, 1.0, n)
    half = 1.959964 * np.sqrt(1.06 / (n - 3))
    low, high = np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)
    return Estimate(r, float(low), float(high), n)


def rank_correlation(results: Results, arm: str, first: str, second: str) -> Estimate:
    """Spearman's correlation of two numbers over the seeds of an arm."""
    return spearman(column(results, arm, first), column(results, arm, second))


CLASSES = ("on_closed", "on_open", "on_type")


def favourites(results: Results, arm: str, suffix: str = "") -> np.ndarray:
    """For each seed and layer the largest share of attention on one class of tokens: closed, open,
    or of one type; with "_brackets" of the attention on brackets alone."""
    return np.max([column(results, arm, name + suffix) for name in CLASSES], axis=0)


def favourite(results: Results, arm: str, suffix: str = "") -> np.ndarray:
    """The same for the layer of each seed where it is largest."""
    return favourites(results, arm, suffix).max(axis=1)


def cost_of_uniform(results: Results, arm: str) -> np.ndarray:
    """For each seed the accuracy of copying that is lost if every attention map is made uniform."""
    return column(results, arm, "copied") - column(results, arm, "copied_uniform")
