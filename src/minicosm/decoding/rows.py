"""The state of one string while it is sampled, and the few things a sampler may do to it.

A sampler is written for one row. Every step appends at most one token; whatever a step computes for
a row that has ended is thrown away.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from minicosm.models import Generator, Verifier
from minicosm.worlds.arrays import check_count, check_whole_numbers, short

from .trace import Status

# What can be wrong with a generator or a verifier; bits, because several may be.
LAW, NOT_A_NUMBER, NEGATIVE, ABOVE_ONE, ABOVE_ENVELOPE = 1, 2, 4, 8, 16
LAW_TOLERANCE = 1e-3  # of the sum of probabilities, in float32
ONE = 1 + 1e-5


class Row(NamedTuple):
    """One string, the memories of its prefixes, and counters."""

    tokens: Int[Array, " room"]
    n: Int[Array, ""]
    """The string is the first n tokens."""
    memory: PyTree
    judgement: PyTree
    """The verifier's memory."""
    steps: Int[Array, ""]
    calls: Int[Array, ""]
    verifier_calls: Int[Array, ""]
    backtracks: Int[Array, ""]
    status: Int[Array, ""]
    fault: Int[Array, ""]
    waits: Bool[Array, ""]
    """The law that the last step asked for is not there yet: the step is made again."""
    own: PyTree
    """What the sampler keeps for itself."""


class Task(NamedTuple):
    """What one row is to do; the generator and the verifier are the same for all rows."""

    generator: Generator
    verifier: Verifier | None
    prompt: Int[Array, " room"]
    prompt_length: Int[Array, ""]
    limit: Int[Array, ""]
    """The largest length of the string, prompt included."""
    end: Int[Array, ""]
    """The end token; -1 if there is none."""
    key: PRNGKeyArray


def check_generator(name: str, value: Any) -> None:
    """Raise unless `value` is an object with the methods of `Generator`."""
    if isinstance(value, type) or not isinstance(value, Generator):
        raise TypeError(
            f"{name} is {short(value)}; it must have vocab and the methods begin, read and law"
        )


def check_verifier(name: str, value: Any) -> None:
    """Raise unless `value` is an object with the methods of `Verifier`."""
    if isinstance(value, type) or not isinstance(value, Verifier):
        raise TypeError(f"{name} is {short(value)}; it must have the methods begin, read and score")


def begin(task: Task, longest: int) -> Row:
    """The row whose string is the prompt; `longest` is that of the batch's prompts."""
    room = task.prompt.shape[0]
    # After its own prompt a row reads tokens of no meaning, which are overwritten.
    tokens = task.prompt[:longest]
    memory = read_all(task.generator, room, tokens)
    judgement = None
    if task.verifier is not None:
        # What a memory holds about a prefix is the same once the generator has read on.
        verifier, judgement = task.verifier, task.verifier.begin(room, memory)

        def read(judgement: PyTree, now: tuple[Array, Array]) -> tuple[PyTree, None]:
            n, token = now
            return verifier.read(judgement, n, token, memory), None

        if longest:
            places = jnp.arange(longest, dtype=jnp.int32)
            judgement, _ = jax.lax.scan(read, judgement, (places, tokens))
    zero, running = jnp.int32(0), jnp.int32(Status.RUNNING)
    counters = (zero,) * 4
    waits = jnp.bool_(False)
    return Row(
        task.prompt, task.prompt_length, memory, judgement, *counters, running, zero, waits, None
    )


def read_all(generator: Generator, room: int, tokens: Int[Array, " P"]) -> PyTree:
    """The generator's memory of a prompt: in one pass if it has `begin_after(room, tokens)`, else
    token by token."""
    check_count("room", room, least=0)
    tokens = jnp.asarray(check_whole_numbers("tokens", tokens, 0, generator.vocab - 1, (None,)))
    if tokens.shape[0] > room:
        raise ValueError(f"tokens are {tokens.shape[0]}; the memory has room for {room}")
    if hasattr(generator, "begin_after") and tokens.shape[0]:
        return generator.begin_after(room, tokens)
    memory = generator.begin(room)
    if not tokens.shape[0]:
        return memory
    places = jnp.arange(tokens.shape[0], dtype=jnp.int32)
    return jax.lax.scan(
        lambda memory, now: (generator.read(memory, *now), None), memory, (places, tokens)
    )[0]


def append(task: Task, row: Row, token: Int[Array, ""], when: Bool[Array, ""] | bool = True) -> Row:
    """Put `token` after the string; if not `when`, or if the string is full, change nothing."""
    grows = jnp.asarray(when) & (row.n < row.tokens.shape[0])
    last = jnp.maximum(row.n - 1, 0)
    # Reading the last token again changes nothing.
    at = jnp.where(grows, row.n, last)
    token = jnp.where(grows, token, row.tokens[last])
    memory = task.generator.read(row.memory, at, token)
    judgement = row.judgement
    if task.verifier is not None:
        judgement = task.verifier.read(judgement, at, token, memory)
    here = jnp.arange(row.tokens.shape[0]) == at
    return row._replace(
        tokens=jnp.where(here, token, row.tokens),
        n=row.n + grows,
        memory=memory,
        judgement=judgement,
    )


