"""The test-case task as text: prompts for a code model, and what its completions are worth.

The prompt shows a function with eight correct test cases and asks for eight of another, a list's `append`
under a name of three letters. A correct line is `assert NAME([a, b], c) == [a, b, c]`.
"""

import builtins
import keyword
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minicosm.text.code_runner import Limits, read_case, run

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


class Cases:
    """Judges lines by running them, each text once; see `code_runner`."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits
        self.known: dict[tuple[str, str], bool] = {}

    def correct(self, name: str, line: str) -> bool:
        """Whether the line is a test case of this function and passes."""
        case = read_case(line)
        if case is None or case.name != name or not _is_append(case.arguments):
            return False
        if (name, line) not in self.known:
            verdict = run(definition(name) + line.strip() + "\n", self.limits).verdict
            self.known[name, line] = verdict == "passed"
        return self.known[name, line]

    def distinct(self, name: str, completions: Sequence[str]) -> set[str]:
        """The different correct cases of finished completions: two are equal if list and item are."""
        result = set()
        for text in completions:
            for line in lines(text, finished=True):
                if self.correct(name, line):
                    result.add(repr(read_case(line).arguments))  # type: ignore[union-attr]
        return result


def _is_append(arguments: tuple[Any, ...]) -> bool:
    return len(arguments) == 2 and isinstance(arguments[0], list)


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
    case = read_case(line.partition("==")[0] + "== 0")
    if case is None or case.name != name or not _is_append(case.arguments):
        return False
    items, item = case.arguments
    wanted = repr([*items, item]).replace(" ", "")
    right = right.replace('"', "'")
    return right == wanted if whole else wanted.startswith(right)


def prefixes(tokens: Sequence[int], decode: Any) -> Iterator[str]:
    """The text after each token."""
    for n in range(1, len(tokens) + 1):
        yield decode(list(tokens[:n]))
