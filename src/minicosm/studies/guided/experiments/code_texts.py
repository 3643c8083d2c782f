"""The test-case task as text: prompts for a code model, and what its completions are worth.

The prompt shows a function with eight correct test cases and asks for eight of another, a list's `append`
under a name of three letters. A correct line is `assert NAME([a, b], c) == [a, b, c]`.
"""

import builtins
import keyword
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minicosm.text import Case, read_case

LINES = 8
"""Test cases that are asked for; what comes after them does not count."""


def names(count: int, seed: int) -> tuple[str, ...]:
    """Different names of three letters that mean nothing to Python."""
    taken = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
    rng = np.random.default_rng(seed)
    result: dict[str, None] = {}
    while len(result) < count:
        name = "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 3))
        if name not in taken:
            result[name] = None
    return tuple(result)


def definition(name: str) -> str:
    return f"def {name}(items, item):\n    return items + [item]\n"


def prompt(name: str, seed: int = 0) -> str:
    """One demonstration, with digits from 1 to 9, and the task."""
    rng = np.random.default_rng(seed)
    shown = [f"assert f({a}, {b}) == {a + b}" for a, b in rng.integers(1, 10, (LINES, 2))]
    ask = "# {} test cases for the function {}, one per line:\n"
    return (
        "def f(a, b):\n    return a + b\n\n" + ask.format(LINES, "f") + "\n".join(shown) + "\n\n"
        + definition(name) + "\n" + ask.format(LINES, name)
    )  # fmt: skip


def lines(completion: str, *, finished: bool = False) -> list[str]:
    """The lines that hold anything, at most eight; the last one only after its end, or if the text is
    `finished`."""
    parts = completion.split("\n")
    whole = parts if finished else parts[:-1]
    return [line for line in whole if line.strip()][:LINES]


def read(name: str, line: str) -> Case | None:
    """The test case of this function that a line states: a list and an item, all literals."""
    case = read_case(line)
    if case is None or case.name != name or len(case.arguments) != 2:
        return None
    return case if isinstance(case.arguments[0], list) else None


def correct(name: str, line: str) -> bool:
    """Whether the line is a test case of this function and passes: what the function returns is known,
    so the line is read and computed, not run."""
    case = read(name, line)
    return case is not None and [*case.arguments[0], case.arguments[1]] == case.expected


def distinct(name: str, completions: Sequence[str]) -> set[str]:
    """The different correct cases of finished completions: two are equal if list and item are."""
    return {
        _written(case.arguments, line.strip())
        for text in completions
        for line in lines(text, finished=True)
        if correct(name, line) and (case := read(name, line))
    }


def _written(value: Any, otherwise: str) -> str:
    """As Python writes it; integers may be too long for that."""
    try:
        return repr(value)
    except ValueError:
        return otherwise


def viable(name: str, text: str) -> bool:
    """Whether a completion can still go on as eight correct lines.

    Blanks do not count, nor does what stands after the eighth line. The right-hand side is compared
    letter by letter with the only right one; the left-hand side must begin as it has to, and what is
    wrong inside its brackets is noticed at "==".
    """
    *whole, last = text.split("\n")
    count = 0
    for line in whole:
        if line.strip() and count < LINES:
            if not _right_so_far(name, line, whole=True):
                return False
            count += 1
    return count >= LINES or _right_so_far(name, last, whole=False)


def _right_so_far(name: str, line: str, *, whole: bool) -> bool:
    opening = f"assert{name}(["
    squeezed = line.replace(" ", "")
    _, sign, right = squeezed.partition("==")
    if not sign:
        return not whole and opening.startswith(squeezed[: len(opening)])
    case = read(name, line.partition("==")[0] + "== 0")
    if case is None:
        return False
    items, item = case.arguments
    wanted = _written([*items, item], "").replace(" ", "")
    right = right.replace('"', "'")
    return right == wanted if whole else wanted.startswith(right)


def prefixes(tokens: Sequence[int], decode: Any) -> Iterator[str]:
    """The text after each token."""
    for n in range(1, len(tokens) + 1):
        yield decode(list(tokens[:n]))
