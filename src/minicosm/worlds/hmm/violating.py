"""Worlds in which one assumption of Wei, Xie and Ma (2021) fails, and worlds with fixed numbers."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..arrays import check_count, check_flag, check_kind, check_positive
from ..markov import is_primitive
from .configurations import check_configurations
from .draws import (
    check_sizes,
    condition,
    cycle,
    generator,
    memory_law,
    memory_parts,
    redraw,
    signed_normals,
    sparse_transition,
    token_laws,
)
from .hmm import HMM
from .memory import MemoryHMM
from .satisfying import RecoverableWorld, full_rank_world


class TaskWorld(NamedTuple):
    """A world and a task `mu . P[H_0 | x]`."""

    world: HMM
    mu: Float[np.ndarray, " H"]


# -- Assumption 3.1 ---------------------------------------------------------------------------


def degrade_rank(world: HMM, rank: int, key: PRNGKeyArray) -> HMM:
    """The same world with only `rank` different emission columns: the others copy one of those."""
    check_kind("world", world, HMM, "an HMM")
    check_count("rank", rank)
    if rank > world.hidden:
        raise ValueError(f"rank is {rank}; the world has only {world.hidden} states")
    rng = generator(key)
    order = rng.permutation(world.hidden)
    W = np.array(world.W)
    for h in order[rank:]:
        W[:, h] = W[:, rng.choice(order[:rank])]
    return HMM(world.A, W, world.p0)


def rank_deficient_world(
    key: PRNGKeyArray, *, rank: int, hidden: int = 6, vocab: int = 6, max_cond: float = 1e4
) -> HMM:
    """Dense A and W (Dirichlet(1/2) columns) in which W has exactly `rank` different columns.

    Those are independent with condition number at most `max_cond`; p0 is Dirichlet(1).
    """
    check_sizes(rank=rank, hidden=hidden, vocab=vocab)
    check_positive("max_cond", max_cond)
    if rank > min(hidden, vocab):
        raise ValueError(
            f"rank is {rank}; it can be at most min(hidden, vocab) = {min(hidden, vocab)}"
        )

    def draw(rng: np.random.Generator) -> HMM | None:
        A = rng.dirichlet(np.full(hidden, 0.5), size=hidden).T
        laws = rng.dirichlet(np.full(vocab, 0.5), size=rank).T
        if condition(laws) > max_cond or not is_primitive(A):
            return None
        which = rng.permutation(
            np.concatenate([np.arange(rank), rng.integers(rank, size=hidden - rank)])
        )
        return HMM(A, laws[:, which], rng.dirichlet(np.ones(hidden)))

    return redraw(key, draw, f"world of rank {rank} with cond at most {max_cond:g}")


def duplicate_columns_world(key: PRNGKeyArray, *, hidden: int = 4, vocab: int = 6) -> TaskWorld:
    """A world of `full_rank_world` in which two states emit the same law and mu is their contrast.

    p0 is stationary, so that every linear head weighs the two states alike and the head of
    Theorem 3.3 is zero.
    """
    check_sizes(hidden=hidden, vocab=vocab)
    if hidden < 2:
        raise ValueError(f"hidden is {hidden}; two equal columns need at least 2 states")
    world = full_rank_world(key, hidden=hidden, vocab=vocab)
    plus, minus = generator(key).choice(hidden, 2, replace=False)
    W = np.array(world.W)
    W[:, minus] = W[:, plus]
    mu = np.zeros(hidden)
    mu[plus], mu[minus] = 1, -1
    return TaskWorld(HMM(world.A, W, world.stationary()), mu)


# -- Assumptions 3.2 and 3.5 ------------------------------------------------------------------


def transient_world(key: PRNGKeyArray, *, hidden: int = 5, vocab: int = 6) -> TaskWorld:
    """Assumption 3.1 holds but the chain is not irreducible.

    No arrow enters state 0 (`p0[0] > 0 = p1[0]`); state 1 is entered only from state 0 and is the
    only one to emit token 0; the others form a primitive class that is never left. So a sequence
    that starts with token 0 is possible at positions 1..T and impossible at 2..T+1, and no output at
    a masked first position tells how likely state 0 was. mu is the contrast of states 0 and 2.
    """
    check_sizes(hidden=hidden, vocab=vocab)
    if hidden < 3:
        raise ValueError(f"hidden is {hidden}; two transient states need at least 3 states")
    if vocab < hidden:
        raise ValueError(
            f"vocab is {vocab}; independent emissions of {hidden} states need at least {hidden} tokens"
        )

    def draw(rng: np.random.Generator) -> TaskWorld | None:
        core = sparse_transition(rng, cycle(rng, hidden - 2))
        laws = token_laws(rng, vocab - 1, hidden - 1, sparse=True)
        A, W = np.zeros((hidden, hidden)), np.zeros((vocab, hidden))
        A[2:, 2:] = core
        A[2:, :2] = rng.dirichlet(np.ones(hidden - 2), size=2).T
        share = rng.uniform(0.3, 0.7)
        A[:, 0] *= 1 - share
        A[1, 0] = share
        W[0, 1] = 1
        W[1:, np.arange(hidden) != 1] = laws
        if not is_primitive(core) or condition(W) > 1e4:
            return None
        mu = np.zeros(hidden)
        mu[0], mu[2] = 1, -1
        return TaskWorld(HMM(A, W, rng.dirichlet(np.ones(hidden))), mu)

    return redraw(key, draw, "world with two transient states")


def uncovered_world(key: PRNGKeyArray, *, hidden: int = 10, vocab: int = 4) -> HMM:
    """Assumption 3.5 fails for every task: A is dense, so H* would be all of more states than tokens.

    All columns are Dirichlet(1).
    """
    check_sizes(hidden=hidden, vocab=vocab)
    if hidden <= vocab:
        raise ValueError(f"hidden is {hidden}; it must exceed vocab = {vocab}, or 3.5 may hold")
    rng = generator(key)
    return HMM(
        rng.dirichlet(np.ones(hidden), size=hidden).T,
        rng.dirichlet(np.ones(vocab), size=hidden).T,
        rng.dirichlet(np.ones(hidden)),
    )


def separable_world(*, separable: bool = True) -> TaskWorld:
    """Assumption 3.5 fails and a weaker sufficient condition holds (unless `separable` is False).

    States 3, 4, 5 move surely to 0, 1, 2, whose own columns of A are dense, and the law of state 2
    is the mean of those of 0 and 1, so no H* with all three is independent. A prompt solves
    mu = (1, -2, .7), since one direction separates laws 0 and 2 from law 1; for
    mu = (1, 2, -1.5) the negative law is the mean of the positive ones.
    """
    check_flag("separable", separable)
    A = np.zeros((6, 6))
    A[:, :3] = np.array(
        [
            [0.10, 0.15, 0.20, 0.20, 0.20, 0.15],
            [0.20, 0.05, 0.15, 0.25, 0.10, 0.25],
            [0.15, 0.20, 0.10, 0.15, 0.30, 0.10],
        ]
    ).T
    A[[0, 1, 2], [3, 4, 5]] = 1
    laws = np.array(
        [
            [0.60, 0.20, 0.10, 0.10],
            [0.10, 0.30, 0.40, 0.20],
            [0.35, 0.25, 0.25, 0.15],
            [0.25, 0.25, 0.10, 0.40],
            [0.10, 0.50, 0.20, 0.20],
            [0.20, 0.10, 0.50, 0.20],
        ]
    )
    mu = np.zeros(6)
    mu[:3] = (1, -2, 0.7) if separable else (1, 2, -1.5)
    p0 = np.array([0.20, 0.15, 0.20, 0.15, 0.20, 0.10])
    return TaskWorld(HMM(A, laws.T, p0), mu)


# -- Assumptions 4.2, 4.4 and D.5 -------------------------------------------------------------


def overlapping_spans_world(
    key: PRNGKeyArray,
    *,
    values: int = 2,
    cells: int = 1,
    syntax: int = 3,
    star: int = 1,
    vocab: int | None = None,
) -> RecoverableWorld:
    """As `recoverable_memory_world`, but one state outside H* emits a mixture of the columns of H*.

    The mixture (Dirichlet(1) weights, all positive) is the same for every memory value, so each
    column of H* lies in the span of the others and Assumption 4.2 fails for every S*.
    """
    check_sizes(values=values, cells=cells, syntax=syntax, star=star)
    check_configurations(values, cells)
    if star > syntax or cells * syntax - star < 2:
        raise ValueError(f"star is {star}; {cells * syntax} states must leave 2 or more outside H*")
    least = values * star + cells * syntax - star
    size = least if vocab is None else check_count("vocab", vocab, least=least)
    check_sizes(vocab=size)

    def draw(rng: np.random.Generator) -> RecoverableWorld | None:
        parts = memory_parts(rng, values, cells, syntax, star, size)
        if parts is None:
            return None
        recoverable = [parts.cell * syntax + s for s in parts.star_syntax]
        free = [h for h in range(cells * syntax) if h not in [*recoverable, parts.gate]]
        j, s = divmod(int(rng.choice(free)), syntax)
        star_columns = parts.W[:, :, parts.cell, list(parts.star_syntax)].reshape(size, -1)
        weights = rng.dirichlet(np.ones(star_columns.shape[1]))
        parts.W[:, :, j, s] = (star_columns @ weights)[:, None]
        if weights.min() < 0.05 or condition(star_columns) > 1e4:
            return None
        world = MemoryHMM(
            parts.A, parts.W, memory_law(rng, values**cells), rng.dirichlet(np.ones(cells * syntax))
        )
        return RecoverableWorld(world, signed_normals(rng, values), parts.cell, parts.star_syntax)

    return redraw(key, draw, "world with overlapping spans")


def nonstationary(task: RecoverableWorld, key: PRNGKeyArray) -> RecoverableWorld:
    """The same memory world started from a Dirichlet(1) law: Assumption 4.4 fails.

    Redrawn until p0 is off the stationary law by .1 in total and `max(p0 / p1) <= 100`.
    """
    check_kind("task", task, RecoverableWorld, "a RecoverableWorld")
    A = np.asarray(task.world.A)

    def draw(rng: np.random.Generator) -> RecoverableWorld | None:
        p0 = rng.dirichlet(np.ones(len(A)))
        if np.abs(A @ p0 - p0).sum() < 0.1 or np.max(p0 / (A @ p0)) > 100:
            return None
        return task._replace(world=MemoryHMM(A, task.world.W, task.world.pM, p0))

    return redraw(key, draw, "start law away from the stationary one")


def position_one_world() -> RecoverableWorld:
    """The world in which the printed `beta_1 = -2` of Theorem D.6 attends to the prompt itself.

    One cell of two equally likely values, states 0, 1, 2, tokens a, b, c = 0, 1, 2; mu = (1, 0),
    S* = {0}. For x = (c, a, a) the right position is 3, and P[M | x] = (.19974, .80026).
    """
    A = np.array([[0, 0, 1], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    W = np.zeros((3, 2, 3))
    W[:, 0, 0] = (0.52, 0.48, 0)
    W[:, 0, 1] = (0.48, 0.52, 0)
    W[:, 1, 0] = W[:, 1, 1] = (1, 0, 0)
    W[2, :, 2] = 1
    world = MemoryHMM(A, W, np.array([0.5, 0.5]), np.full(3, 1 / 3))
    return RecoverableWorld(world, np.array([1.0, 0.0]), 0, (0,))
