r"""Stage 2: losses of attention that weighs the own word by beta, its topic by alpha, all else by 1.

Everything is about queries that show a word (a chosen position that was kept or replaced); a query that
shows the mask attends uniformly. By symmetry only groups of words matter: the query's word, the other words
of its topic, the other topics of the document, the topics outside it. Formulas hold for any T.

**Keys that show the mask.** The source's normalisers z1, z2 leave them out, while its display of `W_V y`
supposes that they have their share k. `keys` says what is meant: "printed" takes both as they stand, "full"
gives them weight 1 (so that z becomes z + k) with `W_V` as in Theorem 2.1.2 or Definition 2.1.2, "hidden"
gives them none with the same `W_V`.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.optimize import brentq, minimize

from minicosm.models import BagAttention
from minicosm.worlds import Corruption, TopicWorld
from minicosm.worlds.arrays import AnyArray

from ..checks import NOT_NEGATIVE, reals, whole
from ..signatures import checked
from .masked_documents import check_ids, constants, features
from .stage1 import block_value, diagonal_value, generator

Value = Literal["block", "diagonal"]
MaskKeys = Literal["printed", "full", "hidden"]
VALUES: tuple[Value, ...] = ("block", "diagonal")
WEIGHTS = reals(least=0)


class Levels(NamedTuple):
    """What attention and value matrix put out, by groups of words, for one kind of query."""

    own: Any
    """At the query's word."""
    topic: Any
    """At each other word of its topic."""
    document: Any
    """At each word of the other topics of the document."""
    outside: Any
    """At each word of topics that are not in the document."""


def _tau(world: TopicWorld) -> int:
    if world.per_document is None:
        raise ValueError(
            "world has a Dirichlet mixture; attention losses are of infinite documents of tau topics"
        )
    return world.per_document


def normalisers(
    world: TopicWorld,
    corruption: Corruption,
    alpha: Any,
    beta: Any,
    keys: MaskKeys,
    mask: Any = 1.0,
) -> tuple[Any, Any]:
    """`z1` of a query whose topic is in the document, and `z2` of one whose topic is not; with keys "full"
    masked keys have the weight `mask`."""
    T, v, tau = world.topics, world.words, _tau(world)
    p1 = corruption.a / (v * tau) + corruption.b / (v * T)
    p2 = corruption.b / (v * T)
    k = corruption.k * mask if keys == "full" else 0.0
    own = beta + alpha * (v - 1)
    z1 = own * p1 + p1 * v * (tau - 1) + p2 * v * (T - tau) + k
    z2 = own * p2 + p1 * v * tau + p2 * v * (T - tau - 1) + k
    return z1, z2


def outputs(
    world: TopicWorld,
    corruption: Corruption,
    alpha: Any,
    beta: Any,
    value: Value,
    keys: MaskKeys,
    mask: Any = 1.0,
) -> tuple[Levels, Levels]:
    """What the layer puts out for a query inside the document's topics, and for one outside them."""
    T, v, tau = world.topics, world.words, _tau(world)
    at = constants(world, corruption)
    p1 = at.a / (v * tau) + at.b / (v * T)
    p2 = at.b / (v * T)
    z1, z2 = normalisers(world, corruption, alpha, beta, keys, mask)
    seen = [
        Levels(beta * p1 / z1, alpha * p1 / z1, p1 / z1, p2 / z1),
        Levels(beta * p2 / z2, alpha * p2 / z2, p1 / z2, p2 / z2),
    ]
    if value == "block":  # the mean over the topic stands at each of its words
        seen = [
            Levels(m, m, y.document, y.outside)
            for y in seen
            for m in [(y.own + (v - 1) * y.topic) / v]
        ]
    if keys == "printed":
        shift: tuple[Any, Any] = (-at.b * at.c3 / world.vocab,) * 2
    else:  # W_V is q of topic means, plus u nu: nu . y is zero only if the mask has the share k
        u = -(at.c1 * at.c2 + at.c3) / (at.c2**2 + world.vocab) if value == "block" else 0.0
        masks = [at.k * mask / z if keys == "full" else 0.0 * z for z in (z1, z2)]
        first, second = (-at.c1 * y0 + u * (1 - y0 - at.c2 * y0) for y0 in masks)
        shift = (first, second)
    inside, outside = (
        Levels(*(at.c3 * level + s for level in y)) for y, s in zip(seen, shift, strict=True)
    )
    return inside, outside


