"""Numbers out of results: who has learned, error rates and their differences, shares of runs.

Error rates enter statistics as `log10((wrong + 1/2) / (reads + 1))`. Members are independent: differences of
arms have Welch's interval, shares of members Clopper and Pearson's, all at 95%.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import Estimate, Results, unpaired

if TYPE_CHECKING:
    from .experiment_trials import Simulated, Training

LEARNED = 1e-3
"""The share of wrong reads inside from which on a run has not learned."""
ENOUGH = 6
"""Runs that have to have learned for a claim about wrong reads."""
NEAR = 3
"""Pairs up to which a read is near its write."""
RESAMPLES = 400
SETS = ("inside", "sparse", "dense")


def config_of(results: Results, arm: str) -> "Training":
    return results[arm].config


def simulated(results: Results, arm: str) -> "Simulated":
    return results[arm].config


def wrong(results: Results, arm: str, name: str) -> np.ndarray:
    """Wrong reads of every run on a set."""
    return np.asarray(results[arm].numbers[f"wrong_{name}"], float)


def reads(results: Results, arm: str, name: str) -> float:
    return float(results[arm].numbers[f"reads_{name}"])


def learned(results: Results, arm: str) -> np.ndarray:
    """The runs that have learned; none, if a number is not known."""
    share = wrong(results, arm, "inside") / reads(results, arm, "inside")
    return np.flatnonzero(share <= LEARNED) if np.isfinite(share).all() else np.array([], int)


def enough(results: Results, *arms: str) -> bool:
    """Whether so many runs of each arm have learned, and all arms are there."""
    return all(arm in results and len(learned(results, arm)) >= ENOUGH for arm in arms)


def log_errors(results: Results, arm: str, name: str) -> np.ndarray:
    """`log10((wrong + 1/2) / (reads + 1))` of the runs that have learned."""
    found = wrong(results, arm, name)[learned(results, arm)]
    return np.log10((found + 0.5) / (reads(results, arm, name) + 1))


def less(results: Results, first: str, second: str, name: str) -> Estimate:
    """`first - second` in orders of magnitude of the error on a set; nothing is known of an arm that is
    missing."""
    if first not in results or second not in results:
        return Estimate(float("nan"), float("-inf"), float("inf"), 0)
    found = unpaired(
        (log_errors(results, first, name) / 100).tolist(),
        (log_errors(results, second, name) / 100).tolist(),
    )
    return found


def share(hits: Any, count: int) -> Estimate:
    """A share of runs with its exact interval."""
    from scipy.stats import binomtest

    if not count or not np.isfinite(float(hits)):
        return Estimate(float("nan"), float("-inf"), float("inf"), count)
    interval = binomtest(int(hits), count).proportion_ci(0.95, "exact")
    return Estimate(int(hits) / count, float(interval.low), float(interval.high), count)


def interval(hits: np.ndarray, count: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact 95% intervals of error rates (Clopper and Pearson), as if reads were independent."""
    from scipy.stats import beta

    low = np.where(hits > 0, beta.ppf(0.025, np.maximum(hits, 1), count - hits + 1), 0.0)
    return low, np.where(hits < count, beta.ppf(0.975, hits + 1, count - hits), 1.0)


def upper_limit(hits: float, count: float) -> float:
    """The exact one-sided 95% limit of an error rate: `3 / count` where there are no hits."""
    from scipy.stats import beta

    return float(beta.ppf(0.95, hits + 1, count - hits)) if hits < count else 1.0


def share_of_glitching(results: Results, arm: str, *names: str) -> Estimate:
    """The share of the runs that have learned with a wrong read on one of these sets."""
    kept = learned(results, arm)
    total = np.sum([wrong(results, arm, name)[kept] for name in names], axis=0)
    return share(float(np.sum(total > 0)) if np.isfinite(total).all() else np.nan, len(kept))


def share_less(first: tuple[int, int], second: tuple[int, int]) -> Estimate:
    """The difference of two shares `(hits, count)`, with Newcombe's interval from those of Wilson."""
    from scipy.stats import binomtest

    if not first[1] or not second[1]:
        return Estimate(float("nan"), float("-inf"), float("inf"), first[1] + second[1])
    p, q = first[0] / first[1], second[0] / second[1]
    one, other = (binomtest(*pair).proportion_ci(0.95, "wilson") for pair in (first, second))
    low = p - q - np.hypot(p - one.low, other.high - q)
    high = p - q + np.hypot(one.high - p, q - other.low)
    return Estimate(p - q, float(low), float(high), first[1] + second[1])