def law(
    task: Task, row: Row, when: Bool[Array, ""] | bool = True
) -> tuple[Float[Array, " V"], Row]:
    """Log-probabilities of the next token; one call of the generator, if `when`.

    A generator that has `law_when(memory, n, asked, running)` is told whether its answer is used at
    all, and may let a row wait until more rows need it.
    """
    if hasattr(task.generator, "law_when"):
        running = row.status == Status.RUNNING
        asked = jnp.asarray(when) & running
        answer, ready = task.generator.law_when(row.memory, row.n, asked, running)
        row = row._replace(waits=asked & ~ready)
    else:
        answer = task.generator.law(row.memory, row.n)
    wrong = ~(jnp.abs(jnp.sum(jnp.exp(answer)) - 1) <= LAW_TOLERANCE)
    row = add(row, calls=jnp.asarray(when))
    return answer, note_fault(row, LAW, wrong & when)


def score(
    task: Task, row: Row, when: Bool[Array, ""] | bool = True, *, probability: bool
) -> tuple[Float[Array, ""], Row]:
    """The verifier's score of the string; one call of the verifier, if `when`."""
    assert task.verifier is not None
    answer = score_when(task.verifier, row.judgement, row.n, _is_used(row))
    return answer, judge(add(row, verifier_calls=jnp.asarray(when)), answer, when, probability)


def children(
    task: Task, row: Row, when: Bool[Array, ""] | bool = True
) -> tuple[Float[Array, " V"], Row]:
    """The scores of the string with each token after it; V calls of the verifier, if `when`."""
    vocab = task.generator.vocab

    def one(token: Int[Array, ""]) -> Float[Array, ""]:
        longer = append(task, row, token)
        assert task.verifier is not None
        return score_when(task.verifier, longer.judgement, longer.n, _is_used(row) & when)

    answers = jax.vmap(one)(jnp.arange(vocab, dtype=jnp.int32))
    row = add(row, verifier_calls=jnp.where(when, vocab, 0))
    return answers, judge(row, answers, when, False)


def score_when(
    verifier: Verifier, memory: PyTree, n: Int[Array, ""], asked: Bool[Array, ""]
) -> Float[Array, ""]:
    """The score; a verifier that has `score_when(memory, n, asked)` is told whether it is used."""
    if hasattr(verifier, "score_when"):
        return verifier.score_when(memory, n, asked)
    return verifier.score(memory, n)


def _is_used(row: Row) -> Bool[Array, ""]:
    """Whether anything will come of this step."""
    return (row.status == Status.RUNNING) & ~row.waits


def judge(
    row: Row, answer: Float[Array, "*n"], when: Bool[Array, ""] | bool, probability: bool
) -> Row:
    """Note what is wrong with scores that count."""
    row = note_fault(row, NOT_A_NUMBER, jnp.any(~jnp.isfinite(answer) & when))
    row = note_fault(row, NEGATIVE, jnp.any((answer < 0) & when))
    return note_fault(row, ABOVE_ONE, jnp.any((answer > ONE) & when)) if probability else row


def note_fault(row: Row, what: int, wrong: Bool[Array, ""]) -> Row:
    return row._replace(fault=row.fault | jnp.where(wrong, what, 0))


def add(row: Row, **counts: Any) -> Row:
    """Add to counters."""
    return row._replace(**{k: getattr(row, k) + jnp.int32(v) for k, v in counts.items()})


def is_full(task: Task, row: Row) -> Bool[Array, ""]:
    """Whether the string is complete: it has its full length, or ends in the end token."""
    last = row.tokens[jnp.maximum(row.n - 1, 0)]
    return (row.n >= task.limit) | ((row.n > 0) & (last == task.end))


def finish(row: Row, status: Status, when: Bool[Array, ""]) -> Row:
    return row._replace(status=jnp.where(when, jnp.int32(status), row.status))


def instead(rows: Row, tokens: Any, lengths: Any, better: Any) -> dict[str, Any]:
    """What a batch of rows that the budget stopped returns in place of their strings, where `better`;
    NumPy arrays."""
    use = better & (rows.status == Status.BUDGET)
    return {
        "tokens": np.where(use[:, None], tokens, rows.tokens),
        "lengths": np.where(use, lengths, rows.n),
    }


def back(row: Row, n: Int[Array, ""], when: Bool[Array, ""]) -> Row:
    """Go back to the first n tokens, if `when`; counted as one backtrack."""
    return add(row._replace(n=jnp.where(when, n, row.n)), backtracks=when)
