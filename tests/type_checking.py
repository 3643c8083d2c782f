"""The type checker of the tests: beartype, except where it cannot follow an annotation."""

from beartype import beartype
from beartype.roar import BeartypeDecorHintPep673Exception


def check(function):
    """`function` with its annotations checked; `Self` is not understood outside a checked class."""
    try:
        return beartype(function)
    except BeartypeDecorHintPep673Exception:
        return function
