"""Tokens that equal the one before them, and putting others in their place."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def repeats(tokens: Int[Array, "*rows T"]) -> Bool[Array, "*rows T"]:
    """Whether a token equals the one before it."""
    first = jnp.zeros((*tokens.shape[:-1], 1), bool)
    return jnp.concatenate([first, tokens[..., 1:] == tokens[..., :-1]], axis=-1)


def put_back(
    new: Int[Array, "*rows T"], old: Int[Array, "*rows T"], rejected: Bool[Array, "*rows T"]
) -> Int[Array, "*rows T"]:
    """The new tokens, and the old ones where these are rejected."""
    return jnp.where(rejected, old, new)
