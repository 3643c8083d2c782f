"""Classifiers that learn the kernel of an Ornstein-Uhlenbeck diffusion in the plane from one trajectory."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.lab import Progress, TrialResult
from minicosm.worlds.diffusions import Contrast, OrnsteinUhlenbeck, contrast_moments

from ..trials import Ensemble
from .networks import train

STIFFNESS = ((3.0, 2.0), (2.0, 3.0))  # eigenvalues 1 and 5, the bounds of x^2 / 2 + log cosh 2x
ANCHORS = 10  # nodes of Gauss and Hermite in every coordinate of an anchor
SIDE, RADIUS = 61, 6.0  # points of a lattice in every coordinate, in deviations of the contrast law
CLIP = 30.0


class Lattice(NamedTuple):
    """Anchors with their stationary weights; around each of them points with the logarithms of the kernel and
    of the contrast law, and the area of a cell."""

    anchors: Float[np.ndarray, "a d"]
    weights: Float[np.ndarray, " a"]
    points: Float[np.ndarray, "a n d"]
    log_kernel: Float[np.ndarray, "a n"]
    log_contrast: Float[np.ndarray, "a n"]
    area: float


class Judged(NamedTuple):
    """`E_pi KL(p* || p)` of the kernel p that a classifier stands for, normalised; the excess loss of the
    classifier; and by how much its kernel was off one, `E_pi |Z - 1|`."""

    divergence: float
    excess: float
    off: float


def lattice(world: OrnsteinUhlenbeck, contrast: Contrast, *, side: int = SIDE) -> Lattice:
    """Nodes at which sums are integrals: smooth functions that fall off on an even lattice."""
    d = world.dimension
    u, w = np.polynomial.hermite_e.hermegauss(ANCHORS)
    normal = _product([u] * d)
    anchors = normal @ np.linalg.cholesky(np.linalg.inv(world.stiffness)).T
    weights = _product([w / w.sum()] * d).prod(axis=1)
    slope, mean, covariance = contrast_moments(world, contrast)
    scale = np.linalg.cholesky(covariance)
    steps = np.linspace(-RADIUS, RADIUS, side)
    offsets = _product([steps] * d)
    centres = slope * anchors + mean
    points = centres[:, None] + offsets @ scale.T
    log_kernel = world.log_kernel(np.broadcast_to(anchors[:, None], points.shape), points)
    volume = float(np.prod(np.diag(scale)))
    log_normal = -np.sum(offsets**2, axis=1) / 2 - d * np.log(2 * np.pi) / 2 - np.log(volume)
    log_contrast = np.broadcast_to(log_normal, log_kernel.shape)
    area = float((steps[1] - steps[0]) ** d * volume)
    return Lattice(anchors, weights, points, log_kernel, log_contrast, area)


def _product(axes: list[np.ndarray]) -> Float[np.ndarray, "n d"]:
    return np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)


def judge(at: Lattice, classifier: Any) -> Judged:
    """Sums over the lattice, with the log odds of a classifier clipped at ±30."""
    return judge_odds(at, np.asarray(_odds(classifier, at.anchors, at.points), np.float64))


def judge_odds(at: Lattice, odds: Float[np.ndarray, "a n"]) -> Judged:
    odds = np.clip(odds, -CLIP, CLIP)
    p, q = np.exp(at.log_kernel), np.exp(at.log_contrast)
    Z = at.area * np.sum(q * np.exp(odds), axis=1)
    logs = at.log_kernel - at.log_contrast - odds + np.log(Z)[:, None]
    h, best = 1 / (1 + np.exp(-odds)), p / (p + q)
    return Judged(
        float(at.weights @ np.sum(p * logs, axis=1)) * at.area,
        float(at.weights @ np.sum((p + q) / 2 * (h - best) ** 2, axis=1)) * at.area,
        float(at.weights @ np.abs(Z - 1)),
    )


@eqx.filter_jit
def _odds(classifier: Any, anchors: Any, points: Any) -> Array:
    one = jax.vmap(classifier, (None, 0))
    return jax.lax.map(lambda pair: one(*pair), (jnp.asarray(anchors), jnp.asarray(points)))


def euler_divergence(world: OrnsteinUhlenbeck) -> float:
    """`E_pi KL(p*(z, .) || N(z - gap Lambda z, 2 gap))`, of two normal laws."""
    a, covariance = world.moments()
    d, variance = world.dimension, 2 * world.gap
    apart = a - np.eye(d) + world.gap * world.stiffness
    shift = np.trace(apart @ np.linalg.inv(world.stiffness) @ apart.T)
    logs = d * np.log(variance) - np.linalg.slogdet(covariance)[1]
    return float(((np.trace(covariance) + shift) / variance - d + logs) / 2)


def run(config: Ensemble, progress: Progress) -> TrialResult:
    """Of every seed: divergence of the learned kernel, excess loss, and by how much the kernel was not
    normalised; the divergence of one Euler step with the true drift."""
    world = OrnsteinUhlenbeck(np.array(STIFFNESS), config.gap)
    contrast, trained = train(config, world, 91, progress)
    at = lattice(world, contrast)
    found = [judge(at, model) for model in trained]
    return TrialResult(
        {
            "divergence": [each.divergence for each in found],
            "excess": [each.excess for each in found],
            "off": [each.off for each in found],
            "euler": euler_divergence(world),
        }
    )
