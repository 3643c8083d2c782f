"""Exponential families against SciPy's integrals, sums written out and derivatives of the log-partition."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from minicosm.worlds import DiagonalGaussian, FiniteFamily, GaussianMean, Ising, Joint
from minicosm.worlds.joint import random_ising


def families():
    yield GaussianMean(3.0)
    yield DiagonalGaussian([0.5, -1.0], [2.0, 0.7], [0.0, 0.3], [1.0, 1.5])
    yield FiniteFamily.random(jax.random.key(0), 5, 2, padded=2)


@pytest.mark.parametrize("world", list(families()), ids=lambda w: type(w).__name__)
def test_mean_and_covariance_are_derivatives_of_the_log_partition(world):

    @jax.jit
    def both(theta):
        A = world.log_partition
        exact = (
            world.mean(theta),
            world.covariance(theta),
            world.fisher(theta),
            world.extended(theta),
        )
        return *exact, jax.grad(A)(theta), jax.hessian(A)(theta)

    with jax.enable_x64(True):
        for tau in (world.truth, world.noise):
            mean, covariance, F, extended, slope, hessian = map(np.asarray, both(tau[:-1].copy()))
            np.testing.assert_allclose(mean, slope, rtol=1e-9)
            np.testing.assert_allclose(covariance, hessian, rtol=1e-8, atol=1e-10)
            assert np.isclose(np.linalg.det(F), np.linalg.det(hessian), rtol=1e-8)
            np.testing.assert_allclose(extended, tau, rtol=1e-12)


def test_densities_of_gaussians_are_those_of_scipy():
    world = DiagonalGaussian([0.5, -1.0], [2.0, 0.7], [0.0, 0.3], [1.0, 1.5])
    x = np.array([0.3, -0.4])
    with jax.enable_x64(True):
        for tau, mean, variance in (
            (world.truth, [0.5, -1], [2, 0.7]),
            (world.noise, [0, 0.3], [1, 1.5]),
        ):
            wanted = stats.norm.logpdf(x, mean, np.sqrt(variance)).sum()
            assert np.isclose(world.log_density(tau, x), wanted, rtol=1e-12)
        line = GaussianMean(2.5)
        assert np.isclose(
            line.log_density(line.truth, 1.2), stats.norm.logpdf(1.2, 2.5), rtol=1e-12
        )


@given(st.floats(-12, 12).filter(lambda R: abs(R) > 0.1))
def test_the_bhattacharyya_coefficient_of_two_gaussians(R):
    world = GaussianMean(R)
    with jax.enable_x64(True):
        found = float(world.log_bhattacharyya(world.truth[:-1], world.noise[:-1]))
    assert np.isclose(found, -(R**2) / 8, atol=1e-10)

    def root(x):
        return np.sqrt(stats.norm.pdf(x, R) * stats.norm.pdf(x))

    ends = min(R, 0) - 9, max(R, 0) + 9
    assert np.isclose(
        integrate.quad(root, *ends, epsabs=1e-14, limit=200)[0], np.exp(found), rtol=1e-6
    )


def test_eigenvalues_of_the_fisher_matrix_of_a_mean():
    """`(t ± sqrt(t² - 4))/2` with `t = 2 + θ²`."""
    world = GaussianMean(1.0)
    for theta in (0.0, 0.5, 3.0):
        t = 2 + theta**2
        wanted = [(t - np.sqrt(t * t - 4)) / 2, (t + np.sqrt(t * t - 4)) / 2]
        with jax.enable_x64(True):
            np.testing.assert_allclose(
                np.linalg.eigvalsh(world.fisher(np.array([theta]))), wanted, rtol=1e-9
            )


@settings(max_examples=8)
@given(st.integers(0, 50), st.sampled_from((1, 3)))
def test_a_finite_family_is_its_weights(seed, p):
    world = FiniteFamily.random(jax.random.key(seed), p + 3, p, padded=2)
    weights = np.exp(world.log_weights) * np.exp(world.table @ world.truth[:-1])
    with jax.enable_x64(True):
        np.testing.assert_allclose(world.law(world.truth[:-1]), weights / weights.sum(), rtol=1e-10)
    assert np.isclose(np.log(weights.sum()), world.truth[-1], rtol=1e-12)
    assert (np.asarray(world.law(world.truth[:-1]))[-2:] == 0).all()


def test_samples_have_the_moments_of_their_law():
    keys = jax.random.split(jax.random.key(1), 4000)
    for world in families():
        theta = world.truth[:-1]
        drawn, mean, covariance = jax.jit(
            lambda keys, w=world, t=theta: (
                jax.vmap(lambda k: w.statistics(w.sample(k, t)))(keys),
                w.mean(t),
                w.covariance(t),
            )
        )(keys)
        error = np.asarray(drawn).mean(axis=0) - np.asarray(mean)
        spread = np.sqrt(np.diag(covariance) / len(keys))
        assert (np.abs(error) < 5 * spread + 1e-6).all()


def test_families_of_other_worlds():
    first, second = (random_ising(jax.random.key(i), 3) for i in (1, 2))
    both = FiniteFamily.of_ising(first, second)
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            both.law(both.truth[:-1]), first.joint().probabilities, rtol=1e-10
        )
        np.testing.assert_allclose(
            both.law(both.noise[:-1]), second.joint().probabilities, rtol=1e-10
        )
        between = FiniteFamily.between(first.joint(), second.joint())
        np.testing.assert_allclose(between.law(np.ones(1)), first.joint().probabilities, rtol=1e-10)
        np.testing.assert_allclose(
            between.law(np.zeros(1)), second.joint().probabilities, rtol=1e-10
        )


def test_the_variances_of_figure_4_2():
    world = DiagonalGaussian.random(jax.random.key(3), 16)
    assert world.d == 16 and ((1 / world.truth[:16] >= 6) & (1 / world.truth[:16] <= 12)).all()
    assert 16.5 < np.linalg.norm(world.truth - world.noise) < 19


def test_outside_the_natural_parameters_the_log_partition_is_infinite():
    world = DiagonalGaussian([0.0], [1.0], [0.0], [2.0])
    assert np.isinf(world.log_partition(np.array([-1.0, 0.0])))
    assert np.isinf(world.log_partition(np.array([0.0, 0.0])))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: GaussianMean(0), "R is 0; data and noise must have different means"),
        (
            lambda: DiagonalGaussian([0], [-1], [0], [1]),
            r"data_variance\[0\] is -1; every variance must be",
        ),
        (
            lambda: DiagonalGaussian([0], [1], [0], [0]),
            r"noise_variance\[0\] is 0; every variance must be",
        ),
        (
            lambda: FiniteFamily.between(Joint([0.5, 0.5], 2, 1), Joint([1, 0], 2, 1)),
            r"noise gives \[1\] probability 0 and data does not",
        ),
        (
            lambda: FiniteFamily.of_ising(Ising([0.1], [[0]]), random_ising(jax.random.key(0), 2)),
            "noise has 2 spins; data has 1",
        ),
        (lambda: FiniteFamily(np.ones((2, 1)), [0, 0], [0.0], [0.0]), "base is 0 at every point"),
    ],
)
def test_bad_worlds_meet_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
