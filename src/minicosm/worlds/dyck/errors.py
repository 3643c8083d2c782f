"""Where a string stops being the beginning of a complete Dyck string of known length, and how.

A string is brackets and then the end token, whose id is `vocab`, the one that pads worlds' strings.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ..arrays import AnyArray, check_count
from . import strings


class DyckError(IntEnum):
    """What the first wrong token did."""

    NONE = 0
    WRONG_CLOSING_BRACKET = 1
    """It closes a bracket of another type."""
    WRONG_END = 2
    """The end token before the end, or another token in its place."""
    WRONG_START = 3
    """The first token is no open bracket."""
    TOO_DEEP = 4
    """The depth exceeds the world's bound, though it could still be closed."""
    CANNOT_CLOSE = 5
    """The depth exceeds the number of brackets left."""
    UNDERFLOW = 6
    """A bracket closes where nothing is open, after the start."""


class DyckReading(NamedTuple):
    """What is known once some tokens have been read."""

    error: Int[Array, ""]
    """The first `DyckError`; 0 while the tokens can be completed."""
    ended: Bool[Array, ""]
    read: Int[Array, ""]
    depth: Int[Array, ""]
    stack: Int[Array, " D"]


class DyckReferee(eqx.Module):
    """Reads strings of exactly `length` brackets and an end token; methods take one string."""

    types: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    length: int = eqx.field(static=True)

    def __post_init__(self) -> None:
        check_count("types", self.types)
        check_count("depth", self.depth)
        if check_count("length", self.length) % 2:
            raise ValueError(f"no complete string has length {self.length}; it must be even")

    @property
    def end(self) -> int:
        """The end token."""
        return 2 * self.types

    def start(self) -> DyckReading:
        zero = jnp.zeros((), jnp.int32)
        stack = jnp.zeros(self.depth, strings.stack_type(self.types))
        return DyckReading(zero, jnp.zeros((), bool), zero, zero, stack)

    def step(self, reading: DyckReading, token: Int[Array, ""]) -> DyckReading:
        """Read one token; after an error or the end nothing changes any more."""
        slots = jnp.arange(self.depth)
        token = jnp.asarray(token, jnp.int32)
        bracket = (token >= 0) & (token < self.end)
        opens, kind = bracket & (token % 2 == 0), token // 2
        depth = reading.depth + jnp.where(opens, 1, -1)
        left = self.length - reading.read - 1
        top = strings.peek(reading.stack, slots, reading.depth)
        over = reading.read == self.length
        error = jnp.select(
            [
                bracket == over,
                over,
                ~opens & (reading.read == 0),
                ~opens & (reading.depth == 0),
                ~opens & (top != kind),
                depth > left,
                depth > self.depth,
            ],
            [
                DyckError.WRONG_END,
                DyckError.NONE,
                DyckError.WRONG_START,
                DyckError.UNDERFLOW,
                DyckError.WRONG_CLOSING_BRACKET,
                DyckError.CANNOT_CLOSE,
                DyckError.TOO_DEEP,
            ],
            DyckError.NONE,
        ).astype(jnp.int32)
        # The very first token is the start's business, whatever else is wrong with it.
        error = jnp.where((reading.read == 0) & ~bracket, DyckError.WRONG_START, error)
        stack = jnp.where(
            (slots == reading.depth) & opens, kind.astype(reading.stack.dtype), reading.stack
        )
        over = over & (error == 0)
        depth = jnp.where(over, reading.depth, depth)
        new = DyckReading(error, over, reading.read + ~over, depth, stack)
        stopped = (reading.error > 0) | reading.ended
        return jax.tree.map(lambda old, now: jnp.where(stopped, old, now), reading, new)

    def first_error(
        self, tokens: Int[AnyArray, " T"]
    ) -> tuple[Int[Array, ""], Int[Array, ""], Bool[Array, ""]]:
        """The index of the first wrong token (T if there is none), its kind, and whether the string
        has ended as it should."""

        def read(reading: DyckReading, token: Array) -> tuple[DyckReading, Any]:
            reading = self.step(reading, token)
            return reading, reading.error

        last, errors = jax.lax.scan(read, self.start(), jnp.asarray(tokens))
        wrong = errors > 0
        at = jnp.where(jnp.any(wrong), jnp.argmax(wrong), len(wrong))
        return at.astype(jnp.int32), last.error, last.ended
