"""What is measured on trained models: closing queries, attention on fixed strings.

Models are stacked, one for every seed; each sees the same strings.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.worlds import ClosingQuery, Dyck
from minicosm.worlds.arrays import AnyArray

from .objective import with_start

CHUNK = 25  # strings that a model reads at once


class Closing(NamedTuple):
    """Answers to closing queries, one number for every seed."""

    accuracy: Float[np.ndarray, " seeds"]
    """Shares of right answers, where the answer is the likeliest of the closed tokens."""
    of_all: Float[np.ndarray, " seeds"]
    """The same with the likeliest of all tokens."""
    hard: Float[np.ndarray, " seeds"]
    """`accuracy` on the queries after a closed bracket; chance is 1 / types."""
    hard_queries: int


def closing(
    models: Any, world: Dyck, key: PRNGKeyArray, count: int, lengths: tuple[int, int], pairs: bool
) -> Closing:
    """`count` prefixes with lengths drawn uniformly from `lengths[0]..lengths[1]` that end in a closed
    bracket, which is to be predicted from those before it."""
    answers: Any = _closing(models, world, key, count, lengths, pairs)
    right, all_right, hard = map(np.asarray, answers)
    kept = right[:, hard]
    return Closing(
        right.mean(axis=1),
        all_right.mean(axis=1),
        kept.mean(axis=1) if hard.any() else np.full(len(kept), np.nan),
        int(hard.sum()),
    )


@eqx.filter_jit
def _closing(
    models: Any,
    world: Dyck,
    key: PRNGKeyArray,
    count: int,
    lengths: tuple[int, int],
    pairs: bool,
) -> tuple[Array, Array, Array]:
    def ask(key: PRNGKeyArray) -> ClosingQuery:
        shortest, longest = lengths
        drawn = world.sample_closing(key, longest, shortest).tokens
        return world.closing_query(drawn)

    queries = jax.vmap(ask)(jax.random.split(key, count))

    def answer(model: Any, query: ClosingQuery) -> tuple[Array, Array]:
        ids = with_start(world, query.tokens, pairs)
        logits = model.logits(model.embed(ids), query.position[None] + 1)[0]
        closed = 2 * jnp.argmax(logits[1::2]) + 1
        return closed == query.answer, jnp.argmax(logits) == query.answer

    def one(model: Any) -> tuple[Array, Array]:
        return jax.lax.map(lambda query: answer(model, query), queries, batch_size=CHUNK)

    right, all_right = eqx.filter_vmap(one, in_axes=(eqx.if_array(0),))(models)
    return right, all_right, queries.hard


def copied(
    models: Any, tokens: Int[AnyArray, "n T"], uniform: bool = False
) -> Float[np.ndarray, " seeds"]:
    """Shares of brackets that models of the copy task name, for every seed.

    With `uniform`, every attention map is replaced by the mean over what may be read.
    """
    if uniform:
        models = without_attention(models)

    def each(model: Any) -> Array:
        start = jnp.full((len(tokens), 1), model.vocab, tokens.dtype)
        logits = jax.vmap(model.next_logits)(jnp.concatenate([start, tokens], axis=1))[:, 1:]
        return jnp.mean(jnp.argmax(logits, axis=-1) == tokens)

    tokens = jnp.asarray(tokens)
    return np.asarray(eqx.filter_jit(eqx.filter_vmap(each))(models))


def without_attention(models: Any) -> Any:
    """The same models with queries of zero: each position reads the mean of those that it may."""
    models = eqx.tree_at(
        lambda m: m.layers.attention.qkv, models, replace_fn=lambda qkv: qkv.at[..., 0, :, :].set(0)
    )
    if models.layers.attention.qkv_bias is None:
        return models
    return eqx.tree_at(
        lambda m: m.layers.attention.qkv_bias,
        models,
        replace_fn=lambda bias: bias.at[..., 0, :, :].set(0),
    )


@eqx.filter_jit
def attention(
    models: Any, world: Dyck, tokens: Int[AnyArray, "n T"], pairs: bool
) -> Float[Array, "seeds n layers T_and_one T_and_one"]:
    """Attention maps `[query, key]` of the first head, the start token included, on every string."""

    def one(model: Any) -> Array:
        def read(x: Array) -> Array:
            return model.trace(with_start(world, x, pairs)).attention[:, 0]

        return jax.vmap(read)(jnp.asarray(tokens))

    return eqx.filter_vmap(one, in_axes=(eqx.if_array(0),))(models)


def probe(world: Dyck) -> Int[np.ndarray, " T"]:
    """Every type and every depth: `[[[[]]]](((())))` for two types and depth 4."""
    halves = [
        [2 * t] * world.depth + [2 * t + 1] * world.depth for t in reversed(range(world.types))
    ]
    return np.concatenate(halves).astype(np.int32)


def renormalised(maps: Float[AnyArray, "*n T T"]) -> Float[np.ndarray, "*n T T"]:
    """Maps among the brackets alone, with rows that sum to one again."""
    inner = np.asarray(maps, np.float64)
    return inner / np.maximum(inner.sum(axis=-1, keepdims=True), 1e-30)


def share_on(
    maps: Float[AnyArray, "seeds n layers T T"], inside: Bool[np.ndarray, "n T"]
) -> Float[np.ndarray, "seeds layers"]:
    """The mean attention on brackets of a class, over the queries that see some inside and some outside
    of it; NaN if there is no such query."""
    seen = np.cumsum(inside, axis=1)
    both = (seen > 0) & (seen < np.arange(1, inside.shape[1] + 1))
    if not both.any():
        return np.full((len(maps), maps.shape[2]), np.nan)
    maps = np.asarray(maps, np.float64)
    return np.einsum("snlqk,nq,nk->sl", maps, both, inside, optimize=True) / both.sum()


def member(models: Any, i: int) -> Any:
    """The model of one seed, as NumPy arrays in double precision."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[i], np.float64), models)
