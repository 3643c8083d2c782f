"""Checks of what the lab is given: the value, or one sentence that names it. Nothing heavy is imported."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any


def shown(value: Any, most: int = 60) -> str:
    """`repr` in one line of at most `most` characters."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def check_text(name: str, value: Any) -> None:
    """Raise unless `value` is a text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}; it must be a text")


def check_texts(name: str, value: Any) -> tuple[str, ...]:
    """`value` as a tuple if it is a list or tuple of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"{name} is {shown(value)}; it must be a list of texts")
    return tuple(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of these words."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(map(repr, choices))
        raise ValueError(f"{name} is {shown(value)}; it must be one of {words}")


def check_mapping(name: str, value: Any) -> None:
    """Raise unless `value` is a dict, or another mapping, whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} is {shown(value)}; it must be a dict whose keys are texts")


def check_kind(name: str, value: Any, kind: type | tuple[type, ...], wanted: str) -> None:
    """Raise unless `value` is of this class; `wanted` says which that is ("a Study")."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")


def check_function(name: str, value: Any) -> None:
    """Raise unless `value` is a function."""
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"{name} is {shown(value)}; it must be a function")


def check_flag(name: str, value: Any) -> bool:
    """`value` if it is True or False, Python's or NumPy's."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} is {shown(value)}; it must be True or False")
    return bool(value)


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
