"""The Ornstein-Uhlenbeck diffusion: a quadratic potential, for which everything has a closed form."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..arrays import AnyArray, check_key, check_length, check_positive, check_reals, check_size


class DiffusionSample(NamedTuple):
    """A path of a diffusion, observed at multiples of its gap."""

    observations: Float[Array, "T d"]


class OrnsteinUhlenbeck(eqx.Module):
    """`dx = -Lambda x dt + sqrt(2) dW` from its stationary law `N(0, Lambda^-1)`, observed every `gap`.

    The next observation after z is normal with mean `e^{-Lambda gap} z` and covariance
    `Lambda^-1 (1 - e^{-2 Lambda gap})`.
    """

    stiffness: Float[AnyArray, "d d"]
    gap: float = eqx.field(static=True)

    def __init__(self, stiffness: Any, gap: float):
        """`Lambda`, symmetric and positive definite (a number: in one dimension), and the time between two
        observations."""
        check_positive("gap", gap)
        Lambda = np.asarray(check_reals("stiffness", stiffness), np.float64)
        Lambda = Lambda[None, None] if Lambda.ndim == 0 else Lambda
        if Lambda.ndim != 2 or Lambda.shape[0] != Lambda.shape[1] or Lambda.shape[0] == 0:
            raise ValueError(
                f"stiffness has shape {Lambda.shape}; it must be a number or a square matrix"
            )
        if np.abs(Lambda - Lambda.T).max() > 1e-12 * np.abs(Lambda).max():
            raise ValueError("stiffness is not symmetric; it must be the Hessian of a potential")
        least = float(np.linalg.eigvalsh(Lambda)[0])
        if not least > 0:
            raise ValueError(
                f"stiffness has the eigenvalue {least:.2g}; it must be positive definite"
            )
        self.stiffness, self.gap = Lambda, float(gap)

    @property
    def dimension(self) -> int:
        return self.stiffness.shape[0]

    def moments(self, time: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The matrix and the covariance of `x_{t + time} | x_t`; by default after one gap."""
        time = self.gap if time is None else time
        check_positive("time", time)
        rates, V = np.linalg.eigh(self.stiffness)
        return (
            (V * np.exp(-rates * time)) @ V.T,
            (V * (-np.expm1(-2 * rates * time) / rates)) @ V.T,
        )

    def sample(self, key: PRNGKeyArray, length: int) -> DiffusionSample:
        """`length` observations of one stationary path, exactly."""
        check_length(length)
        check_size(f"length = {length} observations", length * self.dimension)
        a, covariance = self.moments()
        first = np.linalg.cholesky(np.linalg.inv(self.stiffness))
        return DiffusionSample(
            _path(
                check_key(key),
                length,
                *map(jnp.asarray, (a, np.linalg.cholesky(covariance), first)),
            )
        )

    def log_stationary(self, x: Float[AnyArray, "*batch d"]) -> Float[np.ndarray, "*batch"]:
        """`log pi(x)`."""
        x = self._points("x", x)
        return _log_normal(x, np.linalg.inv(self.stiffness))

    def log_kernel(
        self, x: Float[AnyArray, "*batch d"], y: Float[AnyArray, "*batch d"]
    ) -> Float[np.ndarray, "*batch"]:
        """`log p*(x, y)`: the density at y of the observation after x."""
        a, covariance = self.moments()
        return _log_normal(self._points("y", y) - self._points("x", x) @ a.T, covariance)

    def mean_norm(self) -> float:
        """`B = E|x|` under the stationary law, for a potential `rho |x|^2 / 2`:
        `sqrt(2 / rho) Gamma((d + 1) / 2) / Gamma(d / 2)`."""
        from scipy.special import gammaln

        rho, d = float(self.stiffness[0, 0]), self.dimension
        if np.abs(self.stiffness - rho * np.eye(d)).max() > 1e-12 * rho:
            raise ValueError("the world is not isotropic; its mean norm has no closed form")
        return float(np.sqrt(2 / rho) * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2)))

    def _points(self, name: str, value: Any) -> np.ndarray:
        points = np.asarray(check_reals(name, value), np.float64)
        if points.ndim == 0 or points.shape[-1] != self.dimension:
            raise ValueError(
                f"{name} has shape {points.shape}; its last axis must have {self.dimension} coordinates"
            )
        return points


@partial(jax.jit, static_argnames="length")
def _path(key: PRNGKeyArray, length: int, a: Array, scale: Array, first: Array) -> Array:
    start_key, noise_key = jax.random.split(key)
    d = a.shape[0]
    start = first @ jax.random.normal(start_key, (d,), a.dtype)
    noise = jax.random.normal(noise_key, (length - 1, d), a.dtype) @ scale.T

    def step(x: Array, e: Array) -> tuple[Array, Array]:
        new = a @ x + e
        return new, new

    _, rest = jax.lax.scan(step, start, noise)
    return jnp.concatenate([start[None], rest])


def _log_normal(x: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    L = np.linalg.cholesky(covariance)
    white = np.linalg.solve(L, x[..., None])[..., 0]
    d = x.shape[-1]
    return -np.sum(white**2, axis=-1) / 2 - np.log(np.diag(L)).sum() - d * np.log(2 * np.pi) / 2
