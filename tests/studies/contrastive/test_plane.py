"""Kernels in the plane: sums over a lattice against closed forms and drawn pairs, and a tiny training."""

import jax
import numpy as np
import pytest

from minicosm.studies.contrastive.experiments import plane
from minicosm.studies.contrastive.trials import Ensemble, networks, two_contrasts
from minicosm.worlds.diffusions import Local, OrnsteinUhlenbeck, Stationary, contrastive_pairs

WORLD = OrnsteinUhlenbeck(np.array(plane.STIFFNESS), 0.2)
LAWS = {contrast: plane.lattice(WORLD, contrast) for contrast in (Local(), Stationary())}


@pytest.mark.parametrize("contrast", LAWS)
def test_the_best_classifier_has_nothing_to_lose(contrast):
    at = LAWS[contrast]
    for logs in (at.log_kernel, at.log_contrast):
        assert at.weights @ np.abs(at.area * np.exp(logs).sum(axis=1) - 1) < 1e-7
    assert at.weights @ at.anchors**2 == pytest.approx(np.diag(np.linalg.inv(WORLD.stiffness)))
    found = plane.judge_odds(at, at.log_kernel - at.log_contrast)
    np.testing.assert_allclose(found, 0, atol=1e-6)


@pytest.mark.parametrize("contrast", LAWS)
def test_the_lattice_has_the_divergence_of_an_euler_step(contrast):
    """Two ways to one number: the formula for normal laws, and a sum."""
    at = LAWS[contrast]
    mean = at.anchors - WORLD.gap * at.anchors @ WORLD.stiffness
    away = ((at.points - mean[:, None]) ** 2).sum(axis=2)
    log_euler = -away / (4 * WORLD.gap) - np.log(4 * np.pi * WORLD.gap)
    found = plane.judge_odds(at, log_euler - at.log_contrast)
    assert found.divergence == pytest.approx(plane.euler_divergence(WORLD), rel=1e-3)
    scaled = plane.judge_odds(at, log_euler - at.log_contrast + np.log(2))  # normalised first
    assert scaled.divergence == pytest.approx(found.divergence) and scaled.off > 0.9


def test_excess_is_the_difference_of_losses_on_drawn_pairs():
    x, y, labels = map(np.asarray, contrastive_pairs(WORLD, Local(), 40_000.0, jax.random.key(0)))
    a, covariance = WORLD.moments()
    away = y - x @ a.T
    log_p = -np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away) / 2
    log_p -= np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] / 2
    log_q = -((y - x) ** 2).sum(axis=1) / (4 * WORLD.gap) - np.log(4 * np.pi * WORLD.gap)

    def classifier(x, y):
        return 0.5 - x[..., 0] * y[..., 1] + y[..., 0]

    h, best = (1 / (1 + np.exp(-odds)) for odds in (classifier(x, y), log_p - log_q))
    losses = (h - labels) ** 2 - (best - labels) ** 2
    error = 4 * losses.std() / np.sqrt(len(losses)) * 2  # anchors along a path are not independent
    found = plane.judge(LAWS[Local()], classifier)
    assert error < 0.1 * found.excess
    assert found.excess == pytest.approx(losses.mean(), abs=error)


def test_networks_in_the_plane_are_trained_and_judged():
    config = Ensemble(3, 2, 200, 64, 1e-2, 16, 400, 0.5, "local")
    found = plane.run(config, lambda *_: None).numbers
    assert len(found["divergence"]) == len(found["excess"]) == 2
    at = plane.lattice(OrnsteinUhlenbeck(WORLD.stiffness, 0.5), Local())
    untrained = plane.judge(at, lambda x, y: 0.0 * x[0])
    for divergence, excess in zip(found["divergence"], found["excess"], strict=True):
        assert 0 < excess < untrained.excess / 2
        assert 0 < divergence < untrained.divergence / 2


def test_only_the_largest_size_has_a_plane():
    for trials, arms in ((networks, 4), (two_contrasts, 2)):
        assert len(trials("laptop", 0)) == arms
        assert not any(name.startswith("plane") for name in trials("laptop", 0))
        paper = trials("paper", 0)
        assert sum(name.startswith("plane, ") for name in paper) == arms == len(paper) / 2
        assert trials("laptop", 0, plane=True).keys() == paper.keys()
