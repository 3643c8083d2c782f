"""Formulas as words over S_5, by Barrington: why automata with a non-solvable group are hard (Theorem 13).

A formula is a whole number (an input) or a tuple `("not", f)` or `("and", f, g)`. It becomes a list of
instructions "permutation a if input i is true, else b", whose product is a five-cycle if the formula is true
and the identity if it is false. Simulating the automaton of S_5 on that word evaluates the formula, so a
network of constant depth that did it for all lengths would evaluate all formulas of logarithmic depth.
"""

from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from minicosm.worlds import Semiautomaton, automata
from minicosm.worlds.arrays import check_whole_numbers, short

from ..signatures import checked
from ..theorem import Theorem
from .network import Network

Formula = int | tuple
Permutation = tuple[int, ...]
MOST_DEPTH = 8  # of conjunctions: words have up to 4^depth instructions
MOST_INPUTS = 16
TARGET: Permutation = (1, 2, 3, 4, 0)
"""The five-cycle that a true formula makes."""


class Instruction(NamedTuple):
    """One symbol of the word: `true` if the input is, else `false`."""

    input: int
    true: Permutation
    false: Permutation


def times(a: Permutation, b: Permutation) -> Permutation:
    """`a b`: b first, then a."""
    return tuple(a[i] for i in b)


def inverse(a: Permutation) -> Permutation:
    return tuple(int(i) for i in np.argsort(a))


def is_five_cycle(a: Permutation) -> bool:
    at, steps = a[0], 1
    while at != 0:
        at, steps = a[at], steps + 1
    return steps == 5


@cache
def commutator_of(cycle: Permutation) -> tuple[Permutation, Permutation]:
    """Five-cycles a and b with `a b a^-1 b^-1 = cycle`."""
    cycles = [p for p in permutations(range(5)) if is_five_cycle(p)]
    for a in cycles:
        for b in cycles:
            if times(times(a, b), times(inverse(a), inverse(b))) == cycle:
                return a, b
    raise ValueError(f"{cycle} is no commutator of five-cycles; only five-cycles are")


def and_depth(formula: Any) -> int:
    """How deep conjunctions are nested; raises for what is no formula."""
    if isinstance(formula, tuple) and len(formula) == 2 and formula[0] == "not":
        return and_depth(formula[1])
    if isinstance(formula, tuple) and len(formula) == 3 and formula[0] == "and":
        return 1 + max(and_depth(formula[1]), and_depth(formula[2]))
    is_whole = isinstance(formula, int | np.integer) and not isinstance(formula, bool)
    if is_whole and 0 <= formula < MOST_INPUTS:
        return 0
    raise ValueError(
        f"{short(formula)} is no formula; it must be a whole number below {MOST_INPUTS}, ('not', f) or "
        "('and', f, g)"
    )


@checked()
def barrington(formula: Any) -> list[Instruction]:
    """The program of a formula, in the order in which the instructions are multiplied from the left: at most
    `4^depth` of them for conjunctions nested that deep.

    `P(not f, a) = P(f, a^-1) a`, with a taken into the last instruction, and `P(f and g, [a, b]) = P(f, a)
    P(g, b) P(f, a^-1) P(g, b^-1)`.
    """
    if (depth := and_depth(formula)) > MOST_DEPTH:
        raise ValueError(f"conjunctions are nested {depth} deep; at most {MOST_DEPTH} are compiled")
    return _program(formula, TARGET)


def _program(formula: Formula, cycle: Permutation) -> list[Instruction]:
    identity = tuple(range(5))
    if not isinstance(formula, tuple):
        return [Instruction(int(formula), cycle, identity)]
    if formula[0] == "not":
        *first, (at, true, false) = _program(formula[1], inverse(cycle))
        return [*first, Instruction(at, times(true, cycle), times(false, cycle))]
    a, b = commutator_of(cycle)
    f, g = formula[1], formula[2]
    halves = [_program(f, a), _program(g, b), _program(f, inverse(a)), _program(g, inverse(b))]
    return [instruction for half in halves for instruction in half]


@checked()
def evaluate(formula: Any, inputs: Bool[np.ndarray, " n"]) -> bool:
    """What the formula says of these inputs."""
    and_depth(formula)
    check_whole_numbers("the inputs of the formula", _inputs(formula), 0, len(inputs) - 1)
    return _value(formula, inputs)


def _inputs(formula: Formula) -> list[int]:
    """The numbers of the inputs that the formula names."""
    if not isinstance(formula, tuple):
        return [int(formula)]
    return [i for part in formula[1:] for i in _inputs(part)]


def _value(formula: Formula, inputs: Bool[np.ndarray, " n"]) -> bool:
    if not isinstance(formula, tuple):
        return bool(inputs[formula])
    if formula[0] == "not":
        return not _value(formula[1], inputs)
    return _value(formula[1], inputs) and _value(formula[2], inputs)


def five_points() -> Semiautomaton:
    """S_5 on five points, with all 120 permutations as symbols: `q -> s(q)`."""
    return automata.permutation_automaton(list(permutations(range(5))), name="S_5 on 5 points")


@checked()
def word(program: Sequence[Instruction], inputs: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " T"]:
    """The symbols of `five_points` that the program reads: the last factor first, since products act from
    the left. The state after all of them is 0 if the formula is false and 1 if it is true."""
    if not program:
        raise ValueError("program is empty; it must be what `barrington` returns")
    numbers = {p: i for i, p in enumerate(permutations(range(5)))}
    check_whole_numbers("the inputs of the program", [i.input for i in program], 0, len(inputs) - 1)
    chosen = [i.true if inputs[i.input] else i.false for i in program]
    return np.array([numbers[p] for p in reversed(chosen)])


@checked()
def barrington_theorem(formula: Any, network: Network | None = None) -> Theorem:
    """The word of a formula leads to state 1 if it is true and to 0 if it is false, for all values of its
    inputs, and has at most `4^depth` symbols. With a `network` of the automaton `five_points`, its states are
    compared, too. The error counts violations."""
    program = barrington(formula)
    inputs = 1 + max(instruction.input for instruction in program)
    rows = np.array(list(product((False, True), repeat=inputs)))
    wanted = np.array([_value(formula, row) for row in rows])
    words = np.array([word(program, row) for row in rows])
    ends = np.zeros(len(rows), int)
    symbols = np.array(list(permutations(range(5))))
    for column in words.T:
        ends = symbols[column, ends]
    wrong = int((ends != wanted).sum())
    if network is not None:
        wrong += int((network(words)[:, -1] != wanted).sum())
    depth = and_depth(formula)
    return Theorem.identity(
        "Barrington",
        wrong + max(0, len(program) - 4**depth),
        within=0,
        cases=len(rows),
        details={"symbols": len(program), "depth": depth, "compiled": network is not None},
    )
