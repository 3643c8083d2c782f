"""Fits of Gaussian worlds to drawn triples: the fast residuals are those of the student, and what is found is
what a fit from the true world finds."""

import equinox as eqx
import jax
import numpy as np
import pytest

from minicosm.studies.identifiability.experiments import gaussian_samples
from minicosm.studies.identifiability.readings import stuck
from minicosm.studies.identifiability.trials import Drawn
from minicosm.theory.identifiability import distance
from minicosm.worlds import GaussianHMM
from minicosm.worlds.hmm.masked_tasks import gaussian_expectation

WORLD = GaussianHMM(gaussian_samples.CHAIN, np.eye(3))


def student(points):
    return gaussian_samples._student(jax.random.normal(jax.random.key(0), (points, 3, 3)))


def test_fast_residuals_are_those_of_the_student():
    """By the formula for any task, in NumPy."""
    fast = student(7)
    theta = np.random.default_rng(1).normal(size=fast.size).astype(np.float32)
    found, M, T = eqx.filter_jit(lambda f, t: (f(t), *f.unpack(t)))(fast, theta)
    M, T, x = (np.asarray(a, np.float64) for a in (M, T, fast.points))
    wanted = gaussian_expectation(T, M, np.full(3, 1 / 3), fast.task, [x]) - fast.target
    np.testing.assert_allclose(
        np.asarray(found).reshape(3, 3, 7), np.moveaxis(wanted, 0, 2), atol=1e-4
    )


def test_start_at_the_truth_is_there():
    assert distance(WORLD, student(7).world(gaussian_samples._parameters(WORLD))) < 5e-3


@pytest.mark.long  # compiling; the smallest profile runs the trial as well
def test_no_fit_of_a_small_run_is_stuck():
    """All triples screen, so that both fits have one shape and are compiled once."""
    config = Drawn(5, sets=2, triples=300, lengths=(3.0,), starts=9, screen=300, polish=8)
    found = gaussian_samples.drawn(config, lambda *_: None)
    assert stuck(found) == 0
    assert found.arrays["distances"].max() < 1


@pytest.mark.parametrize("name", ["starts", "screen", "polish", "sets"])
def test_sizes_of_none_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        Drawn(0, **{name: 0})
