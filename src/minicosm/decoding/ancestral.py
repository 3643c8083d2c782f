"""Ancestral sampling: token after token from the generator's law."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray, PyTree

from . import rows as r
from .settings import Draw, traced
from .trace import Status
from .truncation import choose, truncate


@traced
@dataclass(frozen=True, kw_only=True)
class Ancestral(Draw):
    """Draw every token from the law, at a temperature, from its top-k or its nucleus; see `Draw`."""

    @property
    def needs_verifier(self) -> bool:
        return False

    def start(self, task: r.Task, row: r.Row) -> PyTree:
        return None

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        log_law, row = r.law(task, row)
        row = r.append(task, row, choose(jax.random.uniform(key), jnp.exp(truncate(log_law, self))))
        return r.finish(row, Status.DONE, r.is_full(task, row))

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, 0

    def report(self, rows: r.Row) -> dict[str, Any]:
        return {}
