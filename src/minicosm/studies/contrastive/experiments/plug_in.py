"""Samples of Ornstein-Uhlenbeck worlds: the generalisation gap, and fits of the two parameters of the
kernel."""

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from minicosm.lab import Progress, TrialResult
from minicosm.theory.contrastive import price
from minicosm.theory.contrastive.quadrature import kernel_at, nodes
from minicosm.training import least_squares
from minicosm.worlds.diffusions import (
    Contrast,
    ContrastivePairs,
    Gaussian,
    OrnsteinUhlenbeck,
    Stationary,
    contrastive_pairs,
)

from ..suites.mixing import START
from ..trials import Gap, PlugIn

CHUNK = 100  # trajectories at a time
STEPS = 40


def key_of(config: Any, *numbers: int) -> PRNGKeyArray:
    key = jax.random.key(START + config.seed)
    for number in numbers:
        key = jax.random.fold_in(key, number)
    return key


# -- the generalisation gap ------------------------------------------------------------------------


def generalisation(config: Gap, progress: Progress) -> TrialResult:
    """[repeat, length]: the largest difference of empirical and true risk over classifiers that stand for
    kernels of other stiffness."""
    world, contrast = OrnsteinUhlenbeck(1.0, config.gap), Gaussian(0.0, 1.0)
    rhos = np.geomspace(0.3, 3.0, config.classifiers)
    others = [OrnsteinUhlenbeck(rho, config.gap) for rho in rhos]
    at = nodes(world, contrast)
    risks = []
    for other in others:
        p = kernel_at(at, other)
        h = p / (p + at.contrast)
        risks.append(np.sum(at.weights * (at.kernel * (h - 1) ** 2 + at.contrast * h**2) / 2))
    moments = np.array([[m.item() for m in other.moments()] for other in others])
    found = []
    for i, length in enumerate(config.lengths):
        progress(i, len(config.lengths), f"T = {length}")
        keys = jax.random.split(key_of(config, 80, i), config.repeats)
        with jax.enable_x64(True):
            gaps = jax.jit(
                jax.vmap(
                    lambda key, length=length: _largest_gap(
                        contrastive_pairs(world, contrast, length, key), moments, np.array(risks)
                    )
                )
            )(keys)
        found.append(np.asarray(gaps))
    return TrialResult({}, {"gaps": np.stack(found, axis=1)})


def _largest_gap(pairs: ContrastivePairs, moments: np.ndarray, risks: np.ndarray) -> Array:
    x, y, labels = pairs.x[:, 0], pairs.y[:, 0], pairs.labels

    def empirical(moment: Array) -> Array:
        a, variance = moment
        odds = -((y - a * x) ** 2) / (2 * variance) - jnp.log(variance) / 2 + y**2 / 2
        return jnp.mean((jax.nn.sigmoid(odds) - labels) ** 2)

    return jnp.max(jnp.abs(jax.vmap(empirical)(jnp.asarray(moments)) - risks))


# -- fits of the plug-in family --------------------------------------------------------------------


class _Residuals(eqx.Module):
    """`p_theta / (p_theta + q) - label` at the pairs, for theta = (a, log s^2)."""

    x: Array
    y: Array
    labels: Array
    log_q: Array

    def __call__(self, theta: Array) -> Array:
        a, log_variance = theta
        log_p = -((self.y - a * self.x) ** 2) / (2 * jnp.exp(log_variance)) - log_variance / 2
        return jax.nn.sigmoid(log_p - jnp.log(2 * jnp.pi) / 2 - self.log_q) - self.labels


@cache
def _fits(gap: float, length: float, independent: bool) -> Any:
    """The compiled program that fits as many trajectories as it is given keys, for normal contrast laws of
    unit variance around a mean."""
    world = OrnsteinUhlenbeck(1.0, gap)
    a, variance = (float(m.item()) for m in world.moments())

    def one(key: PRNGKeyArray, mean: Array) -> Array:
        contrast = Gaussian(mean, 1.0)  # type: ignore[arg-type]
        draw = _independent_pairs if independent else contrastive_pairs
        pairs = draw(world, contrast, length, key)
        x, y = pairs.x[:, 0], pairs.y[:, 0]
        log_q = -((y - mean) ** 2) / 2 - jnp.log(2 * jnp.pi) / 2
        start = jnp.array([[0.8 * a, np.log(variance) + 0.3]])
        return least_squares(_Residuals(x, y, pairs.labels, log_q), start, steps=STEPS).parameters[
            0
        ]

    return jax.jit(jax.vmap(one, (0, None)))


def divergences(
    gap: float, mean: float, length: float, keys: Any, *, independent: bool = False
) -> np.ndarray:
    """`E_pi KL(p* || p_theta)` of the fit on each of many trajectories, or on as many pairs that are
    independent, with the contrast law `N(mean, 1)`; for `mean = 0` that is the stationary one."""
    a, variance = (float(m.item()) for m in OrnsteinUhlenbeck(1.0, gap).moments())
    with jax.enable_x64(True):
        run = _fits(gap, length, independent)
        parts = [
            np.asarray(run(keys[i : i + CHUNK], jnp.float64(mean)))
            for i in range(0, len(keys), CHUNK)
        ]
    theta = np.concatenate(parts)
    ratio = variance / np.exp(theta[:, 1])
    off = (theta[:, 0] - a) ** 2 / np.exp(theta[:, 1])
    return (ratio - 1 - np.log(ratio) + off) / 2


def _independent_pairs(
    world: OrnsteinUhlenbeck, contrast: Contrast, length: float, key: PRNGKeyArray
) -> ContrastivePairs:
    """As many pairs as a trajectory has, of independent anchors."""
    m = int(length / world.gap + 1e-9) // 2
    keys = jax.random.split(key, m)
    one = jax.vmap(lambda k: contrastive_pairs(world, contrast, 2 * world.gap, k))(keys)
    return ContrastivePairs(one.x[:, 0], one.y[:, 0], one.labels[:, 0])


def lengths(config: PlugIn, progress: Progress) -> TrialResult:
    """Divergences with the stationary contrast law: at one length, on trajectories and on independent pairs,
    and at many lengths; and what they should come to."""
    total = 2 + len(config.curve)
    arrays = {}
    for done, (name, independent) in enumerate((("path", False), ("independent", True))):
        progress(done, total, name)
        keys = jax.random.split(key_of(config, 81, done), config.repeats)
        arrays[name] = divergences(config.gap, 0.0, config.length, keys, independent=independent)
    curve = []
    for i, length in enumerate(config.curve):
        progress(2 + i, total, f"T = {length}")
        keys = jax.random.split(key_of(config, 82, i), config.curve_repeats)
        curve.append(divergences(config.gap, 0.0, length, keys))
    arrays["curve"] = np.stack(curve, axis=1)
    return TrialResult({"price": price(OrnsteinUhlenbeck(1.0, config.gap), Stationary())}, arrays)


def shifted(config: PlugIn, progress: Progress) -> TrialResult:
    """[repeat, shift]: divergences with normal contrast laws of unit variance around a shifted mean."""
    world = OrnsteinUhlenbeck(1.0, config.gap)
    found, prices = [], []
    for i, shift in enumerate(config.shifts):
        progress(i, len(config.shifts), f"shift {shift}")
        keys = jax.random.split(key_of(config, 83, i), config.shift_repeats)
        found.append(divergences(config.gap, float(shift), config.shift_length, keys))
        prices.append(price(world, Gaussian(float(shift), 1.0)))
    return TrialResult({"prices": prices}, {"divergences": np.stack(found, axis=1)})
