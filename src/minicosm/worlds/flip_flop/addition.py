"""The carry of an addition is a flip-flop: digits that sum to 10 or more write 1, to 8 or less write 0, and
those that sum to 9 keep it."""

import numpy as np
from jaxtyping import Int

from ..arrays import check_shape, check_whole_numbers
from ..automata import flip_flop
from ..automata.semiautomaton import Semiautomaton
from ..checks import AnyArray

KEEP, SET_0, SET_1 = 0, 1, 2


def carry_automaton() -> Semiautomaton:
    """The flip-flop with the law that uniform digits give its symbols: keep .1, set 0 and set 1 .45."""
    return flip_flop().with_law(np.array([0.1, 0.45, 0.45]))


def carry_symbols(
    a: Int[AnyArray, "*n digits"], b: Int[AnyArray, "*n digits"]
) -> Int[np.ndarray, "*n digits"]:
    """What each place does to the carry; digits are in the order of the automaton, the last one first."""
    first, second = _digits(a, b)
    total = first + second
    return np.where(total == 9, KEEP, np.where(total > 9, SET_1, SET_0)).astype(np.int32)


def sum_digits(
    a: Int[AnyArray, " digits"], b: Int[AnyArray, " digits"]
) -> Int[np.ndarray, " digits+1"]:
    """The digits of `a + b`, the last one first: the states of the automaton are the carries."""
    first, second = _digits(a, b)
    check_shape("a", first, (None,))
    carries = np.append(0, np.asarray(carry_automaton().run(carry_symbols(first, second))))
    return np.append((first + second + carries[:-1]) % 10, carries[-1])


def _digits(a: AnyArray, b: AnyArray) -> tuple[np.ndarray, np.ndarray]:
    first = np.asarray(check_whole_numbers("a", a, 0, 9))
    second = np.asarray(check_whole_numbers("b", b, 0, 9))
    if first.shape != second.shape or not first.ndim or not first.shape[-1]:
        raise ValueError(
            f"a has shape {first.shape} and b {second.shape}; both must have the same number of digits, "
            "at least one"
        )
    return first, second
