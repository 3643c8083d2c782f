"""Classifiers of pairs: losses by hand, kernels back from log odds, and a short training."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from minicosm.training import fit
from minicosm.training.trajectory_contrast import (
    Classifier,
    ContrastiveObjective,
    excess_loss,
    fit_classifier,
    kernel_of,
    log_odds,
    plain_adam,
)
from minicosm.worlds.diffusions import (
    LOG_COSH,
    ContrastivePairs,
    GridDiffusion,
    Local,
    Stationary,
    contrast_table,
)

GRID = GridDiffusion(LOG_COSH, 0.4, points=31, radius=2.5)


class Looked(eqx.Module):
    """A classifier that is a table of log odds on the grid."""

    table: jax.Array

    def __call__(self, x, y):
        i, j = (jnp.round((p[0] - GRID.points[0]) / GRID.spacing).astype(int) for p in (x, y))
        return self.table[i, j]


@pytest.mark.parametrize("contrast", [Local(), Stationary()])
def test_the_best_classifier_gives_the_kernel_back(contrast):
    q = contrast_table(GRID, contrast)
    with jax.enable_x64(True):
        best = Looked(jnp.asarray(np.log(GRID.kernel / q)))
        learned = kernel_of(GRID, contrast, best)
        excess = excess_loss(GRID, contrast, best)
    np.testing.assert_allclose(learned.kernel, GRID.kernel, atol=1e-12)
    assert learned.off < 1e-12 and excess < 1e-20
    assert GRID.kl(learned.kernel) == pytest.approx(0, abs=1e-12)


def test_excess_and_normaliser_are_sums():
    odds = np.random.default_rng(0).normal(size=(31, 31))
    q = contrast_table(GRID, Local())
    with jax.enable_x64(True):
        table = Looked(jnp.asarray(odds))
        np.testing.assert_allclose(log_odds(GRID, table), odds)
        learned, excess = kernel_of(GRID, Local(), table), excess_loss(GRID, Local(), table)
    wanted = off = 0.0
    for i in range(31):
        off += GRID.law[i] * abs(sum(q[i] * np.exp(odds[i])) - 1)
        for j in range(31):
            p = GRID.kernel[i, j]
            loss = [
                p * (h - 1) ** 2 + q[i, j] * h**2 for h in (expit(odds[i, j]), p / (p + q[i, j]))
            ]
            wanted += GRID.law[i] * (loss[0] - loss[1]) / 2
    assert excess == pytest.approx(wanted)
    assert learned.off == pytest.approx(off)
    np.testing.assert_allclose(learned.kernel.sum(axis=1), 1)


def test_losses_by_hand():
    """One pair, so that every batch is that pair."""
    for label in (0.0, 1.0):
        pair = ContrastivePairs(jnp.array([[0.3]]), jnp.array([[1.0]]), jnp.array([label]))

        def model(x, y):
            return 2 * x[0] - y[0]

        h = expit(-0.4)
        squared, _ = ContrastiveObjective(pair, 4)(model, jax.random.key(0), 0)
        assert float(squared) == pytest.approx((h - label) ** 2, rel=1e-5)
        log, _ = ContrastiveObjective(pair, 4, "log")(model, jax.random.key(0), 0)
        assert float(log) == pytest.approx(-np.log(h if label else 1 - h), rel=1e-5)


def test_both_losses_have_the_same_optimum():
    """A single logit on one anchor and partner: the share of positive labels."""
    labels = jnp.array([1.0, 1.0, 1.0, 0.0])
    pairs = ContrastivePairs(jnp.zeros((4, 1)), jnp.zeros((4, 1)), labels)

    class Constant(eqx.Module):
        logit: jax.Array

        def __call__(self, x, y):
            return self.logit

    for loss in ("squared", "log"):
        objective = ContrastiveObjective(pairs, 512, loss)
        found, _ = fit(
            objective, Constant(jnp.array(0.0)), plain_adam(0.1, 300), 300, jax.random.key(1)
        )
        assert float(jax.nn.sigmoid(found.logit)) == pytest.approx(0.75, abs=0.02)


def test_a_short_training_beats_the_start_and_knows_the_kernel():
    world = GridDiffusion(LOG_COSH, 0.5, points=61)
    trained = fit_classifier(world, Local(), jax.random.key(0), length=800, steps=400, width=32)
    start = Classifier(jax.random.key(5), width=32)
    assert excess_loss(world, Local(), trained) < 0.2 * excess_loss(world, Local(), start)
    assert world.kl(kernel_of(world, Local(), trained).kernel) < world.kl(world.euler()) / 2


def test_classifiers_of_vectors():
    x, y = np.random.default_rng(0).normal(size=(2, 50, 3)).astype(np.float32)
    pairs = ContrastivePairs(jnp.asarray(x), jnp.asarray(y), jnp.arange(50.0) % 2)
    classifier = Classifier(jax.random.key(1), dimension=3, width=8)
    value, _ = eqx.filter_jit(ContrastiveObjective(pairs, 16))(classifier, jax.random.key(2), 0)
    assert 0 < float(value) < 1


def test_bad_input_is_one_sentence():
    key = jax.random.key(0)
    with pytest.raises(TypeError, match="it must be a function of two points"):
        kernel_of(GRID, Local(), 3)
    with pytest.raises(
        ValueError, match=r"classifier gives .* for a pair of points; it must give one"
    ):
        kernel_of(GRID, Local(), lambda x, y: x)
    with pytest.raises(ValueError, match="classifier is NaN"):
        excess_loss(GRID, Local(), lambda x, y: x[0] * jnp.nan)
    with pytest.raises(ValueError, match="it makes 0 pairs"):
        fit_classifier(GRID, Local(), key, length=0.1)
