"""Weights averaged along the path of training, next to those that are trained."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.models.checks import check_number

from .settings import check_optimiser

Params = TypeVar("Params")


class Averaged(eqx.Module, Generic[Params]):
    """What is trained, and its exponential moving average."""

    live: Params
    average: Params

    @classmethod
    def start(cls, params: Params) -> "Averaged[Params]":
        return cls(params, params)


class OnLive(eqx.Module):
    """A loss of `Averaged` parameters: that of the live ones."""

    loss: Callable

    def __call__(
        self, params: Averaged, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        return self.loss(params.live, key, step)


def averaged(
    optimiser: optax.GradientTransformation, power: float = 0.67, least: float = 1e-3
) -> optax.GradientTransformation:
    """The optimiser for `Averaged` parameters.

    The live ones move by `optimiser`. After step t = 1, 2, ... the average moves by a share of what
    separates it from them: `a <- a + max(t^-power, least) (theta - a)`.
    """
    check_optimiser(optimiser)
    check_number("power", power, least=0)
    check_number("least", least, least=0, most=1)

    def init(params: Averaged) -> tuple[Any, Array]:
        return optimiser.init(params.live), jnp.zeros((), jnp.int32)

    def update(
        gradient: Averaged, state: tuple[Any, Array], params: Averaged
    ) -> tuple[Averaged, tuple[Any, Array]]:
        inner, count = state
        moves, inner = optimiser.update(gradient.live, inner, params.live)
        count = count + 1
        share = jnp.maximum(count.astype(jnp.float32) ** -power, least)
        follow = jax.tree.map(
            lambda theta, move, a: share * (theta + move - a), params.live, moves, params.average
        )
        return Averaged(moves, follow), (inner, count)

    return optax.GradientTransformation(init, update)
