"""Optimal losses of a world, estimated from its own samples with an interval."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray
from scipy.special import stdtrit

from .arrays import check_count, check_key, check_kind, check_length, check_number, check_size
from .world import MaskedWorld, World


class Interval(NamedTuple):
    """A Monte Carlo mean with its 95% Student interval."""

    mean: float
    low: float
    high: float
    count: int  # type: ignore[assignment]


def entropy_rate(
    world: World, key: PRNGKeyArray, *, length: int = 256, count: int = 256
) -> Interval:
    """`E[-log P(X_{1:T})] / T` in nats per token: the optimal causal loss at length T."""
    _check(world, key, length, count)
    check_kind("world", world, World, "a world, with `vocab`, `sample` and `log_prob`")
    return _interval(_causal(world, jax.random.split(key, count), length))


@eqx.filter_jit
def _causal(world: World, keys: Key[Array, " n"], length: int) -> Float[Array, " n"]:
    def one(key: PRNGKeyArray) -> Float[Array, ""]:
        return -jnp.asarray(world.log_prob(world.sample(key, length).tokens)) / length

    return jax.vmap(one)(keys)


def masked_loss(
    world: MaskedWorld,
    key: PRNGKeyArray,
    *,
    rate: float = 0.15,
    length: int = 128,
    count: int = 256,
) -> Interval:
    """The optimal masked loss: mean of `-log P(X_i | visible)` over masked positions, in nats.

    `max(1, round(rate * length))` uniformly chosen positions of each sequence are masked and
    marginalised together.
    """
    _check(world, key, length, count)
    check_kind("world", world, MaskedWorld, "a world that has `conditionals`")
    if check_number("rate", rate, 0, 1) == 0:
        raise ValueError(f"rate is {rate}; it must lie in (0, 1]")
    masked = max(1, round(rate * length))
    return _interval(_masked(world, jax.random.split(key, count), length, masked))


@eqx.filter_jit
def _masked(
    world: MaskedWorld, keys: Key[Array, " n"], length: int, masked: int
) -> Float[Array, " n"]:
    def one(key: PRNGKeyArray) -> Float[Array, ""]:
        token_key, mask_key = jax.random.split(key)
        tokens = world.sample(token_key, length).tokens
        hidden = jax.random.permutation(mask_key, length)[:masked]
        observed = jnp.ones(length, bool).at[hidden].set(False)
        law = world.conditionals(tokens, observed)
        return -jnp.mean(jnp.log(law[hidden, tokens[hidden]]))

    return jax.vmap(one)(keys)


def _check(world: Any, key: Any, length: Any, count: Any) -> None:
    check_key(key)
    check_length(length)
    check_count("count", count, least=2)
    check_size(f"count = {count} sequences of {length} tokens", count * length)


def _interval(losses: Float[Any, " n"]) -> Interval:
    values = np.asarray(losses, np.float64)
    mean = float(values.mean())
    half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(mean, mean - half, mean + half, len(values))
