"""Optimal losses of a world, estimated from its own samples with an interval."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy import stats

from .arrays import check_count


class Interval(NamedTuple):
    """A Monte Carlo mean with its 95% Student interval."""

    mean: float
    low: float
    high: float
    count: int  # type: ignore[assignment]


def entropy_rate(world: Any, key: PRNGKeyArray, *, length: int = 256, count: int = 256) -> Interval:
    """`E[-log P(X_{1:T})] / T` in nats per token: the optimal causal loss at length T."""
    check_count("length", length)
    check_count("count", count, least=2)

    @jax.jit
    @jax.vmap
    def loss(k: PRNGKeyArray) -> Float[Array, ""]:
        return -world.log_prob(world.sample(k, length).tokens) / length

    return _interval(loss(jax.random.split(key, count)))


def masked_loss(
    world: Any, key: PRNGKeyArray, *, rate: float = 0.15, length: int = 128, count: int = 256
) -> Interval:
    """The optimal masked loss: mean of `-log P(X_i | visible)` over masked positions, in nats.

    `max(1, round(rate * length))` uniformly chosen positions of each sequence are masked and
    marginalised together.
    """
    check_count("length", length)
    check_count("count", count, least=2)
    if not 0 < rate <= 1:
        raise ValueError(f"rate is {rate}; it must lie in (0, 1]")
    masked = max(1, round(rate * length))

    @jax.jit
    @jax.vmap
    def loss(k: PRNGKeyArray) -> Float[Array, ""]:
        token_key, mask_key = jax.random.split(k)
        tokens = world.sample(token_key, length).tokens
        hidden = jax.random.permutation(mask_key, length)[:masked]
        observed = jnp.ones(length, bool).at[hidden].set(False)
        law = world.conditionals(tokens, observed)
        return -jnp.mean(jnp.log(law[hidden, tokens[hidden]]))

    return _interval(loss(jax.random.split(key, count)))


def _interval(losses: Float[Any, " n"]) -> Interval:
    values = np.asarray(losses, np.float64)
    mean = float(values.mean())
    half = float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(mean, mean - half, mean + half, len(values))
