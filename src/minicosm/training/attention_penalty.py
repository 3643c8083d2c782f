"""Penalties that sharpen attention: small where every row looks at one position."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.models.checks import check_count
from minicosm.worlds.arrays import (
    AnyArray,
    check_choice,
    check_reals,
    check_whole_numbers,
    is_concrete,
    short,
)

TINY = 1e-9
"""In the logarithm of a weight."""
PERIOD = 1000
"""Steps of an oscillation."""
Kind = Literal["entropy", "l2", "max"]
Schedule = Literal["constant", "linear", "oscillating"]


class AttentionPenalty(eqx.Module):
    """`factor(step) R`, where R is the mean over layers, heads and rows of a row's entropy, of `-|row|_2` or
    of `-max row`.

    The factor is zero before the step `start`; then it is `weight`, or `weight (s - start) / (steps -
    start)`, which is `weight` at the end, or `weight (1 - cos(2 pi (s - start) / 1000)) / 2`. The weight is
    data: models with and without share a compiled program.
    """

    weight: Float[AnyArray, "*stack"] | float
    kind: Kind = eqx.field(static=True, default="entropy")
    schedule: Schedule = eqx.field(static=True, default="constant")
    start: int = eqx.field(static=True, default=0)
    steps: int = eqx.field(static=True, default=0)
    """Of the whole training; a linear schedule needs them."""

    def __check_init__(self) -> None:
        weight = check_reals("weight", self.weight)
        if 0 in np.shape(weight):
            raise ValueError(f"weight has shape {np.shape(weight)}; it must have an entry")
        if is_concrete(weight) and (np.asarray(weight) < 0).any():
            raise ValueError(f"weight is {short(weight)}; it must not be negative")
        check_choice("kind", self.kind, ("entropy", "l2", "max"))
        check_choice("schedule", self.schedule, ("constant", "linear", "oscillating"))
        check_count("start", self.start, least=0)
        check_count("steps", self.steps, least=0)
        if self.schedule == "linear" and self.steps <= self.start:
            raise ValueError(
                f"steps is {self.steps} and start {self.start}; a linear schedule needs more steps"
            )

    def factor(self, step: Int[Array, ""] | int) -> Float[Array, ""]:
        """By how much R counts at this step."""
        step = jnp.asarray(check_whole_numbers("step", step, 0, 2**31 - 1, ()))
        since = jnp.maximum(step - self.start, 0).astype(jnp.float32)
        rise = jnp.where(step >= self.start, 1.0, 0.0)
        if self.schedule == "linear":
            rise = since / (self.steps - self.start)
        elif self.schedule == "oscillating":
            rise = (1 - jnp.cos(2 * jnp.pi * since / PERIOD)) / 2
        return jnp.asarray(self.weight) * rise

    def of(self, attention: Float[AnyArray, "layers H T S"]) -> Float[Array, ""]:
        """R of the attention of one string; rows sum to one."""
        rows = check_reals("attention", attention, (None, None, None, None))
        if 0 in rows.shape or (is_concrete(rows) and (np.asarray(rows) < 0).any()):
            raise ValueError("attention has no entries, or negative ones; it must hold weights")
        rows = jnp.asarray(rows)
        if self.kind == "entropy":
            return jnp.mean(-jnp.sum(rows * jnp.log(rows + TINY), axis=-1))
        if self.kind == "l2":
            # A row sums to one, so its norm is at least T^(-1/2) and has a gradient.
            return jnp.mean(-jnp.sqrt(jnp.sum(rows * rows, axis=-1)))
        return jnp.mean(-jnp.max(rows, axis=-1))
