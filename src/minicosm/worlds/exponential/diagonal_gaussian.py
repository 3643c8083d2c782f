"""Gaussians in d dimensions whose coordinates are independent."""

import math
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..arrays import AnyArray, check_count, check_key, check_reals, check_size, is_concrete
from .family import ExponentialFamily, Grid, check_nodes, extended_parameters
from .gaussian_mean import TAIL

MOST = 2**20  # dimensions


class DiagonalGaussian(ExponentialFamily):
    """Data `N(μ*, diag v*)` and noise `N(μ_q, diag v_q)`: `h = 1`, `T(x) = [-x_i²/2, x_i]`,
    `θ = [1/v_i, μ_i/v_i]`, `A(θ) = sum_i (μ_i²/v_i + log(2π v_i))/2`, infinite unless all precisions are
    positive."""

    truth: Float[AnyArray, " extended"]
    noise: Float[AnyArray, " extended"]

    def __init__(self, data_mean: Any, data_variance: Any, noise_mean: Any, noise_variance: Any):
        """Means and variances, a number for each of the d coordinates."""
        given = {
            "data_mean": data_mean,
            "data_variance": data_variance,
            "noise_mean": noise_mean,
            "noise_variance": noise_variance,
        }
        arrays = {n: np.asarray(check_reals(n, a, (None,)), np.float64) for n, a in given.items()}
        d = arrays["data_mean"].size
        if not 1 <= d <= MOST:
            raise ValueError(f"data_mean has {d} coordinates; there must be from 1 to {MOST}")
        for name, array in arrays.items():
            if array.size != d:
                raise ValueError(f"{name} has {array.size} coordinates; data_mean has {d}")
            if name.endswith("variance") and not (array > 0).all():
                i = int(np.argmax(~(array > 0)))
                raise ValueError(f"{name}[{i}] is {array[i]:g}; every variance must be positive")
        thetas = [
            np.concatenate([1 / arrays[f"{law}_variance"], arrays[f"{law}_mean"] / arrays[f"{law}_variance"]])
            for law in ("data", "noise")
        ]  # fmt: skip
        for law, theta in zip(("data", "noise"), thetas, strict=True):
            if not np.isfinite(theta).all():
                raise ValueError(f"{law}_variance is too small; its inverse must be finite")
        self.truth = self.noise = np.zeros(2 * d + 1)  # which say how many parameters there are
        self.truth, self.noise = (extended_parameters(self, theta) for theta in thetas)

    @classmethod
    def random(cls, key: PRNGKeyArray, d: int = 16) -> Self:
        """The world of Figure 4.2, right: means 0, noise of variance 1, and variances of the data drawn
        from U[6, 12]."""
        check_size("the variances", check_count("d", d), MOST)
        with jax.enable_x64(True):
            drawn = jax.random.uniform(check_key(key), (d,), jnp.float64, 6.0, 12.0)
        zero = np.zeros(d)
        return cls(zero, np.asarray(drawn), zero, np.ones(d))

    @property
    def d(self) -> int:
        """The dimension."""
        return self.parameters // 2

    def statistics(self, x: Float[AnyArray, " d"]) -> Float[Array, " p"]:
        """`[-x_i²/2, x_i]`."""
        x = jnp.asarray(check_reals("x", x, (self.d,)))
        return jnp.concatenate([-(x**2) / 2, x])

    def log_base(self, x: Float[AnyArray, " d"]) -> Float[Array, ""]:
        """0 everywhere."""
        return jnp.zeros((), jnp.asarray(check_reals("x", x, (self.d,))).dtype)

    def _natural(self, theta: Any) -> tuple[Array, Array, Array]:
        """Precisions, means and variances; where a precision is not positive, those of precision 1."""
        precision, slope = jnp.split(jnp.asarray(self._check_theta(theta)), 2)
        variance = 1 / jnp.where(precision > 0, precision, 1)
        return precision, slope * variance, variance

    def log_partition(self, theta: Float[AnyArray, " p"]) -> Float[Array, ""]:
        """`sum_i (μ_i²/v_i + log(2π v_i))/2`; infinite where a precision is not positive."""
        precision, mean, variance = self._natural(theta)
        value = jnp.sum(mean**2 / variance + jnp.log(2 * math.pi * variance)) / 2
        return jnp.where(jnp.all(precision > 0), value, jnp.inf)

    def _moments(self, theta: Any) -> tuple[Array, Array]:
        """Means and variances of a law that there is; values under a trace are trusted."""
        precision, mean, variance = self._natural(theta)
        if is_concrete(precision) and not (np.asarray(precision) > 0).all():
            i = int(np.argmin(np.asarray(precision)))
            raise ValueError(f"theta[{i}] is {precision[i]:g}; every precision must be positive")
        return mean, variance

    def mean(self, theta: Float[AnyArray, " p"]) -> Float[Array, " p"]:
        """`[-(μ_i² + v_i)/2, μ_i]`."""
        mean, variance = self._moments(theta)
        return jnp.concatenate([-(mean**2 + variance) / 2, mean])

    def covariance(self, theta: Float[AnyArray, " p"]) -> Float[Array, "p p"]:
        """In each coordinate `Var(x²/2) = μ² v + v²/2`, `Cov(-x²/2, x) = -μ v`, `Var x = v`."""
        mean, variance = self._moments(theta)
        across = jnp.diag(-mean * variance)
        squares = jnp.diag(mean**2 * variance + variance**2 / 2)
        return jnp.block([[squares, across], [across, jnp.diag(variance)]])

    def sample(self, key: PRNGKeyArray, theta: Float[AnyArray, " p"]) -> Float[Array, " d"]:
        """One vector of `N(μ, diag v)`."""
        mean, variance = self._moments(theta)
        return mean + jnp.sqrt(variance) * jax.random.normal(check_key(key), mean.shape, mean.dtype)

    def grid(self, nodes: int) -> Grid:
        """`nodes` points that cover 14 deviations about both means, on a line only."""
        check_nodes(nodes)
        if self.d != 1:
            raise ValueError(
                f"nodes are points of a line; this world has {self.d} dimensions: sample in place of them"
            )
        ends = []
        for tau in (self.truth, self.noise):
            _, mean, variance = self._natural(tau[:-1])
            ends.append((mean[0], TAIL * jnp.sqrt(variance[0])))
        low = jnp.minimum(*(mean - reach for mean, reach in ends))
        high = jnp.maximum(*(mean + reach for mean, reach in ends))
        x = jnp.linspace(low, high, nodes)
        step = jnp.log((high - low) / (nodes - 1))
        return Grid(jnp.stack([-(x**2) / 2, x], axis=1), jnp.full(nodes, step))
