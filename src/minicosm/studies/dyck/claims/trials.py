"""Which models the claims about trained models need, and how their numbers are read.

A trial trains all seeds of one configuration. Arms that differ in the loss alone start from the same
weights and see the same strings, seed by seed, so they are compared in pairs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minicosm.lab import Estimate, ProfileName, Trial

from ...common.checks import Results

SEEDS = {"smoke": 3, "laptop": 8, "paper": 40}
MANY = {"smoke": 4, "laptop": 20, "paper": 40}
"""Seeds of models on brackets with their depth, where a correlation over seeds is asked for."""
FEW = {"smoke": 2, "laptop": 5, "paper": 40}
CONTRAST = 0.3

Trials = Callable[..., dict[str, Trial]]


def arms(*names: str) -> Trials:
    """The trials of these configurations, by name; see `ARMS`."""

    def trials(
        profile: ProfileName, seed: int, *, seeds: int | None = None, steps: int | None = None
    ) -> dict[str, Trial]:
        from ..experiments.training import Training, run

        for option, given in (("seeds", seeds), ("steps", steps)):
            if given is not None and given < 2:
                raise ValueError(f"{option} is {given}; it must be at least 2")
        found = {}
        wanted = [name for name in names if name in QUICK] if profile == "smoke" else names
        for name in wanted:
            fields = dict(ARMS[name])
            count = fields.pop("count", SEEDS)
            fields |= {"seeds": count[profile] if seeds is None else seeds, "seed": seed}
            if profile == "smoke":
                fields |= {"steps": 40, "queries": 100, "batch": 16, "lengths": ()}
            elif profile == "paper":
                fields |= PAPER.get(name, {}) | {"steps": 10_000}
            if steps is not None:
                fields["steps"] = steps
            found[name] = Trial(run, Training(**fields))
        return found

    return trials


ARMS: dict[str, dict[str, Any]] = {
    "minimal": {"count": MANY},
    "minimal, contrast": {"contrast": CONTRAST, "count": MANY},
    "minimal, prefixes": {"data": "prefix", "count": MANY},
    "minimal, prefixes, contrast": {"data": "prefix", "contrast": CONTRAST, "count": MANY},
    "bare, E1": {"model": "bare", "rate": 1e-2},
    "minimal, E2": {"embedding": "sum"},
    "minimal, E3": {"embedding": "yao"},
    "residual inside": {"model": "inside", "embedding": "learned", "count": FEW},
    "attention alone": {"model": "attention", "count": FEW},
    "gpt": {"model": "gpt"},
    "gpt, linear positions": {"model": "gpt", "positions": "linear"},
    "gpt, uniform attention": {"model": "uniform", "count": FEW},
    "gpt, prefixes": {"model": "gpt", "data": "prefix", "count": FEW},
    "gpt, prefixes, linear positions": {
        "model": "gpt", "data": "prefix", "positions": "linear", "count": FEW,
    },
    "residual, 2 layers": {"model": "gpt-residual", "count": FEW},
    "residual, 3 layers": {"model": "gpt-residual", "layers": 3, "count": FEW},
    "copy, 1 layer": {"model": "gpt", "task": "copy", "layers": 1, "steps": 1500, "count": FEW},
    "copy, 4 layers": {"model": "gpt", "task": "copy", "layers": 4, "steps": 1500, "count": FEW},
    **{
        f"length {length}, decay {decay:g}": {
            "data": "prefix", "length": length, "decay": decay, "steps": 1500, "count": FEW,
            "batch": 64 * 28 // length, "queries": 200, "lengths": (),
        }
        for decay in (0.0, 1e-5, 1e-4)
        for length in (28, 56, 112)
    },
}  # fmt: skip

PAPER: dict[str, dict[str, Any]] = {
    "minimal": {"width": 500},
    "minimal, contrast": {"width": 500},
    "minimal, prefixes": {"width": 500},
    "minimal, prefixes, contrast": {"width": 500},
    "bare, E1": {"width": 500},
    "minimal, E2": {"width": 500},
    "minimal, E3": {"width": 500},
    "gpt": {"width": 200, "rate": 3e-4},
}
"""What the source's sizes change."""


QUICK = (
    "minimal", "minimal, contrast", "minimal, prefixes", "minimal, prefixes, contrast", "gpt",
    "gpt, uniform attention", "gpt, prefixes", "residual, 2 layers", "copy, 1 layer",
    "length 28, decay 0", "length 112, decay 0",
)  # fmt: skip
"""The configurations of the smallest profile: at least one of every claim."""


# -- reading ----------------------------------------------------------------------------------


def column(results: Results, arm: str, name: str) -> np.ndarray:
    """One number of every seed of an arm."""
    return np.asarray(results[arm].numbers[name], float)


def mean(results: Results, arm: str, name: str) -> Estimate:
    return Estimate.of(column(results, arm, name))


def variation(results: Results, arm: str, layer: int = -1, strings: str = "probe") -> Estimate:
    """The mean over pairs of seeds (and strings) of the squared distance of attention maps.

    Pairs share seeds, so the interval is that of the jackknife over seeds: with t the mean over pairs
    and t_i the mean over pairs without seed i, of `n t - (n - 1) t_i`.
    """
    matrix = results[arm].arrays[f"{strings}_distances"][:, layer].mean(axis=0)
    n = len(matrix)
    total = matrix.sum()
    each = matrix.sum(axis=1)
    whole = total / (n * (n - 1))
    if n < 3:
        return Estimate(float(whole), -np.inf, np.inf, n)
    without = (total - 2 * each) / ((n - 1) * (n - 2))
    return Estimate.of(n * whole - (n - 1) * without)


def difference(first: Estimate, second: Estimate, factor: float = 1.0) -> Estimate:
    """`first - factor * second` of independent estimates, with the half widths added in squares."""
    half = np.hypot(first.high - first.value, factor * (second.high - second.value))
    value = first.value - factor * second.value
    return Estimate(value, float(value - half), float(value + half), min(first.count, second.count))
