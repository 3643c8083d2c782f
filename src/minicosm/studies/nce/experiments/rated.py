"""Many runs as one ensemble. A member is a seed with all its runs, which see the same samples and have each
its own loss, step size, method and schedule among parameters."""

from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.training import contrastive_loss
from minicosm.training.schedules import normalised

from ..arms import KINDS


class Rated(eqx.Module):
    """What is trained, and how: the gradient does not reach the last three."""

    model: Any
    """Every array has a leading axis of runs."""
    rate: Float[Array, "*seeds runs"]
    normal: Float[Array, "*seeds runs"]
    """1 for normalised descent, 0 for plain descent."""
    decay: Float[Array, "*seeds runs"]
    """1 for a step size that falls linearly to 0, 0 for a constant one."""


class RatedLoss(eqx.Module):
    """NCE or eNCE, as each run has it, of the log-ratios of data and noise, `ratios(model, key)`. The loss
    of a seed is the sum over its runs, whose gradients do not mix; "losses" has them apart."""

    ratios: Any
    exponential: Float[Array, "*seeds runs"]
    """1 for eNCE, 0 for NCE."""
    clip: float | None = eqx.field(static=True)

    def of(self, data: Array, noise: Array, exponential: Array) -> Array:
        nce, other = (contrastive_loss(data, noise, kind, self.clip) for kind in KINDS)
        return jnp.where(exponential > 0, other, nce)

    def __call__(self, params: Rated, key: PRNGKeyArray, step: Array) -> Any:
        def run(model: Any, exponential: Array) -> Array:
            data, noise = self.ratios(model, key)
            return self.of(data, noise, exponential)

        losses = eqx.filter_vmap(run)(params.model, self.exponential)
        return jnp.sum(losses), {"losses": losses}


def settings(runs: list[tuple], seeds: int) -> tuple[Array, ...]:
    """[seed, run] whether the loss is exponential, step sizes, whether descent is normalised, whether steps
    decay; a run is (loss, method, schedule, step size)."""
    columns = (
        [kind == "exponential" for kind, *_ in runs],
        [rate for *_, rate in runs],
        [method == "ngd" for _, method, *_ in runs],
        [schedule == "decay" for _, _, schedule, _ in runs],
    )
    return tuple(jnp.tile(jnp.array(column, float), (seeds, 1)) for column in columns)


class Count(NamedTuple):
    done: Array


@cache
def own_rate(steps: int) -> optax.GradientTransformation:
    """`-η g` or `-η g/|g|`, as each run has it."""

    def one(gradient: Any, rate: Array, normal: Array) -> Any:
        return jax.tree.map(
            lambda plain, unit: -rate * jnp.where(normal > 0, unit, plain),
            gradient,
            normalised(gradient),
        )

    def update(gradient: Rated, state: Count, params: Rated | None = None) -> Any:
        assert params is not None
        rate = params.rate * (1 - params.decay * state.done / steps)
        change = jax.vmap(one)(gradient.model, rate, params.normal)
        rest = jax.tree.map(jnp.zeros_like, (gradient.rate, gradient.normal, gradient.decay))
        return Rated(change, *rest), Count(state.done + 1)

    return optax.GradientTransformation(lambda params: Count(jnp.zeros(())), update)
