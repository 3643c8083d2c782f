"""Ticks of a log axis that spans little more than a power of ten."""

from typing import Any

import numpy as np


def log_ticks(axis: Any, values: Any) -> None:
    """Label 1, 2 and 5 times powers of ten, in plain digits, where the positive values are."""
    found = np.asarray(values, float)
    found = found[np.isfinite(found) & (found > 0)]
    if not found.size:
        return
    low, high = np.log10(found.min()), np.log10(found.max())
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    ticks = [m * 10.0**p for p in powers for m in (1, 2, 5)]
    ticks = [t for t in ticks if low - 0.05 <= np.log10(t) <= high + 0.05]
    axis.set_ticks(ticks, labels=[f"{t:,.0f}" if t >= 1 else f"{t:g}" for t in ticks])
    axis.set_ticks([], minor=True)
