"""Losses, gradients and Hessians of NCE and eNCE, up to factors that are kept as logarithms.

Gradient and Hessian of both losses have the form

    g = sum_i s_i T_i,    H = sum_i w_i T_i T_i^T,    T_i = [t_i, -1],

with signed weights s, positive weights w and statistics t: over the points of a grid for NCE, over two laws
of the family for eNCE. Far from the noise all weights are of the size exp(-R²/8), and the statistics vary
little compared with their mean. So the weights are divided by the largest, whose logarithm is kept, and
moments are taken about the mean: then no digit is lost where `exp` underflows or where H is nearly singular.

Everything here is compiled by who calls it, in the precision that holds there.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from minicosm.worlds import ExponentialFamily
from minicosm.worlds.exponential import Grid

LOG_2 = math.log(2.0)


class Moments(NamedTuple):
    """Gradient `e^a [slope + total·mean, -total]` and Hessian `e^b mass (mean, spread)`; see `gradient` and
    `hessian`."""

    log_gradient: Float[Array, ""]
    """a, the logarithm that was taken out of the gradient."""
    slope: Float[Array, " p"]
    """`sum s (t - mean)`."""
    total: Float[Array, ""]
    """`sum s`."""
    log_hessian: Float[Array, ""]
    """b, the logarithm that was taken out of the Hessian."""
    mass: Float[Array, ""]
    """`sum w`."""
    mean: Float[Array, " p"]
    """`sum w t / mass`."""
    spread: Float[Array, "p p"]
    """`sum w (t - mean)(t - mean)^T / mass`."""

    def gradient(self) -> Float[Array, " extended"]:
        """g without its factor e^a."""
        return jnp.append(self.slope + self.total * self.mean, -self.total)

    def hessian(self) -> Float[Array, "extended extended"]:
        """H without its factor e^b."""
        corner = self.spread + jnp.outer(self.mean, self.mean)
        one = jnp.ones((1, 1), self.mean.dtype)
        return self.mass * jnp.block([[corner, -self.mean[:, None]], [-self.mean[None], one]])

    def newton(self) -> Float[Array, " extended"]:
        """`H^-1 g`, by way of the spread: in the coordinates [θ, α - mean·θ] H is block-diagonal."""
        theta = jnp.linalg.solve(self.spread, self.slope)
        step = jnp.append(theta, jnp.dot(self.mean, theta) - self.total) / self.mass
        return step * jnp.exp(self.log_gradient - self.log_hessian)

    def extremes(self) -> Float[Array, " 2"]:
        """Least and largest eigenvalue of H without its factor. The least is the inverse of the largest
        eigenvalue of `H^-1`, which is written down from the inverse of the spread."""
        largest = jnp.linalg.eigvalsh(self.hessian())[-1]
        inverse = jnp.linalg.inv(self.spread)
        across = inverse @ self.mean
        corner = (1 + jnp.dot(self.mean, across))[None, None]
        whole = jnp.block([[inverse, across[:, None]], [across[None], corner]])
        least = self.mass / jnp.linalg.eigvalsh(whole)[-1]
        return jnp.stack([jnp.where(jnp.isfinite(least), least, 0), largest])


def _scaled(log_weights: Array) -> tuple[Array, Array]:
    """Weights divided by the largest, and its logarithm (0 where all are 0)."""
    most = jnp.max(log_weights)
    most = jnp.where(jnp.isfinite(most), most, 0)
    return jnp.exp(log_weights - most), most


class LogRatios(NamedTuple):
    """At every point of a grid: `log p/q`, `log p/p*`, and `log p*`, `log q` with the point's weight."""

    to_noise: Float[Array, " n"]
    to_truth: Float[Array, " n"]
    data: Float[Array, " n"]
    noise: Float[Array, " n"]


def log_ratios(world: ExponentialFamily, grid: Grid, tau: Float[Array, " extended"]) -> LogRatios:
    """Ratios by subtracting parameters, never densities."""

    def linear(tau: Array) -> Array:
        return grid.statistics @ tau[:-1] - tau[-1]

    truth, noise = jnp.asarray(world.truth), jnp.asarray(world.noise)
    return LogRatios(
        linear(tau - noise),
        linear(tau - truth),
        grid.log_weights + linear(truth),
        grid.log_weights + linear(noise),
    )


# -- NCE ------------------------------------------------------------------------------------------


def nce_loss(world: ExponentialFamily, grid: Grid, tau: Array) -> Float[Array, ""]:
    """`½ E_* log(1 + q/p) + ½ E_q log(1 + p/q)`, a plain sum that can be differentiated."""
    r = log_ratios(world, grid, tau)
    softplus = jax.nn.softplus
    terms = jnp.exp(r.data) * softplus(-r.to_noise) + jnp.exp(r.noise) * softplus(r.to_noise)
    return jnp.sum(terms) / 2


