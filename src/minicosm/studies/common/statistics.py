"""Intervals and verdicts of the experiments' claims."""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Any

from minicosm.lab import Estimate, Verdict


def percent(values: Iterable[float]) -> Estimate:
    """The mean of shares, in per cent, with its 95% interval over worlds."""
    return Estimate.of([100 * value for value in values])


def paired(first: Iterable[float], second: Iterable[float]) -> Estimate:
    """The mean of `first - second` world by world, in points, with its 95% interval."""
    return percent(a - b for a, b in zip(first, second, strict=True))


def unpaired(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The difference of two means over different worlds, in points, with Welch's 95% interval."""
    import numpy as np
    from scipy.special import stdtrit

    a, b = (100 * np.asarray(sample, float) for sample in (first, second))
    parts = [sample.var(ddof=1) / len(sample) for sample in (a, b)]
    difference = float(a.mean() - b.mean())
    total = sum(parts)
    if total == 0:
        return Estimate(difference, difference, difference, len(a) + len(b))
    degrees = total**2 / sum(
        part**2 / (len(sample) - 1) for part, sample in zip(parts, (a, b), strict=True)
    )
    half = float(stdtrit(degrees, 0.975)) * sqrt(total)
    return Estimate(difference, difference - half, difference + half, len(a) + len(b))


def all_above(estimates: Iterable[Estimate], least: float = 0.0) -> Verdict:
    """Holds if every interval lies above `least`, fails if one lies below, otherwise undecided."""
    estimates = list(estimates)
    if any(estimate.high < least for estimate in estimates):
        return "fails"
    return "holds" if all(estimate.low > least for estimate in estimates) else "undecided"


def all_within(estimates: Iterable[Estimate], margin: float) -> Verdict:
    """Holds if every interval lies within ± margin, fails if one lies outside, else undecided."""
    estimates = list(estimates)
    if any(e.low > margin or e.high < -margin for e in estimates):
        return "fails"
    inside = all(-margin < e.low and e.high < margin for e in estimates)
    return "holds" if inside else "undecided"


def first_line(estimates: dict[Any, Estimate], what: str) -> dict[str, Estimate]:
    """The headline numbers of a claim with one estimate per size: the largest size first."""
    return {f"{what}, {name}": estimates[name] for name in reversed(list(estimates))}
