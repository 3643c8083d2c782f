"""Tokens that equal the one before them, and putting others in their place."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .checks import check_mask, check_whole, numbers_of


def repeats(tokens: Int[Array, "*rows T"]) -> Bool[Array, "*rows T"]:
    """Whether a token equals the one before it."""
    tokens = jnp.asarray(check_whole("tokens", tokens))
    first = jnp.zeros((*tokens.shape[:-1], 1), bool)
    return jnp.concatenate([first, tokens[..., 1:] == tokens[..., :-1]], axis=-1)


def put_back(
    new: Int[Array, "*rows T"], old: Int[Array, "*rows T"], rejected: Bool[Array, "*rows T"]
) -> Int[Array, "*rows T"]:
    """The new tokens, and the old ones where these are rejected."""
    shape = check_whole("new", new).shape
    check_whole("old", old, shape, "new")
    check_mask("rejected", rejected, shape, "new")
    old, new = jnp.asarray(numbers_of("old", old)), jnp.asarray(numbers_of("new", new))
    return jnp.where(jnp.asarray(rejected), old, new)
