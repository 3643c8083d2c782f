"""How numbers are written for people: four significant digits unless more are asked for, scientific when
tiny or huge."""

from __future__ import annotations

import math
from typing import Any

from minicosm.lab.claims import DIGITS
from minicosm.lab.estimates import Estimate


def number(value: Any, digits: int = DIGITS) -> str:
    """Text of a cell: a number, a string, a boolean, None or an `Estimate` with its interval."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Estimate):
        return f"{number(value.value, digits)} {interval(value, digits)}"
    if isinstance(value, int):
        return _grouped(str(value))
    if isinstance(value, float):
        return _float(value, digits)
    return str(value)


def interval(estimate: Estimate, digits: int = DIGITS) -> str:
    """`[low, high]` of an estimate."""
    return f"[{number(estimate.low, digits)}, {number(estimate.high, digits)}]"


def _float(value: float, digits: int) -> str:
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-3 or size >= 1e7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    else:
        decimals = max(0, digits - 1 - math.floor(math.log10(size)))
        text = f"{value:.{decimals}f}"
        if value == int(value):
            text = text.split(".")[0]
    return text.replace("-", "−")


def _grouped(digits: str) -> str:
    """Thin spaces between thousands from five digits on."""
    negative, digits = digits.startswith("-"), digits.lstrip("-")
    if len(digits) > 4:
        digits = f"{int(digits):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return ("−" if negative else "") + digits


def seconds(value: float) -> str:
    """A duration: `0.3 s`, `42 s`, `3 min 5 s`, `2 h 10 min`."""
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
