"""Two Gaussians on the line with variance one and means 0 and R."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..arrays import AnyArray, check_key, check_number, check_reals
from .family import ExponentialFamily, Grid, check_nodes

LOG_ROOT = 0.5 * math.log(2 * math.pi)
TAIL = 14.0  # deviations beyond the means that integrals cover: what is left out is exp(-98)
FARTHEST = 1e4  # beyond it the squares in an exponent leave no digits


class GaussianMean(ExponentialFamily):
    """Data `N(R, 1)` and noise `N(0, 1)`: `h(x) = exp(-x²/2)`, `T(x) = x`, `A(θ) = θ²/2 + log sqrt(2π)`.

    R may be negative, which mirrors the line; it is not 0, where data and noise are one law.
    """

    truth: Float[AnyArray, " 2"]
    noise: Float[AnyArray, " 2"]

    def __init__(self, R: float):
        """`R`, the mean of the data."""
        number = check_number("R", R, -FARTHEST, FARTHEST)
        if number == 0:
            raise ValueError("R is 0; data and noise must have different means")
        self.truth = np.array([number, number**2 / 2 + LOG_ROOT])
        self.noise = np.array([0.0, LOG_ROOT])

    @property
    def R(self) -> Any:
        """The distance of the means, with its sign."""
        return self.truth[..., 0]

    def statistics(self, x: float | Float[AnyArray, ""]) -> Float[Array, " 1"]:
        """`T(x) = x`."""
        return jnp.asarray(check_reals("x", x, ()))[None]

    def log_base(self, x: float | Float[AnyArray, ""]) -> Float[Array, ""]:
        """`-x²/2`."""
        return -(jnp.asarray(check_reals("x", x, ())) ** 2) / 2

    def log_partition(self, theta: Float[AnyArray, " 1"]) -> Float[Array, ""]:
        """`θ²/2 + log sqrt(2π)`."""
        theta = jnp.asarray(self._check_theta(theta))
        return theta[0] ** 2 / 2 + LOG_ROOT

    def mean(self, theta: Float[AnyArray, " 1"]) -> Float[Array, " 1"]:
        """`θ`."""
        return jnp.asarray(self._check_theta(theta))

    def covariance(self, theta: Float[AnyArray, " 1"]) -> Float[Array, "1 1"]:
        """1, whatever θ."""
        return jnp.ones((1, 1), jnp.asarray(self._check_theta(theta)).dtype)

    def sample(self, key: PRNGKeyArray, theta: Float[AnyArray, " 1"]) -> Float[Array, ""]:
        """One number of `N(θ, 1)`."""
        theta = jnp.asarray(self._check_theta(theta))
        return theta[0] + jax.random.normal(check_key(key), (), theta.dtype)

    def grid(self, nodes: int) -> Grid:
        """`nodes` points from 14 below the smaller mean to 14 above the larger one."""
        check_nodes(nodes)
        low, high = jnp.minimum(self.R, 0) - TAIL, jnp.maximum(self.R, 0) + TAIL
        x = jnp.linspace(low, high, nodes)
        return Grid(x[:, None], -(x**2) / 2 + jnp.log((high - low) / (nodes - 1)))
