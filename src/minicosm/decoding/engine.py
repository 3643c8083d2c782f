"""`sample`: one loop for all samplers, compiled, over batches of rows."""

import time
from collections.abc import Callable
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray, PyTree

from minicosm.models.protocols import Generator, Verifier
from minicosm.worlds.arrays import AnyArray, check_count

from . import rows as r
from .trace import PADDING, Status, Trace

MAX_CALLS = 1_000_000


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

    def cost(self, vocab: int) -> tuple[int, int]:
        """The largest numbers of generator and of verifier calls in a step."""
        ...

    def report(self, own: PyTree) -> dict[str, Any]:
        """Fields of the `Trace` that only this sampler knows, from a batch of `row.own`."""
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
    segment: int = 256,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Continue every prompt by the sampler's rule.

    A string has at most `length` tokens, its prompt included (one number, or one for each row), and
    is complete at that length or at the token `end`. Prompts may be padded behind `prompt_lengths`
    with anything; they may be empty, shape (batch, 0). The same key gives the same strings whatever
    the batch and the chunks (up to the rounding of the generator): row i draws with the key
    `fold_in(key, i)`, and its step t with that key and t folded in.

    No row asks for more than `max_calls` laws or, if given, `max_verifier_calls` scores, and no
    segment begins after `seconds`; rows that stop for that have the status BUDGET and what they had.
    `chunk` rows are computed at a time, `segment` steps between looks at the clock. `progress` is
    called with the number of rows that ended and of all rows.
    """
    prompts, sizes, limits = _check(generator, prompts, prompt_lengths, length, end)
    if sampler.needs_verifier and verifier is None:
        raise ValueError(f"{type(sampler).__name__} needs a verifier; none was given")
    check_count("max_calls", max_calls, least=0)
    if max_verifier_calls is not None:
        check_count("max_verifier_calls", max_verifier_calls, least=0)
    batch, room = len(prompts), int(limits.max())
    chunk = min(check_count("chunk", chunk), batch)
    wide = min(prompts.shape[1], room)
    deadline = None if seconds is None else time.monotonic() + seconds
    numbers = jax.tree.map(jnp.asarray, sampler)
    budget = jnp.array([max_calls, 2**31 - 1 if max_verifier_calls is None else max_verifier_calls])
    end_token = jnp.int32(PADDING if end is None else end)
    parts = []
    for first in range(0, batch, chunk):
        index = np.minimum(np.arange(first, first + chunk), batch - 1)
        tokens = np.zeros((chunk, room), np.int32)
        tokens[:, :wide] = prompts[index, :wide]
        each = (tokens, sizes[index], limits[index], index.astype(np.uint32))
        state = _begin(numbers, generator, verifier, each, key, end_token, wide)
        while (late := deadline is not None and time.monotonic() > deadline) is False:
            state, running = _advance(
                numbers, generator, verifier, each, key, end_token, state, budget, segment
            )
            if not int(running):
                break
            if progress is not None:
                progress(min(first + chunk - int(running), batch), batch)
        small = state._replace(memory=None, judgement=None)
        if late:
            small = small._replace(
                status=jnp.where(small.status == Status.RUNNING, Status.BUDGET, small.status)
            )
        real = slice(batch - first)
        parts.append(jax.tree.map(lambda leaf, real=real: np.asarray(leaf)[real], small))
        if (fault := np.bitwise_or.reduce(parts[-1].fault)) != 0:
            raise ValueError(_sentence(int(fault), sampler))
        if progress is not None:
            progress(min(first + chunk, batch), batch)
    whole = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    return _trace(sampler, whole, prompts, sizes)


def _tasks(generator, verifier, each, key, end):
    """The rows' tasks, and which of their parts belong to a row."""
    tokens, sizes, limits, index = (jnp.asarray(part) for part in each)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(index)
    shared = r.Task(generator, verifier, tokens, sizes, limits, end, keys)
    return shared, r.Task(None, None, 0, 0, 0, None, 0)


@eqx.filter_jit
def _begin(sampler, generator, verifier, each, key, end, longest):
    tasks, axes = _tasks(generator, verifier, each, key, end)

    def one(task):
        row = r.begin(task, longest)
        row = row._replace(own=sampler.start(task, row))
        return r.finish(row, Status.DONE, r.is_full(task, row))

    return jax.vmap(one, (axes,))(tasks)


