"""The samplers for models that JAX does not compute: one string after another, in Python.

Same settings, same rules, same random numbers and same counters as the compiled ones: with the same laws
and scores, the same strings. For a large model the loop's own time does not matter.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import check_count

from .ancestral import Ancestral
from .backtracking import Backtracking
from .blocks import BlockBestOfN
from .engine import MAX_CALLS
from .rows import LAW_TOLERANCE, ONE
from .settings import Draw
from .trace import PADDING, Status, Trace
from .truncation import choose, likeliest, truncate

Score = Callable[[Sequence[int], Any], float]
"""The score of a string, given its tokens and what the reader tells about its last token."""


@runtime_checkable
class Reader(Protocol):
    """A model that has read the first n tokens of one string."""

    def read(self, tokens: Sequence[int]) -> None:
        """Put tokens after the string."""
        ...

    def back(self, n: int) -> None:
        """Keep the first n tokens."""
        ...

    def law(self) -> Float[np.ndarray, " V"]:
        """Log-probabilities of the next token."""
        ...

    def state(self) -> Any:
        """What the verifier sees, besides the tokens: a hidden state, say."""
        ...


class Halt(Exception):
    """The budget is spent."""


class Host:
    """One string and its counters."""

    def __init__(
        self,
        reader: Reader,
        score: Score | None,
        prompt: Sequence[int],
        key: PRNGKeyArray,
        limit: int,
        end: int | None,
        budget: tuple[float | int, float | int],
        deadline: float | int,
    ):
        self.reader, self.score, self.key = reader, score, key
        self.limit, self.end = limit, end
        self.budget, self.deadline = budget, deadline
        self.prompt = list(prompt)
        self.tokens = list(prompt)
        self.best: list[int] | None = None
        """What is returned in place of the tokens if the budget is spent."""
        self.steps = self.calls = self.verifier_calls = self.backtracks = 0
        self.extra: dict[str, Any] = {}

    def begin(self) -> None:
        """Read the prompt."""
        if time.monotonic() > self.deadline:
            raise Halt
        self.reader.back(0)
        self.reader.read(self.tokens)

    @property
    def n(self) -> int:
        return len(self.tokens)

    @property
    def is_full(self) -> bool:
        return self.n >= self.limit or (self.n > 0 and self.tokens[-1] == self.end)

    def law(self, draw: Draw) -> tuple[int, int]:
        """A drawn token and the likeliest one; one call."""
        if self.calls >= self.budget[0] or time.monotonic() > self.deadline:
            raise Halt
        law = np.asarray(self.reader.law(), np.float32)
        if not abs(np.exp(law.astype(np.float64)).sum() - 1) <= LAW_TOLERANCE:
            raise ValueError("the generator gave a law whose probabilities do not sum to one")
        self.calls += 1
        drawn, best = _pick(self.key, self.steps, law, jax.tree.map(jnp.asarray, draw))
        self.steps += 1
        return int(drawn), int(best)

    def append(self, token: int) -> None:
        self.tokens.append(token)
        self.reader.read([token])

    def back(self, n: int) -> None:
        self.backtracks += 1
        del self.tokens[n:]
        self.reader.back(n)

    def judge(self, probability: bool) -> float:
        """The score of the string; one call of the verifier."""
        if self.verifier_calls >= self.budget[1]:
            raise Halt
        self.verifier_calls += 1
        assert self.score is not None
        score = float(self.score(tuple(self.tokens), self.reader.state()))
        if not np.isfinite(score):
            raise ValueError(f"the verifier gave the score {score}; scores must be finite")
        if score < 0 or (probability and score > ONE):
            needed = "between 0 and 1" if probability else "of at least 0"
            raise ValueError(f"the verifier gave the score {score:g}; it must be {needed}")
        return score


@jax.jit
def _pick(
    key: PRNGKeyArray, step: Any, law: Float[Array, " V"], draw: Draw
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    number = jax.random.uniform(jax.random.fold_in(key, step))
    return choose(number, jnp.exp(truncate(law, draw))), likeliest(law)


def sample_on_host(
    sampler: Ancestral | Backtracking | BlockBestOfN,
    reader: Reader,
    score: Score | None,
    prompts: Sequence[Sequence[int]],
    key: PRNGKeyArray,
    *,
    new_tokens: int,
    end: int | None = None,
    max_calls: int = MAX_CALLS,
    max_verifier_calls: int | None = None,
    seconds: float | None = None,
    ends_block: Callable[[int], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Continue every prompt by at most `new_tokens` tokens; as `sample`, row by row, with budgets as
    there: the clock is looked at before every law.

    `ends_block` says which tokens end a block for `BlockBestOfN`, where one id is not enough (a line
    may end in several); it is used in place of the separator.
    """
    rules: dict[type, Callable[..., None]] = {
        Ancestral: _ancestral,
        Backtracking: _backtracking,
        BlockBestOfN: _blocks,
    }
    if type(sampler) not in rules:
        names = ", ".join(kind.__name__ for kind in rules)
        raise ValueError(f"the sampler is {type(sampler).__name__}; it must be one of {names}")
    if score is None and isinstance(sampler, BlockBestOfN):
        raise ValueError("BlockBestOfN needs a verifier; none was given")
    if not len(prompts):
        raise ValueError("there are no prompts; at least one is needed")
    check_count("new_tokens", new_tokens)
    check_count("max_calls", max_calls, least=0)
    if max_verifier_calls is not None:
        check_count("max_verifier_calls", max_verifier_calls, least=0)
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"seconds is {seconds}; it must be a number of at least 0")
    context, longest = getattr(reader, "context", None), max(map(len, prompts)) + new_tokens
    if context is not None and longest > context:
        raise ValueError(
            f"strings of {longest} tokens are asked for, prompt included; "
            f"the model's context has room for {context}"
        )
    budget = max_calls, np.inf if max_verifier_calls is None else max_verifier_calls
    deadline = np.inf if seconds is None else time.monotonic() + seconds
    rows, statuses = [], []
    for i, prompt in enumerate(prompts):
        row = Host(
            reader,
            score,
            [int(token) for token in prompt],
            jax.random.fold_in(key, i),
            len(prompt) + new_tokens,
            end,
            budget,
            deadline,
        )
        status = Status.DONE
        try:
            if not row.is_full:
                row.begin()
                rules[type(sampler)](sampler, row, ends_block)
        except Halt:
            status = Status.BUDGET
            row.tokens = row.tokens if row.best is None else row.best
        rows.append(row)
        statuses.append(status)
        if progress is not None:
            progress(i + 1, len(prompts))
    return _trace(sampler, rows, statuses)


