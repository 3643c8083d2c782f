"""Rules for what many functions of this folder are given: worlds, tables of values, laws of strings."""

from typing import Any

import numpy as np
from jaxtyping import Float

from minicosm.adaptation.checks import check_reals, check_whole
from minicosm.worlds import GuidedWorld

from ..checks import Given, Rule, kind

WORLD = kind(GuidedWorld)
MOST_LOG = (
    600.0  # of a value that is kept in a double: sums and products of values stay below e^709
)
MOST_BITS = 20  # strings that are written out


def log_table(name: str, value: Any, given: Given) -> Float[np.ndarray, "levels S"]:
    """Logarithms of values `[h, s]` over the states of the world, finite or -inf."""
    world = given["world"] if "world" in given else given["self"].world
    shape = (world.horizon + 1, world.states)
    table = np.asarray(check_reals(name, value, shape, finite=False), np.float64)
    if (table == np.inf).any():
        h, s = (int(i) for i in np.argwhere(table == np.inf)[0])
        raise ValueError(f"{name}[{h}, {s}] is inf; it must be finite or -inf")
    return table


def value_table(name: str, value: Any, given: Given) -> Float[np.ndarray, "levels S"]:
    """The same, of values that are kept as they are and not as logarithms."""
    table = log_table(name, value, given)
    if (table > MOST_LOG).any():
        h, s = (int(i) for i in np.argwhere(table > MOST_LOG)[0])
        raise ValueError(
            f"{name}[{h}, {s}] is {table[h, s]:g}; values beyond e^{MOST_LOG:g} need a `LumpedTree`"
        )
    return table


def even(most: int) -> Rule:
    """An even number of brackets in `2..most`."""

    def rule(name: str, value: Any, given: Given) -> int:
        number = check_whole(name, value, 2, most)
        if number % 2:
            raise ValueError(
                f"{name} is {number}; balanced strings have an even number of brackets"
            )
        return number

    return rule
