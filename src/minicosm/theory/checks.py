"""What theorems are run on, checked once and in one way: sequences, and arguments by rules.

A rule says of an argument what its annotation cannot (see `signatures`). It is called with the name and the
value of the argument and with all arguments by name, and returns the value to use or raises one sentence:

    @checked(k=whole(1), delta=real(above=0, below=1))
    def theorem(joint: Joint, k: int, delta: float = 0.1): ...
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np
from jaxtyping import Bool, Int

from minicosm.adaptation.checks import (
    as_numbers,
    check_kind,
    check_real,
    check_reals,
    check_token_rows,
    check_whole,
)
from minicosm.worlds.arrays import check_shape, check_whole_numbers, sum_text

MOST_STEPS = 2**26  # of a loop: more would not end
LAW = 1e-8  # how far a law's sum may be from one

Given = Mapping[str, Any]
Rule = Callable[[str, Any, Given], Any]
Shape = Sequence[int | None] | Callable[[Given], Sequence[int | None]] | None
P = ParamSpec("P")
R = TypeVar("R")


def check_sequences(
    world: Any, sequences: Any, observed: Any = None
) -> tuple[Int[np.ndarray, "n T"], Bool[np.ndarray, " T"]]:
    """Sequences of the world's tokens as rows, and which positions are observed (default: all).

    A verifier must not verify nonsense: tokens outside the vocabulary, fractions and arrays in another
    byte order are refused.
    """
    rows = np.asarray(check_token_rows("sequences", sequences, world.vocab))
    if rows.dtype not in (np.int32, np.int64):
        rows = rows.astype(np.int64)
    if observed is None:
        return rows, np.ones(rows.shape[1], bool)
    seen = np.asarray(as_numbers("observed", observed, "b"))
    if seen.shape != rows.shape[1:]:
        raise ValueError(f"observed has shape {seen.shape}; it must have shape {rows.shape[1:]}")
    return rows, seen


# -- arguments by rules -----------------------------------------------------------------------


def kind(*kinds: type) -> Rule:
    """An object of one of these classes."""

    def rule(name: str, value: Any, given: Given) -> Any:
        return check_kind(name, value, kinds)

    return rule


def whole(least: int = 0, most: int | None = MOST_STEPS) -> Rule:
    """A whole number in `least..most`."""
    return lambda name, value, given: check_whole(name, value, least, most)


def real(**range: Any) -> Rule:
    """A number in the range that `check_real` is given."""
    return lambda name, value, given: check_real(name, value, **range)


def _shape(shape: Shape, given: Given) -> Sequence[int | None] | None:
    return shape(given) if callable(shape) else shape


def reals(shape: Shape = None, **range: Any) -> Rule:
    """Real numbers as an array in double precision; the shape may depend on the arguments before."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        return np.asarray(check_reals(name, value, _shape(shape, given), **range), np.float64)

    return rule


def probabilities(shape: Shape, *, lacking: bool = False) -> Rule:
    """Nonnegative numbers that sum to one along the last axis; with `lacking`, to one at most."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        found = np.asarray(check_reals(name, value, _shape(shape, given), least=0), np.float64)
        sums = found.sum(axis=-1)
        off = (sums > 1 + LAW) if lacking else np.abs(sums - 1) > LAW
        if off.any():
            where = tuple(int(i) for i in np.argwhere(off)[0])
            at = f"{name}{list(where) or ''}"
            wanted = "to one at most" if lacking else "to 1"
            raise ValueError(f"{at} sums to {sum_text(sums[where])}; it must sum {wanted}")
        return found

    return rule


def truths(shape: Shape) -> Rule:
    """An array of truth values."""

    def rule(name: str, value: Any, given: Given) -> np.ndarray:
        found = np.asarray(as_numbers(name, value, "b"))
        check_shape(name, found, _shape(shape, given))
        return found

    return rule


def wholes(below: int | Callable[[Given], int], shape: Shape = (None,)) -> Rule:
    """Whole numbers in `0..below-1`: an array, or a list or tuple, which stays one."""

    def rule(name: str, value: Any, given: Given) -> Any:
        most = below(given) if callable(below) else below
        found = check_whole_numbers(name, value, 0, most - 1, _shape(shape, given))
        return value if isinstance(value, list | tuple) else np.asarray(found, np.int64)

    return rule


COUNT = whole(1, 2**62)
POSITIVE, NOT_NEGATIVE = real(above=0), real(least=0)
INSIDE = real(above=0, below=1)
