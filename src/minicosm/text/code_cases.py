"""Test cases as lines of code: `assert name(*arguments) == expected`, read and never run."""

import ast
import warnings
from dataclasses import dataclass
from typing import Any

from .checks import check_kind, check_text

LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)
LONGEST = 10_000  # characters of a line that are looked at
UNREADABLE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
"""What Python's parser may raise on a text that it does not accept."""


@dataclass(frozen=True)
class Case:
    """The test case `assert name(*arguments) == expected`, all literals."""

    name: str
    arguments: tuple[Any, ...]
    expected: Any

    def __post_init__(self) -> None:
        check_text("name", self.name)
        check_kind("arguments", self.arguments, tuple, "a tuple of literals")


def read_case(line: str) -> Case | None:
    """The test case that a line states, or None if it is not exactly one of that form.

    The line is parsed, never evaluated; arguments and expectation must be literals (numbers, texts,
    lists, tuples, sets, dicts).
    """
    check_text("line", line)
    if len(line) > LONGEST or "\0" in line:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes, also where warnings are errors
            body = ast.parse(line.strip()).body
    except UNREADABLE:
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Assert) or body[0].msg is not None:
        return None
    match body[0].test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]),
            ops=[ast.Eq()],
            comparators=[expected],
        ) if all(map(_is_literal, [*arguments, expected])):
            try:
                values = tuple(ast.literal_eval(argument) for argument in arguments)
                return Case(name, values, ast.literal_eval(expected))
            except UNREADABLE:
                return None
    return None


def _is_literal(tree: ast.expr) -> bool:
    return all(isinstance(node, LITERALS) for node in ast.walk(tree))
