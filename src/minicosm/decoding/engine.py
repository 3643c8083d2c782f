"""`sample`: one loop for all samplers, compiled, over batches of rows."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from minicosm.models import Generator, Verifier
from minicosm.models.checks import check_callable
from minicosm.worlds.arrays import AnyArray, check_count, check_key, check_number

from . import rows as r
from .settings import MOST
from .sources import check_most, check_prompts
from .trace import PADDING, Status, Trace

MAX_CALLS = 1_000_000
SMALLEST = 8  # rows for which a program of their own is compiled when the others have ended
Each = tuple[AnyArray, AnyArray, AnyArray, AnyArray]
"""Of every row that is computed: prompt, its length, the limit of the string, and the row's number."""


@runtime_checkable
class Sampler(Protocol):
    """Settings that know what to do with one row; see `Ancestral` for the shortest.

    A step asks the generator for at most one law and appends at most one token.
    """

    @property
    def needs_verifier(self) -> bool: ...

    def start(self, task: r.Task, row: r.Row) -> PyTree:
        """The first `row.own`."""
        ...

    def step(self, task: r.Task, row: r.Row, key: PRNGKeyArray) -> r.Row:
        """What happens to a running row."""
        ...

    def cost(self, row: r.Row, vocab: int) -> tuple[Any, Any]:
        """The largest numbers of generator and of verifier calls in the row's next step."""
        ...

    def report(self, rows: r.Row) -> dict[str, Any]:
        """Fields of the `Trace` that only this sampler knows, from a batch of rows; `tokens` and
        `lengths` too, if it has something better to return than the rows' strings."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """A generator that has a memory of its own outside JAX, for every row of a batch.

    If it has `law_when(memory, n, asked, running)` too, it may let rows wait; see `rows.law`.
    """

    def forget(self) -> None:
        """Forget all rows."""
        ...

    def keep_rows(self, rows: Int[np.ndarray, " fewer"], of: int) -> None:
        """From now on only these rows of a batch of size `of` are asked for."""
        ...


def sample(
    sampler: Sampler,
    generator: Generator,
    verifier: Verifier | None,
    prompts: Int[AnyArray, "batch P"],
    key: PRNGKeyArray,
    *,
    length: int | Int[AnyArray, " batch"],
    prompt_lengths: Int[AnyArray, " batch"] | None = None,
    end: int | None = None,
    max_calls: int = MAX_CALLS,
    max_verifier_calls: int | None = None,
    seconds: float | None = None,
    chunk: int = 256,
    segment: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Continue every prompt by the sampler's rule.

    A string has at most `length` tokens, its prompt included (one number, or one for each row), and
    is complete at that length or at the token `end`. Prompts may be padded after `prompt_lengths`
    with anything; they may be empty, shape (batch, 0). The same key gives the same strings whatever
    the batch and the chunks (up to the rounding of the generator): row i draws with the key
    `fold_in(key, i)`, and its step t with that key and t folded in.

    No row asks for more than `max_calls` laws or, if given, `max_verifier_calls` scores, and no
    segment begins after `seconds`; rows that stop for that have the status BUDGET and what they had.
    `chunk` rows are computed at a time, with `segment` steps between looks at the clock, or as many
    as there is time for: after `seconds` comes at most the rest of one step (and of compiling, the
    first time). `progress` is called with the number of rows that ended and of all rows.
    """
    check_sampler(sampler)
    r.check_generator("generator", generator)
    if verifier is not None:
        r.check_verifier("verifier", verifier)
    key = check_key(key)
    prompts, sizes, limits = check_prompts(generator, prompts, prompt_lengths, length, end)
    if sampler.needs_verifier and verifier is None:
        raise ValueError(f"{type(sampler).__name__} needs a verifier; none was given")
    check_most("max_calls", max_calls, least=0)
    if max_verifier_calls is not None:
        check_most("max_verifier_calls", max_verifier_calls, least=0)
    check_most("segment", segment)
    if seconds is not None:
        check_number("seconds", seconds, least=0)
    if progress is not None:
        check_callable("progress", progress, "progress(done, rows)")
    batch, room = len(prompts), int(limits.max())
    chunk = min(check_count("chunk", chunk), batch)
    wide = min(prompts.shape[1], room)
    tokens = np.zeros((batch, room), np.int32)
    tokens[:, :wide] = prompts[:, :wide]
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    numbers = jax.tree.map(jnp.asarray, sampler)
    budget = jnp.array([max_calls, MOST if max_verifier_calls is None else max_verifier_calls])
    shared = (generator, verifier, key, jnp.int32(PADDING if end is None else end))

    # A row takes a slot, and leaves it to the next row when it has ended: rows that take long do not
    # keep the others waiting.
    slots, live, waiting = np.zeros(chunk, np.int32), np.zeros(chunk, bool), 0
    state: Any = None
    results: Any = None
    if isinstance(generator, Remembers):
        generator.forget()
    pace = math.inf  # seconds a step took last; the first segment is one step, which may compile
    while waiting < batch or live.any():
        free = np.flatnonzero(~live)
        if waiting < batch and 2 * len(free) >= chunk:
            fresh = free[: batch - waiting]
            slots[fresh] = np.arange(waiting, waiting + len(fresh))
            waiting += len(fresh)
            each = (tokens[slots], sizes[slots], limits[slots], slots.astype(np.uint32))
            mask = np.isin(np.arange(chunk), fresh)
            begun = _begin(*shared, each, mask, wide)
            begun = begun._replace(own=_own(numbers, *shared[2:], each, _bare(begun)))
            state = begun if not live.any() else _merge(mask, begun, state)
            live |= mask
            if results is None:
                results = _unfinished(_small(begun), tokens, sizes)
        began = time.monotonic()
        late = began > deadline
        if not late:
            steps = segment
            if seconds is not None:
                steps = int(min(segment, max(1, (deadline - began) / pace)))
            state = _advance(numbers, *shared, each, state, budget, jnp.int32(steps))
        small = _small(state)
        _raise_errors(generator, verifier)
        if not late:
            pace = (time.monotonic() - began) / steps
        if fault := int(np.bitwise_or.reduce(small.fault[live])):
            raise ValueError(_sentence(fault, sampler))
        ended = live & (late | (small.status != Status.RUNNING))
        rows = slots[ended]
        for whole, part in zip(jax.tree.leaves(results), jax.tree.leaves(small), strict=True):
            whole[rows] = part[ended]
        live &= ~ended
        few = chunk // 4 >= SMALLEST and 0 < live.sum() <= chunk // 4
        if waiting == batch and isinstance(generator, Remembers) and few:
            # A few long rows are left: what has ended is computed with them no longer. Where laws are
            # expensive, a program for fewer rows is worth its compilation.
            left = np.argsort(~live, kind="stable")[: chunk // 4]
            generator.keep_rows(left, of=chunk)
            chunk //= 4
            slots, live = slots[left], live[left]
            each = (tokens[slots], sizes[slots], limits[slots], slots.astype(np.uint32))
            state = _some(left, state)
        if progress is not None:
            progress(waiting - int(live.sum()), batch)
        if late:
            break
    results.status[results.status == Status.RUNNING] = Status.BUDGET
    return _trace(sampler, results, prompts, sizes)


def _raise_errors(*parts: Any) -> None:
    """Raise what a part that is computed outside JAX could not raise inside the compiled program."""
    for part in parts:
        if isinstance(error := getattr(part, "error", None), Exception):
            part.error = None
            raise error


def final_scores(trace: Trace, generator: Generator, verifier: Verifier) -> Trace:
    """The trace with the verifier's scores of its strings, which are not counted as calls."""
    batch, room = trace.tokens.shape
    tokens = np.maximum(trace.tokens, 0).astype(np.int32)
    sizes = trace.lengths.astype(np.int32)
    each = (tokens, sizes, np.full(batch, room, np.int32), np.arange(batch, dtype=np.uint32))
    scores = _final(generator, verifier, jax.random.key(0), jnp.int32(PADDING), each)
    _raise_errors(generator, verifier)
    return replace(trace, final_score=np.asarray(scores))


@eqx.filter_jit
def _final(
    generator: Generator, verifier: Verifier, key: PRNGKeyArray, end: Int[Array, ""], each: Each
) -> Float[Array, " batch"]:
    tasks, axes = _tasks(generator, verifier, each, key, end)
    room = each[0].shape[1]

    def one(task: r.Task) -> Float[Array, ""]:
        row = r.begin(task, room)
        return verifier.score(row.judgement, row.n)

    return jax.vmap(one, (axes,))(tasks)


def _small(state: r.Row) -> r.Row:
    """All but the memories, as NumPy arrays."""
    return jax.tree.map(np.asarray, _bare(state))


def _bare(state: r.Row) -> r.Row:
    return state._replace(memory=None, judgement=None)


def _unfinished(begun: r.Row, tokens: np.ndarray, sizes: np.ndarray) -> r.Row:
    """Room for the results, filled with rows of which nothing is known but their prompts."""
    batch = len(tokens)
    empty = jax.tree.map(lambda leaf: np.repeat(leaf[:1], batch, 0), begun)
    running = np.full(batch, Status.RUNNING, np.int32)
    return empty._replace(tokens=tokens.copy(), n=sizes.copy(), status=running)


def _tasks(
    generator: Any, verifier: Any, each: Each, key: PRNGKeyArray, end: Int[Array, ""]
) -> tuple[r.Task, r.Task]:
    """The rows' tasks, and which of their parts belong to a row."""
    tokens, sizes, limits, index = (jnp.asarray(part) for part in each)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(index)
    shared = r.Task(generator, verifier, tokens, sizes, limits, end, keys)
    return shared, r.Task._make((None, None, 0, 0, 0, None, 0))


@eqx.filter_jit
def _begin(
    generator: Generator,
    verifier: Verifier | None,
    key: PRNGKeyArray,
    end: Int[Array, ""],
    each: Each,
    fresh: Bool[AnyArray, " chunk"],
    longest: int,
) -> r.Row:
    """Rows that have read their prompts, whatever the sampler; those that are not `fresh` have
    ended."""
    tasks, axes = _tasks(generator, verifier, each, key, end)

    def one(task: r.Task, fresh: Bool[Array, ""]) -> r.Row:
        row = r.begin(task, longest)
        return r.finish(row, Status.DONE, ~fresh | r.is_full(task, row))

    return jax.vmap(one, (axes, 0))(tasks, jnp.asarray(fresh))


@eqx.filter_jit
def _own(
    sampler: Sampler, key: PRNGKeyArray, end: Int[Array, ""], each: Each, state: r.Row
) -> PyTree:
    """What the sampler keeps for itself at first."""
    tasks, axes = _tasks(None, None, each, key, end)
    return jax.vmap(sampler.start, (axes, 0))(tasks, state)


@jax.jit
def _merge(mask: Bool[Array, " chunk"], new: r.Row, old: r.Row) -> r.Row:
    def choose(a: Array, b: Array) -> Array:
        return jnp.where(mask.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, new, old)


@jax.jit
def _some(which: Int[Array, " fewer"], state: r.Row) -> r.Row:
    return jax.tree.map(lambda leaf: leaf[which], state)


@eqx.filter_jit
def _advance(
    sampler: Sampler,
    generator: Generator,
    verifier: Verifier | None,
    key: PRNGKeyArray,
    end: Int[Array, ""],
    each: Each,
    state: r.Row,
    budget: Int[Array, " 2"],
    segment: Int[Array, ""],
) -> r.Row:
    """At most `segment` steps."""
    can_wait = hasattr(generator, "law_when")
    tasks, axes = _tasks(generator, verifier, each, key, end)

    def one(task: r.Task, row: r.Row) -> r.Row:
        cost = jnp.stack([jnp.int32(part) for part in sampler.cost(row, generator.vocab)])
        spent = jnp.any(jnp.stack([row.calls, row.verifier_calls]) + cost > budget)
        running = row.status == Status.RUNNING
        row = row._replace(waits=jnp.bool_(False))
        new = sampler.step(task, row, jax.random.fold_in(task.key, row.steps))
        active = running & ~spent & ~new.waits
        new = r.add(new, steps=1)
        kept = jax.tree.map(lambda a, b: jnp.where(active, a, b), _bare(new), _bare(row))
        memories = (new.memory, new.judgement)
        if can_wait:
            old = (row.memory, row.judgement)
            memories = jax.tree.map(lambda a, b: jnp.where(new.waits, b, a), memories, old)
        # Else they need no choice: what a step writes there is after the string.
        kept = kept._replace(memory=memories[0], judgement=memories[1])
        return r.finish(kept, Status.BUDGET, running & spent)

    def going(carry: tuple[Array, r.Row]) -> Bool[Array, ""]:
        i, state = carry
        return (i < segment) & jnp.any(state.status == Status.RUNNING)

    def step(carry: tuple[Array, r.Row]) -> tuple[Array, r.Row]:
        i, state = carry
        return i + 1, jax.vmap(one, (axes, 0))(tasks, state)

    return jax.lax.while_loop(going, step, (jnp.int32(0), state))[1]


def check_sampler(sampler: Any) -> None:
    """Raise unless `sampler` is one."""
    if isinstance(sampler, type) or not isinstance(sampler, Sampler):
        raise TypeError(
            f"sampler is a {type(sampler).__name__}; it must be a sampler such as Ancestral() or "
            "VGB(steps=100)"
        )


def _sentence(fault: int, sampler: Sampler) -> str:
    """What was wrong, the gravest first."""
    name = type(sampler).__name__
    if fault & r.LAW:
        return "the generator gave a law whose probabilities do not sum to one"
    if fault & r.NOT_A_NUMBER:
        return f"the verifier gave a score that is no finite number; {name} needs finite scores"
    if fault & r.NEGATIVE:
        return f"the verifier gave a negative score; {name} needs scores of at least 0"
    if fault & r.ABOVE_ONE:
        return f"the verifier gave a score above 1; {name} needs probabilities"
    return f"the verifier gave a score above the envelope; {name} needs an envelope that bounds it"


def _trace(sampler: Sampler, rows: Any, prompts: Any, sizes: np.ndarray) -> Trace:
    own = sampler.report(rows)
    tokens, lengths = own.pop("tokens", rows.tokens), own.pop("lengths", rows.n)
    tokens = np.where(np.arange(tokens.shape[1]) < lengths[:, None], tokens, PADDING)
    wide = min(prompts.shape[1], tokens.shape[1])
    mine = np.arange(wide) < sizes[:, None]
    same = np.all((tokens[:, :wide] == prompts[:, :wide]) | ~mine, axis=1)
    return Trace(
        tokens=tokens,
        lengths=lengths,
        prompt_lengths=sizes,
        calls=rows.calls,
        verifier_calls=rows.verifier_calls,
        backtracks=rows.backtracks,
        status=rows.status,
        prompt_preserved=same,
        **own,
    )
