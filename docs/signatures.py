"""What an equinox module or a named tuple is made from, and first sentences, for the pages of the reference.

Neither writes an `__init__`: its parameters are the annotated fields, those of its bases first. The pages
are made from the source without importing it, so that nobody else would know.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

MADE_OF_FIELDS = ("equinox.Module", "typing.NamedTuple")


class Fields(griffe.Extension):
    """Gives such classes the `__init__` that they have when they are imported."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for class_ in list(_classes(pkg)):
            if class_.docstring is not None:
                class_.docstring.value = summarised(class_.docstring.value)
            if "__init__" not in class_.members and _is_made_of_fields(class_):
                made = griffe.Function("__init__", parent=class_, returns="None")
                made.parameters = griffe.Parameters(_parameter("self", None), *_fields(class_))
                class_.set_member("__init__", made)


def summarised(text: str) -> str:
    """With the first sentence as the first line, which is all that a summary shows of a class."""
    first, gap, rest = text.partition("\n\n")
    found = re.match(r"((?:`[^`]*`|[^`])+?\.)\s+(?=[A-Z`])(.+)", " ".join(first.split("\n")))
    return (
        f"{found[1]}\n{found[2]}{gap}{rest}" if found else " ".join(first.split("\n")) + gap + rest
    )


def _classes(module: Any) -> Any:
    for member in module.members.values():
        if member.is_alias:
            continue
        if member.is_class:
            yield member
        if member.is_class or member.is_module:
            yield from _classes(member)


def _is_made_of_fields(class_: griffe.Class) -> bool:
    paths = [base if isinstance(base, str) else base.canonical_path for base in class_.bases]
    return any(path in MADE_OF_FIELDS for path in paths) or any(
        _is_made_of_fields(base) for base in class_.resolved_bases
    )


def _fields(class_: griffe.Class) -> list[griffe.Parameter]:
    found: dict[str, griffe.Parameter] = {}
    for base in reversed(class_.mro()):
        found |= _own(base)
    return list((found | _own(class_)).values())


def _own(class_: griffe.Class) -> dict[str, griffe.Parameter]:
    return {
        name: _parameter(name, member.annotation, _default(member.value))
        for name, member in class_.members.items()
        if member.is_attribute and member.annotation is not None and _is_field(member)
    }


def _is_field(member: Any) -> bool:
    """No property, and no variable of the class, which has no place in an instance."""
    return "property" not in member.labels and not (
        "class-attribute" in member.labels and "instance-attribute" not in member.labels
    )


def _default(value: Any) -> Any:
    """Of `eqx.field(default=...)` what stands there; None if there is none."""
    if isinstance(value, griffe.ExprCall) and str(value.function).endswith("field"):
        given = {a.name: a.value for a in value.arguments if isinstance(a, griffe.ExprKeyword)}
        return given.get("default")
    return value


def _parameter(name: str, annotation: Any, default: Any = None) -> griffe.Parameter:
    kind = griffe.ParameterKind.positional_or_keyword
    return griffe.Parameter(name, annotation=annotation, kind=kind, default=default)
