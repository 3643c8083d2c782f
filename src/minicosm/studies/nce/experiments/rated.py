"""Many runs as one ensemble: each has its own step size, method and schedule among its parameters."""

from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.training import contrastive_loss
from minicosm.training.schedules import normalised

from ..trials import KINDS


class Rated(eqx.Module):
    """What is trained, and how: the gradient does not reach the last three."""

    model: Any
    rate: Float[Array, "*members"]
    normal: Float[Array, "*members"]
    """1 for normalised descent, 0 for plain descent."""
    decay: Float[Array, "*members"]
    """1 for a step size that falls linearly to 0, 0 for a constant one."""


class RatedLoss(eqx.Module):
    """NCE or eNCE, as each run has it, of the log-ratios of data and noise, `ratios(model, key)`."""

    ratios: Any
    exponential: Float[Array, "*members"]
    """1 for eNCE, 0 for NCE."""
    clip: float | None = eqx.field(static=True)

    def of(self, data: Array, noise: Array) -> Array:
        nce, other = (contrastive_loss(data, noise, kind, self.clip) for kind in KINDS)
        return jnp.where(self.exponential > 0, other, nce)

    def __call__(self, params: Rated, key: PRNGKeyArray, step: Array) -> Any:
        return self.of(*self.ratios(params.model, key)), {}


class Count(NamedTuple):
    done: Array


@cache
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