@eqx.filter_jit
def _advance(sampler, generator, verifier, each, key, end, state, budget, segment):
    """At most `segment` steps; also the number of rows that still run."""
    tasks, axes = _tasks(generator, verifier, each, key, end)
    cost = jnp.array(sampler.cost(generator.vocab))

    def one(task, row):
        spent = jnp.any(jnp.stack([row.calls, row.verifier_calls]) + cost > budget)
        running = row.status == Status.RUNNING
        active = running & ~spent
        new = sampler.step(task, row, jax.random.fold_in(task.key, row.steps))
        new = r.add(new, steps=1)
        # Memories need no choice: what a step writes there is behind the string.
        parts = (
            new._replace(memory=None, judgement=None),
            row._replace(memory=None, judgement=None),
        )
        kept = jax.tree.map(lambda a, b: jnp.where(active, a, b), *parts)
        kept = kept._replace(memory=new.memory, judgement=new.judgement)
        return r.finish(kept, Status.BUDGET, running & spent)

    def going(carry):
        i, state = carry
        return (i < segment) & jnp.any(state.status == Status.RUNNING)

    def step(carry):
        i, state = carry
        return i + 1, jax.vmap(one, (axes, 0))(tasks, state)

    _, state = jax.lax.while_loop(going, step, (0, state))
    return state, jnp.sum(state.status == Status.RUNNING)


def _check(generator, prompts, prompt_lengths, length, end):
    """Prompts, their lengths and the rows' limits as arrays."""
    prompts = np.asarray(prompts)
    if prompts.ndim != 2 or prompts.shape[0] == 0:
        raise ValueError(
            f"prompts have shape {prompts.shape}; they must have shape (batch, P), batch >= 1"
        )
    if prompts.shape[1] and prompts.dtype.kind not in "iu":
        raise ValueError(f"prompts have dtype {prompts.dtype}; they must be integers")
    batch, wide = prompts.shape
    sizes = np.full(batch, wide) if prompt_lengths is None else np.asarray(prompt_lengths)
    if sizes.shape != (batch,) or sizes.dtype.kind not in "iu":
        raise ValueError(
            f"prompt_lengths have shape {sizes.shape} and dtype {sizes.dtype}; "
            f"they must be integers of shape ({batch},)"
        )
    if (sizes < 0).any() or (sizes > wide).any():
        bad = sizes[(sizes < 0) | (sizes > wide)][0]
        raise ValueError(f"a prompt length is {bad}; the prompts have room for {wide} tokens")
    real = np.arange(wide) < sizes[:, None]
    outside = real & ((prompts < 0) | (prompts >= generator.vocab))
    if outside.any():
        row, at = (int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"prompt {row} has token {prompts[row, at]} at index {at}; "
            f"it must be one of 0..{generator.vocab - 1}"
        )
    limits = np.broadcast_to(np.asarray(length), (batch,))
    if limits.dtype.kind not in "iu" or (limits < 1).any():
        raise ValueError(f"length is {length}; it must be a whole number of at least 1")
    if (sizes > limits).any():
        row = int(np.argmax(sizes > limits))
        raise ValueError(
            f"prompt {row} has {sizes[row]} tokens; "
            f"the string, prompt included, may have at most {limits[row]}"
        )
    context = getattr(generator, "context", None)
    if context is not None and limits.max() > context:
        raise ValueError(
            f"strings of {limits.max()} tokens are asked for, prompt included; "
            f"the generator's context has room for {context}"
        )
    if end is not None and not 0 <= end < generator.vocab:
        raise ValueError(f"the end token is {end}; it must be one of 0..{generator.vocab - 1}")
    prompts = np.where(real, prompts, 0).astype(np.int32) if wide else prompts.astype(np.int32)
    return prompts, sizes.astype(np.int32), limits.astype(np.int32)


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


def _trace(sampler, rows: r.Row, prompts, sizes) -> Trace:
    tokens = np.where(np.arange(rows.tokens.shape[1]) < rows.n[:, None], rows.tokens, PADDING)
    wide = min(prompts.shape[1], tokens.shape[1])
    mine = np.arange(wide) < sizes[:, None]
    same = np.where(mine, tokens[:, :wide] == prompts[:, :wide], True).all(1)
    return Trace(
        tokens=tokens,
        lengths=rows.n,
        prompt_lengths=sizes,
        calls=rows.calls,
        verifier_calls=rows.verifier_calls,
        backtracks=rows.backtracks,
        status=rows.status,
        prompt_preserved=same,
        **sampler.report(rows.own),
    )
