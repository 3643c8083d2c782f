"""Flip-flop strings as sentences about a light, for models of natural language."""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import check_whole_numbers
from .language import IGNORE, READ, SYMBOL, WRITE

LIGHT = ("off", "on")
SENTENCES = {
    WRITE: ("Alice turns the light off.", "Alice turns the light on."),
    IGNORE: ("Bob eats a banana.", "Bob eats an apple."),
    READ: ("The light is turned off.", "The light is turned on."),
}
QUERY = "The light is turned "


class LightQuestion(NamedTuple):
    """A text that ends where the next word is `off` or `on`, and that word."""

    text: str
    answer: str


def as_sentences(tokens: Any) -> str:
    """The sentences of a string of the tokens w, r, i, 0, 1."""
    rows = _pairs(tokens)
    return " ".join(SENTENCES[instruction][symbol] for instruction, symbol in rows)


def question(tokens: Any, demonstration: Any = None) -> LightQuestion:
    """The sentences of a string, whose last pair is a read, up to its last word; before it, on a line of its
    own, those of a demonstration."""
    rows = _pairs(tokens)
    if rows[-1][0] != READ:
        raise ValueError("the last pair of tokens is no read; a question ends in one")
    told = [SENTENCES[instruction][symbol] for instruction, symbol in rows[:-1]]
    text = " ".join([*told, QUERY])
    if demonstration is not None:
        text = f"{as_sentences(demonstration)}\n{text}"
    return LightQuestion(text, LIGHT[rows[-1][1]])


def _pairs(tokens: Any) -> list[tuple[int, int]]:
    """Instructions and bits of a valid string; one that is not is refused with the first fault."""
    values = np.asarray(check_whole_numbers("tokens", tokens, 0, SYMBOL + 1, (None,)))
    if not len(values) or len(values) % 2:
        raise ValueError(
            f"there are {len(values)} tokens; a string has pairs, so it must be an even number from 2 on"
        )
    rows = [(int(a), int(b) - SYMBOL) for a, b in values.reshape(-1, 2)]
    memory = None
    for k, (instruction, bit) in enumerate(rows):
        if instruction > IGNORE or bit < 0:
            raise ValueError(
                f"tokens {2 * k} and {2 * k + 1} are no instruction (0, 1, 2) and bit (3, 4)"
            )
        if memory is None and instruction != WRITE:
            raise ValueError("the first pair is no write; there is nothing to remember before one")
        if instruction == WRITE:
            memory = bit
        if instruction == READ and bit != memory:
            raise ValueError(
                f"the read at token {2 * k} is followed by {bit}; {memory} is remembered"
            )
    return rows
