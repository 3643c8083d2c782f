"""Steps of descent against counts computed elsewhere and a loop in NumPy; what must not divide by zero."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from minicosm.theory.nce import Contrast, descend, steps_to
from minicosm.training import ngd
from minicosm.worlds import DiagonalGaussian, FiniteFamily, GaussianMean


def counted(method, R, kind="nce"):
    world = GaussianMean(R)
    contrast = Contrast(world, kind, 601)
    rate, radius = {
        "gd": (8 / (R**2 + 2), 0.1 * R),
        "ngd": (0.1 / R, 1 / R),
        "newton": (1.0, 1 / R),
    }[method]
    run = steps_to(contrast, method, rate, radius)
    assert run.reached and run.distance <= radius
    return run.steps


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("gd", {1: 6, 2: 49, 3: 417}),
        ("ngd", {2: 50, 3: 158, 4: 357, 5: 817}),
        ("newton", {1: 1, 2: 3, 3: 5, 4: 7, 5: 9, 6: 11}),
    ],
)
def test_steps_are_those_computed_elsewhere(method, wanted):
    """To one per cent and three steps: the last ones depend on the bits of the quadrature."""
    for R, steps in wanted.items():
        assert abs(counted(method, R) - steps) <= 3 + 0.01 * steps


def test_a_path_is_that_of_a_loop_in_numpy():
    world = GaussianMean(3.0)
    contrast = Contrast(world, "exponential")
    path = descend(contrast, "ngd", 0.05, steps=40)
    tau = np.array(world.noise)
    x = np.linspace(-14, 17, 4001)
    base, step = np.exp(-(x**2) / 2), x[1] - x[0]
    T = np.stack([x, -np.ones_like(x)], axis=1)
    for row in range(41):
        np.testing.assert_allclose(path.tau[row], tau, atol=1e-9)
        p, s, q = (base * np.exp(T @ each) for each in (tau, world.truth, world.noise))
        g = ((np.sqrt(p * q) - s * np.sqrt(q / p)) @ T) * step / 4
        loss = (s * np.sqrt(q / p) + q * np.sqrt(p / q)).sum() * step / 2
        assert np.isclose(np.exp(path.log_loss[row]), loss, rtol=1e-9)
        assert np.isclose(np.exp(path.log_gradient[row]), np.linalg.norm(g), rtol=1e-9)
        assert np.isclose(path.distance[row], np.linalg.norm(tau - world.truth), rtol=1e-12)
        tau = tau - 0.05 * g / np.linalg.norm(g)
    assert path.status == "steps" and (np.diff(path.best) <= 0).all()


def test_first_within_is_the_count():
    world = GaussianMean(2.0)
    contrast = Contrast(world, nodes=601)
    path = descend(contrast, "ngd", 0.05, steps=200)
    assert path.first_within(0.5) == steps_to(contrast, "ngd", 0.05, 0.5).steps
    assert path.first_within(1e-9) is None


def test_optax_turns_normalised_descent_into_plain_descent_where_gradients_are_tiny():
    """`normalize_by_update_norm` adds 1e-6 to the norm and squares what underflows; `ngd` does neither."""
    gradient = {"a": jnp.array([3e-25, 0.0]), "b": jnp.array([-4e-25])}
    for rule, length in ((optax.normalize_by_update_norm(), 5e-19), (ngd(1.0), 1.0)):
        update, _ = rule.update(gradient, rule.init(gradient))
        enlarged = jax.tree.map(lambda g: g * 1e10, update)  # whose squares do not underflow
        assert np.isclose(optax.tree.norm(enlarged), length * 1e10, rtol=1e-3)
    still, _ = ngd(1.0).update(jax.tree.map(jnp.zeros_like, gradient), ngd(1.0).init(gradient))
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(still))


def test_where_data_and_noise_are_one_law_descent_stays():
    """The gradient at the start is zero: nothing is divided by its norm."""
    world = FiniteFamily(np.array([[-1.0], [0.5], [2.0]]), np.ones(3), [0.3], [0.3])
    for kind in ("nce", "exponential"):
        path = descend(Contrast(world, kind), "ngd", 0.1, steps=10)
        assert path.status == "stationary" and len(path.tau) == 1
        assert path.note == "the step after 0 has length 0"


def test_a_step_size_that_diverges_says_so_and_keeps_what_was():
    world = DiagonalGaussian([0.0], [8.0], [0.0], [1.0])
    path = descend(Contrast(world, "exponential"), "ngd", 3.0, steps=50)
    assert path.status == "diverged" and len(path.tau) <= 50 and np.isfinite(path.tau).all()
    assert "with step size 3 is not finite or leaves the domain of the loss" in path.note
    assert "what was before it is kept" in path.note
    run = steps_to(Contrast(world, "exponential"), "newton", 1e300, 0.1)
    assert run.status == "diverged" and np.isfinite(run.tau).all()


def test_singular_hessians_stop_newton():
    table = np.repeat(np.arange(4.0)[:, None], 2, axis=1)
    world = FiniteFamily(table, np.ones(4), [0.5, 0.2], [0.0, 0.0])
    path = descend(Contrast(world), "newton", 1.0, steps=20)
    assert np.isfinite(path.tau).all()


def test_out_of_steps_is_no_arrival():
    run = steps_to(Contrast(GaussianMean(6.0), nodes=601), "gd", 8 / 38, 0.6, most=100)
    assert not run.reached and run.status == "steps" and run.steps == 100


def test_plain_gradients_in_single_precision_are_dead_and_scaled_ones_are_not():
    world = GaussianMean(30.0)
    start = world.truth + np.array([0.02, 0.0])
    contrast = Contrast(world, nodes=2401)
    for scaled, rows in ((False, 1), (True, 2)):
        path = descend(contrast, "ngd", 0.01, start, steps=1, precision="float32", scaled=scaled)
        assert len(path.tau) == rows
    double = descend(contrast, "ngd", 0.01, start, steps=1)
    np.testing.assert_allclose(path.tau, double.tau, rtol=1e-5)
