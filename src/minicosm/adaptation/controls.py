"""Features that need less than a language model's masked output: what a claim is compared with."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .heads import AnyArray


def first_tokens(tokens: Int[AnyArray, "n T"], count: int, vocab: int) -> Float[Array, "n cV"]:
    """The first `count` tokens as one-hot vectors side by side: no language model at all."""
    dtype = jnp.result_type(float)
    return jax.nn.one_hot(tokens[:, :count], vocab, dtype=dtype).reshape(tokens.shape[0], -1)


def token_histogram(tokens: Int[AnyArray, "n T"], vocab: int) -> Float[Array, "n V"]:
    """The share of each token in the sequence: no language model, no order."""
    # One token at a time: a one-hot cube of all positions would be V times the data.
    return jnp.stack([jnp.mean(tokens == z, axis=1) for z in range(vocab)], axis=1)


def mean_output(outputs: Float[AnyArray, "n T V"]) -> Float[Array, "n V"]:
    """The model's output averaged over positions: attention that does not choose."""
    return jnp.mean(jnp.asarray(outputs), axis=1)
