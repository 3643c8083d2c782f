"""Theorem 3.6: a prompt that keeps only the states that matter, and a linear head that reads them.

A prompt row u before the placeholder leaves `c = A (u * p1)` of the law of H_2, and the model answers
`G_2 = W (c * b_0(x)) / ||c * b_0(x)||_1` with `b_0(x) = P[x | H_0]`. If c is positive exactly on
states H* whose emission columns are independent, a head recovers the posterior on H*:

    b . G_2(u, ∅, x) = Pr(X_{1:t} = x) / ||c * b_0(x)||_1 * mu . P[H_0 | X_{1:t} = x],
    b = sum_{h in H*} mu_h p0_h / c_h row_h(W[:, H*]^+).
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float, Int

from minicosm.adaptation import Classifier, LinearHead, SoftPrompt
from minicosm.adaptation.checks import check_reals, unshared
from minicosm.worlds import HMM, PosteriorTask
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.hmm.chain import log_likelihood

from ..certify import Evidence, certify
from ..checks import check_sequences
from ..linear_algebra import RANK_TOLERANCE
from ..signatures import checked
from ..theorem import Condition, Theorem
from .assumptions import (
    SEARCH_BUDGET,
    check_weights,
    check_world,
    covering,
    first_law,
    regular,
    start_weights,
)


@checked()
def statement_3_6(
    world: HMM, task: PosteriorTask, classifier: Classifier, tokens: Int[Array, " T"]
) -> Evidence:
    """The factor `Pr(X_{1:t} = x) / ||c * b_0(x)||_1`.

    Where the prompt excludes all of x (`c * b_0(x) = 0`, decided on truth values) the output must be
    exactly zero and so must the exact score; such sequences are counted, with factor 1.
    """
    if classifier.prompt is None:
        raise ValueError("the classifier has no prompt; Theorem 3.6 is about one with a prompt")
    shifted = jnp.pad(tokens, (1, 0))
    rows = world.embed(shifted, jnp.arange(shifted.shape[0]) > 0)
    rows = classifier.prompt.prepend(rows)
    excluded = ~jnp.any(world.supports(rows).others[len(classifier.prompt)])
    # The likelihood of the prompted rows is ||c * b_0(x)||_1: the placeholder's row is all ones.
    kept = log_likelihood(jnp.asarray(world.A), world.first, rows)
    ratio = jnp.exp(world.log_prob(tokens) - kept)
    output = jnp.max(jnp.abs(classifier.scores(world, tokens)))
    return Evidence(
        jnp.where(excluded, 1, ratio),
        details={
            "excluded by the prompt": excluded,
            "largest output when excluded": jnp.where(excluded, output, 0),
        },
    )


def theorem_3_6(
    world: HMM,
    task: PosteriorTask,
    *,
    sources: Iterable[int] | None = None,
    budget: int = SEARCH_BUDGET,
) -> Theorem:
    """The prompt `u = 1_B` and head of Theorem 3.6, under Assumptions 3.2 and 3.5.

    B is found by the search of `covering`, or given as `sources`; all states, under Assumption 3.1,
    give `u = 1`, which is Theorem 3.3 one position later. A task with several rows needs an H* that
    covers all their supports.
    """
    mu = start_weights(world, task)
    conditions = (regular(world), covering(world, mu, sources=sources, budget=budget))
    name = "Theorem 3.6"
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    B, star = map(list, conditions[1].witness)
    u = np.zeros(world.hidden)
    u[B] = 1
    p0 = np.asarray(world.p0, np.float64)
    c = reached(world, u)
    inverse = np.linalg.pinv(np.asarray(world.W, np.float64)[:, star], rcond=RANK_TOLERANCE)
    weights = (np.asarray(task.mu, np.float64) * p0)[..., star] / c[star] @ inverse
    classifier = Classifier(LinearHead(weights), SoftPrompt(u[None]), placeholder=True)
    check = partial(certify, world, task, classifier, statement_3_6)
    return Theorem(name, conditions, construction=classifier, check=check)


def prompt_rows(world: HMM, rows: Any) -> Float[np.ndarray, "k H"]:
    """The rows of a prompt for the exact model of a world: nonnegative and as wide as it has states."""
    check_world(world)
    found = np.atleast_2d(np.asarray(check_reals("rows", rows, least=0), np.float64))
    if found.ndim != 2 or found.shape[1] != world.hidden or not len(found):
        raise ValueError(
            f"rows have shape {np.shape(rows)}; a prompt has nonnegative rows of width {world.hidden}"
        )
    return found


def reached(world: HMM, rows: Float[np.ndarray, "*k H"]) -> Float[np.ndarray, " H"]:
    """`c = A (u_k * A (u_{k-1} * ... A (u_1 * p1)))`: what a prompt leaves of the placeholder's law."""
    rows = prompt_rows(world, rows)
    A = np.asarray(world.A, np.float64)
    law = first_law(world)
    for u in rows:
        law = A @ (u * law)
    return law


