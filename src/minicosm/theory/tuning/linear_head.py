"""Theorem 3.3: a linear head on the exact model's output at a placeholder before the sequence.

With `x' = (∅, x)` the model answers `G_1(x') = W P[H_1 | X_{2:t+1} = x]`, and the posterior of H_1
given what follows it is that of H_0 up to `p1 / p0` and a factor that does not depend on the state.
So where W has a left inverse, `b = (W^+)^T (mu * p0 / p1)` reads the task off the output:

    b . G_1(x') = Pr(X_{1:t} = x) / Pr(X_{2:t+1} = x) * mu . P[H_0 | X_{1:t} = x].
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.adaptation import Classifier, LinearHead, accuracy, logistic_regression
from minicosm.adaptation.checks import check_flag, check_real, check_whole, unshared
from minicosm.worlds import HMM, PosteriorTask
from minicosm.worlds.arrays import AnyArray

from ..certify import Evidence, all_sequences, certify, sample_sequences
from ..checks import NOT_NEGATIVE, whole
from ..linear_algebra import RANK_TOLERANCE
from ..signatures import checked
from ..theorem import Condition, Theorem
from .assumptions import (
    check_weights,
    check_world,
    first_law,
    nondegenerate,
    one,
    regular,
    start_ratio,
    start_recurs,
    start_weights,
)


@checked()
def statement_3_3(
    world: HMM, task: PosteriorTask, classifier: Classifier, tokens: Int[Array, " T"]
) -> Evidence:
    """The factor `Pr(X_{1:t} = x) / Pr(X_{2:t+1} = x)`.

    It is 1 where x is impossible at positions 2..t+1 (which Assumption 3.2 excludes): there the
    output is the zero vector and the identity says that the exact score is zero.
    """
    shifted = jnp.pad(tokens, (1, 0))
    seen = jnp.arange(shifted.shape[0]) > 0
    lost = ~world.supports(world.embed(shifted, seen)).possible
    ratio = jnp.exp(world.log_prob(tokens) - world.log_prob(shifted, seen))
    return Evidence(jnp.where(lost, 1, ratio), details={"impossible when shifted": lost})


def theorem_3_3(world: HMM, task: PosteriorTask, *, printed: bool = True) -> Theorem:
    """The linear head of Theorem 3.3, under Assumptions 3.1 and 3.2.

    With `printed=False` the second is replaced by what the proof needs, `supp(p0) ⊆ supp(p1)`.
    """
    start_weights(world, task)
    check_flag("printed", printed)
    conditions = (nondegenerate(world), regular(world) if printed else start_recurs(world))
    name = "Theorem 3.3"
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    head = Classifier(pseudo_inverse_head(world, task), placeholder=True)
    check = partial(certify, world, task, head, statement_3_3)
    return Theorem(name, conditions, construction=head, check=check)


def pseudo_inverse_head(
    world: HMM, task: PosteriorTask, tolerance: float = RANK_TOLERANCE
) -> LinearHead:
    """`b = (W^+)^T (mu * p0 / p1)`, also where W has no left inverse and nothing is promised.

    States that are impossible at time 1 get weight zero.
    """
    start_weights(world, task)
    ratio = start_ratio(world)
    inverse = np.linalg.pinv(np.asarray(world.W, np.float64), rcond=tolerance)
    return LinearHead((np.asarray(task.mu, np.float64) * ratio) @ inverse)


def observable_span(
    world: HMM, length: int | None = None, tolerance: float = RANK_TOLERANCE
) -> Float[np.ndarray, "H r"]:
    """An orthonormal basis of the span of `b_0(x) = P[x | H_0]` over all sequences x of a length.

    `b_0(z x) = A^T (e(z) * b_0(x))` and `b_0() = 1`, so the spans follow from one another without
    enumeration. They grow with the length and stop growing after at most |H| steps (`length=None`).
    """
    check_world(world)
    if length is not None:
        check_whole("length", length, 1)
    check_real("tolerance", tolerance, least=0)
    A, W = np.asarray(world.A, np.float64), np.asarray(world.W, np.float64)
    basis = np.ones((world.hidden, 1)) / np.sqrt(world.hidden)
    for _ in range(world.hidden if length is None else length):
        images = np.einsum("ji,zj,jr->izr", A, W, basis).reshape(world.hidden, -1)
        u, s, _ = np.linalg.svd(images, full_matrices=False)
        grown = u[:, s > tolerance * s[0]]
        if grown.shape[1] == basis.shape[1]:
            return grown
        basis = grown
    return basis


def linear_head_exists(
    world: HMM, mu: Any, *, length: int | None = None, tolerance: float = 1e-9
) -> Condition:
    """Whether some linear head satisfies the score identity of Theorem 3.3 for this mu.

    The identity reads `(p1 * W^T b) . b_0(x) = (mu * p0) . b_0(x)` for all x, so b exists iff
    `mu * p0` and some `p1 * W^T b` agree on the span of the `b_0(x)`. If that is all of R^H and
    p1 > 0, this says that `mu * p0 / p1` lies in the row space of W. The witness is the head.

    The condition is exact for the identity, where p0 > 0. A head may give the right *labels*
    without it: every mu >= 0 has the constant label 1, which b = 1 computes in any world.
    """
    mu = check_weights(world, mu)
    basis = observable_span(world, length)
    p0, p1 = np.asarray(world.p0, np.float64), first_law(world)
    W = np.asarray(world.W, np.float64)

    def solve(basis: Float[np.ndarray, "H r"]) -> tuple[Float[np.ndarray, "K V"], float]:
        system, target = basis.T @ (p1[:, None] * W.T), basis.T @ (mu * p0).T
        b = np.linalg.lstsq(system, target, rcond=RANK_TOLERANCE)[0]
        size = max(float(np.abs(target).max()), np.finfo(float).tiny)
        return b.T, float(np.abs(system @ b - target).max()) / size

    b, residual = solve(basis)
    holds = residual <= tolerance
    return Condition(
        "a linear head for this task",
        holds,
        {
            "residual": residual,
            "residual_without_span": solve(np.eye(world.hidden))[1],
            "span": basis.shape[1],
            "states": world.hidden,
            "length": "any" if length is None else length,
        },
        "" if holds else f"no linear head meets the score identity (least residual {residual:.2g})",
        LinearHead(b[0] if len(b) == 1 else b) if holds else None,
    )


def linear_head_for_task(world: HMM, task: PosteriorTask, *, length: int | None = None) -> Theorem:
    """The head of `linear_head_exists`: Theorem 3.3 for one task, without Assumption 3.1."""
    condition = linear_head_exists(world, start_weights(world, task), length=length)
    name = "Theorem 3.3 for one task"
    if not condition.holds:
        return Theorem(name, (condition,))
    head = Classifier(condition.witness, placeholder=True)
    check = partial(certify, world, task, head, statement_3_3)
    return Theorem(name, (condition,), construction=head, check=check)


@checked(world=one(HMM))
def duplicate_emissions(world: HMM, task: PosteriorTask, length: int) -> Theorem:
    """A converse of Theorem 3.3: if two states emit one law, Assumption 3.1 fails, and for a mu that
    contrasts them the pseudo-inverse head has the same score on all sequences, if `p0 / p1` agrees on
    the two. The error is the range of its scores."""
    independent = nondegenerate(world)
    head = pseudo_inverse_head(world, task)
    with jax.enable_x64(True):
        found, _ = outputs_and_scores(
            unshared(world), unshared(task), all_sequences(world.vocab, length)
        )
    outputs = np.asarray(found)
    scores = outputs[outputs.sum(axis=1) > 0] @ np.asarray(head.weights).T
    reason = "the columns of W are independent" if independent.holds else ""
    return Theorem.identity(
        "Equal emission laws",
        float(np.ptp(scores)) if len(scores) else 0.0,
        cases=len(scores),
        conditions=(Condition("dependent emissions", not independent.holds, {}, reason),),
    )


class HeadComparison(NamedTuple):
    """What linear heads do on sequences from the world, as shares of right labels."""

    fitted: LinearHead  # logistic regression on the exact outputs
    constructed: LinearHead  # the pseudo-inverse head
    fitted_accuracy: float
    constructed_accuracy: float
    majority: float  # the more frequent label
    rank: int  # of W


@checked(world=one(HMM), length=whole(1), train=whole(1), test=whole(1), ridge=NOT_NEGATIVE)
def best_linear_head(
    world: HMM,
    task: PosteriorTask,
    key: PRNGKeyArray,
    *,
    length: int = 12,
    train: int = 10_000,
    test: int = 10_000,
    ridge: float = 1e-8,
) -> HeadComparison:
    """The best linear head by likelihood against the constructed one, on fresh sequences.

    Where Assumption 3.1 fails this shows what is lost: the fitted head is what any linear head can
    do, the constructed one what the pseudo-inverse makes of a W without left inverse.
    """
    mu = start_weights(world, task)
    sequences = sample_sequences(world, key, length, train + test)
    with jax.enable_x64(True):
        outputs, scores = map(
            np.asarray, outputs_and_scores(unshared(world), unshared(task), sequences)
        )
    labels = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    classes = max(2, len(mu))
    fitted = logistic_regression(outputs[:train], labels[:train], classes, ridge=ridge)
    constructed = pseudo_inverse_head(world, task)
    outputs, labels = outputs[train:], labels[train:]
    return HeadComparison(
        fitted,
        constructed,
        float(accuracy(outputs @ np.asarray(fitted.weights).T + fitted.bias, labels)),
        float(accuracy(outputs @ np.asarray(constructed.weights).T, labels)),
        float(np.bincount(labels).max() / len(labels)),
        nondegenerate(world).numbers["rank"],
    )


@eqx.filter_jit
def outputs_and_scores(
    world: HMM, task: PosteriorTask, sequences: Int[AnyArray, "n T"]
) -> tuple[Float[Array, "n V"], Float[Array, "n *rows"]]:
    """For every sequence: the model's output at a placeholder before it, and the exact scores."""

    def one(tokens: Int[Array, " T"]) -> tuple[Array, Array]:
        shifted = jnp.pad(tokens, (1, 0))
        seen = jnp.arange(shifted.shape[0]) > 0
        return world.conditionals(shifted, seen)[0], task.scores(world, tokens)

    return jax.vmap(one)(jnp.asarray(sequences))
