"""Contrastive learning on one trajectory: tell the next observation of a diffusion from a draw of a contrast
law.

Of a path of `2m = floor(T / gap)` observations the anchors are every second one; with probability 1/2 the
partner of an anchor is the observation after it (label 1), otherwise a draw of the contrast law q (label 0).
The best classifier is `h* = p / (p + q)` with p the transition kernel, so that a classifier h stands for the
kernel `q h / (1 - h)` (Liu's thesis, Lemma 1 and Equation 2.12).
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.worlds import GridDiffusion, OrnsteinUhlenbeck
from minicosm.worlds.arrays import (
    check_choice,
    check_count,
    check_key,
    check_kind,
    check_number,
    check_positive,
    check_reals,
    short,
)

from .fit import fit

LossName = Literal["squared", "log"]
LOSSES: tuple[LossName, ...] = ("squared", "log")
MOST_PAIRS = 2**22
CLIP = 30.0  # log odds beyond which a classifier is not believed
WORLDS = (OrnsteinUhlenbeck, GridDiffusion)


# -- contrast laws ---------------------------------------------------------------------------------


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


# -- classifiers -----------------------------------------------------------------------------------


class ContrastiveObjective(eqx.Module):
    """The loss of a classifier on fixed pairs, for `fit`: batches are drawn with replacement.

    A model gives the log odds of label 1 for one pair, `model(x, y)`; the loss of h = sigmoid of them is
    `(h - label)^2`, or the log loss.
    """

    pairs: ContrastivePairs
    batch: int = eqx.field(static=True, default=256)
    loss: LossName = eqx.field(static=True, default="squared")

    def __check_init__(self) -> None:
        check_kind("pairs", self.pairs, ContrastivePairs, "ContrastivePairs")
        check_count("batch", self.batch)
        check_choice("loss", self.loss, LOSSES)

    def __call__(self, model: Any, key: PRNGKeyArray, step: Any) -> tuple[Array, dict[str, Array]]:
        x, y, labels = self.pairs
        at = jax.random.randint(check_key(key), (self.batch,), 0, len(labels))
        odds, wanted = jax.vmap(model)(x[at], y[at]), labels[at]
        if self.loss == "squared":
            return jnp.mean((jax.nn.sigmoid(odds) - wanted) ** 2), {}
        return jnp.mean(jax.nn.softplus(jnp.where(wanted > 0.5, -odds, odds))), {}


class Classifier(eqx.Module):
    """An MLP on pairs of points, with two hidden layers of tanh: the log odds that y follows x."""

    net: eqx.nn.MLP

    def __init__(self, key: PRNGKeyArray, *, dimension: int = 1, width: int = 64):
        check_count("dimension", dimension)
        check_count("width", width)
        size = 2 * dimension
        self.net = eqx.nn.MLP(size, "scalar", width, 2, jnp.tanh, key=check_key(key))

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return self.net(jnp.concatenate([x, y]))


def fit_classifier(
    world: GridDiffusion,
    contrast: Contrast,
    key: PRNGKeyArray,
    *,
    length: float = 2000.0,
    steps: int = 3000,
    batch: int = 256,
    rate: float = 3e-3,
    width: int = 64,
    loss: LossName = "squared",
) -> Classifier:
    """A classifier trained on the pairs of one trajectory, by Adam with a rate that falls along a cosine."""
    check_kind("world", world, GridDiffusion, "a GridDiffusion")
    check_count("steps", steps)
    check_positive("rate", rate)
    pair_key, init_key, train_key = jax.random.split(check_key(key), 3)
    objective = ContrastiveObjective(
        contrastive_pairs(world, contrast, length, pair_key), batch, loss
    )
    model = Classifier(init_key, width=width)
    return fit(objective, model, cosine_adam(rate, steps), steps, train_key)[0]


def cosine_adam(rate: float, steps: int) -> optax.GradientTransformation:
    """Adam whose rate falls from `rate` to 0 along a half cosine."""
    return optax.adam(optax.cosine_decay_schedule(rate, steps))


class LearnedKernel(NamedTuple):
    """The kernel that a classifier stands for, normalised, and by how much it was off one: `E_pi |Z - 1|`."""

    kernel: Float[np.ndarray, "n n"]
    off: float


def log_odds(world: GridDiffusion, classifier: Any) -> Float[np.ndarray, "n n"]:
    """The log odds of a classifier at all pairs of points."""
    check_kind("world", world, GridDiffusion, "a GridDiffusion")
    if not callable(classifier) or isinstance(classifier, type):
        raise TypeError(f"classifier is {short(classifier)}; it must be a function of two points")
    x = jnp.asarray(world.points)[:, None]
    every = jax.vmap(jax.vmap(classifier, (None, 0)), (0, None))
    return np.asarray(jax.jit(every)(x, x), np.float64)


def kernel_of(world: GridDiffusion, contrast: Contrast, classifier: Any) -> LearnedKernel:
    """`q h / (1 - h)` at the points of the grid (Equation 2.12), log odds clipped at ±30, and normalised."""
    odds = np.clip(log_odds(world, classifier), -CLIP, CLIP)
    weights = contrast_table(world, contrast) * np.exp(odds)
    total = weights.sum(axis=1)
    return LearnedKernel(weights / total[:, None], float(world.law @ np.abs(total - 1)))


def excess_loss(world: GridDiffusion, contrast: Contrast, classifier: Any) -> float:
    """`E_pi E_{(p + q) / 2} (h - h*)^2`: the squared loss over and above that of the best classifier,
    exactly."""
    p, q = world.kernel, contrast_table(world, contrast)
    h = 1 / (1 + np.exp(-np.clip(log_odds(world, classifier), -CLIP, CLIP)))
    mixture = (p + q) / 2
    best = np.divide(p, p + q, out=np.full_like(p, 0.5), where=mixture > 0)
    return float(world.law @ (mixture * (h - best) ** 2).sum(axis=1))
