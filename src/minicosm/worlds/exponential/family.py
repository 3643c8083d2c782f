"""Exponential families in which noise-contrastive estimation is a sum or an integral that can be computed."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..arrays import AnyArray, check_count, check_reals, is_concrete

MOST_NODES = 2**20


class Grid(NamedTuple):
    """Statistics at points, and weights: `sum_i exp(log_weights[i]) f(points[i])` is `∫ f(x) h(x) dx`."""

    statistics: Float[Array, "n p"]
    log_weights: Float[Array, " n"]


class ExponentialFamily(eqx.Module):
    """Laws `p_θ(x) = h(x) exp(θ·T(x) - A(θ))` with statistics T and `A(θ) = log ∫ h exp(θ·T)`, of which one
    is the law of the data and one that of the noise.

    Noise-contrastive estimation treats the log-partition as free: the extended parameter is `τ = [θ, α]`,
    with `log p_τ(x) = log h(x) + θ·T(x) - α`, a law iff `α = A(θ)`. `truth` and `noise` are the extended
    parameters τ* and τ_q of the two laws.
    """

    truth: eqx.AbstractVar[Float[AnyArray, " extended"]]
    noise: eqx.AbstractVar[Float[AnyArray, " extended"]]

    @property
    def parameters(self) -> int:
        """How many natural parameters there are, without the log-partition."""
        return self.truth.shape[-1] - 1

    # -- what a family answers ------------------------------------------------------------------

    @abstractmethod
    def statistics(self, x: Any) -> Float[Array, " p"]:
        """`T(x)`."""

    @abstractmethod
    def log_base(self, x: Any) -> Float[Array, ""]:
        """`log h(x)`; -inf where no law of the family has mass."""

    @abstractmethod
    def log_partition(self, theta: Float[AnyArray, " p"]) -> Float[Array, ""]:
        """`A(θ)`; infinite where the integral is."""

    @abstractmethod
    def mean(self, theta: Float[AnyArray, " p"]) -> Float[Array, " p"]:
        """`E_θ T`, the gradient of A."""

    @abstractmethod
    def covariance(self, theta: Float[AnyArray, " p"]) -> Float[Array, "p p"]:
        """`Cov_θ T`, the Hessian of A: the Fisher information about θ."""

    @abstractmethod
    def sample(self, key: PRNGKeyArray, theta: Float[AnyArray, " p"]) -> Array:
        """One x of the law p_θ."""

    @abstractmethod
    def grid(self, nodes: int) -> Grid:
        """Points that integrals are summed over: all of a finite family; `nodes` on a line, by the
        trapezoid rule, whose error falls exponentially in their number."""

    # -- what follows from it -------------------------------------------------------------------

    def extended(self, theta: Float[AnyArray, " p"]) -> Float[Array, " extended"]:
        """`τ(θ) = [θ, A(θ)]`, the normalised law."""
        theta = jnp.asarray(self._check_theta(theta))
        return jnp.append(theta, self.log_partition(theta))

    def log_density(self, tau: Float[AnyArray, " extended"], x: Any) -> Float[Array, ""]:
        """`log p_τ(x) = log h(x) + θ·T(x) - α`, normalised or not."""
        tau = jnp.asarray(check_reals("tau", tau, (self.parameters + 1,)))
        return self.log_base(x) + jnp.dot(tau[:-1], self.statistics(x)) - tau[-1]

    def fisher(self, theta: Float[AnyArray, " p"]) -> Float[Array, "extended extended"]:
        """`F(θ) = E_θ[T T^T]` of the extended statistics `[T, -1]`: uncentred, with the constant. Its
        determinant is that of the covariance, so it is invertible iff no statistic follows from others."""
        mean, covariance = self.mean(theta), self.covariance(theta)
        return jnp.block(
            [
                [covariance + jnp.outer(mean, mean), -mean[:, None]],
                [-mean[None], jnp.ones((1, 1), mean.dtype)],
            ]
        )

    def log_bhattacharyya(
        self, first: Float[AnyArray, " p"], second: Float[AnyArray, " p"]
    ) -> Float[Array, ""]:
        """`log ∫ sqrt(p_1 p_2) = A((θ_1 + θ_2)/2) - (A(θ_1) + A(θ_2))/2`."""
        thetas, ends = [], []
        for name, theta in (("first", first), ("second", second)):
            thetas.append(jnp.asarray(self._check_theta(theta, name)))
            ends.append(self.log_partition(thetas[-1]))
            if is_concrete(ends[-1]) and not np.isfinite(ends[-1]):
                raise ValueError(
                    f"{name} is {theta}; it must be the parameter of a law: A is infinite"
                )
        mean = (ends[0] + ends[1]) / 2
        middle = self.log_partition((thetas[0] + thetas[1]) / 2)
        return jnp.where(jnp.isfinite(mean), middle - mean, -jnp.inf)

    def _check_theta(self, theta: Any, name: str = "theta") -> AnyArray:
        """`theta` if it is one natural parameter."""
        return check_reals(name, theta, (self.parameters,))


def extended_parameters(family: Any, theta: AnyArray) -> np.ndarray:
    """`[θ, A(θ)]` in double precision, for the fields of a world that is being made."""
    with jax.enable_x64(True):
        return np.append(np.asarray(theta, np.float64), np.asarray(family.log_partition(theta)))


def check_nodes(nodes: Any) -> int:
    """`nodes` as a number of points on a line."""
    if check_count("nodes", nodes, 2) > MOST_NODES:
        raise ValueError(f"nodes is {nodes}; it must be at most {MOST_NODES}")
    return int(nodes)
