"""What runs differ in: loss, method and schedule. And where seeds begin."""

from collections.abc import Mapping
from itertools import product
from typing import Any, Literal

Kind = Literal["nce", "exponential"]
KINDS: tuple[Kind, ...] = ("nce", "exponential")
METHODS: tuple[Literal["gd", "ngd"], ...] = ("gd", "ngd")
SCHEDULES: tuple[Literal["constant", "decay"], ...] = ("constant", "decay")
FIRST = 22_000  # added to all seeds: those of the probes that set the criteria are used up


def by_arm(arrays: Mapping[str, Any], *axes: tuple[str, ...]) -> dict[str, Any]:
    """Arrays whose first axes are those of arms, apart: "best" becomes "best_nce_gd" and so on."""
    places = [range(len(axis)) for axis in axes]
    return {
        "_".join([name, *(axis[i] for axis, i in zip(axes, at, strict=True))]): array[at]
        for name, array in arrays.items()
        for at in product(*places)
    }
