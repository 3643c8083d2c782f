"""Losses of several shapes against their weighted mean."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import Array, Float

from minicosm.training import OneOf, fit
from minicosm.training.schedules import adafactor


class Square(eqx.Module):
    """`sum_i (w . row_i)^2` over its own rows, of a width of its own."""

    rows: Float[Array, "n d"]

    def __call__(self, w, key, step):
        found = jnp.sum((self.rows @ w[: self.rows.shape[1]]) ** 2)
        return found, {"width": jnp.asarray(float(self.rows.shape[1]))}


def test_value_and_gradient_are_those_of_the_loss_that_was_drawn():
    rng = np.random.default_rng(0)
    losses = [Square(jnp.asarray(rng.normal(size=(3, d)), jnp.float32)) for d in (1, 2, 4)]
    w = jnp.asarray(rng.normal(size=4), jnp.float32)
    loss = OneOf(losses, (0.2, 0.3, 0.5))
    step = jax.value_and_grad(lambda w, key: loss(w, key, 0), has_aux=True)
    keys = jax.random.split(jax.random.key(0), 150)
    each = jax.jit(lambda keys: jax.lax.map(lambda key: step(w, key), keys))(keys)
    seen = np.zeros(3)
    for i in range(150):
        (value, metrics), gradient = jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], each)
        which = {1: 0, 2: 1, 4: 2}[int(metrics["width"])]
        seen[which] += 1
        rows = np.asarray(losses[which].rows)
        sums = rows @ np.asarray(w)[: rows.shape[1]]  # of `sum_i sums_i^2`, by hand
        expected = np.zeros(4)
        expected[: rows.shape[1]] = 2 * sums @ rows
        np.testing.assert_allclose(value, (sums**2).sum(), rtol=1e-5)
        np.testing.assert_allclose(gradient, expected, rtol=1e-4)
    np.testing.assert_allclose(seen / 150, (0.2, 0.3, 0.5), atol=0.15)


def test_fit_minimises_over_all_shapes():
    loss = OneOf([Square(jnp.eye(1)), Square(jnp.eye(3))], (0.5, 0.5))
    start = jnp.full(4, 2.0)
    found, history = fit(loss, start, optax.sgd(0.1), 60, jax.random.key(0), chunk=60)
    np.testing.assert_allclose(found[:3], 0, atol=0.2)
    assert float(found[3]) == 2 and 1 < history["width"][0] < 3


def test_adafactor_follows_its_rate():
    """The first step moves a vector of ones by the rate, up to its relative scale of 1."""
    optimiser = adafactor(0.5, 10, 5, floor=0.1)
    params = jnp.ones(3)

    def move(state, _):
        updates, state = optimiser.update(jnp.ones(3), state, params)
        return state, -updates[0]

    moves = jax.jit(lambda: jax.lax.scan(move, optimiser.init(params), length=11)[1])()
    expected = [0.1 + 0.08 * i for i in range(5)]
    expected += [0.1 + 0.2 * (1 + np.cos(np.pi * i / 5)) for i in range(6)]
    np.testing.assert_allclose(moves, expected, rtol=1e-3)


def test_bad_weights_are_one_sentence():
    with pytest.raises(ValueError, match="each loss needs a positive one"):
        OneOf([Square(jnp.eye(1))], (0.5, 0.5))
    with pytest.raises(ValueError, match=r"sum to 0\.5"):
        OneOf([Square(jnp.eye(1))], (0.5,))
