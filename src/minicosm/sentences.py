"""The value, or one sentence that says what was given and what is needed. Every package may use these few
checks, the lab too: nothing is imported."""

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def shown(value: Any, most: int = 60) -> str:
    """`repr` in one line of at most `most` characters; of an array its shape and dtype."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "dtype"):
        if shape:
            return f"an array of shape {shape} and dtype {value.dtype}"
        if type(value).__module__ == "numpy":  # np.float64(1.5) is 1.5
            value = value.item()
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr that raises must not hide the sentence
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def check_text(name: str, value: Any) -> str:
    """`value` if it is a text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}; it must be a text")
    return value


def check_texts(name: str, value: Any) -> tuple[str, ...]:
    """`value` as a tuple if it is a list or tuple of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"{name} is {shown(value)}; it must be a list of texts")
    return tuple(value)


def check_choice(name: str, value: Any, choices: Sequence[T]) -> T:
    """`value` if it is one of `choices`: words, numbers or None."""
    if not isinstance(value, str | int | None) or value not in choices:
        words = ", ".join(map(repr, choices))
        raise ValueError(f"{name} is {shown(value)}; it must be one of {words}")
    return value  # type: ignore[return-value]


def check_kind(
    name: str, value: Any, kind: type | tuple[type, ...], wanted: str | None = None
) -> Any:
    """`value` if it is of this class; `wanted` says which that is (else by name: "an HMM or a Joint")."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = wanted or " or ".join(_with_article(each.__name__) for each in kinds)
        raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")
    return value


def _with_article(name: str) -> str:
    vowel = name[:1].lower() in "aeiou" or name.startswith("HMM")
    return f"{'an' if vowel else 'a'} {name}"


def check_flag(name: str, value: Any) -> bool:
    """`value` if it is True or False, Python's or NumPy's."""
    numpys = type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")
    if not isinstance(value, bool) and not numpys:
        raise TypeError(f"{name} is {shown(value)}; it must be True or False")
    return bool(value)
