"""Exponential families on finitely many points: every integral is a sum."""

from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    Scalar,
    check_count,
    check_key,
    check_kind,
    check_positive,
    check_reals,
    check_size,
    check_whole_numbers,
    parameter,
)
from ..joint import Ising, Joint
from .family import ExponentialFamily, Grid, check_nodes, extended_parameters


class FiniteFamily(ExponentialFamily):
    """`p_θ(k) ∝ base[k] exp(θ·statistics[k])` on points k = 0..K-1, the data at `data`, the noise at `noise`.

    A point with base 0 is outside the support of every law of the family.
    """

    table: Float[AnyArray, "K p"]
    log_weights: Float[AnyArray, " K"]
    truth: Float[AnyArray, " extended"]
    noise: Float[AnyArray, " extended"]

    def __init__(self, statistics: Any, base: Any, data: Any, noise: Any):
        """Statistics of the points, their base weights, and the natural parameters of data and noise."""
        table = np.asarray(check_reals("statistics", statistics, (None, None)), np.float64)
        if 0 in table.shape:
            raise ValueError(
                f"statistics has shape {table.shape}; there must be a point and a statistic"
            )
        K, p = table.shape
        weights = np.asarray(parameter("base", base, (None,)), np.float64)
        if weights.size != K:
            raise ValueError(f"base has {weights.size} weights; statistics has {K} points")
        if not weights.any():
            raise ValueError("base is 0 at every point; one must be positive")
        theta_data, theta_noise = (
            np.asarray(check_reals(name, theta, (p,)), np.float64)
            for name, theta in (("data", data), ("noise", noise))
        )
        for name, theta in (
            ("statistics or data", theta_data),
            ("statistics or noise", theta_noise),
        ):
            if np.abs(table @ theta).max() > 1e15:
                raise ValueError(f"{name} are too large; θ·T must be at most 1e15 at every point")
        self.table = table
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(weights)
        self.truth = self.noise = np.zeros(p + 1)  # which say how many parameters there are
        self.truth = extended_parameters(self, theta_data)
        self.noise = extended_parameters(self, theta_noise)

    @classmethod
    def random(
        cls, key: PRNGKeyArray, points: int, parameters: int, scale: float = 1.0, padded: int = 0
    ) -> Self:
        """Normal statistics of deviation `scale`, a base that is uniform on the simplex plus 1e-6, normal
        parameters; then `padded` points with base 0, so that families of many sizes have one shape."""
        check_size(
            "the statistics", check_count("points", points) * check_count("parameters", parameters)
        )
        check_positive("scale", scale)
        check_size("the padding", check_count("padded", padded, 0))
        # NumPy draws, since JAX would compile a program for every size
        rng = np.random.default_rng(np.asarray(_key_data(check_key(key))))
        table = np.concatenate(
            [scale * rng.normal(size=(points, parameters)), np.zeros((padded, parameters))]
        )
        base = np.concatenate([rng.dirichlet(np.ones(points)) + 1e-6, np.zeros(padded)])
        return cls(table, base, rng.normal(size=parameters), rng.normal(size=parameters))

    @classmethod
    def of_ising(cls, data: Ising, noise: Ising) -> Self:
        """Two Ising worlds of one length: their configurations, spins and products of pairs."""
        for name, world in (("data", data), ("noise", noise)):
            check_kind(name, world, Ising, "an Ising world")
        if data.length != noise.length:
            raise ValueError(f"noise has {noise.length} spins; data has {data.length}")
        states = len(data.joint().probabilities)
        return cls(data.statistics(), np.ones(states), data.parameters(), noise.parameters())

    @classmethod
    def between(cls, data: Joint, noise: Joint) -> Self:
        """The family with one parameter that joins two laws over the same sequences:
        `p_θ ∝ noise^(1-θ) data^θ`, the data at θ = 1, the noise at θ = 0."""
        for name, law in (("data", data), ("noise", noise)):
            check_kind(name, law, Joint, "a Joint")
        if data.shape != noise.shape:
            raise ValueError(
                f"noise has sequences of shape {noise.shape}; those of data have {data.shape}"
            )
        p, q = data.probabilities, noise.probabilities
        for name, other, wrong in (
            ("noise", "data", (q == 0) & (p > 0)),
            ("data", "noise", (p == 0) & (q > 0)),
        ):
            if wrong.any():
                x = data.states[int(np.argmax(wrong))].tolist()
                raise ValueError(
                    f"{name} gives {x} probability 0 and {other} does not; both must have one support"
                )
        ratio = np.log(np.where(p > 0, p, 1) / np.where(q > 0, q, 1))
        return cls(ratio[:, None], q, np.ones(1), np.zeros(1))

    @property
    def points(self) -> int:
        """K, those of base 0 included."""
        return self.table.shape[-2]

    def _at(self, x: Any) -> Int[Array, ""]:
        return jnp.asarray(check_whole_numbers("x", x, 0, self.points - 1, ()))

    def statistics(self, x: Scalar) -> Float[Array, " p"]:
        """The row of point x."""
        return jnp.asarray(self.table)[self._at(x)]

    def log_base(self, x: Scalar) -> Float[Array, ""]:
        """`log base[x]`; -inf where the base is 0."""
        return jnp.asarray(self.log_weights)[self._at(x)]

    def _log_weights_at(self, theta: Any) -> Float[Array, " K"]:
        theta = jnp.asarray(self._check_theta(theta))
        return jnp.asarray(self.log_weights) + jnp.asarray(self.table) @ theta

    def log_partition(self, theta: Float[AnyArray, " p"]) -> Float[Array, ""]:
        """`log sum_k base[k] exp(θ·T(k))`."""
        return jax.nn.logsumexp(self._log_weights_at(theta))

    def law(self, theta: Float[AnyArray, " p"]) -> Float[Array, " K"]:
        """The probabilities of all points."""
        return jax.nn.softmax(self._log_weights_at(theta))

    def mean(self, theta: Float[AnyArray, " p"]) -> Float[Array, " p"]:
        """`sum_k p_θ(k) T(k)`."""
        return self.law(theta) @ jnp.asarray(self.table)

    def covariance(self, theta: Float[AnyArray, " p"]) -> Float[Array, "p p"]:
        """The covariance of T under p_θ, from centred statistics."""
        law = self.law(theta)
        centred = jnp.asarray(self.table) - law @ jnp.asarray(self.table)
        return (law[:, None] * centred).T @ centred

    def sample(self, key: PRNGKeyArray, theta: Float[AnyArray, " p"]) -> Int[Array, ""]:
        """One point of p_θ."""
        return jax.random.categorical(check_key(key), self._log_weights_at(theta))

    def grid(self, nodes: int) -> Grid:
        """All points, whatever `nodes`."""
        check_nodes(nodes)
        return Grid(jnp.asarray(self.table), jnp.asarray(self.log_weights))


def _key_data(key: PRNGKeyArray) -> Array:
    return jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
