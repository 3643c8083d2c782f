"""The type checker of the tests: beartype, except where it cannot follow an annotation."""

from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeDecorHintPep673Exception

NUMBERS = BeartypeConf(is_pep484_tower=True)  # a whole number is a number, as for type checkers


def check(function):
    """`function` with its annotations checked; `Self` is not understood outside a checked class."""
    try:
        return beartype(function, conf=NUMBERS)
    except BeartypeDecorHintPep673Exception:
        return function
