"""Data of several shapes: each step draws one shape, and computes with that shape only."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.models.checks import numbers_of, shown
from minicosm.worlds.arrays import AnyArray


class OneOf(eqx.Module):
    """A loss for `fit` that is one of several in each step, loss i with probability `weights[i]`.

    If loss i draws uniformly from rows of its own and `weights[i]` is their share of all rows, every
    row is as likely as any other.
    """

    losses: tuple[Any, ...]
    weights: Float[AnyArray, " losses"]

    def __init__(self, losses: Any, weights: Any):
        if not isinstance(losses, list | tuple) or not losses or not all(map(callable, losses)):
            raise TypeError(f"losses is {shown(losses)}; it must be a list of losses for fit")
        given = numbers_of("weights", weights)
        self.losses, self.weights = tuple(losses), np.asarray(given, np.float32)
        total = self.weights.sum()
        if self.weights.shape != (len(self.losses),) or not (self.weights > 0).all():
            raise ValueError(
                f"there are {len(self.losses)} losses and the weights {self.weights.tolist()}; "
                "each loss needs a positive one"
            )
        if abs(total - 1) > 1e-5:
            raise ValueError(f"the weights sum to {total:g}; they must sum to 1")

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        if len(self.losses) == 1:
            return self.losses[0](model, key, step)
        which, key = jax.random.split(key)
        drawn = jax.random.categorical(which, jnp.log(jnp.asarray(self.weights)))
        return _drawn(model, self.losses, drawn, key, jnp.asarray(step))


@eqx.filter_custom_vjp
def _drawn(
    model: Any, losses: tuple[Any, ...], drawn: Array, key: PRNGKeyArray, step: Array
) -> Any:
    return jax.lax.switch(drawn, [lambda one=one: one(model, key, step) for one in losses])


# The gradient is taken inside the branch: outside, what all branches keep for it would be in memory.
@_drawn.def_fwd
def _forward(
    _: Any, model: Any, losses: tuple[Any, ...], drawn: Array, key: PRNGKeyArray, step: Array
) -> tuple[Any, Any]:
    def branch(one: Any) -> Callable[[], Any]:
        return lambda: eqx.filter_value_and_grad(lambda model: one(model, key, step), has_aux=True)(
            model
        )

    outputs, gradient = jax.lax.switch(drawn, [branch(one) for one in losses])
    return outputs, gradient


@_drawn.def_bwd
def _backward(gradient: Any, wanted: Any, *_: Any) -> Any:
    return jax.tree.map(lambda g: wanted[0] * g, gradient)