def word_loss(
    world: TopicWorld,
    corruption: Corruption,
    alpha: Any,
    beta: Any,
    value: Value,
    keys: MaskKeys,
    mask: Any = 1.0,
) -> Any:
    r"""The squared loss at queries that show a word. With outputs o, each event (where the label is relative
    to the query) contributes `P(event) (sum_i o_i^2 + 1 - 2 o_label)`. It is analytic in the weights."""
    T, v, tau = world.topics, world.words, _tau(world)
    kept, random = corruption.kept, corruption.random
    inside, outside = outputs(world, corruption, alpha, beta, value, keys, mask)
    first = inside.own**2 + (v - 1) * inside.topic**2
    first = first + v * (tau - 1) * inside.document**2 + v * (T - tau) * inside.outside**2
    second = outside.own**2 + (v - 1) * outside.topic**2
    second = second + v * tau * outside.document**2 + v * (T - tau - 1) * outside.outside**2
    loss = (kept + random / (T * v)) * (first + 1 - 2 * inside.own)
    loss = loss + random / T * (1 - 1 / v) * (first + 1 - 2 * inside.topic)
    loss = loss + random * (tau - 1) / T * (first + 1 - 2 * inside.document)
    if tau < T:
        loss = loss + random * (1 - tau / T) * (second + 1 - 2 * outside.document)
    return loss


@checked(alpha=WEIGHTS, beta=WEIGHTS)
def attention_loss(
    world: TopicWorld,
    corruption: Corruption,
    alpha: Float[np.ndarray, "..."],
    beta: Float[np.ndarray, "..."],
    value: Value = "block",
    keys: MaskKeys = "full",
    total: bool = True,
) -> Float[np.ndarray, "..."]:
    r"""The squared loss in infinite documents, at chosen positions that show a word; with `total` that of
    masked ones, `(1 - p_c - p_r) (1 - 1/(tau v))`, is added."""
    try:
        np.broadcast_shapes(alpha.shape, beta.shape)
    except ValueError:
        raise ValueError(
            f"alpha has shape {alpha.shape} and beta has shape {beta.shape}; they must fit together"
        ) from None
    if np.any((beta == 0) & (alpha == 0)) and _tau(world) == 1:
        raise ValueError("alpha and beta are both 0; the own topic is all of the document")
    loss = word_loss(world, corruption, alpha, beta, value, keys)
    blind = (1 - corruption.kept - corruption.random) * world.stage1_loss()
    return np.asarray(loss + blind if total else loss)


class BestAttention(NamedTuple):
    """The best attention of a family, and its loss."""

    topic: float
    """gamma = `((v - 1) alpha + beta) / v`, the mean weight of the own topic."""
    alpha: float
    beta: float
    loss: float

    def __str__(self) -> str:
        return (
            f"own topic x {self.topic:.4g}, own word x {self.beta:.4g}, other words of the topic x "
            f"{self.alpha:.4g}, loss {self.loss:.5f}"
        )


