"""Checks of what the lab is given: the value, or one sentence that names it. Nothing heavy is imported."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from minicosm.sentences import (
    check_choice,
    check_flag,
    check_kind,
    check_text,
    check_texts,
    shown,
)

__all__ = [
    "as_number",
    "check_choice",
    "check_count",
    "check_flag",
    "check_function",
    "check_kind",
    "check_mapping",
    "check_number",
    "check_text",
    "check_texts",
    "finite_number",
    "shown",
]


def check_mapping(name: str, value: Any) -> None:
    """Raise unless `value` is a dict, or another mapping, whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} is {shown(value)}; it must be a dict whose keys are texts")


def check_function(name: str, value: Any) -> None:
    """Raise unless `value` is a function."""
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"{name} is {shown(value)}; it must be a function")


def check_number(name: str, value: Any, test: Callable[[float], bool], wanted: str) -> float:
    """`value` as a number that passes the test (NaN passes none that compares)."""
    number = as_number(value)
    if number is None or not test(number):
        raise ValueError(f"{name} is {shown(value)}; it must be {wanted}")
    return number


def finite_number(name: str, value: Any) -> float:
    """`value` as a finite number."""
    return check_number(name, value, math.isfinite, "a finite number")


def check_count(name: str, value: Any, least: int = 0, most: int = 2**63 - 1) -> int:
    """`value` as a whole number in least..most."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= most:
        bound = f"of at least {least}" if most == 2**63 - 1 else f"from {least} to {most}"
        raise ValueError(f"{name} is {shown(value)}; it must be a whole number {bound}")
    return int(value)


def as_number(value: Any) -> float | None:
    """One real number of Python or NumPy as a float; None if it is none."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
