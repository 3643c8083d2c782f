"""Worlds, sequences, labels and regressions for many worlds at once.

Everything here has a leading axis of worlds and runs in float64 (call it under
`jax.enable_x64(True)`): a quarter of the labels of these tasks hinge on margins below 1e-6, and heads
on ill-conditioned emissions need every digit.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.adaptation import slot_messages
from minicosm.adaptation.heads import AnyArray
from minicosm.worlds import HMM, MemoryHMM, PosteriorTask
from minicosm.worlds.hmm.chain import normalise

World = TypeVar("World", HMM, MemoryHMM)

TRIES = 20  # draws of mu before a one-class task is accepted
ZERO = 1e-12


class Split(NamedTuple):
    """Sizes of the training, validation and test sets, in the order in which they are drawn."""

    train: int = 5000
    validation: int = 500
    test: int = 1000

    @property
    def total(self) -> int:
        return self.train + self.validation + self.test

    def parts(self) -> tuple[slice, slice, slice]:
        a, b = self.train, self.train + self.validation
        return slice(0, a), slice(a, b), slice(b, self.total)


# -- sequences --------------------------------------------------------------------------------


def sample_tokens(
    worlds: World, key: PRNGKeyArray, count: int, length: int
) -> Int[AnyArray, "w n T"]:
    """`count` sequences from each of the stacked worlds."""
    keys = jax.random.split(key, np.shape(worlds.A)[0])
    return _sample_tokens(jax.tree.map(jnp.asarray, worlds), keys, count, length)


@partial(jax.jit, static_argnames=("count", "length"))
def _sample_tokens(worlds: Any, keys: Array, count: int, length: int) -> Array:
    def one(pair: tuple[Any, Array]) -> Array:
        world, key = pair
        return jax.vmap(lambda k: world.sample(k, length).tokens)(jax.random.split(key, count))

    return jax.lax.map(one, (worlds, keys))


def at_temperatures(worlds: World, temperatures: Sequence[float]) -> World:
    """The same worlds at each emission temperature t in turn (all worlds at the first, then all at
    the next): `softmax(log W / t)` of worlds drawn at temperature 1 has their logits over t."""
    count = np.shape(worlds.A)[0]
    stacked = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * len(temperatures)), worlds)
    t = jnp.repeat(jnp.asarray(temperatures), count).reshape(-1, *(1,) * (worlds.W.ndim - 1))
    return eqx.tree_at(lambda w: w.W, stacked, jax.nn.softmax(jnp.log(stacked.W) / t, axis=1))


# -- posteriors and labels --------------------------------------------------------------------


@jax.jit
def all_slot_messages(worlds: HMM, tokens: Int[AnyArray, "w n T"]) -> Float[AnyArray, "w n H"]:
    """`slot_messages` in every world, for the tokens right of the slot."""
    return jax.lax.map(lambda pair: slot_messages(*pair), (worlds, tokens))


@jax.jit
def slot_posteriors(
    prior: Float[AnyArray, "w H"], messages: Float[AnyArray, "w n H"]
) -> Float[AnyArray, "w n H"]:
    """`P[H_slot | x]` for a given law of the slot (that of H_1, or of H_0 for tasks on H_0)."""
    return normalise(jnp.asarray(prior)[:, None, :] * messages)


class Labels(NamedTuple):
    """Exact labels of every example in every world."""

    mu: Float[AnyArray, "w rows S"]
    labels: Int[AnyArray, "w n"]
    margins: Float[AnyArray, "w n"]  # second row's score minus the first's
    two_classes: Bool[AnyArray, " w"]  # whether every split has both classes


def sparse_tasks(key: PRNGKeyArray, posteriors: Float[AnyArray, "w n S"], split: Split) -> Labels:
    """The tasks of the simulations: mu has 2 rows and 6 nonzeros (places drawn with replacement over
    both rows), the label is the argmax, and mu is redrawn, at most 20 times, while a split has one
    class only. All candidates are drawn at once and the first good one is taken."""
    keys = jax.random.split(key, (posteriors.shape[0], TRIES))
    return _sparse_tasks(keys, posteriors, split)


@partial(jax.jit, static_argnames="split")
def _sparse_tasks(keys: Array, posteriors: Array, split: Split) -> Labels:
    def one(pair: tuple[Array, Array]) -> Labels:
        keys, law = pair
        size = law.shape[1]
        mus = jax.vmap(lambda k: PosteriorTask.random(k, size).mu)(keys)
        scores = jnp.einsum("ns,crs->crn", law, mus)
        ones = scores[:, 1] > scores[:, 0]  # the argmax; of two equal scores it is the first
        good = jnp.ones(TRIES, bool)
        for part in split.parts():
            share = jnp.mean(ones[:, part], axis=1)
            good &= (share > 0) & (share < 1)
        pick = jnp.where(jnp.any(good), jnp.argmax(good), TRIES - 1)
        margins = scores[pick, 1] - scores[pick, 0]
        return Labels(mus[pick], ones[pick].astype(int), margins, good[pick])

    return jax.lax.map(one, (keys, posteriors))


def sign_labels(
    mu: Float[AnyArray, "w S"], posteriors: Float[AnyArray, "w n S"]
) -> Int[AnyArray, "w n"]:
    """`1(mu . P >= 0)`, where a score below 1e-12 in size counts as the zero that it stands for: a
    balanced task puts its threshold on the score of some example, and equal ones are frequent."""
    return (jnp.einsum("wns,ws->wn", posteriors, mu) >= -ZERO).astype(int)


def balanced_dense(
    mu: Float[AnyArray, "w S"], posteriors: Float[AnyArray, "w n S"]
) -> Float[AnyArray, "w S"]:
    """`mu - median_x(mu . P_x)` in every world: both classes equally likely."""
    scores = jnp.einsum("wns,ws->wn", posteriors, mu)
    return mu - jnp.median(scores, axis=1)[:, None]


def majority(labels: Int[AnyArray, "w n"]) -> Float[np.ndarray, " w"]:
    """The share of the more frequent of two classes."""
    share = np.asarray(labels).mean(axis=1)
    return np.maximum(share, 1 - share)


def lists(**columns: Any) -> dict[str, list]:
    """Per-world columns as plain lists, for the numbers of a trial."""
    return {name: np.asarray(value).tolist() for name, value in columns.items()}
