"""Numbers with intervals, and the differences that experiments are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import TYPE_CHECKING, Any

from minicosm.lab.checking import check_count, check_number, shown

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A number with an interval, from `count` independent samples."""

    value: float
    low: float
    high: float
    count: int

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            check_number(name, getattr(self, name), lambda _: True, "a number")
        check_count("count", self.count)
        if self.low > self.high:
            raise ValueError(
                f"low is {self.low} and high is {self.high}; low must not be above high"
            )

    @classmethod
    def of(cls, samples: Any, level: float = 0.95) -> Estimate:
        """Mean of a 1-D sample with its Student-t interval: mean ± t_{n-1} s / sqrt(n).

        One sample says nothing about the spread: its interval is infinite. No sample says nothing
        at all: its mean is NaN, and no comparison of it holds.
        """
        import numpy as np

        sample = _sample("samples", samples)
        check_number("level", level, lambda x: 0 < x < 1, "strictly between 0 and 1")
        n = sample.size
        if n < 2:
            return cls(float(sample[0]) if n else nan, -inf, inf, n)
        from scipy.special import stdtrit

        mean = float(sample.mean())
        half = float(stdtrit(n - 1, (1 + level) / 2) * sample.std(ddof=1) / np.sqrt(n))
        return cls(mean, mean - half, mean + half, n)


def percent(values: Iterable[float]) -> Estimate:
    """The mean of shares, in per cent, with its 95% interval."""
    return Estimate.of(100 * _sample("values", values))


def paired(first: Iterable[float], second: Iterable[float]) -> Estimate:
    """The mean of `first - second`, pair by pair, in points, with its 95% interval."""
    a, b = _sample("first", first), _sample("second", second)
    if len(a) != len(b):
        raise ValueError(f"first has {len(a)} values and second has {len(b)}; pairs are needed")
    return percent(a - b)


def unpaired(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The difference of two means, in points, with Welch's 95% interval."""
    from scipy.special import stdtrit

    a, b = 100 * _sample("first", first), 100 * _sample("second", second)
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


def _sample(name: str, values: Any) -> np.ndarray:
    """Values as a 1-D array of floats; None, a number that is missing, is NaN."""
    import numpy as np

    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{name} is {shown(values)}; a 1-D sample of numbers is needed")
    values = values if hasattr(values, "dtype") else list(values)
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array = np.asarray([nan if value is None else value for value in values])
    except (ValueError, TypeError, OverflowError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        what = f"has shape {array.shape} and dtype {array.dtype}"
        raise ValueError(f"{name} {what}; a 1-D sample of numbers is needed")
    return array.astype(np.float64)
