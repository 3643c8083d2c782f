"""Small laws in which a printed statement comes out false, or a routine might stumble."""

import numpy as np

from ..arrays import check_number
from .joint import Joint, check_states, product_rows
from .masks import MaskLaw


def two_bits() -> tuple[Joint, MaskLaw]:
    """The world of Lemma 4.3.1 (its last state is (1, 1)): masks {0} and {1} that look at the bits.

    `p(00) = 1/2, p(01) = 1/3, p(10) = 1/6`, and mask {0} has probability 1/2, 1/3 and 1/4 there. The
    state 11 is impossible and has no mask law.
    """
    first = np.array([1 / 2, 1 / 3, 1 / 4])
    table = np.zeros((4, 2))
    table[:3] = np.stack([first, 1 - first], axis=1)
    return Joint([1 / 2, 1 / 3, 1 / 6, 0], 2, 2), MaskLaw.adaptive([[0], [1]], table, 2)


def two_islands(t: float) -> Joint:
    """`p(00) = 1 - t`, `p(11) = t`: given one bit the other is certain, so single masks teach nothing
    about t and single updates never leave a state."""
    if check_number("t", t, 0, 1) in (0, 1):
        raise ValueError(f"t is {t}; it must lie strictly between 0 and 1")
    return Joint([1 - t, 0, 0, t], 2, 2)


def independent_bits(length: int, one: float) -> Joint:
    """Independent bits, each 1 with probability `one`."""
    check_states(2, length)
    if check_number("one", one, 0, 1) in (0, 1):
        raise ValueError(f"one is {one}; it must lie strictly between 0 and 1")
    laws = np.broadcast_to(np.array([1 - one, one]), (1, length, 2))
    return Joint(product_rows(laws)[0], 2, length)