def nce_log_loss(world: ExponentialFamily, grid: Grid, tau: Array) -> Float[Array, ""]:
    """The logarithm of the NCE loss, also where the loss underflows."""
    r = log_ratios(world, grid, tau)

    def log_softplus(z: Array) -> Array:
        return jnp.where(z < -30, z, jnp.log(jax.nn.softplus(jnp.maximum(z, -30))))

    terms = jnp.concatenate(
        [r.data + log_softplus(-r.to_noise), r.noise + log_softplus(r.to_noise)]
    )
    return jax.nn.logsumexp(terms) - LOG_2


def nce_moments(world: ExponentialFamily, grid: Grid, tau: Array) -> Moments:
    """`g = ½ ∫ q (p - p*)/(p + q) T`, `H = ½ ∫ (p* + q) p q/(p + q)² T T^T`.

    The difference `p - p*` is `±max(p, p*) (1 - e^-|d|)` with `d = log p/p*`: no digit is lost near τ*.
    """
    r = log_ratios(world, grid, tau)
    d, softplus = r.to_truth, jax.nn.softplus
    apart = jnp.log(-jnp.expm1(-jnp.abs(d)))
    log_signed = -LOG_2 - softplus(r.to_noise) + r.data + jnp.maximum(d, 0) + apart
    log_weights = (
        -LOG_2 + jnp.logaddexp(r.data, r.noise) - softplus(r.to_noise) - softplus(-r.to_noise)
    )
    signed, log_gradient = _scaled(log_signed)
    signed = signed * jnp.sign(d)
    weights, log_hessian = _scaled(log_weights)
    mass = jnp.sum(weights)
    mean = weights @ grid.statistics / mass
    centred = grid.statistics - mean
    return Moments(
        log_gradient,
        signed @ centred,
        jnp.sum(signed),
        log_hessian,
        mass,
        mean,
        (weights[:, None] * centred).T @ centred / mass,
    )


# -- eNCE -----------------------------------------------------------------------------------------


def _two_laws(world: ExponentialFamily, tau: Array) -> tuple[Array, Array, Array, Array]:
    """eNCE is a sum over two laws of the family: their natural parameters `θ* + (θ_q - θ)/2` and
    `(θ + θ_q)/2`, and the logarithms of `E_* sqrt(q/p)` and of `E_q sqrt(p/q)`."""
    truth, noise = jnp.asarray(world.truth), jnp.asarray(world.noise)
    first, second = truth + (noise - tau) / 2, (tau + noise) / 2
    log_first = world.log_partition(first[:-1]) - first[-1]
    log_second = world.log_partition(second[:-1]) - second[-1]
    return first[:-1], second[:-1], log_first, log_second


def exponential_log_loss(world: ExponentialFamily, tau: Array) -> Float[Array, ""]:
    """`log(½ E_* sqrt(q/p) + ½ E_q sqrt(p/q))`, in closed form through A; infinite outside its domain."""
    _, _, first, second = _two_laws(world, tau)
    most = jnp.maximum(first, second)
    finite = jnp.isfinite(most)
    inside = jnp.logaddexp(jnp.where(finite, first, 0), jnp.where(finite, second, 0)) - LOG_2
    return jnp.where(finite, inside, most)


def exponential_loss(world: ExponentialFamily, tau: Array) -> Float[Array, ""]:
    """`½ E_* sqrt(q/p) + ½ E_q sqrt(p/q)`."""
    return jnp.exp(exponential_log_loss(world, tau))


def exponential_moments(world: ExponentialFamily, tau: Array) -> Moments:
    """`g = ¼ (e^b E_2 T - e^a E_1 T)`, `H = ⅛ (e^a E_1 T T^T + e^b E_2 T T^T)` over the two laws, whose log
    masses are a and b."""
    first, second, log_first, log_second = _two_laws(world, tau)
    (one, two), most = _scaled(jnp.stack([log_first, log_second]))
    mean_one, mean_two = world.mean(first), world.mean(second)
    share = two / (one + two)
    mean = mean_one + share * (mean_two - mean_one)
    across = mean_two - mean_one
    spread = (
        (1 - share) * world.covariance(first)
        + share * world.covariance(second)
        + share * (1 - share) * jnp.outer(across, across)
    )
    gap = jnp.expm1(-jnp.abs(log_second - log_first)) * jnp.sign(log_first - log_second)
    return Moments(
        most, one * two / (one + two) * across / 2, gap / 4, most, (one + two) / 8, mean, spread
    )
