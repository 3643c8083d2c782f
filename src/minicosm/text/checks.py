"""Checks of what is given to functions of real text: one sentence that names it. Light to import."""

from collections.abc import Sequence
from pathlib import Path
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


def check_texts(name: str, value: Any) -> None:
    """Raise unless `value` is a list or tuple of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"{name} is {shown(value)}; it must be a list of texts")


def check_token_lists(name: str, value: Any, vocab: int) -> list[list[int]]:
    """`value` as lists of tokens in 0..vocab-1."""
    rows = value.tolist() if hasattr(value, "tolist") else value
    good = isinstance(rows, list | tuple)
    for row in rows if good else ():
        row = row.tolist() if hasattr(row, "tolist") else row
        good &= isinstance(row, list | tuple) and all(
            isinstance(token, int) and not isinstance(token, bool) for token in row
        )
    if not good:
        raise TypeError(f"{name} is {shown(value)}; it must be a list of lists of whole numbers")
    found = [row.tolist() if hasattr(row, "tolist") else list(row) for row in rows]
    for row in found:
        for token in row:
            if not 0 <= token < vocab:
                raise ValueError(f"{name} hold the token {token}; it must lie in 0..{vocab - 1}")
    return found


def check_path(name: str, value: Any) -> Path:
    """`value` as a path."""
    if not isinstance(value, str | Path):
        raise TypeError(f"{name} is {shown(value)}; it must be the path of a file")
    return Path(value)


def check_count(name: str, value: Any, least: int = 1, most: int = 2**31 - 1) -> int:
    """`value` as a whole number in least..most."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is {shown(value)}; it must be a whole number in {least}..{most}")
    return value


def check_kind(name: str, value: Any, kind: Any, wanted: str) -> None:
    """Raise unless `value` is of this class; `wanted` says which that is."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)}; it must be {wanted}")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of these words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {shown(value)}; it must be one of {', '.join(choices)}")
