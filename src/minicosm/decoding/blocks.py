"""Block best-of-n: several candidates for each block (a line, say), of which the best is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import check_whole_numbers

from . import rows as r
from .settings import MOST, Draw, as_count, traced
from .trace import Status
from .truncation import choose, truncate


class Block(NamedTuple):
    """The block that is being written."""

    start: Int[Array, ""]
    """The string's length before it."""
    best: Float[Array, ""]
    tokens: Int[Array, " room"]
    """The string with the best candidate."""
    length: Int[Array, ""]
    tried: Int[Array, ""]
    copy_to: Int[Array, ""]
    """The best candidate is being read again, until the string has this length."""
    blocks: Int[Array, ""]
    score: Float[Array, ""]
    """Of the last block that was kept."""


@traced
@dataclass(frozen=True, kw_only=True)
class BlockBestOfN(Draw):
    """For each block draw `count` candidates and keep the one with the highest score, the first of
    equals.

    A block ends after the token `separator` or at `size` tokens (at least one of the two must be
    given), and where the string is complete. At most `blocks` blocks are written. Every drawn token
    is a call; reading the kept candidate once more is none, for its laws were asked for before. If the
    budget is spent within a block, the string ends with its best candidate so far, if there is one.
    """

    count: int = 4
    separator: int | Sequence[int] | Int[np.ndarray, " *k"] | None = None
    """A token, or several of which each ends a block."""
    size: int | None = None
    blocks: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self, "count")
        if self.separator is None and self.size is None:
            raise ValueError("a block needs a separator or a size; neither was given")
        for name in ("size", "blocks"):
            if getattr(self, name) is not None:
                as_count(self, name)
        if self.separator is not None:
            tokens = np.asarray(check_whole_numbers("separator", self.separator, 0, MOST))
            if tokens.size == 0 or tokens.ndim > 1:
                raise ValueError(
                    f"separator has shape {tokens.shape}; it must be a token, or a list of several"
                )
            object.__setattr__(self, "separator", tokens)

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        writes = row.n >= row.own.copy_to
        return writes, writes

    def start(self, task: r.Task, row: r.Row) -> Block:
        zero, none = jnp.int32(0), jnp.array(-jnp.inf)
        return Block(row.n, none, row.tokens, row.n, zero, zero, zero, none)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        own: Block = row.own
        copying = row.n < own.copy_to
        log_law, row = r.law(task, row, ~copying)
        drawn = choose(jax.random.uniform(key), jnp.exp(truncate(log_law, self)))
        kept = own.tokens[jnp.minimum(row.n, row.tokens.shape[0] - 1)]
        token = jnp.where(copying, kept, drawn)
        row = r.append(task, row, token)
        ends = r.is_full(task, row)
        if self.separator is not None:
            ends |= jnp.isin(token, jnp.asarray(self.separator))
        if self.size is not None:
            ends |= row.n - own.start >= self.size
        ends &= ~copying
        score, row = r.score(task, row, ends, probability=False)
        better = ends & (score > own.best)
        own = own._replace(
            best=jnp.where(better, score, own.best),
            tokens=jnp.where(better, row.tokens, own.tokens),
            length=jnp.where(better, row.n, own.length),
            tried=own.tried + ends,
        )
        last = ends & (own.tried >= self.count)
        # If the last candidate is the best it stands there already.
        closed = (last & better) | (copying & (row.n == own.copy_to))
        again = ends & ~closed
        row = r.back(row, own.start, again)
        own = own._replace(copy_to=jnp.where(last & ~closed, own.length, own.copy_to))
        own = Block(
            start=jnp.where(closed, row.n, own.start),
            best=jnp.where(closed, -jnp.inf, own.best),
            tokens=own.tokens,
            length=own.length,
            tried=jnp.where(closed, 0, own.tried),
            copy_to=jnp.where(closed, 0, own.copy_to),
            blocks=own.blocks + closed,
            score=jnp.where(closed, own.best, own.score),
        )
        finished = closed & r.is_full(task, row)
        if self.blocks is not None:
            finished |= closed & (own.blocks >= self.blocks)
        return r.finish(row._replace(own=own), Status.DONE, finished)

    def report(self, rows: r.Row) -> dict[str, Any]:
        own: Block = rows.own
        return {"score": own.score} | r.instead(rows, own.tokens, own.length, own.tried > 0)