def _ancestral(settings: Ancestral, row: Host, ends_block: Any) -> None:
    while not row.is_full:
        row.append(row.law(settings)[0])


def _backtracking(settings: Backtracking, row: Host, ends_block: Any) -> None:
    erasable = settings.erasable_prompt
    least = 0 if erasable is None else max(0, len(row.prompt) - erasable)
    quota, refill_to, erased = settings.quota, 0, 0
    fired: list[list[int]] = []
    row.extra = {"quota_left": quota, "fired": fired}

    def check(ask: bool, force: bool = False) -> None:
        nonlocal quota, refill_to, erased
        rejected = force
        if ask and not force and quota > 0 and row.score is not None:
            rejected = row.judge(probability=True) < settings.threshold
            rejected = rejected and not (settings.once_per_prefix and row.tokens in fired)
        if not rejected:
            return
        if len(fired) < settings.record:
            fired.append(list(row.tokens))
        shorter = min(max(row.n - settings.stride, least), row.n)
        quota, refill_to = quota - 1, max(refill_to, row.n)
        row.extra["quota_left"] = quota
        erased += row.n - shorter
        row.back(shorter)

    check(settings.check_prompt, settings.force_first)
    while not row.is_full:
        drawn, best = row.law(settings)
        refilling = {
            "argmax": row.n < refill_to,
            "index": row.n - len(row.prompt) < erased,
            "none": False,
        }[settings.refill]
        row.append(best if refilling else drawn)
        check(settings.check_during_refill or not refilling)


def _blocks(settings: BlockBestOfN, row: Host, ends_block: Any) -> None:
    if ends_block is None:
        ends_block = lambda token: token == settings.separator  # noqa: E731
    written = 0
    row.extra = {"score": -np.inf}
    while not row.is_full and (settings.blocks is None or written < settings.blocks):
        start, best, kept = row.n, -np.inf, list(row.tokens)
        for attempt in range(settings.count):
            while True:
                row.append(row.law(settings)[0])
                long = settings.size is not None and row.n - start >= settings.size
                if row.is_full or long or ends_block(row.tokens[-1]):
                    break
            score = row.judge(probability=False)
            better = score > best
            if better:
                best, kept = score, list(row.tokens)
                row.best = kept
            if attempt < settings.count - 1 or not better:
                row.back(start)
        if row.n == start:
            row.steps += len(kept) - start  # the compiled sampler reads it token by token
            row.tokens = list(kept)
            row.reader.read(kept[start:])
        written, row.best = written + 1, None
        row.extra["score"] = best


def _trace(sampler: Draw, rows: list[Host], statuses: list[Status]) -> Trace:
    room = max(row.limit for row in rows)

    def padded(strings: list[list[int]]) -> np.ndarray:
        out = np.full((len(strings), room), PADDING, np.int32)
        for i, string in enumerate(strings):
            out[i, : len(string)] = string
        return out

    def numbers(name: str) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], np.int32)

    extra: dict[str, Any] = {}
    if isinstance(sampler, Backtracking):
        extra["quota_left"] = np.array(
            [row.extra.get("quota_left", sampler.quota) for row in rows], np.int32
        )
        if sampler.record:
            each = [row.extra.get("fired", []) for row in rows]
            none: list[list[int]] = [[]] * sampler.record
            full = [(fired + none)[: sampler.record] for fired in each]
            extra["fired"] = np.stack([padded(strings) for strings in full])
            extra["fired_lengths"] = np.array(
                [
                    [len(s) if k < len(f) else PADDING for k, s in enumerate(strings)]
                    for f, strings in zip(each, full, strict=True)
                ],
                np.int32,
            )
    if isinstance(sampler, BlockBestOfN):
        extra["score"] = np.array([row.extra.get("score", -np.inf) for row in rows])
    return Trace(
        tokens=padded([row.tokens for row in rows]),
        lengths=numbers("n"),
        prompt_lengths=np.array([len(row.prompt) for row in rows], np.int32),
        calls=numbers("calls"),
        verifier_calls=numbers("verifier_calls"),
        backtracks=numbers("backtracks"),
        status=np.array(statuses, np.int32),
        prompt_preserved=np.array([row.tokens[: len(row.prompt)] == row.prompt for row in rows]),
        **extra,
    )