class PromptSolution(NamedTuple):
    """A length-one prompt and a head with `(W^T b) * c = mu * p0`, `c = A (u * p1)`."""

    u: Float[np.ndarray, " H"]  # in [0, 1]
    weights: Float[np.ndarray, "*rows V"]


def separable_prompt(world: HMM, mu: Any, *, tolerance: float = RANK_TOLERANCE) -> Condition:
    """A weaker sufficient condition than 3.5, decided exactly by a linear program.

    Prompt and head solve the task whenever `(W^T b) * c = mu * p0` up to a positive factor, for some
    b and some `c = A w`, w >= 0. If every state that matters (`mu_h p0_h != 0`) is the only target of
    some state g, c is free there and can vanish elsewhere, so what is needed is a positive d = 1 / c
    with `mu * p0 * d` in the row space of those columns of W: for one row of mu, a b that separates
    the laws with mu_h > 0 from those with mu_h < 0. Among all d the program takes one of least
    range. The witness is a `PromptSolution`. Where the states are not so covered the question is
    left open (`numbers["exact"]` is False).
    """
    mu = check_weights(world, mu)
    A, W = np.asarray(world.A, np.float64), np.asarray(world.W, np.float64)
    target = mu * np.asarray(world.p0, np.float64)
    p1 = first_law(world)
    star = np.flatnonzero((target != 0).any(axis=0))
    lone = np.flatnonzero(((A > 0).sum(axis=0) == 1) & (p1 > 0))
    gate = {int(np.argmax(A[:, g])): int(g) for g in sorted(lone, key=lambda g: p1[g])}
    name = "separable by a prompt"
    missing = [int(h) for h in star if int(h) not in gate]
    numbers: dict[str, Any] = {"relevant_states": star.tolist(), "exact": not missing}
    if missing:
        reason = f"undecided: state {missing[0]} is not the only target of any state"
        return Condition(name, False, numbers, reason)
    if not star.size:  # every score is zero, and so is this head's
        nothing = PromptSolution(np.zeros(world.hidden), np.zeros((*mu.shape[:-1], world.vocab)))
        return Condition(name, True, numbers, witness=_squeeze(nothing))

    columns = W[:, star]
    inverse = np.linalg.pinv(columns, rcond=tolerance)
    outside = np.eye(len(star)) - inverse @ columns  # the projection off the row space
    blocks = np.vstack([outside * row[star] / np.abs(target).max() for row in target])
    _, s, vt = np.linalg.svd(blocks)
    free = vt[int((s > tolerance).sum()) :].T  # all d, of any sign, that keep the rows inside
    range_ = _least_range(free)
    if range_ is None:
        reason = (
            "no head separates the laws of positive and negative states (linear program infeasible)"
        )
        return Condition(name, False, numbers | {"solutions": free.shape[1]}, reason)
    d, spread = range_
    b = (target[:, star] * d) @ inverse
    # c_h = 1 / d_h on the relevant states, each fed by its own gate: c_h = u_g p1_g.
    u = np.zeros(world.hidden)
    gates = [gate[int(h)] for h in star]
    u[gates] = 1 / (d * p1[gates])
    solution = PromptSolution(u / u.max(), b * u.max())
    numbers |= {"solutions": free.shape[1], "range": spread, "sources": sorted(gates)}
    return Condition(name, True, numbers, witness=_squeeze(solution))


