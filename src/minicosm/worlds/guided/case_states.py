"""The tokens of test-case texts, the parts of a line, and what the beginning of a text tells."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..arrays import AnyArray

MARKS = ("assert", "(", "[", "]", ",", ")", "==", "\n", "<eos>", "def")
KINDS = ("correct", "prepended", "sorted", "wrong digit", "junk")


class Slot:
    """What stands next in the text: the header, the parts of a line; a line that has left that road, a
    text that has ended too early, and one that has ended with all its lines."""

    (
        DEF, HEADER_NAME, HEADER_BREAK, LINE, NAME, OPEN, LIST, FIRST, ELEMENT, DIGIT, COMMA, ITEM,
        CLOSE, EQUALS, RIGHT, BROKEN, ENDED, DONE,
    ) = range(18)  # fmt: skip


class CaseState(NamedTuple):
    """What the first n tokens tell."""

    slot: Int[Array, ""]
    name: Int[Array, ""]
    """The token that the header names."""
    line: Int[Array, ""]
    """Lines that have ended."""
    size: Int[Array, ""]
    """Elements of this line's list so far."""
    digits: Int[Array, " places"]
    """The elements, and after them the item."""
    place: Int[Array, ""]
    """Tokens after `==`."""
    alive: Bool[Array, " Z"]
    """Hypotheses that the right-hand side agrees with so far; the first is that it is correct."""
    junk: Bool[Array, " Z"]
    """Hypotheses by which the line has dissolved."""
    weights: Float[Array, " Z"]
    """The posterior of the hypotheses after `==`; before it, their law if the list ends here."""


class CaseSample(NamedTuple):
    """One text, padded with `<eos>`, and the law that each token was drawn from."""

    tokens: Int[Array, " T"]
    log_laws: Float[Array, "T V"]
    length: Int[Array, ""]
    """Tokens up to the first `<eos>`, which counts."""


class CaseLines(NamedTuple):
    """What is known of the lines of a text, at the tokens that end them."""

    ends: Bool[Array, " T"]
    correct: Bool[Array, " T"]
    case: Int[Array, " T"]
    """A number for the list and the item; -1 where no correct line ends."""


class CaseTokens(eqx.Module):
    """The alphabet of texts with these numbers of names, lines, elements of a list and digits."""

    names: int = eqx.field(static=True)
    misleading: int = eqx.field(static=True)
    lines: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)
    digits: int = eqx.field(static=True)

    @property
    def vocab(self) -> int:
        """Digits, marks, then names."""
        return self.digits + len(MARKS) + self.names + self.misleading

    def mark(self, text: str) -> int:
        """The token of one of `MARKS`."""
        return self.digits + MARKS.index(text)

    @property
    def end(self) -> int:
        return self.mark("<eos>")

    @property
    def first_name(self) -> int:
        return self.digits + len(MARKS)

    @property
    def longest_line(self) -> int:
        """Tokens of the longest correct line, its break included."""
        return 4 + max(2 * self.longest - 1, 0) + 5 + 2 * self.longest + 4

    @property
    def room(self) -> int:
        """Tokens of the longest text without an error."""
        return 3 + self.lines * self.longest_line + 1

    def header(self, name: Int[AnyArray, ""] | int) -> Int[Array, " 3"]:
        """The prompt for the name with this number, misleading ones last."""
        marks = self.mark("def"), self.mark("\n")
        return jnp.stack(
            [jnp.asarray(t, jnp.int32) for t in (marks[0], self.first_name + name, marks[1])]
        )

    def text(self, tokens: Any) -> str:
        """Tokens as text, up to the end."""
        words = []
        for token in np.asarray(tokens):
            if token == self.end:
                break
            if token < self.digits:
                words.append(str(token))
            elif token < self.first_name:
                words.append(MARKS[token - self.digits])
            else:
                words.append(f"f{token - self.first_name}")
        return " ".join(words)
