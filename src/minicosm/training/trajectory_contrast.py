"""Classifiers that tell the next observation of a diffusion from a draw of a contrast law, and the kernel
that they stand for.

The best classifier of the pairs of a trajectory (`minicosm.worlds.diffusions`) is `h* = p / (p + q)` with p
the transition kernel and q the contrast law, so that a classifier h stands for the kernel `q h / (1 - h)`
(Liu's thesis, Lemma 1 and Equation 2.12).
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from minicosm.worlds.arrays import (
    check_choice,
    check_count,
    check_key,
    check_kind,
    check_number,
    check_size,
    short,
)
from minicosm.worlds.diffusions import (
    Contrast,
    ContrastivePairs,
    GridDiffusion,
    contrast_table,
    contrastive_pairs,
)

from .fit import fit
from .schedules import adamw

__all__ = [
    "Classifier",
    "ContrastiveObjective",
    "LearnedKernel",
    "excess_loss",
    "fit_classifier",
    "kernel_of",
    "log_odds",
    "plain_adam",
]

LossName = Literal["squared", "log"]
LOSSES: tuple[LossName, ...] = ("squared", "log")
CLIP = 30.0  # log odds beyond which a classifier is not believed


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
        check_size("batch", check_count("batch", self.batch))
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
        size = 2 * check_count("dimension", dimension)
        check_size(
            f"dimension = {dimension} and width = {width}", check_count("width", width) * size
        )
        check_size(f"width = {width}", width**2)
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
    check_number("rate", rate, 0, 1e6)
    pair_key, init_key, train_key = jax.random.split(check_key(key), 3)
    objective = ContrastiveObjective(
        contrastive_pairs(world, contrast, length, pair_key), batch, loss
    )
    model = Classifier(init_key, width=width)
    return fit(objective, model, plain_adam(rate, steps), steps, train_key)[0]


def plain_adam(rate: float, steps: int) -> optax.GradientTransformation:
    """Adam whose rate falls from `rate` to 0 along a half cosine."""
    return adamw(rate, steps, warmup=0, clip=None, weight_decay=0.0)


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
    try:
        shape = getattr(eqx.filter_eval_shape(classifier, x[0], x[0]), "shape", None)
    except Exception as error:
        raise ValueError(
            f"classifier raised {type(error).__name__} at two points; it must be a function of two points"
        ) from error
    if shape != ():
        given = "no array" if shape is None else f"an array of shape {shape}"
        raise ValueError(
            f"classifier gives {given} for a pair of points; it must give one number, the log odds"
        )
    every = jax.vmap(jax.vmap(classifier, (None, 0)), (0, None))
    odds = np.asarray(jax.jit(every)(x, x), np.float64)
    if np.isnan(odds).any():
        raise ValueError("classifier is NaN at a pair of points; log odds must be numbers")
    return odds


def kernel_of(world: GridDiffusion, contrast: Contrast, classifier: Any) -> LearnedKernel:
    """`q h / (1 - h)` at the points of the grid (Equation 2.12), log odds clipped at ±30, and normalised."""
    odds = np.clip(log_odds(world, classifier), -CLIP, CLIP)
    weights = contrast_table(world, contrast) * np.exp(odds)
    total = weights.sum(axis=1)
    return LearnedKernel(weights / total[:, None], float(world.law @ np.abs(total - 1)))


def excess_loss(world: GridDiffusion, contrast: Contrast, classifier: Any) -> float:
    """`E_pi E_{(p + q) / 2} (h - h*)^2`: the squared loss over and above that of the best classifier,
    exactly."""
    q = contrast_table(world, contrast)
    p = world.kernel
    h = 1 / (1 + np.exp(-np.clip(log_odds(world, classifier), -CLIP, CLIP)))
    mixture = (p + q) / 2
    best = np.divide(p, p + q, out=np.full_like(p, 0.5), where=mixture > 0)
    return float(world.law @ (mixture * (h - best) ** 2).sum(axis=1))
