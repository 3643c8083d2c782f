"""How far a model is from the exact next-token law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.models import Transformer
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray


def reads_pairs(model: Transformer, world: Dyck) -> bool:
    """Whether the model reads brackets with their depths (else tokens), and a start id after them."""
    rows = model.config.vocab + model.config.extra_inputs
    if rows not in (world.pairs + 1, world.vocab + 1):
        raise ValueError(
            f"the model has {rows} input rows; it must have {world.vocab + 1} for tokens and a start "
            f"token or {world.pairs + 1} for brackets with their depths and a start token"
        )
    return rows == world.pairs + 1 and world.depth > 1


@eqx.filter_jit
def draw(world: Dyck, key: PRNGKeyArray, count: int, length: int) -> Int[Array, "count length"]:
    """Prefixes of the world."""
    return jax.vmap(lambda k: world.sample(k, length).tokens)(jax.random.split(key, count))


def prediction_errors(
    model: Transformer, world: Dyck, strings: Int[AnyArray, "n T"]
) -> Float[np.ndarray, "n rows"]:
    """`[i, t]`: the largest error of a next-token probability behind the first t = 0..T tokens of string i,
    in float64."""
    with jax.enable_x64(True):
        return np.asarray(_errors(model, world, jnp.asarray(strings)))


@eqx.filter_jit
def _errors(model: Transformer, world: Dyck, strings: Int[Array, "n T"]) -> Float[Array, "n rows"]:
    pairs = reads_pairs(model, world)

    def one(tokens):
        ids = world.token_depths(tokens) if pairs else tokens
        start = jnp.full(1, world.pairs if pairs else world.vocab, ids.dtype)
        given = model.next_logits(jnp.concatenate([start, ids]))
        exact = jnp.exp(world.next_logits(tokens, start=True))
        return jnp.abs(given - exact).max(axis=1)

    return jax.lax.map(one, strings)
