"""Rules for what the functions of this folder are given: losses of one kind, points, parameters."""

from typing import Any

import numpy as np

from minicosm.adaptation.checks import check_kind, check_reals
from minicosm.worlds import GaussianMean

from ..checks import Given, Rule
from .contrast import Contrast


def loss_of(kind: str | None = None, world: type | None = None) -> Rule:
    """A `Contrast`, of this kind and in a world of this class."""

    def rule(name: str, value: Any, given: Given) -> Contrast:
        check_kind(name, value, Contrast)
        if kind is not None and value.kind != kind:
            raise ValueError(f"{name} has the kind {value.kind!r}; it must be {kind!r}")
        if world is not None:
            check_kind(f"the world of {name}", value.world, world)
        return value

    return rule


GAUSSIAN = loss_of(world=GaussianMean)
EXPONENTIAL = loss_of("exponential")
NCE = loss_of("nce")


def points(name: str, value: Any, given: Given) -> np.ndarray:
    """Extended parameters of the world of `contrast`, or of `world`, one in each row."""
    world = given["contrast"].world if "contrast" in given else given["world"]
    return np.asarray(check_reals(name, value, (None, world.parameters + 1)), np.float64)
