"""The tasks of the study by name, and how many directions each leaves unseen in a generic world of k
states."""

from collections.abc import Callable
from typing import NamedTuple

PAIRS_ON_3 = ("x2|x1", "x1|x2", "x3|x1", "x1|x3")
PAIRS_ON_8 = tuple(task for i in range(2, 9) for task in (f"x{i}|x1", f"x1|x{i}"))
TWO_TOKENS = ("x2,x3|x1", "x1,x3|x2", "x1,x2|x3")


class Entry(NamedTuple):
    """Tasks whose predictors are known together, and their unseen directions."""

    tasks: tuple[str, ...]
    unseen: Callable[[int], int]


def _all_maps(k: int) -> int:
    """Matrices whose rows and columns sum to one."""
    return (k - 1) ** 2


def _rotations(k: int) -> int:
    """Rotations that leave the vector of ones where it is."""
    return (k - 1) * (k - 2) // 2


def _none(k: int) -> int:
    return 0


ATLAS = {
    "x2|x1": Entry(("x2|x1",), _all_maps),
    "x3|x1": Entry(("x3|x1",), _all_maps),
    "pairs on 3": Entry(PAIRS_ON_3, _rotations),
    "pairs on 8": Entry(PAIRS_ON_8, _rotations),
    **{task: Entry((task,), _none) for task in (*TWO_TOKENS, "x3|x1,x2", "x2|x1,x3")},
}