def _squeeze(solution: PromptSolution) -> PromptSolution:
    rows = solution.weights
    return solution._replace(weights=rows[0] if len(rows) == 1 else rows)


def _least_range(
    free: Float[np.ndarray, "s f"],
) -> tuple[Float[np.ndarray, " s"], float] | None:
    """The d >= 1 in the span of `free` whose largest entry is least, with that entry; None if none."""
    states, solutions = free.shape
    if solutions == 0:
        return None
    # Variables (y, t): minimise t subject to 1 <= free y <= t.
    above = np.hstack([-free, np.zeros((states, 1))])
    below = np.hstack([free, -np.ones((states, 1))])
    program = scipy.optimize.linprog(
        np.append(np.zeros(solutions), 1),
        A_ub=np.vstack([above, below]),
        b_ub=np.append(-np.ones(states), np.zeros(states)),
        bounds=(None, None),
        method="highs",
    )
    if program.status != 0:
        return None
    d = free @ program.x[:-1]
    return (d, float(d.max() / d.min())) if d.min() > 0.5 else None


def separable_prompt_head(world: HMM, task: PosteriorTask) -> Theorem:
    """The prompt and head of `separable_prompt`; they satisfy the score identity of Theorem 3.6."""
    condition = separable_prompt(world, start_weights(world, task))
    name = "Theorem 3.6 under separability"
    if not condition.holds:
        return Theorem(name, (condition,))
    u, weights = condition.witness
    classifier = Classifier(LinearHead(weights), SoftPrompt(u[None]), placeholder=True)
    check = partial(certify, world, task, classifier, statement_3_6)
    return Theorem(name, (condition,), construction=classifier, check=check)


def shorter_prompt(world: HMM, rows: Float[np.ndarray, "k H"]) -> Float[np.ndarray, " H"]:
    """The single row, in [0, 1], that does to the exact model what a prompt of k rows does.

    A prompt enters only through `c = A w` with `w = u_k * A (u_{k-1} * ... A (u_1 * p1)) >= 0`, and
    `u = w / p1` (scaled into [0, 1]) leaves the same c, up to a factor that normalisation removes.
    Needs p1 > 0 where w > 0.
    """
    rows = prompt_rows(world, rows)
    p1 = first_law(world)
    before = p1 if len(rows) == 1 else reached(world, rows[:-1])
    w = rows[-1] * before
    if ((w > 0) & (p1 == 0)).any():
        at = int(np.argmax((w > 0) & (p1 == 0)))
        raise ValueError(f"state {at} is impossible at time 1; no single row can reach it")
    row = np.divide(w, p1, out=np.zeros_like(w), where=p1 > 0)
    return row / row.max() if row.max() > 0 else row


def prompt_length_is_irrelevant(
    world: HMM, rows: Float[np.ndarray, "k H"], sequences: Int[np.ndarray, "n T"]
) -> Theorem:
    """For the exact model every prompt of k rows equals one of a single row: the largest difference of
    its outputs under `rows` and under `shorter_prompt`, which is the construction."""
    check_world(world)
    sequences, _ = check_sequences(world, sequences)
    row = shorter_prompt(world, rows)
    with jax.enable_x64(True):
        long = _prompted(
            unshared(world), SoftPrompt(np.atleast_2d(rows).astype(np.float64)), sequences
        )
        short = _prompted(unshared(world), SoftPrompt(row[None]), sequences)
        error = float(jnp.max(jnp.abs(long - short)))
    found = Theorem.identity("Prompt length", error, cases=len(sequences))
    return replace(found, construction=row)


@eqx.filter_jit
def _prompted(
    world: HMM, prompt: SoftPrompt, sequences: Int[AnyArray, "n T"]
) -> Float[Array, "n V"]:
    """The model's output at the placeholder after the prompt."""

    def one(tokens: Int[Array, " T"]) -> Float[Array, " V"]:
        shifted = jnp.pad(tokens, (1, 0))
        rows = world.embed(shifted, jnp.arange(shifted.shape[0]) > 0)
        return world.predict(prompt.prepend(rows))[len(prompt)]

    return jax.vmap(one)(jnp.asarray(sequences))
