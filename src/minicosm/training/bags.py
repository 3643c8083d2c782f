r"""Training of `BagAttention` on masked documents that were drawn beforehand, as counts.

The arms of an experiment are members of `fit_ensemble`: loss, optimiser, rate, penalty and what is trained
are numbers of an `Arm`, so that all arms of one shape are one compiled program.

    bags = stack_bags([draw_bags(world, corruption, k, 10_000) for k in keys])
    arms = stack_arms([Arm(BagAttention.random(k, words=world.vocab), rate=0.01) for k in keys])
    arms, history = fit_ensemble(BagLoss(bags), arms, ARMS, 1500, keys)
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray

from minicosm.models import BagAttention
from minicosm.models.checks import (
    check_count,
    check_flag,
    check_key,
    check_kind,
    check_number,
    check_whole,
    shown,
)
from minicosm.worlds import Corruption, TopicWorld
from minicosm.worlds.arrays import AnyArray, check_choice, check_size
from minicosm.worlds.topics.draws import corrupt_documents, draw_documents

Keys = Literal["all", "unchosen"]
ROWS = 4  # rows of a document are a multiple of it, so that draws have few shapes


class Bags(eqx.Module):
    """Masked documents as counts of ids (the mask is 0, word w is w + 1)."""

    counts: Integer[AnyArray, "*stack documents V"]
    """What attention reads."""
    masked: Integer[AnyArray, "*stack documents V"]
    """Labels of chosen positions that show the mask, counted: their queries are alike."""
    queries: Integer[AnyArray, "*stack documents rows"]
    """What the other chosen positions show."""
    labels: Integer[AnyArray, "*stack documents rows"]
    """Their labels; 0 where there is no such position."""

    def __check_init__(self) -> None:
        shapes = {
            name: check_whole(name, getattr(self, name)).shape
            for name in ("counts", "masked", "queries", "labels")
        }
        for name, other in (("masked", "counts"), ("labels", "queries")):
            if shapes[name] != shapes[other]:
                raise ValueError(
                    f"{name} has shape {shapes[name]}; it must have the shape of {other}, {shapes[other]}"
                )
        if len(shapes["counts"]) < 2 or shapes["queries"][:-1] != shapes["counts"][:-1]:
            raise ValueError(
                f"counts has shape {shapes['counts']} and queries has {shapes['queries']}; both must have "
                "a row for every document"
            )

    @property
    def documents(self) -> int:
        return self.counts.shape[-2]


def bag_documents(
    tokens: Int[np.ndarray, "documents N"],
    shown_tokens: Int[np.ndarray, "documents N"],
    observed: Any,
    chosen: Any,
    vocab: int,
    *,
    keys: Keys = "all",
    rows_at_least: int = 0,
) -> Bags:
    """Documents (padded with the id `vocab`) as counts; see `Corruption.corrupt` for what is shown. With keys
    "unchosen" attention reads only positions that are not chosen."""
    check_choice("keys", keys, ("all", "unchosen"))
    real = tokens < vocab
    ids = np.where(observed, shown_tokens + 1, 0)
    read = real if keys == "all" else real & ~chosen
    size, V = len(tokens), vocab + 1
    kind = np.uint8 if tokens.shape[1] < 256 else np.uint16
    rows = np.broadcast_to(np.arange(size)[:, None], tokens.shape)

    def counted(which: np.ndarray, values: np.ndarray) -> np.ndarray:
        flat = np.bincount(rows[which] * V + values[which], minlength=size * V)
        return flat.reshape(size, V).astype(kind)

    masked = chosen & ~observed & real
    others = chosen & observed & real
    most = max(int(others.sum(axis=1).max(initial=0)), rows_at_least)
    width = max(ROWS, -(-most // ROWS) * ROWS)
    place = np.cumsum(others, axis=1) - 1
    queries, labels = np.zeros((2, size, width), np.int32)
    queries[rows[others], place[others]] = ids[others]
    labels[rows[others], place[others]] = tokens[others] + 1
    return Bags(counted(read, ids), counted(masked, tokens + 1), queries, labels)


def draw_bags(
    world: TopicWorld,
    corruption: Corruption,
    key: PRNGKeyArray,
    documents: int,
    *,
    length: int | None = None,
    keys: Keys = "all",
) -> Bags:
    """Draw documents and their masks once."""
    check_kind("world", world, TopicWorld, "a TopicWorld")
    check_kind("corruption", corruption, Corruption, "a Corruption")
    check_key("key", key)
    if length is None and world.lengths is None:
        raise ValueError("length is None; this world has no lengths of its own")
    if length is not None:
        check_count("length", length)
    most = length if length is not None else (world.lengths or (0, 0))[1]
    check_size(
        f"documents = {documents} of length {most}", check_count("documents", documents) * most
    )
    check_size(f"documents = {documents} of {world.vocab} words", documents * (world.vocab + 1))
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    tokens = draw_documents(world, rng, documents, length)
    seen = corrupt_documents(corruption, rng, tokens, world.vocab)
    # As many rows as few draws exceed, so that nearly all draws have one shape.
    chance = corruption.chosen * (corruption.kept + corruption.random)
    often = int(scipy.stats.binom.isf(1e-5, most, chance))
    return bag_documents(tokens, *seen, world.vocab, keys=keys, rows_at_least=often)


# -- arms -------------------------------------------------------------------------------------

PARTS = ("embedding", "attention", "value", "value_bias", "output_bias")
Part = Literal["embedding", "attention", "value", "value_bias", "output_bias"]


class Arm(eqx.Module):
    """A model and how it is trained; all fields are arrays, so that arms can be stacked."""

    model: BagAttention
    trained: BagAttention
    """1 for every array that is trained, 0 for one that is not."""
    rate: Float[AnyArray, "*stack"]
    adam: Float[AnyArray, "*stack"]
    """1: Adam; 0: gradient descent."""
    cross_entropy: Float[AnyArray, "*stack"]
    """1: cross-entropy; 0: squared loss."""
    penalty: Float[AnyArray, "*stack"]
    """lambda of `lambda |theta|^2`, over the trained arrays."""

    def __init__(
        self,
        model: BagAttention,
        *,
        rate: float,
        adam: bool = True,
        cross_entropy: bool = True,
        penalty: float = 0.0,
        frozen: Sequence[Part] = (),
    ):
        """`frozen` parts are not trained; "attention" is keys, queries and their biases."""
        check_kind("model", model, BagAttention, "a BagAttention")
        check_flag("adam", adam)
        check_flag("cross_entropy", cross_entropy)
        if not isinstance(frozen, list | tuple) or not set(map(str, frozen)) <= set(PARTS):
            raise ValueError(f"frozen is {shown(frozen)}; it must be a list of {', '.join(PARTS)}")
        off = set(frozen)
        if "attention" in off:
            off |= {"key", "query", "key_bias", "query_bias"}
        self.model = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model)
        ones = jax.tree.map(lambda leaf: np.ones((), np.float32), model)
        names = [name for name in off & set(vars(ones)) if getattr(ones, name) is not None]
        self.trained = eqx.tree_at(
            lambda m: [getattr(m, name) for name in names],
            ones,
            [np.zeros((), np.float32)] * len(names),
        )
        self.rate = np.asarray(check_number("rate", rate, least=0), np.float32)
        self.adam = np.asarray(adam, np.float32)
        self.cross_entropy = np.asarray(cross_entropy, np.float32)
        self.penalty = np.asarray(check_number("penalty", penalty, least=0), np.float32)


def stack_arms(arms: Sequence[Arm]) -> Arm:
    """Arms of one shape as one, with a leading axis."""
    if not isinstance(arms, list | tuple) or not arms or not all(isinstance(a, Arm) for a in arms):
        raise TypeError(f"arms is {shown(arms)}; it must be a list of Arms")
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(arm)] for arm in arms]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(f"arms[{i}] has arrays of other shapes than arms[0]")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *arms)


_ADAM = optax.scale_by_adam()


def _first(arm: Arm) -> Any:
    return _ADAM.init(arm.model)


def _step(gradient: Arm, state: Any, arm: Arm | None = None) -> Any:
    assert arm is not None
    direction, state = _ADAM.update(gradient.model, state)
    model = jax.tree.map(
        lambda g, d, on: -arm.rate * on * jnp.where(arm.adam > 0, d, g),
        gradient.model, direction, arm.trained,
    )  # fmt: skip
    still = jax.tree.map(jnp.zeros_like, gradient)
    return eqx.tree_at(lambda a: a.model, still, model), state


ARMS = optax.GradientTransformation(_first, _step)
"""The optimiser of arms: each by its own rate, by Adam or by gradient descent, in its trained parts only."""


# -- losses -----------------------------------------------------------------------------------


class Losses(NamedTuple):
    """Sums over the chosen positions of each document."""

    cross_entropy: Float[Array, " documents"]
    squared: Float[Array, " documents"]
    positions: Float[Array, " documents"]


def losses_of(model: BagAttention, bags: Bags) -> Losses:
    """Both losses of a model, document by document."""
    counts = jnp.asarray(bags.counts, jnp.float32)
    masked = jnp.asarray(bags.masked, jnp.float32)
    table = model.scores().T  # [query, key]
    present = counts > 0
    asked = jnp.pad(jnp.asarray(bags.queries), ((0, 0), (1, 0)))  # the mask's query first
    logits = jnp.where(present[:, None], table[asked], -jnp.inf)
    highest = jax.lax.stop_gradient(logits.max(axis=-1, keepdims=True))
    weights = counts[:, None] * jnp.exp(logits - jnp.where(highest > -jnp.inf, highest, 0))
    total = weights.sum(axis=-1, keepdims=True)
    out = model.read(weights / jnp.where(total > 0, total, 1))
    log_sum = jax.nn.logsumexp(out, axis=-1)
    square = jnp.sum(out**2, axis=-1)
    labels = jnp.asarray(bags.labels)
    there = labels > 0
    at_label = jnp.take_along_axis(out[:, 1:], labels[..., None], axis=-1)[..., 0]
    hidden, seen = masked.sum(axis=1), there.sum(axis=1)
    at_masked = (masked * out[:, 0]).sum(axis=1)

    def added(first: Array, others: Array) -> Array:
        return hidden * first + jnp.where(there, others, 0).sum(axis=1)

    matched = at_masked + jnp.where(there, at_label, 0).sum(axis=1)
    cross = added(log_sum[:, 0], log_sum[:, 1:]) - matched
    squared = added(square[:, 0], square[:, 1:]) - 2 * matched + hidden + seen
    return Losses(cross, squared, hidden + seen)


class BagLoss(eqx.Module):
    """The loss of an `Arm` on documents that are drawn from `bags` with replacement: the mean over the chosen
    positions of the batch, or with `by_document` over those of each document, then over documents."""

    bags: Bags
    batch: int = eqx.field(static=True, default=40, kw_only=True)
    by_document: bool = eqx.field(static=True, default=False, kw_only=True)

    def __check_init__(self) -> None:
        check_kind("bags", self.bags, Bags, "Bags")
        check_count("batch", self.batch)
        check_flag("by_document", self.by_document)

    def __call__(
        self, arm: Arm, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        at = jax.random.randint(key, (self.batch,), 0, self.bags.documents)
        found = losses_of(arm.model, jax.tree.map(lambda leaf: jnp.asarray(leaf)[at], self.bags))
        cross, squared = self._mean(found.cross_entropy, found), self._mean(found.squared, found)
        kind = jax.lax.stop_gradient(arm.cross_entropy)
        loss = jnp.where(kind > 0, cross, squared)
        squares = jax.tree.map(
            lambda leaf, on: jax.lax.stop_gradient(on) * jnp.sum(leaf**2), arm.model, arm.trained
        )
        penalty = jax.lax.stop_gradient(arm.penalty) * sum(jax.tree.leaves(squares))
        return loss + penalty, {"cross_entropy": cross, "squared": squared}

    def _mean(self, sums: Array, found: Losses) -> Array:
        if self.by_document:
            return jnp.mean(sums / jnp.maximum(found.positions, 1))
        return sums.sum() / jnp.maximum(found.positions.sum(), 1)


def stack_bags(bags: Sequence[Bags]) -> Bags:
    """Documents for each member of an ensemble; members have as many documents."""
    if not isinstance(bags, list | tuple) or not bags or not all(isinstance(b, Bags) for b in bags):
        raise TypeError(f"bags is {shown(bags)}; it must be a list of Bags")
    shapes = {bag.counts.shape for bag in bags}
    if len(shapes) > 1:
        raise ValueError(f"bags have counts of shapes {sorted(shapes)}; they must have one shape")
    width = max(bag.queries.shape[1] for bag in bags)

    def wide(rows: AnyArray) -> np.ndarray:
        return np.pad(np.asarray(rows), ((0, 0), (0, width - rows.shape[1])))

    return Bags(
        np.stack([bag.counts for bag in bags]),
        np.stack([bag.masked for bag in bags]),
        np.stack([wide(bag.queries) for bag in bags]),
        np.stack([wide(bag.labels) for bag in bags]),
    )


@eqx.filter_jit
def _losses(models: BagAttention, bags: Bags) -> Losses:
    return jax.vmap(lambda model: losses_of(model, bags))(models)


def mean_losses(models: BagAttention, bags: Bags, batch: int = 250) -> dict[str, np.ndarray]:
    """Mean losses over the chosen positions of all documents, for stacked models."""
    check_kind("models", models, BagAttention, "a BagAttention with a leading axis")
    check_kind("bags", bags, Bags, "Bags")
    check_count("batch", batch)
    sums = np.zeros(3)
    for start in range(0, bags.documents, batch):
        part = jax.tree.map(lambda leaf, s=start: leaf[s : s + batch], bags)
        sums = sums + np.array([np.asarray(x, float).sum(axis=1) for x in _losses(models, part)]).T
    return {"cross_entropy": sums[:, 0] / sums[:, 2], "squared": sums[:, 1] / sums[:, 2]}
