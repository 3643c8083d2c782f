"""Samplers that ask the verifier about whole strings: rejection and best-of-n."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from . import rows as r
from .settings import Draw, as_count, as_number, traced
from .trace import Status
from .truncation import choose, truncate


@traced
@dataclass(frozen=True, kw_only=True)
class Rejection(Draw):
    """Draw whole strings until the verifier accepts one: the law `p_O(. | A)`, with
    `D / p_O(A)` expected calls if all strings have length D. Ends at the budget of calls if it
    finds none."""

    threshold: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        as_number(self, "threshold", least=0, most=1)

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, 1

    def start(self, task: r.Task, row: r.Row) -> PyTree:
        return None

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        log_law, row = r.law(task, row)
        row = r.append(task, row, choose(jax.random.uniform(key), jnp.exp(truncate(log_law, self))))
        full = r.is_full(task, row)
        score, row = r.score(task, row, full, probability=True)
        accepted = score >= self.threshold
        row = r.finish(row, Status.DONE, full & accepted)
        return r.back(row, task.prompt_length, full & ~accepted)

    def report(self, rows: r.Row) -> dict[str, Any]:
        return {}


class Best(NamedTuple):
    """The best string so far."""

    score: Float[Array, ""]
    tokens: Int[Array, " room"]
    length: Int[Array, ""]
    tried: Int[Array, ""]


@traced
@dataclass(frozen=True, kw_only=True)
class BestOfN(Draw):
    """Draw `count` whole strings and keep the one with the highest score, the first of equals. If the
    budget is spent before, the best whole string that there is."""

    count: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self, "count")

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, 1

    def start(self, task: r.Task, row: r.Row) -> Best:
        return Best(jnp.array(-jnp.inf), row.tokens, row.n, jnp.int32(0))

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        log_law, row = r.law(task, row)
        row = r.append(task, row, choose(jax.random.uniform(key), jnp.exp(truncate(log_law, self))))
        full = r.is_full(task, row)
        score, row = r.score(task, row, full, probability=False)
        best: Best = row.own
        better = full & (score > best.score)
        best = Best(
            jnp.where(better, score, best.score),
            jnp.where(better, row.tokens, best.tokens),
            jnp.where(better, row.n, best.length),
            best.tried + full,
        )
        last = full & (best.tried >= self.count)
        row = r.back(row._replace(own=best), task.prompt_length, full & ~last)
        row = row._replace(
            tokens=jnp.where(last, best.tokens, row.tokens), n=jnp.where(last, best.length, row.n)
        )
        return r.finish(row, Status.DONE, last)

    def report(self, rows: r.Row) -> dict[str, Any]:
        best: Best = rows.own
        return {"score": best.score} | r.instead(rows, best.tokens, best.length, best.tried > 0)
