"""Numbers with intervals, and the differences that experiments are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A number with an interval, from `count` independent samples."""

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, samples: Any, level: float = 0.95) -> Estimate:
        """Mean of a 1-D sample with its Student-t interval: mean ± t_{n-1} s / sqrt(n).

        One sample says nothing about the spread: its interval is infinite. No sample says nothing
        at all: its mean is NaN, and no comparison of it holds.
        """
        import numpy as np

        sample = np.asarray(samples, dtype=np.float64)
        if sample.ndim != 1:
            raise ValueError(f"samples has shape {sample.shape}; a 1-D sample is needed")
        if not 0 < level < 1:
            raise ValueError(f"level is {level}; it must lie strictly between 0 and 1")
        n = sample.size
        if n < 2:
            return cls(float(sample[0]) if n else nan, -inf, inf, n)
        from scipy.special import stdtrit

        mean = float(sample.mean())
        half = float(stdtrit(n - 1, (1 + level) / 2) * sample.std(ddof=1) / np.sqrt(n))
        return cls(mean, mean - half, mean + half, n)


def percent(values: Iterable[float]) -> Estimate:
    """The mean of shares, in per cent, with its 95% interval."""
    return Estimate.of([100 * value for value in values])


def paired(first: Iterable[float], second: Iterable[float]) -> Estimate:
    """The mean of `first - second`, pair by pair, in points, with its 95% interval."""
    return percent(a - b for a, b in zip(first, second, strict=True))


def unpaired(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The difference of two means, in points, with Welch's 95% interval."""
    import numpy as np
    from scipy.special import stdtrit

    a, b = (100 * np.asarray(sample, float) for sample in (first, second))
    count = len(a) + len(b)
    if not len(a) or not len(b):
        return Estimate(nan, -inf, inf, count)
    difference = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return Estimate(difference, -inf, inf, count)
    parts = [sample.var(ddof=1) / len(sample) for sample in (a, b)]
    total = sum(parts)
    if total == 0:
        return Estimate(difference, difference, difference, count)
    degrees = total**2 / sum(
        part**2 / (len(sample) - 1) for part, sample in zip(parts, (a, b), strict=True)
    )
    half = float(stdtrit(degrees, 0.975)) * sqrt(total)
    return Estimate(difference, difference - half, difference + half, count)
