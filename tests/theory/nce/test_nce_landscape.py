"""Population losses, gradients and Hessians against forty digits, autodiff, sums and a table."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath_referee import exact, relative

from minicosm.theory.nce import Contrast, directions
from minicosm.theory.nce.contrast import answers
from minicosm.worlds import DiagonalGaussian, FiniteFamily, GaussianMean

KINDS = ("nce", "exponential")


def cases():
    """In the direction of least curvature, in the ring, halfway to the noise."""
    for R in (1.0, 10.0, 20.0):
        world = GaussianMean(R)
        least = np.array([1, R / 2]) / np.hypot(1, R / 2)
        yield R, world.truth + 0.05 * least
        if R == 10:
            yield R, world.truth + 0.15 * R * directions(7)[2]
    yield 4.0, (GaussianMean(4.0).truth + GaussianMean(4.0).noise) / 2
    far = GaussianMean(30.0).truth + directions(5)[1] / 30
    yield pytest.param(30.0, far, marks=pytest.mark.long)


@pytest.mark.parametrize(("R", "tau"), list(cases()))
def test_loss_gradient_and_hessian_have_ten_digits(R, tau):
    world = GaussianMean(R)
    for kind, wanted in exact(world, tau).items():
        contrast = Contrast(world, kind)
        assert np.isclose(contrast.log_loss(tau), wanted.log_loss, rtol=1e-10)
        assert relative(contrast.gradient(tau), wanted.gradient) < 1e-10
        found = contrast.hessian(tau)
        assert relative([found[0, 0], found[0, 1], found[1, 1]], wanted.hessian) < 1e-10
        assert np.isclose(contrast.condition(tau), wanted.condition, rtol=1e-10)


@pytest.mark.long
def test_ten_digits_at_a_hundred_places():
    rng = np.random.default_rng(0)
    for _ in range(100):
        R = float(rng.uniform(0.5, 20))
        world = GaussianMean(R)
        share, off = rng.uniform(0, 1.1), rng.normal(size=2) * R / 10
        test_loss_gradient_and_hessian_have_ten_digits(
            R, world.noise + share * (world.truth - world.noise) + off
        )


# R, L* e^{R²/8}, κ* of NCE and of eNCE, σ_max/(R φ(R/2)), σ_min R e^{R²/8}
TABLE = (
    (1, 0.6592, 2.870, 2.691, 0.8698, 0.1209),
    (2, 0.5875, 9.242, 6.854, 0.5432, 0.0938),
    (3, 0.5125, 29.65, 16.00, 0.4514, 0.0547),
    (4, 0.4465, 87.50, 33.97, 0.4173, 0.0305),
    (5, 0.3916, 231.8, 66.05, 0.4032, 0.0174),
    (6, 0.3465, 553.1, 119.0, 0.3968, 0.0103),
    (8, 0.2788, 2425, 322.0, 0.3925, 0.00413),
    (10, 0.2316, 8151, 727.0, 0.3915, 0.00192),
    (16, 0.1516, 1.179e5, 4354, 0.3917, 3.39e-4),
    (20, 0.1227, 4.336e5, 10402, 0.3920, 1.44e-4),
)


def test_the_table_of_the_optimum():
    for R, loss, kappa, exponential, largest, least in TABLE:
        found = Contrast(GaussianMean(R)).optimum()
        size = np.exp(R**2 / 8)
        assert np.isclose(found.loss * size, loss, atol=6e-5)
        assert np.isclose(found.condition, kappa, rtol=6e-4)
        assert np.isclose(
            Contrast(GaussianMean(R), "exponential").optimum().condition, exponential, rtol=6e-4
        )
        assert np.isclose(found.largest * size * np.sqrt(2 * np.pi) / R, largest, atol=6e-5)
        assert np.isclose(found.smallest * size * R, least, rtol=6e-3)


def test_numbers_at_the_noise_and_the_optimum_in_closed_form():
    for R in (-3.0, 2.0, 7.0):
        world = GaussianMean(R)
        nce, exponential = (Contrast(world, kind) for kind in KINDS)
        assert np.isclose(nce.loss(world.noise), np.log(2), rtol=1e-12)
        np.testing.assert_allclose(nce.gradient(world.noise), [-R / 4, 0], atol=1e-12)
        matrix = np.array([[R**2 + 2, -R], [-R, 2]]) / 8
        np.testing.assert_allclose(nce.hessian(world.noise), matrix, rtol=1e-12)
        optimum = exponential.optimum()
        assert np.isclose(optimum.log_loss, -(R**2) / 8, rtol=1e-12)
        t = 2 + R**2 / 4
        assert np.isclose(optimum.condition, ((t + np.sqrt(t * t - 4)) / 2) ** 2, rtol=1e-10)


def test_the_mirror_image_has_the_same_loss():
    left, right = GaussianMean(-4.0), GaussianMean(4.0)
    tau = np.array([2.5, 6.0])
    for kind in KINDS:
        one, other = Contrast(left, kind), Contrast(right, kind)
        mirrored = tau * [-1, 1]
        assert np.isclose(one.loss(mirrored), other.loss(tau), rtol=1e-12)
        np.testing.assert_allclose(
            one.gradient(mirrored) * [-1, 1], other.gradient(tau), rtol=1e-10
        )


def enumerated(world, tau, kind):
    """Loss by a loop over points."""
    total = 0.0
    for k in range(world.points):
        base = np.exp(world.log_weights[k])
        t = np.append(world.table[k], -1)
        p, s, q = (base * np.exp(each @ t) for each in (tau, world.truth, world.noise))
        if base == 0:
            continue
        if kind == "nce":
            total += -s * np.log(p / (p + q)) / 2 - q * np.log(q / (p + q)) / 2
        else:
            total += s * np.sqrt(q / p) / 2 + q * np.sqrt(p / q) / 2
    return total


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_finite_families_against_a_loop_and_autodiff(seed, kind):
    rng = np.random.default_rng(seed)
    world = FiniteFamily.random(jax.random.key(seed), int(rng.integers(4, 7)), 2, padded=2)
    table, base = np.resize(world.table, (8, 2)), np.resize(np.exp(world.log_weights), 8)
    world = FiniteFamily(table, base, world.truth[:-1], world.noise[:-1])
    contrast, tau = Contrast(world, kind), world.truth + rng.normal(size=3)
    assert np.isclose(contrast.loss(tau), enumerated(world, tau, kind), rtol=1e-9)
    for what in ("gradient", "hessian"):
        one, other = (
            answers(contrast, each, tau[None])[0] for each in (what, f"{what} by differentiation")
        )
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)
    newton = answers(contrast, "newton", tau[None])[0]
    wanted = np.linalg.solve(contrast.hessian(tau), contrast.gradient(tau))
    np.testing.assert_allclose(newton, wanted, rtol=1e-5, atol=1e-8 * np.abs(wanted).max())


def test_closed_form_and_sum_over_a_line_agree_for_variances():
    """A Gaussian in one dimension with unknown variance: eNCE through A, against the sum over its grid."""
    world = DiagonalGaussian([0.3], [3.0], [0.0], [1.0])
    tau = world.truth + np.array([0.1, -0.2, 0.3])
    with jax.enable_x64(True):
        statistics, log_weights = (np.asarray(each) for each in world.grid(6001))
    T = np.hstack([statistics, -np.ones((len(statistics), 1))])
    p, s, q = (np.exp(log_weights + T @ each) for each in (tau, world.truth, world.noise))
    wanted = (s * np.sqrt(q / p) + q * np.sqrt(p / q)).sum() / 2
    assert np.isclose(Contrast(world, "exponential").loss(tau), wanted, rtol=1e-9)
    wanted = (s * np.log1p(q / p) + q * np.log1p(p / q)).sum() / 2
    assert np.isclose(Contrast(world, "nce").loss(tau), wanted, rtol=1e-9)


def test_outside_its_domain_the_exponential_loss_is_infinite_and_never_nan():
    world = DiagonalGaussian([0.0], [8.0], [0.0], [1.0])
    contrast, far = Contrast(world, "exponential"), np.array([-1.5, 0.0, 0.0])
    assert contrast.loss(far) == np.inf
    with pytest.raises(ValueError, match="tau lies where the exponential loss is infinite"):
        contrast.gradient(far)
    assert np.isfinite(Contrast(world, "nce").loss(far))


def test_where_the_model_underflows_the_loss_is_finite_and_the_gradient_is_a_mean():
    """p = 0 everywhere: the gradient is `-½ E_* T`; p infinite everywhere: `½ E_q T`."""
    world = GaussianMean(5.0)
    contrast = Contrast(world)
    np.testing.assert_allclose(contrast.gradient(np.array([0.0, 2000.0])), [-2.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(contrast.gradient(np.array([0.0, -2000.0])), [0, -0.5], atol=1e-9)
    assert np.isclose(contrast.loss(np.array([0.0, 2000.0])), 1000, rtol=1e-2)


def test_affinely_dependent_statistics_have_an_infinite_condition_number():
    table = np.repeat(np.arange(8.0)[:, None], 2, axis=1)
    world = FiniteFamily(table, [1.0] * 4 + [0.0] * 4, [0.1, 0.2], [0.0, 0.0])
    assert Contrast(world).optimum().condition > 1e12


def test_many_dimensions_have_a_closed_form_only_for_the_exponential_loss():
    world = DiagonalGaussian(np.zeros(16), np.full(16, 9.0), np.zeros(16), np.ones(16))
    assert np.isfinite(Contrast(world, "exponential").loss(world.noise))
    with pytest.raises(ValueError, match="this world has 16 dimensions"):
        Contrast(world, "nce")
