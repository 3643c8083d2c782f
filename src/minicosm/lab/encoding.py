"""Plain JSON for what the lab keeps: strict, canonical, and exact for every float.

JSON has no NaN and no infinities, and Python's extension for them breaks other readers, so they
are tagged: `{"$float": "nan"}`. An `Estimate` is `{"$estimate": [value, low, high, count]}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from minicosm.lab.estimates import Estimate

TAGS = ("$float", "$estimate")


def encode(value: Any, where: str = "value") -> Any:
    """Turn a value into strict JSON; `where` names it when that is impossible (`TypeError`)."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, Estimate):
        parts = (value.value, value.low, value.high, value.count)
        return {"$estimate": [encode(part, where) for part in parts]}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value)}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key in TAGS:
                raise TypeError(
                    f"{where} has the key {key!r}; keys must be strings, and not {' or '.join(TAGS)}"
                )
        return {key: encode(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        plain = value.tolist()  # NumPy and JAX scalars and arrays
        if isinstance(plain, bool | int | float | str | list):
            return encode(plain, where)
    raise TypeError(
        f"{where} is a {type(value).__name__}; it must be made of numbers, strings, booleans, "
        "None, lists and dicts"
    )


def decode(value: Any) -> Any:
    """Inverse of `encode`, up to tuples and dataclasses, which come back as lists and dicts."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(value["$float"])
        if set(value) == {"$estimate"}:
            return Estimate(*(decode(part) for part in value["$estimate"]))
        return {key: decode(item) for key, item in value.items()}
    return value


def canonical(encoded: Any) -> str:
    """The one text of an encoded value: sorted keys, no spaces; what is hashed."""
    return json.dumps(encoded, sort_keys=True, separators=(",", ":"), allow_nan=False)


def for_readers(value: Any) -> Any:
    """`value` for other programs: non-finite floats are the strings NaN, Infinity, -Infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: for_readers(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: for_readers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [for_readers(item) for item in value]
    return value
