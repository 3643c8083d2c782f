"""The worlds and the string that the suites look at."""

import numpy as np

from minicosm.theory.dyck import project
from minicosm.worlds import Dyck

from ..trials import WORLDS, Exact

PROBE = np.array([2] * 4 + [3] * 4 + [0] * 4 + [1] * 4)  # [[[[]]]](((())))


def worlds(config: Exact) -> list[Dyck]:
    return [Dyck(*size) for size in WORLDS[: config.worlds]]


def balanced(world: Dyck, E: np.ndarray, sd: float, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian matrix projected to balance."""
    return project(sd * rng.normal(size=(E.shape[1],) * 2), E, world)
