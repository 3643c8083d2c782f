"""The training loop against a plain Python loop, and members of an ensemble against solo runs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from minicosm.training import adam, fit, fit_ensemble, warmup_linear


class Regression(eqx.Module):
    """Least squares on a random minibatch; the data are fields, so they can be stacked."""

    x: jax.Array
    y: jax.Array

    def __call__(self, params, key, step):
        rows = jax.random.randint(key, (4,), 0, self.y.shape[0])
        error = self.x[rows] @ params["w"] + params["b"] - self.y[rows]
        return jnp.mean(error**2), {"worst": jnp.max(jnp.abs(error))}


def problem(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 3)).astype(np.float32)
    return Regression(jnp.asarray(x), jnp.asarray(x @ np.array([1.0, -2, 0.5], np.float32)))


START = {"w": jnp.zeros(3), "b": jnp.zeros(())}


def test_equals_a_plain_loop_with_the_same_keys():
    loss, optimiser, key = problem(0), adam(0.1, 7, 2), jax.random.key(3)
    params, history = fit(loss, START, optimiser, 7, key, chunk=3)

    expected, state, losses = START, optimiser.init(START), []
    for step in range(7):
        grad, _ = jax.grad(loss, has_aux=True)(expected, jax.random.fold_in(key, step), step)
        losses.append(float(loss(expected, jax.random.fold_in(key, step), step)[0]))
        updates, state = optimiser.update(grad, state, expected)
        expected = optax.apply_updates(expected, updates)
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-5)
    np.testing.assert_array_equal(history["step"], [3, 6, 7])
    means = [np.mean(losses[:3]), np.mean(losses[3:6]), losses[6]]
    np.testing.assert_allclose(history["loss"], means, rtol=1e-5)


def test_does_not_depend_on_the_chunk_and_reports_progress():
    reports = []
    a, _ = fit(problem(0), START, optax.sgd(0.1), 10, jax.random.key(0), chunk=10)
    b, _ = fit(
        problem(0), START, optax.sgd(0.1), 10, jax.random.key(0), chunk=4,
        progress=lambda done, total: reports.append((done, total)),
    )  # fmt: skip
    np.testing.assert_allclose(a["w"], b["w"], rtol=1e-6)
    assert reports == [(4, 10), (8, 10), (10, 10)]


def test_a_member_of_an_ensemble_is_trained_as_if_alone():
    problems, keys = [problem(i) for i in range(3)], jax.random.split(jax.random.key(1), 3)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)
    starts = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), START)
    optimiser = adam(0.05, 20, 5)
    together, history = fit_ensemble(stacked, starts, optimiser, 20, keys, chunk=10)
    assert history["loss"].shape == (2, 3)
    for i, one in enumerate(problems):
        alone, _ = fit(one, START, optimiser, 20, keys[i], chunk=10)
        np.testing.assert_allclose(together["w"][i], alone["w"], rtol=1e-4, atol=1e-6)


def test_only_the_trainable_leaves_move():
    trainable = {"w": True, "b": False}
    params, _ = fit(problem(0), START, optax.sgd(0.1), 5, jax.random.key(0), trainable=trainable)
    assert float(params["b"]) == 0
    assert np.abs(params["w"]).min() > 0


def test_rates_may_differ_between_parts():
    gradient = {"w": jnp.ones(3), "b": jnp.ones(())}
    optimiser = adam({"w": 0.1, "b": 0.3}, 10, 0)
    updates, _ = optimiser.update(gradient, optimiser.init(START), START)
    np.testing.assert_allclose(updates["w"], -0.1, rtol=1e-5)  # Adam's first step is its rate
    np.testing.assert_allclose(updates["b"], -0.3, rtol=1e-5)


def test_schedule_rises_and_falls_linearly():
    rate = warmup_linear(0.01, 4000, 500)
    for step, expected in ((0, 0), (250, 0.005), (500, 0.01), (2250, 0.005), (4000, 0)):
        assert float(rate(step)) == pytest.approx(expected, abs=1e-9)


def test_bad_chunk_is_named():
    with pytest.raises(ValueError, match="chunk is 0"):
        fit(problem(0), START, optax.sgd(0.1), 5, jax.random.key(0), chunk=0)
