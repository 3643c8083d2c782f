"""Rules for what the functions of this folder are given (see `theory.checks`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minicosm.worlds import HMM, GaussianHMM, MaskedTask
from minicosm.worlds.arrays import short

from ..checks import Given, kind, reals

Tasks = str | MaskedTask | Sequence[str | MaskedTask]

WORLD = kind(HMM, GaussianHMM)


def parsed(value: Any, name: str = "tasks") -> tuple[MaskedTask, ...]:
    """One task, or several."""
    if isinstance(value, str | MaskedTask):
        return (MaskedTask.parse(value),)
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f'{name} is {short(value)}; it must be a task such as "x2|x1", or several')
    return tuple(MaskedTask.parse(task) for task in value)


def some_tasks(name: str, value: Any, given: Given) -> tuple[MaskedTask, ...]:
    return parsed(value, name)


def a_chain(name: str, value: Any, given: Given) -> np.ndarray:
    """A doubly stochastic matrix."""
    T = reals((None, None), least=0)(name, value, given)
    if T.shape[0] != T.shape[1]:
        raise ValueError(f"{name} has shape {T.shape}; it must be square")
    off = np.abs(np.concatenate([T.sum(axis=0), T.sum(axis=1)]) - 1).max()
    if off > 1e-8:
        raise ValueError(
            f"{name} has sums that are off by {off:.2g}; all rows and columns must sum to 1"
        )
    return T


def same_kind(name: str, value: Any, given: Given) -> Any:
    """A second world of the kind and the sizes of the first."""
    WORLD(name, value, given)
    first = given["first"]
    if type(value) is not type(first) or _sizes(value) != _sizes(first):
        raise ValueError(
            f"{name} is a {type(value).__name__} of sizes {_sizes(value)}; it must be a "
            f"{type(first).__name__} of sizes {_sizes(first)}, as the first"
        )
    return value


def _sizes(world: HMM | GaussianHMM) -> tuple[int, ...]:
    return (world.M if isinstance(world, GaussianHMM) else world.W).shape
