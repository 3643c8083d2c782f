"""The contrastive task on a trajectory: which law the contrast is drawn from, and the labelled pairs."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..arrays import check_key, check_kind, check_number, check_positive, check_reals, short
from .grid import GridDiffusion
from .ornstein_uhlenbeck import OrnsteinUhlenbeck

MOST_PAIRS = 2**22
WORLDS = (OrnsteinUhlenbeck, GridDiffusion)


class Stationary(NamedTuple):
    """Draws of the stationary law of the world."""


class Gaussian(NamedTuple):
    """Normal draws with this mean, in every coordinate, and variance, wherever the anchor is."""

    mean: float = 0.0
    variance: float = 1.0


class Local(NamedTuple):
    """Normal draws around the anchor; the variance is by default that of a free step, twice the gap."""

    variance: float | None = None


class Table(NamedTuple):
    """Draws of a row of a table, for a world on a grid."""

    rows: Float[np.ndarray, "n n"]


Contrast = Stationary | Gaussian | Local | Table


def contrast_moments(
    world: OrnsteinUhlenbeck, contrast: Contrast
) -> tuple[float, Any, Float[np.ndarray, "d d"]]:
    """The contrast law of an Ornstein-Uhlenbeck world as `N(slope x + mean, covariance)`."""
    check_kind("world", world, OrnsteinUhlenbeck, "an OrnsteinUhlenbeck world")
    unit = np.eye(world.dimension)
    if isinstance(contrast, Stationary):
        return 0.0, 0.0, np.linalg.inv(world.stiffness)
    if isinstance(contrast, Gaussian):
        check_positive("the variance of contrast", contrast.variance)
        return 0.0, check_number("the mean of contrast", contrast.mean), contrast.variance * unit
    if isinstance(contrast, Local):
        return 1.0, 0.0, _local_variance(world.gap, contrast) * unit
    raise TypeError(f"contrast is {short(contrast)}; it must be Stationary, Gaussian or Local")


def contrast_table(world: GridDiffusion, contrast: Contrast) -> Float[np.ndarray, "n n"]:
    """The contrast law of a world on a grid: a row for each anchor, densities taken at the points and
    normalised."""
    check_kind("world", world, GridDiffusion, "a GridDiffusion")
    x = world.points
    if isinstance(contrast, Stationary):
        return np.tile(world.law, (len(x), 1))
    if isinstance(contrast, Table):
        rows = np.asarray(check_reals("the rows of contrast", contrast.rows, (len(x),) * 2), float)
        if (rows < 0).any() or np.abs(rows.sum(axis=1) - 1).max() > 1e-8:
            raise ValueError("contrast has rows that are no laws; they must sum to 1")
        return rows
    if isinstance(contrast, Gaussian):
        check_positive("the variance of contrast", contrast.variance)
        centre = np.full(len(x), float(check_number("the mean of contrast", contrast.mean)))
        variance = contrast.variance
    elif isinstance(contrast, Local):
        centre, variance = x, _local_variance(world.gap, contrast)
    else:
        raise TypeError(
            f"contrast is {short(contrast)}; it must be Stationary, Gaussian, Local or Table"
        )
    logs = -((x[None] - centre[:, None]) ** 2) / (2 * variance)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _local_variance(gap: float, contrast: Local) -> float:
    if contrast.variance is None:
        return 2 * gap
    check_positive("the variance of contrast", contrast.variance)
    return float(contrast.variance)


# -- pairs -----------------------------------------------------------------------------------------


class ContrastivePairs(NamedTuple):
    """Anchors x, their partners y, and labels: 1 where y is the next observation, 0 where it was drawn."""

    x: Float[Array, "m d"]
    y: Float[Array, "m d"]
    labels: Float[Array, " m"]


def contrastive_pairs(
    world: OrnsteinUhlenbeck | GridDiffusion, contrast: Contrast, length: float, key: PRNGKeyArray
) -> ContrastivePairs:
    """The pairs of one stationary trajectory of duration `length`."""
    check_kind("world", world, WORLDS, "an OrnsteinUhlenbeck world or a GridDiffusion")
    check_positive("length", length)
    m = int(length / world.gap + 1e-9) // 2
    if not 1 <= m <= MOST_PAIRS:
        raise ValueError(
            f"length is {length:g}; with a gap of {world.gap:g} it makes {m} pairs, where 1..{MOST_PAIRS} "
            f"are "
            "allowed"
        )
    path_key, label_key, noise_key = jax.random.split(check_key(key), 3)
    if isinstance(world, GridDiffusion):
        table = jnp.asarray(np.log(np.maximum(contrast_table(world, contrast), 1e-300)))
        path = world.sample(path_key, 2 * m).observations
        x, after = path[::2], path[1::2]
        at = jnp.round((x[:, 0] - world.points[0]) / world.spacing).astype(int)
        drawn = jax.random.categorical(noise_key, table[at], axis=-1)
        other = jnp.asarray(world.points)[drawn][:, None]
    else:
        slope, mean, covariance = contrast_moments(world, contrast)
        path = world.sample(path_key, 2 * m).observations
        x, after = path[::2], path[1::2]
        scale = jnp.asarray(np.linalg.cholesky(covariance))
        noise = jax.random.normal(noise_key, x.shape, x.dtype)
        other = slope * x + mean + noise @ scale.T
    labels = jax.random.bernoulli(label_key, 0.5, (m,))
    return ContrastivePairs(x, jnp.where(labels[:, None], after, other), labels.astype(x.dtype))
