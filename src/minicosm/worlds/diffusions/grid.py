"""Langevin diffusions in one dimension as reversible chains on a grid: everything is a finite sum."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..arrays import (
    check_count,
    check_key,
    check_length,
    check_number,
    check_positive,
    check_reals,
    check_shape,
    short,
)
from .ornstein_uhlenbeck import DiffusionSample

MOST_POINTS, MOST_RADIUS = 2000, 1e3
MOST_RATE = 1e12  # of a jump to a neighbour


class Potential(NamedTuple):
    """A convex function f on the line with its least at 0: `f(x)` and its derivative `slope(x)`, for arrays;
    `rho` is the least of its second derivative, `smooth` the largest (infinite if there is none)."""

    f: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    rho: float
    smooth: float


def _log_cosh(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, -x) - np.log(2.0)


LOG_COSH = Potential(
    lambda x: x**2 / 2 + _log_cosh(2 * x), lambda x: x + 2 * np.tanh(2 * x), rho=1.0, smooth=5.0
)
"""`f(x) = x^2 / 2 + log cosh 2x`."""

QUADRATIC = Potential(lambda x: x**2 / 2, lambda x: x, rho=1.0, smooth=1.0)
"""`f(x) = x^2 / 2`: the Ornstein-Uhlenbeck diffusion."""


class GridDiffusion(eqx.Module):
    """A chain on equally spaced points that jumps to its neighbours at the rates `exp(-(f_j - f_i) / 2) /
    h^2`, observed every `gap`. It is reversible, its stationary law is `pi ∝ exp(-f)` at the points, and it
    tends to the Langevin diffusion `dx = -f'(x) dt + sqrt(2) dW` as the spacing h falls.

    Kernels have a row for the point that the chain is at: `kernel[i, j] = P(next = j | now = i)`.
    """

    points: Float[np.ndarray, " n"]
    law: Float[np.ndarray, " n"]
    kernel: Float[np.ndarray, "n n"]
    potential: Potential = eqx.field(static=True)
    gap: float = eqx.field(static=True)

    def __init__(self, potential: Potential, gap: float, *, points: int = 161, radius: float = 3.6):
        """`points` points of `[-radius, radius]`."""
        if not isinstance(potential, Potential):
            raise TypeError(f"potential is {short(potential)}; it must be a Potential")
        check_positive("gap", gap)
        check_positive("radius", radius)
        if radius > MOST_RADIUS:
            raise ValueError(f"radius is {radius:g}; it must be at most {MOST_RADIUS:g}")
        if check_count("points", points, least=3) > MOST_POINTS:
            raise ValueError(f"points is {points}; it must be at most {MOST_POINTS}")
        x = np.linspace(-radius, radius, points)
        f = np.asarray(potential.f(x), np.float64)
        if f.shape != x.shape or not np.isfinite(f).all():
            raise ValueError("potential is not a finite number at every point of the grid")
        self.potential, self.gap, self.points = potential, float(gap), x
        weights = np.exp(f.min() - f)
        self.law = weights / weights.sum()
        L = rates(x, f)
        if not L.max() < MOST_RATE:
            raise ValueError(
                f"potential makes a jump at the rate {L.max():.2g}; take a smaller radius or more points"
            )
        self.kernel = _exponential(L, float(gap))

    @property
    def spacing(self) -> float:
        return float(self.points[1] - self.points[0])

    def kernel_after(self, time: float) -> Float[np.ndarray, "n n"]:
        """The kernel after another time than the gap."""
        check_positive("time", time)
        f = np.asarray(self.potential.f(self.points), np.float64)
        return _exponential(rates(self.points, f), float(time))

    def sample(self, key: PRNGKeyArray, length: int) -> DiffusionSample:
        """`length` observations of one stationary path."""
        check_length(length)
        path = grid_path(check_key(key), length, jnp.asarray(self.law), jnp.asarray(self.kernel))
        return DiffusionSample(jnp.asarray(self.points)[path][:, None])

    def mean_norm(self) -> float:
        """`B = E|x|` under the stationary law."""
        return float(self.law @ np.abs(self.points))

    def beta(self, time: float) -> float:
        """The mixing coefficient `E_pi TV(P^time(z, .), pi)`."""
        P = self.kernel_after(time)
        return float(self.law @ np.abs(P - self.law).sum(axis=1) / 2)

    def euler(self) -> Float[np.ndarray, "n n"]:
        """One Euler step with the true drift, `N(x - gap f'(x), 2 gap)`, at the points of the grid."""
        mean = self.points - self.gap * np.asarray(self.potential.slope(self.points))
        logs = -((self.points[None] - mean[:, None]) ** 2) / (4 * self.gap)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def kl(self, kernel: Float[np.ndarray, "n n"]) -> float:
        """`E_pi KL(p*(z, .) || kernel(z, .))`; infinite where the kernel misses something possible."""
        other = self._kernel("kernel", kernel)
        seen = self.kernel > 0
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(seen, self.kernel, 1)) - np.where(seen, np.log(other), 0)
        return float(self.law @ np.where(seen, self.kernel * logs, 0).sum(axis=1))

    def drift(
        self, kernel: Float[np.ndarray, "n n"] | None = None, *, least: float = 1e-10
    ) -> Float[np.ndarray, " n"]:
        """The drift `(L x)(z)` at the points, with `L = log(P) / gap` by the eigenvalues of the symmetrised
        kernel that are above `least`; by default from the true kernel."""
        P = self.kernel if kernel is None else self._kernel("kernel", kernel)
        check_number("least", least, 0, 1)
        root = np.sqrt(self.law)
        S = root[:, None] * P / root[None]
        values, V = np.linalg.eigh((S + S.T) / 2)
        kept = values > least
        V, logs = V[:, kept], np.log(values[kept]) / self.gap
        return (V @ (logs * (V.T @ (root * self.points)))) / root

    def naive_drift(
        self, kernel: Float[np.ndarray, "n n"] | None = None
    ) -> Float[np.ndarray, " n"]:
        """`(E[x' | x] - x) / gap`."""
        P = self.kernel if kernel is None else self._kernel("kernel", kernel)
        return (P @ self.points - self.points) / self.gap

    def _kernel(self, name: str, value: Any) -> np.ndarray:
        kernel = np.asarray(check_reals(name, value), np.float64)
        n = len(self.points)
        check_shape(name, kernel, (n, n))
        if (kernel < 0).any():
            raise ValueError(f"{name} goes down to {kernel.min():.2g}; it must not be negative")
        sums = kernel.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > 1e-6:
            raise ValueError(
                f"{name}[{worst}] sums to {sums[worst]:.6g}; every row of a kernel must sum to 1"
            )
        return kernel


def rates(x: Float[np.ndarray, " n"], f: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
    """The generator: rates to the neighbours, and rows that sum to zero."""
    h = x[1] - x[0]
    up = np.exp(-np.diff(f) / 2) / h**2
    down = np.exp(np.diff(f) / 2) / h**2
    L = np.diag(up, 1) + np.diag(down, -1)
    return L - np.diag(L.sum(axis=1))


def _exponential(L: Float[np.ndarray, "n n"], time: float) -> Float[np.ndarray, "n n"]:
    """`exp(time L)` of a generator without a subtraction, so that small probabilities are right in all
    digits: a short time by `e^{-c t} sum_n (c t)^n U^n / n!` with `U = I + L / c` nonnegative, then
    squared."""
    c = float(-np.diag(L).min())
    doublings = max(0, int(np.ceil(np.log2(max(c * time, 1e-300)))))
    s = c * time / 2**doublings
    U = np.maximum(np.eye(len(L)) + L / c, 0)
    term = np.eye(len(L)) * np.exp(-s)
    P = term.copy()
    for n in range(1, 25):  # s <= 1: the rest is below 1e-25
        term = term @ U * (s / n)
        P += term
    for _ in range(doublings):
        P = P @ P
        P /= P.sum(axis=1, keepdims=True)
    return P


@partial(jax.jit, static_argnames="length")
def grid_path(
    key: PRNGKeyArray, length: int, law: Float[Array, " n"], kernel: Float[Array, "n n"]
) -> Any:
    """Indices of a stationary path, by inverting cumulative laws."""
    start_key, path_key = jax.random.split(key)

    def invert(steps: Array, u: Array) -> Array:
        return jnp.minimum(jnp.searchsorted(steps, u * steps[-1], side="right"), len(law) - 1)

    moves = jnp.cumsum(kernel, axis=1)
    start = invert(jnp.cumsum(law), jax.random.uniform(start_key))

    def step(i: Array, u: Array) -> tuple[Array, Array]:
        new = invert(moves[i], u)
        return new, new

    _, rest = jax.lax.scan(step, start, jax.random.uniform(path_key, (length - 1,)))
    return jnp.concatenate([start[None], rest])
