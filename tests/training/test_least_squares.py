"""Least squares from many starts against SciPy, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from minicosm.training import least_squares


def rosenbrock(x):
    return jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def decay(x):
    """A curve through noisy points: the optimum has a residual."""
    t = jnp.linspace(0, 3, 20)
    return x[0] * jnp.exp(-x[1] * t) - (2 * jnp.exp(-0.7 * t) + 0.1 * jnp.sin(9 * t))


def test_the_valley_of_rosenbrock_is_followed_from_every_start():
    with jax.enable_x64(True):
        starts = jax.random.normal(jax.random.key(0), (8, 2), jnp.float64)
        found = least_squares(rosenbrock, starts, steps=200)
    np.testing.assert_allclose(found.parameters, 1, atol=1e-12)
    assert np.asarray(found.residual).max() < 1e-12


def test_where_no_residual_vanishes_the_optimum_is_that_of_scipy():
    with jax.enable_x64(True):
        found = least_squares(decay, jnp.array([[1.0, 1.0], [3.0, 0.2]]), steps=100)
        peer = optimize.least_squares(
            lambda x: np.asarray(decay(jnp.asarray(x))), [1.0, 1.0], xtol=1e-14
        )
        np.testing.assert_allclose(found.parameters, np.tile(peer.x, (2, 1)), atol=1e-6)
        np.testing.assert_allclose(found.residual, np.abs(peer.fun).max(), atol=1e-6)


def test_no_step_makes_it_worse():
    """A flat function, and one whose Jacobian is singular."""
    flat = least_squares(lambda x: jnp.ones(3) + 0 * x[0], np.ones((1, 2)), steps=5)
    np.testing.assert_array_equal(flat.parameters, 1)
    sums = least_squares(lambda x: jnp.array([x[0] + x[1] - 2.0]), np.zeros((1, 2)), steps=60)
    assert float(sums.residual[0]) < 1e-5


@pytest.mark.parametrize(
    ("residuals", "starts", "said"),
    [
        (lambda x: x.sum(), np.ones((2, 2)), "must return one array"),
        (lambda x: {"a": x}, np.ones((2, 2)), "must return one array"),
        (lambda x: x[:, 0], np.ones((2, 2)), "residuals raised"),
    ],
)
def test_what_cannot_be_minimised_is_named(residuals, starts, said):
    with pytest.raises((ValueError, TypeError), match=said):
        least_squares(residuals, starts)
