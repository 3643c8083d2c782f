"""The worlds and the string that the suites look at."""

import numpy as np

from minicosm.theory.dyck import project
from minicosm.worlds import Dyck

from ..trials import Exact

PROBE = np.array([2] * 4 + [3] * 4 + [0] * 4 + [1] * 4)  # [[[[]]]](((())))


def worlds(config: Exact) -> list[Dyck]:
    """Worlds of k types, depth D and opening probability q; the first is the default of the source."""
    sizes = zip(config.types, config.depths, config.open_probabilities, strict=True)
    return [Dyck(*size) for size in sizes]


def balanced(world: Dyck, E: np.ndarray, sd: float, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian matrix projected to balance."""
    return project(sd * rng.normal(size=(E.shape[1],) * 2), E, world)
