"""Topics in token embeddings: uniform attention, `W_V = I`, output tied to the embedding (Theorem 2.1.1)."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.optimize import minimize

from minicosm.models import BagAttention
from minicosm.worlds import Corruption, TopicWorld

from ..checks import real, whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .masked_documents import (
    check_ids,
    constants,
    documents_differ,
    features,
    labels,
    moments,
    null_direction,
    sets_of_topics,
)
from .stage1 import generator, least_loss, loss_of, misfit

START = 0.1  # deviation of the entries that a search starts from
FOUND = 1e-6  # how closely a minimiser that was searched for meets a condition


@checked()
def embedding_bias(world: TopicWorld, corruption: Corruption) -> Float[np.ndarray, " V"]:
    """`b_pred = -b / (a T v)` for words and 0 for the mask: it takes away what random words add."""
    check_ids(world)
    bias = np.full(world.vocab + 1, -corruption.b / (corruption.a * world.vocab))
    bias[0] = 0
    return bias


def _effective(E: np.ndarray, world: TopicWorld, corruption: Corruption) -> np.ndarray:
    """The value matrix that does what `E x + b_pred` does: the frequency of the mask is always k."""
    W = E.copy()
    W[:, 0] += embedding_bias(world, corruption) / corruption.k
    return W


@checked()
def embedding_loss(E: Float[np.ndarray, "V V"], world: TopicWorld, corruption: Corruption) -> float:
    """The squared loss of the Gram matrix `E = W_E^T W_E`, in infinite documents."""
    check_ids(world)
    if E.shape != (world.vocab + 1,) * 2:
        raise ValueError(f"E has shape {E.shape}; it must have shape {(world.vocab + 1,) * 2}")
    return loss_of(_effective(np.asarray(E, float), world, corruption), moments(world, corruption))


@checked()
def topic_contrast(E: Float[np.ndarray, "V V"], world: TopicWorld) -> float:
    """The mean sum over the own topic less the mean sum over another topic, in rows of words."""
    sums = np.asarray(E, float)[1:, 1:].reshape(world.vocab, world.topics, world.words).sum(axis=2)
    own = world.labels[:, None] == np.arange(world.topics)
    return float(sums[own].mean() - sums[~own].mean()) if world.topics > 1 else float("nan")


def embedding_model(
    W_E: Float[np.ndarray, "d V"], world: TopicWorld, corruption: Corruption
) -> BagAttention:
    """The layer of Theorem 2.1.1 with these embeddings."""
    d = len(W_E)
    zero = np.zeros((d, d))
    bias = embedding_bias(world, corruption)
    return BagAttention(W_E, zero, zero, np.eye(d), output_bias=bias)


def model_loss(model: BagAttention, world: TopicWorld, corruption: Corruption) -> float:
    """The squared loss of a model with uniform attention, by running it on every infinite document."""
    import jax

    with jax.enable_x64(True):
        out = np.asarray(model.read(features(world, corruption)), float)
    law = labels(world)
    return float(((out**2).sum(axis=1) - 2 * (out * law).sum(axis=1) + 1).mean())


@checked(shift=real(least=0))
def theorem_2_1_1(
    world: TopicWorld, corruption: Corruption, *, shift: float = 0.0, diagonal: bool = False
) -> Theorem:
    r"""Optimal embeddings have Gram matrices `E = W_E^T W_E` whose sums over the own topic exceed those over
    others by `1/a`. The construction has `E = (c3/v) blockdiag(0, 11^T, ..., 11^T) + shift nu nu^T`, or with
    `diagonal` `c3 diag(0, 1, ..., 1)`; `certify()` runs it on every document and checks the conditions."""
    conditions = (sets_of_topics(world), documents_differ(world))
    if not all(condition.holds for condition in conditions):
        return Theorem("Theorem 2.1.1", conditions)
    at, ids = constants(world, corruption), world.vocab + 1
    if diagonal:
        W_E = np.sqrt(at.c3) * np.eye(ids)[1:]
    else:
        W_E = np.zeros((world.topics, ids))
        W_E[world.labels, np.arange(1, ids)] = np.sqrt(at.c3 / world.words)
        if shift:
            nu = null_direction(world, corruption)
            W_E = np.concatenate([W_E, np.sqrt(shift) * nu[None]])
    model = embedding_model(W_E, world, corruption)

    def check() -> Theorem:
        E = W_E.T @ W_E
        excess = abs(model_loss(model, world, corruption) - least_loss(world))
        off = misfit(E, world, corruption, c1=0.0).max()
        return Theorem.identity(
            "Theorem 2.1.1",
            float(max(excess, off)),
            details={"contrast": topic_contrast(E, world), "excess loss": float(excess)},
        )

    return Theorem("Theorem 2.1.1", conditions, construction=model, check=check)


class Minimiser(NamedTuple):
    """Embeddings that a search found."""

    W_E: Float[np.ndarray, "d V"]
    loss: float
    misfit: float
    """The largest error of the conditions of item 3."""
    contrast: float
    across: float
    """The mean inner product of words of different topics."""


@checked(width=whole(1, 2**10), starts=whole(1, 2**10))
def embedding_minimiser(
    world: TopicWorld, corruption: Corruption, width: int, key: PRNGKeyArray, starts: int = 4
) -> Minimiser:
    """Minimise the loss over `W_E` of `width` rows by L-BFGS; the best of several random starts.

    The loss has local minima that miss a topic (with larger starts they are found more often).
    """
    M, C = moments(world, corruption)
    ids, rng = len(M), generator(key)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(width, ids)
        E = _effective(W.T @ W, world, corruption)
        slope = 2 * (E @ M - C)
        value = np.sum((E @ M) * E) - 2 * np.sum(E * C)
        return float(value), (W @ (slope + slope.T)).ravel()

    options: Any = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-13, "maxcor": 40}
    found = [
        minimize(
            objective, START * rng.normal(size=width * ids), jac=True, method="L-BFGS-B",
            options=options,
        )
        for _ in range(starts)
    ]  # fmt: skip
    best = min(found, key=lambda one: one.fun)
    W = best.x.reshape(width, ids)
    E = W.T @ W
    rows = misfit(E, world, corruption, c1=0.0).reshape(ids, -1)[1:]
    apart = world.labels[:, None] != world.labels
    across = float(E[1:, 1:][apart].mean()) if apart.any() else 0.0
    return Minimiser(W, float(best.fun) + 1, float(rows.max()), topic_contrast(E, world), across)


def _wide(world: TopicWorld, width: int) -> Condition:
    T = world.topics
    reason = "" if width >= T else f"the width is {width}, less than the {T} topics"
    return Condition("d >= T", width >= T, {"d": width, "T": T}, reason)


@checked(width=whole(1, 2**10))
def theorem_2_1_1_found(
    world: TopicWorld,
    corruption: Corruption,
    width: int,
    key: PRNGKeyArray,
    *,
    as_printed: bool = False,
) -> Theorem:
    """Embeddings that minimise the loss meet item 3: the error is the largest difference of a topic sum. It
    needs width d >= T, which print does not ask: a Gram matrix of less rank cannot meet it."""
    name = "Theorem 2.1.1 for every width" if as_printed else "Theorem 2.1.1, found"
    conditions: tuple[Condition, ...] = (sets_of_topics(world), documents_differ(world))
    conditions += () if as_printed else (_wide(world, width),)
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    found = embedding_minimiser(world, corruption, width, key)
    excess = found.loss - least_loss(world)
    return Theorem.identity(
        name,
        max(found.misfit, abs(excess)),
        within=FOUND,
        conditions=conditions,
        details={"d": width, "T": world.topics, "loss": found.loss, "contrast": found.contrast},
    )


@checked(width=whole(1, 2**10))
def embedding_rank(
    world: TopicWorld, corruption: Corruption, width: int, key: PRNGKeyArray
) -> Theorem:
    r"""For d <= T the least loss is `1 - 1/(tau v) + (T - d)(T - tau) / (tau v T (T - 1))` and the mean
    contrast of topic sums is `c3 (d - 1)/(T - 1)`; the error is the larger difference."""
    T, v, tau = world.topics, world.words, world.per_document
    narrow = Condition(
        "d <= T", width <= T, {"d": width, "T": T}, f"the width is {width}, more than {T} topics"
    )
    conditions = (sets_of_topics(world), documents_differ(world), narrow)
    if not all(condition.holds for condition in conditions):
        return Theorem("Embeddings of less rank", conditions)
    assert tau is not None
    found = embedding_minimiser(world, corruption, width, key)
    loss = least_loss(world) + (T - width) * (T - tau) / (tau * v * T * (T - 1))
    contrast = constants(world, corruption).c3 * (width - 1) / (T - 1)
    error = max(abs(found.loss - loss), abs(found.contrast - contrast))
    return Theorem.identity(
        "Embeddings of less rank",
        error,
        within=FOUND,
        conditions=conditions,
        details={"d": width, "T": T, "loss": found.loss, "contrast": found.contrast},
    )


@checked(width=whole(1, 2**10))
def nonnegative_across(
    world: TopicWorld, corruption: Corruption, width: int, key: PRNGKeyArray
) -> Theorem:
    """At an optimum the mean inner product of words of different topics is not negative: `u E u >= 0` for
    the sum u of all words forces the mean of the u_i to be so. The slack is this mean."""
    conditions = (sets_of_topics(world), documents_differ(world), _wide(world, width))
    if not all(condition.holds for condition in conditions):
        return Theorem("No negative mean across topics", conditions)
    found = embedding_minimiser(world, corruption, width, key)
    return Theorem.inequality(
        "No negative mean across topics",
        found.across,
        within=FOUND,
        conditions=conditions,
        details={"misfit": found.misfit},
    )


@checked()
def embedding_example(
    world: TopicWorld, corruption: Corruption, *, as_printed: bool = False
) -> Theorem:
    """The simplest optimum, all u zero: `E = (1/a) diag(0, 1, ..., 1)`, printed `(1/a) I`. The error is the
    excess loss; `(1/a) I` predicts the mask with `k/a`, which costs its square."""
    name = "Simplest embedding as printed" if as_printed else "Simplest embedding"
    conditions = (sets_of_topics(world), documents_differ(world))
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    E = np.eye(world.vocab + 1) / corruption.a
    if not as_printed:
        E[0, 0] = 0
    excess = embedding_loss(E, world, corruption) - least_loss(world)
    return Theorem.identity(
        name,
        abs(excess),
        conditions=conditions,
        details={"loss": excess + least_loss(world), "(k/a)^2": (corruption.k / corruption.a) ** 2},
    )
