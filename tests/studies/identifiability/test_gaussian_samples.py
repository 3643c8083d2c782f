"""Fits of Gaussian worlds to drawn triples: the fast residuals are those of the student, and what is found is
what a fit from the true world finds."""

import jax
import numpy as np
import pytest

from minicosm.studies.identifiability.experiments import gaussian_samples
from minicosm.studies.identifiability.readings import stuck
from minicosm.studies.identifiability.trials import Drawn
from minicosm.theory.identifiability import distance
from minicosm.theory.identifiability.students import GaussianStudent
from minicosm.worlds import GaussianHMM

WORLD = GaussianHMM(gaussian_samples.CHAIN, np.eye(3))


def student(points):
    return gaussian_samples._student(jax.random.normal(jax.random.key(0), (points, 3, 3)))


def test_fast_residuals_are_those_of_the_student():
    fast = student(7)
    slow = GaussianStudent(fast.target, fast.points, fast.task, 3, unit=False)
    theta = jax.random.normal(jax.random.key(1), (fast.size,))
    found = np.asarray(fast(theta)).reshape(9, 7).T
    np.testing.assert_allclose(found.ravel(), slow(theta), atol=1e-4)


def test_start_at_the_truth_is_there():
    assert distance(WORLD, student(7).world(gaussian_samples._parameters(WORLD))) < 5e-3


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
