"""Many runs as one ensemble: each has its own step size, method and schedule among its parameters."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.training.schedules import normalised


class Rated(eqx.Module):
    """What is trained, and how: the gradient does not reach the last three."""

    model: Any
    rate: Float[Array, "*members"]
    normal: Float[Array, "*members"]
    """1 for normalised descent, 0 for plain descent."""
    decay: Float[Array, "*members"]
    """1 for a step size that falls linearly to 0, 0 for a constant one."""


class RatedLoss(eqx.Module):
    """A loss of the model."""

    loss: Any

    def __call__(self, params: Rated, key: PRNGKeyArray, step: Array) -> Any:
        return self.loss(params.model, key, step)


class Count(NamedTuple):
    done: Array


def own_rate(steps: int) -> optax.GradientTransformation:
    """`-η g` or `-η g/|g|`, as each run has it."""

    def update(gradient: Rated, state: Count, params: Rated | None = None) -> Any:
        assert params is not None
        rate = params.rate * (1 - params.decay * state.done / steps)
        both = jax.tree.map(
            lambda plain, unit: -rate * jnp.where(params.normal > 0, unit, plain),
            gradient.model,
            normalised(gradient.model),
        )
        rest = jax.tree.map(jnp.zeros_like, (gradient.rate, gradient.normal, gradient.decay))
        return Rated(both, *rest), Count(state.done + 1)

    return optax.GradientTransformation(lambda params: Count(jnp.zeros(())), update)
