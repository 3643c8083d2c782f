"""Numbers out of results: growth, fitted exponents, runs by step size, differences in pairs."""

from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Results, Rows

from .trials import IMAGES

NAMES = {"nce": "NCE", "exponential": "eNCE", "gd": "GD", "ngd": "NGD"}


def where(found: Rows, column: str, **fields: Any) -> list[Any]:
    """A column, in the rows in which other columns have these values."""
    return [
        value
        for i, value in enumerate(found[column])
        if all(found[name][i] == wanted for name, wanted in fields.items())
    ]


def ordered(
    found: Rows,
    column: str,
    by: str = "R",
    low: float = -np.inf,
    high: float = np.inf,
    **fields: Any,
) -> list[float]:
    """A column in the order of another, where that lies in [low, high]. A missing number is NaN, and so is
    one whose place in the order is not known: it is left out nowhere."""
    pairs = zip(where(found, by, **fields), where(found, column, **fields), strict=True)
    numbers = [(_number(at), _number(value)) for at, value in pairs]
    kept = [pair for pair in numbers if not (pair[0] < low or pair[0] > high)]
    kept.sort(key=lambda pair: (np.isnan(pair[0]), pair[0]))
    return [np.nan if np.isnan(at) else value for at, value in kept]


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def increases(values: list[float]) -> list[float]:
    """From each value to the next."""
    return [after - before for before, after in pairwise(values)]


def slope(x: Any, y: Any) -> Estimate:
    """The slope of a line through points by least squares, with its 95% interval from the residuals."""
    from scipy.special import stdtrit

    x, y = (np.asarray(values, float) for values in (x, y))
    if len(x) < 3 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return Estimate(np.nan, -np.inf, np.inf, len(x))
    centred = x - x.mean()
    value = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - value * centred
    error = np.sqrt(rest @ rest / (len(x) - 2) / (centred @ centred))
    half = float(stdtrit(len(x) - 2, 0.975) * error)
    return Estimate(value, value - half, value + half, len(x))


def exponents(found: Rows, column: str, by: str = "R", low: float = 0.0) -> dict[str, Estimate]:
    """Fits of steps against R: the exponent of a power, and the factor of R² in an exponential."""
    R, steps = (ordered(found, name, by, low) for name in (by, column))
    logs = [log(count) if count and count > 0 else np.nan for count in steps]
    return {
        "power of R": slope(np.log(R), logs),
        "factor of $R^2$": slope(np.square(R), logs),
    }


# -- from samples -----------------------------------------------------------------------------------


def of_runs(
    results: Results, world: str, what: str, kind: str, method: str, schedule: str = "constant"
) -> np.ndarray:
    """An array of an arm, [step size, seed]."""
    return np.asarray(results[world].arrays[f"{what}_{kind}_{method}_{schedule}"])


def ends(
    results: Results, world: str, kind: str, method: str, rate: float, what: str = "best"
) -> np.ndarray:
    """[seed] of an array, at a constant step size."""
    rates = list(results[world].config.rates)
    if rate not in rates:
        raise LookupError(f"there is no run with the step size {rate:g}; there are {rates}")
    return of_runs(results, world, what, kind, method)[rates.index(rate)]


def nearer(
    results: Results, world: str, first: tuple[str, str], second: tuple[str, str], rate: float
) -> Estimate:
    """By how much the second arm is nearer to τ* than the first, seed by seed."""
    return Estimate.of(ends(results, world, *first, rate) - ends(results, world, *second, rate))


def selected(
    results: Results, world: str, kind: str, method: str, schedule: str, what: str = "best"
) -> np.ndarray:
    """[seed] of the run with the least loss on fresh samples."""
    chosen, found = (
        of_runs(results, world, name, kind, method, schedule) for name in ("chosen", what)
    )
    return np.take_along_axis(found, chosen[None], axis=0)[0]


def misled(results: Results, world: str, times: float = 3.0) -> np.ndarray:
    """[seed]: 1 where the run with the least fresh loss ends this many times as far away as the nearest, else
    0; NaN where that is not known."""
    nearest = np.min(of_runs(results, world, "last", "nce", "ngd"), axis=0)
    chosen = selected(results, world, "nce", "ngd", "constant", "last")
    unknown = np.isnan(chosen) | np.isnan(nearest)
    return np.where(unknown, np.nan, chosen >= times * nearest)


def share(truths: Any) -> Estimate:
    """A share with its 95% interval of Clopper and Pearson."""
    from scipy.special import betaincinv

    count = len(truths)
    if not count or np.isnan(truths).any():
        return Estimate(np.nan, 0.0, 1.0, count)
    right = int(np.sum(truths))
    low = float(betaincinv(right, count - right + 1, 0.025)) if right else 0.0
    high = float(betaincinv(right + 1, count - right, 0.975)) if right < count else 1.0
    return Estimate(right / count, low, high, count)


# -- images -----------------------------------------------------------------------------------------


def of_images(results: Results, kind: str, method: str, what: str = "loss") -> np.ndarray:
    """[step size, seed] of an array."""
    return np.asarray(results[IMAGES].arrays[f"{what}_{kind}_{method}"], float)


def best_rate(results: Results, kind: str, method: str) -> int:
    """The place of the step size with the least mean training loss, or of one that is not known."""
    return int(of_images(results, kind, method).mean(axis=1).argmin())


def image_losses(results: Results, kind: str, method: str, what: str = "loss") -> np.ndarray:
    """[seed] at the best step size."""
    return of_images(results, kind, method, what)[best_rate(results, kind, method)]


def log_ratio(results: Results, kind: str, what: str = "loss") -> Estimate:
    """`log(NGD / GD)` of the losses, seed by seed, each method at its best step size."""
    first, second = (image_losses(results, kind, method, what) for method in ("ngd", "gd"))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Estimate.of(np.log(first) - np.log(second))
