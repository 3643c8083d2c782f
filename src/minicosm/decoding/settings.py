"""Settings of samplers: frozen dataclasses whose numbers a compiled program takes as inputs, so that
a grid of quotas, strides and temperatures is one program."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import jax

from minicosm.worlds.arrays import check_count, check_flag, check_number, short

MOST = 2**31 - 1
Class = TypeVar("Class", bound=type)


def traced(cls: Class) -> Class:
    """Make a frozen dataclass a pytree. Its numbers and booleans are leaves; so are its texts, as
    places in the metadata `texts` of their fields. Fields with metadata `fixed` are part of the
    program."""
    names = [field.name for field in fields(cls)]
    fixed = {f.name for f in fields(cls) if f.metadata.get("fixed")}
    texts = {f.name: f.metadata["texts"] for f in fields(cls) if "texts" in f.metadata}
    texts = {name: known for name, known in texts.items() if name not in fixed}

    def flatten(settings: Any) -> tuple[list[Any], tuple[Any, ...]]:
        values = {name: getattr(settings, name) for name in names}
        for name, known in texts.items():
            if isinstance(values[name], str):
                values[name] = known.index(values[name])
        leaves = [value for name, value in values.items() if name not in fixed]
        return leaves, tuple(values[name] if name in fixed else Leaf for name in names)

    def unflatten(aux: tuple[Any, ...], leaves: Iterable[Any]) -> Any:
        # Past `__init__`: under a trace, and inside JAX, leaves are no numbers that can be checked.
        settings: Any = object.__new__(cls)
        following = iter(leaves)
        for name, value in zip(names, aux, strict=True):
            object.__setattr__(settings, name, next(following) if value is Leaf else value)
        return settings

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)
    return cls


class Leaf:
    """Stands for a field that is a leaf."""


@traced
@dataclass(frozen=True, kw_only=True)
class Draw:
    """How a token is drawn from a law: temperature first, then top-k, then nucleus.

    The law becomes `p^(1/T)` normalised, then its `top_k` likeliest tokens, then the smallest head
    whose mass reaches `top_p` (always at least one token), normalised again. Temperature 0 and
    `top_p` 0 both mean the likeliest token. Among equals the lowest id comes first.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        as_number(self, "temperature", least=0)
        if self.top_k is not None:
            as_count(self, "top_k")
        as_number(self, "top_p", least=0, most=1)


def check_text(settings: Any, name: str) -> None:
    """Raise unless a field is one of the texts that its metadata names."""
    known = next(f.metadata["texts"] for f in fields(settings) if f.name == name)
    value = getattr(settings, name)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {short(value)}; it must be one of {', '.join(known)}")


def as_count(settings: Any, name: str, least: int = 1) -> None:
    """Store a field as an int, or raise unless it is a whole number in least..2^31 - 1, which is as far
    as the compiled program counts."""
    count = check_count(name, getattr(settings, name), least)
    if count > MOST:
        raise ValueError(f"{name} is {count}; it must be at most {MOST}")
    object.__setattr__(settings, name, count)


def check_flags(settings: Any, *names: str) -> None:
    """Raise unless these fields are True or False."""
    for name in names:
        check_flag(name, getattr(settings, name))


def as_number(settings: Any, name: str, least: float | int, most: float | int = math.inf) -> None:
    """Store a field as a float, or raise unless it is a finite number in [least, most]."""
    value = getattr(settings, name)
    try:
        number = math.nan if isinstance(value, bool) else check_number(name, value)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        bound = f"of at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise ValueError(f"{name} is {short(value)}; it must be a number {bound}")
    object.__setattr__(settings, name, number)