@checked()
def best_attention(
    world: TopicWorld,
    corruption: Corruption,
    value: Value = "block",
    keys: MaskKeys = "full",
    total: bool = True,
) -> BestAttention:
    """The weights that minimise the loss. With the block matrix only gamma matters: alpha = beta = gamma is
    returned. Where the infimum of the diagonal one is at alpha = 0, alpha is 0.

    The loss is nearly flat in alpha, so zeros of its derivative are sought and not its least value.
    """
    size = np.log(float(_tau(world)))
    v = world.words
    blind = (1 - corruption.kept - corruption.random) * world.stage1_loss() if total else 0.0

    def loss(alpha: Any, beta: Any) -> Any:
        return word_loss(world, corruption, alpha, beta, value, keys)

    if value == "block" or v == 1:
        logs = np.linspace(size - 12, size + 25, 300)
        log = _zero(
            lambda x: _slope(lambda g: loss(g, g), np.exp(x)),
            logs,
            loss(np.exp(logs), np.exp(logs)),
        )
        gamma = float(np.exp(log))
        return BestAttention(gamma, gamma, gamma, float(loss(gamma, gamma)) + blind)
    betas = np.linspace(size + np.log(v) - 12, size + np.log(v) + 20, 200)

    def beta_of(alpha: float) -> float:
        """The best beta for this alpha."""
        values = loss(alpha, np.exp(betas))
        log = _zero(lambda x: _slope(lambda b: loss(alpha, b), np.exp(x)), betas, values)
        return float(np.exp(log))

    def slope_of(alpha: float) -> float:
        """The derivative of the loss with its best beta."""
        beta = beta_of(alpha)
        return _slope(lambda a: loss(a, beta), alpha)

    alphas = np.exp(np.linspace(np.log(1e-6), size + 8, 60))
    slopes = [slope_of(float(alpha)) for alpha in alphas]
    turns = [i for i in range(len(alphas) - 1) if slopes[i] < 0 <= slopes[i + 1]]
    found = [
        float(np.exp(brentq(lambda x: slope_of(float(np.exp(x))), *np.log(alphas[i : i + 2]))))
        for i in turns
    ]
    best = min([0.0, *found], key=lambda alpha: float(loss(alpha, beta_of(alpha))))
    beta = beta_of(best)
    return BestAttention(((v - 1) * best + beta) / v, best, beta, float(loss(best, beta)) + blind)


def _slope(function: Any, x: float) -> float:
    """The derivative, by a complex step: nothing is subtracted."""
    step = 1e-20 * x
    return float(np.imag(function(x + 1j * step)) / step)


def _zero(slope: Any, places: np.ndarray, values: np.ndarray) -> float:
    """The zero of the slope next to the least of the values on a grid."""
    at = int(np.clip(np.argmin(values), 1, len(places) - 2))
    low, high = places[at - 1], places[at + 1]
    if not slope(low) < 0 < slope(high):
        return float(places[np.argmin(values)])
    return float(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))


# -- the family as a model --------------------------------------------------------------------


@checked(alpha=NOT_NEGATIVE, beta=NOT_NEGATIVE)
def attention_model(
    world: TopicWorld,
    corruption: Corruption,
    alpha: float,
    beta: float,
    value: Value = "block",
) -> BagAttention:
    """Assumption 2.1.2 as weights: `W_K = I`, `W_Q = sqrt(V) G` with the logarithms G of the weights (which
    must be positive), one-hot embeddings, and the value matrix of the same name."""
    check_ids(world)
    if alpha == 0 or beta == 0:
        raise ValueError(
            f"alpha is {alpha:g} and beta is {beta:g}; both must be positive, as softmax has no zeros"
        )
    ids, topic = world.vocab + 1, world.labels
    table = np.zeros((ids, ids))
    table[1:, 1:] = np.where(topic[:, None] == topic, np.log(alpha), 0.0)
    np.fill_diagonal(table[1:, 1:], np.log(beta))
    W = (block_value if value == "block" else diagonal_value)(world, corruption)
    return BagAttention(None, np.eye(ids), np.sqrt(ids) * table, W)


@eqx.filter_jit
def _outputs(model: BagAttention, counts: AnyArray, queries: AnyArray) -> Any:
    return model.logits(counts, queries)


