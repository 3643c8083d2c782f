"""Options of claims: the keyword-only parameters of `trials`, set by name as text.

The annotation of the parameter says how the text is read: `int`, `float`, `bool`, `str`, or a
`tuple` of any number of `int`, `float` or `str`, separated by commas; each may be `| None`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from minicosm.lab.claims import Claim, LabError

TRUTHS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
ONE = {int: "a whole number", float: "a number", bool: "yes or no", str: "a text"}
MANY = {int: "whole numbers", float: "numbers", str: "texts"}


@dataclass(frozen=True)
class Option:
    """A keyword-only parameter of a claim's `trials`, with its default and its annotation."""

    name: str
    default: Any
    annotation: Any

    @property
    def needs(self) -> str:
        """What a value must be, in words; empty if no text can be read as one."""
        kind, many = _kind(self.annotation)
        if kind is None:
            return ""
        return f"{MANY[kind]} separated by commas" if many else ONE[kind]

    @property
    def default_text(self) -> str | None:
        """The default as one would write it; None for None."""
        if self.default is None:
            return None
        return _written(self.default)

    def read(self, text: str) -> Any:
        """The value of a text; `LabError` if it is none."""
        kind, many = _kind(self.annotation)
        if kind is None:
            raise LabError(
                f"option {self.name!r} cannot be set: its annotation is {_named(self.annotation)}; "
                "it must be int, float, bool, str, or a tuple of int, float or str of any length."
            )
        try:
            return (
                tuple(_read(kind, part) for part in text.split(",")) if many else _read(kind, text)
            )
        except (ValueError, KeyError):
            raise LabError(f"option {self.name!r} is {text!r}; it must be {self.needs}.") from None


def options_of(claim: Claim) -> dict[str, Option]:
    """The options of a claim, by name."""
    try:
        parameters = inspect.signature(claim.trials).parameters.values()
    except (TypeError, ValueError):
        return {}
    function = inspect.unwrap(getattr(claim.trials, "func", claim.trials))
    names = getattr(function, "__globals__", {})
    found = {}
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty:
            annotation = parameter.annotation
            if isinstance(annotation, str):
                with suppress(Exception):  # only this one: others may name what only mypy imports
                    annotation = eval(annotation, dict(names))
            found[parameter.name] = Option(parameter.name, parameter.default, annotation)
    return found


def split(words: Sequence[str]) -> dict[str, str]:
    """Names and texts of `NAME=VALUE` words."""
    options: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (name and equals):
            raise LabError(f"an option is given as NAME=VALUE, not as {word!r}.")
        if name in options:
            raise LabError(f"option {name!r} is given twice.")
        options[name] = text
    return options


def assign(claims: Sequence[Claim], options: Mapping[str, str]) -> list[dict[str, Any]]:
    """For every claim the values of those options that it has; each must be known to some claim."""
    known = [options_of(claim) for claim in claims]
    for name in options:
        if not any(name in have for have in known):
            every = ", ".join(sorted({other for have in known for other in have}))
            raise LabError(
                f"no selected claim has an option {name!r}; they have {every or 'no options'}."
            )
    return [
        {name: have[name].read(text) for name, text in options.items() if name in have}
        for have in known
    ]


def _kind(annotation: Any) -> tuple[type | None, bool]:
    """The type to read and whether it is a tuple of them; None if it is not one that we read."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        given = [part for part in parts if part is not NoneType]
        return _kind(given[0]) if len(given) == 1 else (None, False)
    if origin is tuple:
        known = len(parts) == 2 and parts[1] is Ellipsis and parts[0] in (int, float, str)
        return (parts[0] if known else None), True
    return (annotation if annotation in (int, float, bool, str) else None), False


def _read(kind: type, text: str) -> Any:
    return TRUTHS[text.strip().lower()] if kind is bool else kind(text)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(_written, value)) if isinstance(value, tuple | list) else str(value)


def _named(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "missing"
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