def spread(results: Results, arm: str) -> Estimate:
    """The variance of the dense error between runs that have learned over the mean variance that strings
    alone would give (by resampling them), with the interval of a chi-square."""
    from scipy.stats import chi2

    kept = learned(results, arm)
    n = len(kept)
    if n < 2:
        return Estimate(float("nan"), float("-inf"), float("inf"), n)
    by_string = np.asarray(results[arm].arrays["strings_dense"], float)[kept]
    count = np.asarray(results[arm].arrays["count_dense"], float)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(by_string.shape[1], np.full(by_string.shape[1], 1 / by_string.shape[1]),
                            RESAMPLES)  # fmt: skip
    rates = (drawn @ by_string.T) / (drawn @ count)[:, None]
    alone = rates.var(axis=0, ddof=1).mean()
    between = (by_string.sum(axis=1) / count.sum()).var(ddof=1)
    if not np.isfinite(between) or not alone > 0:
        return Estimate(float("nan"), float("-inf"), float("inf"), n)
    ratio = between / alone
    high, low = chi2.ppf([0.025, 0.975], n - 1)
    return Estimate(float(ratio), float(ratio * (n - 1) / low), float(ratio * (n - 1) / high), n)


def rises(results: Results, arm: str) -> np.ndarray:
    """For every run that has learned, the largest rise of its dense error between two evaluations after its
    error inside first was zero, in standard errors of the difference over strings; NaN if it never was
    zero before the last one."""
    inside = np.asarray(results[arm].arrays["curve_inside"], float)
    dense = np.asarray(results[arm].arrays["curve_dense"], float)
    found = []
    for member in learned(results, arm):
        clean = np.flatnonzero(inside[:, member] == 0)
        if not len(clean) or clean[0] + 1 >= len(dense):
            found.append(np.nan)
            continue
        steps = np.diff(dense[clean[0] :, member], axis=0)
        error = steps.std(axis=1, ddof=1) / np.sqrt(steps.shape[1])
        mean = steps.mean(axis=1)
        found.append(float(np.max(np.where(error > 0, mean / np.where(error > 0, error, 1), 0))))
    return np.array(found)


def distance_shares(results: Results, arm: str, far: int) -> dict[str, Estimate]:
    """Among wrong reads of the runs that have learned, the shares whose write is more than `far` pairs back
    (on sparse strings) and at most 3 (on dense ones), resampling runs; among no wrong reads the share is
    zero."""
    kept = learned(results, arm)
    arrays = results[arm].arrays
    sparse = np.asarray(arrays["distances_sparse"], float)[kept, 0]
    dense = np.asarray(arrays["distances_dense"], float)[kept, 0]
    parts = {
        f"distance above {far}": (sparse[:, far:].sum(axis=1), sparse.sum(axis=1)),
        f"distance up to {NEAR}": (dense[:, :NEAR].sum(axis=1), dense.sum(axis=1)),
    }
    return {name: _resampled(hits, totals) for name, (hits, totals) in parts.items()}


def _resampled(hits: np.ndarray, totals: np.ndarray) -> Estimate:
    n = len(hits)
    if not n or not totals.sum() > 0:
        return Estimate(float("nan"), float("-inf"), float("inf"), n)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, n, (2000, n))
    sums = totals[drawn].sum(axis=1)
    # Dropping resamples without a wrong read would make the wrong reads of one run an interval of [1, 1].
    shares = hits[drawn].sum(axis=1) / np.where(sums > 0, sums, 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return Estimate(float(hits.sum() / totals.sum()), float(low), float(high), n)


# -- simulations ---------------------------------------------------------------------------------------


def values(results: Results, arm: str, name: str) -> np.ndarray:
    """A number of every run."""
    return np.asarray(results[arm].numbers[name], float)


def solved(results: Results, arm: str) -> np.ndarray:
    """The runs with at most one wrong state of a thousand at the density of training."""
    found = values(results, arm, "error")
    return np.flatnonzero(found <= LEARNED) if np.isfinite(found).all() else np.array([], int)


def difference(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Of two means, with Welch's interval."""
    return unpaired((first / 100).tolist(), (second / 100).tolist())
