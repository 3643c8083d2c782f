"""Checks of what is given to functions of real text: one sentence that names it. Light to import."""

from pathlib import Path
from typing import Any

from minicosm.sentences import check_choice, check_kind, check_text, check_texts, shown

__all__ = [
    "check_choice",
    "check_count",
    "check_kind",
    "check_path",
    "check_text",
    "check_texts",
    "check_token_lists",
    "shown",
]


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
    found = [[int(token) for token in row] for row in rows]
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
