"""Samplers that ask the verifier about every token and never look back further than that."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from . import rows as r
from .settings import Draw, as_count, as_number, check_flags, traced
from .trace import Status
from .truncation import choose, truncate

REDRAWS = 10_000


@traced
@dataclass(frozen=True, kw_only=True)
class TokenwiseRejection(Draw):
    """Redraw each token until the verifier accepts: `prod_h O(a|u) 1[V(ua)] / alpha(u)`, with
    `alpha(u) = sum_{a: V(ua)=1} O(a|u)` and `1 / alpha(u)` expected calls for a token.

    After `redraws` draws for one token the row has FAILED: there may be no token that the verifier
    accepts and the generator gives.
    """

    threshold: float = 0.5
    redraws: int = REDRAWS

    def __post_init__(self) -> None:
        super().__post_init__()
        as_number(self, "threshold", least=0, most=1)
        as_count(self, "redraws")

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, 1

    def start(self, task: r.Task, row: r.Row) -> Int[Array, ""]:
        return jnp.int32(0)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        before = row.n
        log_law, row = r.law(task, row)
        row = r.append(task, row, choose(jax.random.uniform(key), jnp.exp(truncate(log_law, self))))
        score, row = r.score(task, row, probability=True)
        return _settle(task, row, before, score >= self.threshold, self.redraws)

    def report(self, rows: r.Row) -> dict[str, Any]:
        return {}


@traced
@dataclass(frozen=True, kw_only=True)
class ActionLevelRejection(Draw):
    """Value-guided sampling by rejection: draw a from O(.|u), keep it with probability V(ua) / m(u).

    The envelope m(u) must be at least every V(ua); a token then takes `m(u) / N(u)` expected calls,
    `N(u) = sum_a O(a|u) V(ua)`. It is the number `envelope`, or with `relative` that number times
    V(u), for values whose scale changes along a string.
    """

    envelope: float = 1.0
    relative: bool = False
    redraws: int = REDRAWS

    def __post_init__(self) -> None:
        super().__post_init__()
        as_number(self, "envelope", least=0)
        check_flags(self, "relative")
        as_count(self, "redraws")

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, 2

    def start(self, task: r.Task, row: r.Row) -> Int[Array, ""]:
        return jnp.int32(0)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        before = row.n
        numbers = jax.random.uniform(key, (2,))
        # The scores of strings that were accepted before are known; only the prompt's is not.
        first = self.relative & (before == task.prompt_length) & (row.own == 0)
        here, row = r.score(task, row, first, probability=False)
        bound = self.envelope * jnp.where(self.relative, here, 1)
        log_law, row = r.law(task, row)
        row = r.append(task, row, choose(numbers[0], jnp.exp(truncate(log_law, self))))
        score, row = r.score(task, row, probability=False)
        row = r.note_fault(row, r.ABOVE_ENVELOPE, score > bound * r.ONE)
        accepted = numbers[1] * bound < score
        return _settle(task, row, before, accepted, self.redraws)

    def report(self, rows: r.Row) -> dict[str, Any]:
        return {}


@traced
@dataclass(frozen=True, kw_only=True)
class VerifierEnumeration:
    """Try the tokens in order and take the first that the verifier accepts: no call of the generator,
    at most V calls of the verifier for a token. FAILED where it accepts none; with an exact verifier
    that is only at the prompt, and then there is no valid completion."""

    threshold: float = 0.5

    def __post_init__(self) -> None:
        as_number(self, "threshold", least=0, most=1)

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 0, 1

    def start(self, task: r.Task, row: r.Row) -> Int[Array, ""]:
        return jnp.int32(0)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        before = row.n
        row = r.append(task, row, row.own)
        score, row = r.score(task, row, probability=True)
        return _settle(task, row, before, score >= self.threshold, task.generator.vocab)

    def report(self, rows: r.Row) -> dict[str, Any]:
        return {}


@traced
@dataclass(frozen=True, kw_only=True)
class ValueGuided(Draw):
    """Draw a with probability `O(a|u) V(ua) / N(u)`: one law and V scores for a token. FAILED where
    `N(u) = sum_a O(a|u) V(ua)` is zero."""

    @property
    def needs_verifier(self) -> bool:
        return True

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, vocab

    def start(self, task: r.Task, row: r.Row) -> PyTree:
        return None

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        log_law, row = r.law(task, row)
        values, row = r.children(task, row)
        weights = jnp.exp(truncate(log_law, self)) * values
        stuck = ~(jnp.sum(weights) > 0)
        row = r.append(task, row, choose(jax.random.uniform(key), weights), ~stuck)
        row = r.finish(row, Status.FAILED, stuck)
        return r.finish(row, Status.DONE, ~stuck & r.is_full(task, row))

    def report(self, rows: r.Row) -> dict[str, Any]:
        return {}


def _settle(
    task: r.Task,
    row: r.Row,
    before: Int[Array, ""],
    accepted: Bool[Array, ""],
    most: int | Int[Array, ""],
) -> r.Row:
    """Keep the new token or take it back; `row.own` counts how many were taken back here."""
    tried = jnp.where(accepted, 0, row.own + 1)
    row = r.back(row, before, ~accepted)._replace(own=tried)
    row = r.finish(row, Status.FAILED, tried >= most)
    return r.finish(row, Status.DONE, accepted & r.is_full(task, row))
