"""What a model puts out on many sequences whose first token is masked."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.models import Transformer

from .heads import AnyArray
from .tuning import seen

CHUNK = 250  # sequences that the model reads at once


@eqx.filter_jit
def outputs_at_mask(
    model: Transformer, tokens: Int[AnyArray, "n T"], prompt: Float[AnyArray, "k E"] | None = None
) -> Float[Array, "n V"]:
    """The model's law at the first position, which is masked, with a prompt or without."""
    observed, tokens = seen(tokens.shape[1], True), jnp.asarray(tokens)
    slot = 0 if prompt is None else prompt.shape[0]

    def one(x: Int[Array, " T"]) -> Float[Array, " V"]:
        rows = model.embed(x, observed)
        rows = rows if prompt is None else jnp.concatenate([jnp.asarray(prompt), rows])
        return model.predict(rows, jnp.array([slot]))[0]

    return jax.lax.map(one, tokens, batch_size=CHUNK)


@eqx.filter_jit
def outputs_everywhere(model: Transformer, tokens: Int[AnyArray, "n T"]) -> Float[Array, "n T V"]:
    """The model's laws at all positions of sequences whose first token is masked."""
    observed = seen(tokens.shape[1], True)
    return jax.lax.map(
        lambda x: model.predict(model.embed(x, observed)), jnp.asarray(tokens), batch_size=CHUNK
    )


@eqx.filter_jit
def outputs_one_by_one(
    model: Transformer, tokens: Int[AnyArray, "n T"], positions: Int[AnyArray, " p"]
) -> Float[Array, "n p V"]:
    """The model's law at each of the positions when that position is masked, too: a pass for each.

    This is what a masked model was trained for. At a position whose token it sees (`outputs_everywhere`) it
    was never asked for a law, and one trained with 80/10/10 corruption nearly repeats the token.
    """
    observed, tokens = seen(tokens.shape[1], True), jnp.asarray(tokens)
    at = jnp.asarray(positions)

    def one(x: Int[Array, " T"]) -> Float[Array, "p V"]:
        def law(i: Int[Array, ""]) -> Float[Array, " V"]:
            return model.predict(model.embed(x, observed.at[i].set(False)), i[None])[0]

        return jax.vmap(law)(at)

    return jax.lax.map(one, tokens, batch_size=max(1, CHUNK // len(at)))


def total_variation(
    p: Float[AnyArray, "*n V"], q: Float[AnyArray, "*n V"]
) -> Float[np.ndarray, " *n"]:
    """`sum_x |p(x) - q(x)| / 2` of every pair of laws."""
    return np.abs(np.asarray(p, np.float64) - np.asarray(q, np.float64)).sum(axis=-1) / 2
