"""How the numbers of trained translators are read from their trials."""

import numpy as np

from ..common.checks import Results

DATA = ("distilled", "peaked", "undistilled")
PASSES = (1, 2, 4, 10)


def of_seeds(results: Results, arm: str, *path: str) -> np.ndarray:
    """One number of every seed of an arm."""
    rows = results[arm].numbers["seeds"]
    for name in path:
        rows = [row[name] for row in rows]
    return np.asarray(rows, float)


def after(results: Results, arm: str, passes: int, name: str = "valid") -> np.ndarray:
    """One number of every seed after so many passes."""
    return of_seeds(results, arm, "passes", str(passes), name)