@checked()
def loss_by_tokens(
    model: BagAttention, world: TopicWorld, corruption: Corruption, hidden: bool = False
) -> float:
    """The squared loss of a model at chosen positions that show a word, by a sum over all infinite
    documents, labels and words that may be shown; with `hidden` no query reads the mask."""
    import jax

    sets = world.topic_sets()[:, world.labels]
    rows = features(world, corruption)
    total, words = 0.0, np.arange(1, world.vocab + 1)
    with jax.enable_x64(True):
        for inside, x in zip(sets, rows, strict=True):
            counts = x.copy()
            counts[0] = 0.0 if hidden else counts[0]
            out = np.asarray(_outputs(model, counts, words), float)
            labels = inside / inside.sum()
            # joint[q, i] = P(the position shows q and its label is i)
            joint = corruption.kept * np.diag(labels)
            joint = joint + corruption.random / world.vocab * labels[None]
            squares = (out**2).sum(axis=1) + 1
            total += float((joint * (squares[:, None] - 2 * out[:, 1:])).sum())
    return total / len(sets)


@checked(starts=whole(1, 100))
def free_table_minimum(
    world: TopicWorld,
    corruption: Corruption,
    value: Value,
    key: PRNGKeyArray,
    starts: int = 4,
    hidden: bool = False,
) -> Float[np.ndarray, " starts"]:
    """The least losses (at positions that show a word) over all tables of weights from words to words, by
    L-BFGS from random starts. Masked keys have weight 1 (the scale of a query's other weights is free), or
    with `hidden` none."""
    check_ids(world)
    W = (block_value if value == "block" else diagonal_value)(world, corruption)
    sets = world.topic_sets()[:, world.labels]
    rows, rng = features(world, corruption), generator(key)
    n = world.vocab
    labels = sets / sets.sum(axis=1, keepdims=True)
    joint = corruption.kept * labels[:, None] * np.eye(n)
    joint = (joint + corruption.random / n * labels[:, None]) / len(sets)  # [set, query, label]
    mass = joint.sum(axis=2)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        y = np.zeros((len(sets), n, n + 1))  # [set, query, key]
        y[:, :, 1:] = rows[:, None, 1:] * np.exp(flat.reshape(n, n))
        y[:, :, 0] = 0.0 if hidden else rows[:, :1]
        y /= y.sum(axis=2, keepdims=True)
        out = y @ W.T
        loss = (mass * ((out**2).sum(axis=2) + 1)).sum() - 2 * (joint * out[:, :, 1:]).sum()
        slope = 2 * mass[:, :, None] * out
        slope[:, :, 1:] -= 2 * joint
        back = slope @ W
        change = y * (back - (y * back).sum(axis=2, keepdims=True))
        return float(loss), change[:, :, 1:].sum(axis=0).ravel()

    options: Any = {"maxiter": 5000, "maxfun": 10_000, "ftol": 0.0, "gtol": 1e-13, "maxcor": 40}
    starting = rng.normal(size=(starts, n * n))
    found = [
        minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun
        for start in starting
    ]
    return np.array(found, float)


def symmetric_minimum(
    world: TopicWorld, corruption: Corruption, value: Value, hidden: bool = False
) -> float:
    """The least loss (at positions that show a word) of attention with weights alpha, beta, 1 for words and a
    weight of its own for the mask, or with `hidden` none."""
    best = best_attention(world, corruption, value, "hidden" if hidden else "full", total=False)
    if hidden:
        return best.loss

    def objective(logs: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.exp(logs)
        alpha, beta, mask = weights
        loss = word_loss(world, corruption, alpha, beta, value, "full", mask)
        slopes = []
        for i in range(3):
            moved = weights.astype(complex)
            moved[i] += 1e-20j * weights[i]
            alpha, beta, mask = moved
            step = word_loss(world, corruption, alpha, beta, value, "full", mask)
            slopes.append(np.imag(step) / 1e-20)
        return float(loss), np.array(slopes)

    start = np.log([np.maximum(best.alpha, 1e-3), best.beta, 1.0])
    options: Any = {"maxiter": 5000, "ftol": 0.0, "gtol": 1e-13}
    return float(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun)
