"""Losses from samples against NumPy and the population; normalised descent in the training loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.theory.nce import Contrast
from minicosm.training import SampledContrast, contrastive_loss, fit, ngd
from minicosm.worlds import DiagonalGaussian, GaussianMean

BOTH = ["nce", pytest.param("exponential", marks=pytest.mark.long)]


def test_losses_are_their_formulas():
    data, noise = np.array([0.3, -2.0, 5.0]), np.array([-1.0, 0.5])
    nce = np.log1p(np.exp(-data)).mean() / 2 + np.log1p(np.exp(noise)).mean() / 2
    assert np.isclose(contrastive_loss(data, noise), nce, rtol=1e-6)
    exponential = np.exp(-data / 2).mean() / 2 + np.exp(noise / 2).mean() / 2
    assert np.isclose(contrastive_loss(data, noise, "exponential"), exponential, rtol=1e-6)
    clipped = np.exp(-np.clip(data, -1, 1) / 2).mean() / 2 + np.exp(noise / 2).mean() / 2
    assert np.isclose(contrastive_loss(data, noise, "exponential", clip=1.0), clipped, rtol=1e-6)
    slope = jax.grad(lambda r: contrastive_loss(r, jnp.asarray(noise), clip=1.0))(jnp.asarray(data))
    assert slope[1] == 0 and slope[2] == 0 and slope[0] != 0


def test_equal_laws_cost_log_two_and_one():
    zeros = np.zeros(5)
    assert np.isclose(contrastive_loss(zeros, zeros), np.log(2))
    assert np.isclose(contrastive_loss(zeros, zeros, "exponential"), 1)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nce", "exponential"])
def test_sampled_gradients_are_those_of_the_population_in_the_mean(kind):
    world = GaussianMean(1.5)
    loss = SampledContrast(world, kind, batch=20_000, clip=None)
    tau = jnp.asarray((world.truth + world.noise) / 2)
    keys = jax.random.split(jax.random.key(0), 10)
    found = jax.vmap(lambda key: jax.grad(lambda t: loss(t, key)[0])(tau))(keys)
    wanted = Contrast(world, kind).gradient(np.asarray(tau))
    spread = np.asarray(found.std(axis=0)) / np.sqrt(len(keys)) + 1e-6
    assert (np.abs(np.asarray(found.mean(axis=0)) - wanted) < 5 * spread).all()
    assert np.isclose(
        loss(tau, keys[0])[1]["distance"], np.linalg.norm(tau - world.truth), rtol=1e-5
    )


@pytest.mark.parametrize("kind", BOTH)
def test_gradients_of_single_samples_can_be_limited(kind):
    """`min(1, K/|g|) g` for each sample, by a loop; the loss itself is not changed."""
    world, key = GaussianMean(2.0), jax.random.key(3)
    tau = jnp.asarray(world.noise + np.array([0.7, 0.2]), jnp.float32)
    plain, limited = (SampledContrast(world, kind, 6, None, K) for K in (None, 0.2))
    data, noise = plain.samples(key)
    total = np.zeros(2)
    for statistics, sign in ((data, -1), (noise, 1)):
        for t in np.asarray(statistics):
            T = np.append(t, -1)
            r = T @ np.asarray(tau - jnp.asarray(world.noise, jnp.float32))
            z = sign * r
            slope = 1 / (1 + np.exp(-z)) if kind == "nce" else np.exp(z / 2) / 2
            g = sign * slope * T
            total += min(1, 0.2 / np.linalg.norm(g)) * g / 12
    value, found = jax.value_and_grad(lambda t: limited(t, key)[0])(tau)
    np.testing.assert_allclose(found, total, rtol=1e-4)
    assert np.isclose(value, plain(tau, key)[0], rtol=1e-6)


@pytest.mark.long
def test_descent_from_samples_finds_the_data():
    """The loop of training with normalised steps, in a world of two variances."""
    world = DiagonalGaussian([0.0, 0.0], [2.0, 3.0], [0.0, 0.0], [1.0, 1.0])
    loss = SampledContrast(world, "nce", batch=500)
    start = jnp.asarray(world.noise, jnp.float32)
    before = np.linalg.norm(world.noise - world.truth)
    tau, history = fit(loss, start, ngd(0.05), 60, jax.random.key(1), chunk=20)
    assert np.linalg.norm(np.asarray(tau) - world.truth) < 0.3 * before
    assert history["distance"][-1] < history["distance"][0]
