"""Tokenwise rejection sampling with backtracking (Algorithm 1), as printed and as released."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from minicosm.worlds.arrays import check_size

from . import rows as r
from .settings import Draw, as_count, as_number, check_flags, check_text, traced
from .trace import PADDING, Status
from .truncation import choose, likeliest, truncate

Refill = Literal["argmax", "index", "none"]
REFILLS = get_args(Refill)


class Own(NamedTuple):
    """What backtracking keeps for a row."""

    quota: Int[Array, ""]
    refill_to: Int[Array, ""]
    """The likeliest token is taken until the string has this length."""
    erased: Int[Array, ""]
    """Tokens erased so far."""
    fired: Int[Array, "record room"]
    fired_lengths: Int[Array, " record"]


@traced
@dataclass(frozen=True, kw_only=True)
class Backtracking(Draw):
    """Algorithm 1: after each drawn token, while there is quota, ask the verifier; if the score is
    below the threshold, erase the last `stride` tokens and refill their places.

        while len(s) < D and last(s) != end:
            s += draw from O(x + s)
            if Q > 0 and V(x + s) < threshold:
                s = s[:max(0, len(s) - B)];  Q -= 1
                append the likeliest token, once for each erased one

    Without a verifier only the forced backtrack happens. An end token is erased like any other.
    """

    quota: int = 4
    """Q: how many backtracks a row may make."""
    stride: int = 4
    """B: how many tokens one erases, if there are as many."""
    threshold: float = 0.5
    refill: Refill = field(default="argmax", metadata={"texts": REFILLS})
    """"argmax" refills the erased places with the likeliest tokens; "none" draws there as
    everywhere; "index" takes the likeliest token while the string has grown, since the prompt, by
    less than all tokens erased so far (the released code's rule)."""
    check_during_refill: bool = False
    """Whether the verifier is asked about refilled tokens too; then erasures add up."""
    check_prompt: bool = False
    """Whether it is asked about the bare prompt before anything is drawn."""
    erasable_prompt: int | None = 0
    """How many of the prompt's last tokens may be erased; None: all of them."""
    once_per_prefix: bool = False
    """No second backtrack at a prefix at which one was made."""
    force_first: bool = False
    """Begin with a backtrack whatever the verifier says; it takes one of the quota."""
    record: int = field(default=0, metadata={"fixed": True})
    """How many rejected prefixes of a row the trace keeps; `once_per_prefix` keeps all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self, "quota")
        as_count(self, "stride")
        as_count(self, "record", least=0)
        check_flags(self, "check_during_refill", "check_prompt", "once_per_prefix", "force_first")
        as_number(self, "threshold", least=0, most=1)
        if self.erasable_prompt is not None:
            as_count(self, "erasable_prompt", least=0)
        check_text(self, "refill")
        if self.once_per_prefix and self.record < self.quota:
            object.__setattr__(self, "record", self.quota)

    @property
    def needs_verifier(self) -> bool:
        return False

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        return 1, jnp.where(row.steps == 0, 2, 1)

    def start(self, task: r.Task, row: r.Row) -> PyTree:
        zero = jnp.int32(0)
        room = row.tokens.shape[0]
        check_size(f"a record of {self.record} strings", self.record * room)
        fired = jnp.full((self.record, room), PADDING, jnp.int32)
        lengths = jnp.full(self.record, PADDING, jnp.int32)
        return Own(jnp.asarray(self.quota, jnp.int32), zero, zero, fired, lengths)

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        first = row.steps == 0
        row = self._check(task, row, first & self.check_prompt, first & self.force_first)
        log_law, row = r.law(task, row)
        drawn = choose(jax.random.uniform(key), jnp.exp(truncate(log_law, self)))
        refilling = self._refilling(task, row)
        row = r.append(task, row, jnp.where(refilling, likeliest(log_law), drawn))
        row = self._check(task, row, self.check_during_refill | ~refilling, jnp.bool_(False))
        return r.finish(row, Status.DONE, r.is_full(task, row))

    def _refilling(self, task: r.Task, row: r.Row) -> Bool[Array, ""]:
        rules = {
            "argmax": row.n < row.own.refill_to,
            "index": row.n - task.prompt_length < row.own.erased,
            "none": jnp.bool_(False),
        }
        return jnp.stack([rules[name] for name in REFILLS])[self.refill]

    def _check(
        self, task: r.Task, row: r.Row, ask: Bool[Array, ""], force: Bool[Array, ""]
    ) -> r.Row:
        """Ask the verifier about the string, if `ask` and if there is quota, and backtrack."""
        own: Own = row.own
        ask = ask & ~force & (own.quota > 0)
        if task.verifier is None:
            rejected = force
        else:
            score, row = r.score(task, row, ask, probability=True)
            rejected = force | (ask & (score < self.threshold))
        if self.record:
            room = row.tokens.shape[0]
            string = jnp.where(jnp.arange(room) < row.n, row.tokens, PADDING)
            again = jnp.any((own.fired_lengths == row.n) & jnp.all(own.fired == string, -1))
            rejected &= force | ~(again & self.once_per_prefix)
            place = jnp.where(rejected, jnp.sum(own.fired_lengths >= 0), self.record)
            here = jnp.arange(self.record) == place
            own = own._replace(
                fired=jnp.where(here[:, None], string, own.fired),
                fired_lengths=jnp.where(here, row.n, own.fired_lengths),
            )
        erasable = task.prompt_length if self.erasable_prompt is None else self.erasable_prompt
        least = jnp.maximum(task.prompt_length - erasable, 0)
        shorter = jnp.minimum(jnp.maximum(row.n - self.stride, least), row.n)
        own = own._replace(
            quota=own.quota - rejected,
            refill_to=jnp.where(rejected, jnp.maximum(own.refill_to, row.n), own.refill_to),
            erased=own.erased + jnp.where(rejected, row.n - shorter, 0),
        )
        return r.back(row._replace(own=own), shorter, rejected)

    def report(self, rows: r.Row) -> dict[str, Any]:
        own: Own = rows.own
        fields: dict[str, Any] = {"quota_left": own.quota}
        if self.record:
            fields |= {"fired": own.fired, "fired_lengths": own.fired_lengths}
        return fields
