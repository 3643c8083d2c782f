"""What a loss says about a kernel, and what a contrast law costs: against loops, other rules of
integration, symbols and simulation."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.stats import norm

from minicosm.studies.contrastive.suites.losses import random_kernels
from minicosm.theory import contrastive as theory
from minicosm.theory.contrastive.quadrature import best_classifier, nodes
from minicosm.worlds.diffusions import (
    LOG_COSH,
    QUADRATIC,
    Gaussian,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
    Table,
    contrastive_pairs,
)

HALF = OrnsteinUhlenbeck(1.0, 0.5)


# -- Lemma 1 ----------------------------------------------------------------------------------------


def test_lemma_1_for_every_kind_of_contrast_law():
    world = GridDiffusion(LOG_COSH, 0.3, points=41)
    rows = np.random.default_rng(0).dirichlet(np.ones(41), size=41)
    for contrast in (Stationary(), Gaussian(0.5, 2.0), Local(), Table(rows)):
        assert theory.lemma_1(world, contrast).holds


@pytest.mark.parametrize(
    ("gap", "wanted"), [(0.05, 0.131471), (0.2, 0.188936), (0.5, 0.223316), (1.0, 0.241178)]
)
def test_the_optimal_loss(gap, wanted):
    assert theory.optimal_loss(OrnsteinUhlenbeck(1.0, gap), Stationary()) == pytest.approx(
        wanted, abs=1e-6
    )
    grid = GridDiffusion(QUADRATIC, gap, points=161, radius=5.0)
    found = theory.lemma_1(grid, Stationary()).details["optimal loss"]
    assert found == pytest.approx(wanted, abs=1e-3)


def test_the_best_classifier_is_the_frequency_of_positive_pairs():
    """Of 200,000 pairs, those that fall near a point."""
    pairs = contrastive_pairs(HALF, Gaussian(0.0, 1.0), 200_000.0, jax.random.key(0))
    x, y, labels = (np.asarray(a, float).reshape(-1) for a in pairs)
    a, v = np.exp(-0.5), 1 - np.exp(-1.0)
    for z, z2 in ((0.0, 0.0), (1.0, 1.0), (-1.0, 0.5)):
        near = (np.abs(x - z) < 0.12) & (np.abs(y - z2) < 0.12)
        p, q = norm.pdf(z2, a * z, np.sqrt(v)), norm.pdf(z2)
        assert labels[near].mean() == pytest.approx(p / (p + q), abs=4 / np.sqrt(near.sum()))


# -- Theorem 2 --------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_comparisons_are_those_of_loops(seed, n):
    law, truth, learned, q = random_kernels(np.random.default_rng(seed), 2, n)
    found = theory.comparison(law, truth, learned, q)
    for b in range(2):
        divergence = excess = 0.0
        for i in range(n):
            for j in range(n):
                p, r, w = truth[b, i, j], learned[b, i, j], q[b, i, j]
                divergence += law[b, i] * p * np.log(p / r)
                excess += law[b, i] * (p + w) / 2 * (r / (r + w) - p / (p + w)) ** 2
        assert found.divergence[b] == pytest.approx(divergence, abs=1e-12)
        assert found.excess[b] == pytest.approx(excess, abs=1e-15)
        ratios = truth[b] / q[b]
        assert found.c_q[b] == pytest.approx(max(ratios.max(), 1 / ratios.min()))


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_theorem_2_and_remark_1_on_random_kernels(seed, n):
    drawn = random_kernels(np.random.default_rng(seed), 40, n)
    for theorem in (theory.theorem_2, theory.theorem_2_sharper, theory.remark_1):
        assert theorem(*drawn).holds, theorem(*drawn)
    assert theory.comparison(*drawn).largest_ratio.max() <= 7 / 6 + 1e-12


def test_theorem_2_does_not_apply_beyond_its_neighbourhood():
    law, truth, q = np.full(2, 0.5), np.full((2, 2), 0.5), np.full((2, 2), 0.5)
    theorem = theory.theorem_2(law, truth, np.array([[0.9, 0.1], [0.5, 0.5]]), q)
    assert theorem.holds is None and "p / p* goes up to 1.8" in str(theorem)


def test_the_curvature_of_the_loss():
    """`r = (u (1 - u) delta / (1 + u delta))^2` has the second derivative of the docstring, in fractions.
    Times `(1 + u delta)^4` both are polynomials of degree at most 6 in each variable, and agree at 7 values
    of each. At `delta <= 1/6` it is at least `2 u^2 (1 - u)^3`."""

    def curvature(u, delta):
        return 2 * u**2 * (1 - u) ** 2 * (1 - 2 * u * delta) / (1 + u * delta) ** 4

    for u, delta in itertools.product((Fraction(n, 11) for n in range(1, 8)), repeat=2):
        # (a + b e) / (c + u e) = zero + one e + two e^2 + ..., squared: twice the factor of e^2
        a, b, c = u * (1 - u) * delta, u * (1 - u), 1 + u * delta
        zero, one = a / c, b / c - a * u / c**2
        two = -u / c * one
        assert 2 * (one**2 + 2 * zero * two) == curvature(u, delta)
    u, delta = np.meshgrid(np.linspace(0.001, 0.999, 400), np.linspace(-0.99, 1 / 6, 400))
    assert (curvature(u, delta) - 2 * u**2 * (1 - u) ** 3).min() > -1e-12


@pytest.mark.parametrize(
    ("radius", "fixed", "local"), [(1, 3.7, 1.6), (2, 379, 2.9), (3, 8e5, 11), (4, 4e10, 86)]
)
def test_c_q_on_squares(radius, fixed, local):
    assert theory.c_q(HALF, Gaussian(0.0, 1.0), float(radius)) == pytest.approx(fixed, rel=0.15)
    assert theory.c_q(HALF, Local(), float(radius)) == pytest.approx(local, rel=0.05)


# -- Theorem 3 --------------------------------------------------------------------------------------


def test_the_quantities_of_theorem_3_are_those_of_scipy():
    world, other = HALF, OrnsteinUhlenbeck(1.5, 0.5)
    found = theory.global_quantities(world, other, Local())
    (a, v), (b, w) = ((m.item() for m in each.moments()) for each in (world, other))
    z = y = np.linspace(-9, 9, 1201)
    p, r, q = (
        norm.pdf(y[None], slope * z[:, None], np.sqrt(variance))
        for slope, variance in ((a, v), (b, w), (1.0, 1.0))
    )

    def integral(values):
        return simpson(norm.pdf(z) * simpson(values, x=y, axis=1), x=z)

    assert found.distance == pytest.approx(integral(p * np.abs(r - p)), rel=1e-4)
    excess = integral((p + q) / 2 * (r / (r + q) - p / (p + q)) ** 2)
    assert found.excess == pytest.approx(excess, rel=1e-4)


def test_the_scaled_ratio_is_flat_for_a_local_contrast_law_only():
    wanted = {
        "local": (Local(), [0.412, 0.366, 0.360, 0.3593, 0.3591, 0.3591]),
        "fixed": (Gaussian(0.0, 1.0), [0.564, 0.706, 1.06, 1.71, 2.84, 4.79]),
    }
    for contrast, digits in wanted.values():
        for gap, ratio in zip((0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6), digits, strict=True):
            truth, other = OrnsteinUhlenbeck(1.0, gap), OrnsteinUhlenbeck(1.5, gap)
            found = theory.global_quantities(truth, other, contrast)
            assert theory.scaled_ratio(found, gap) == pytest.approx(ratio, rel=0.01)


def test_the_moment_and_its_limit():
    np.testing.assert_allclose(
        [theory.moment_limit(d) for d in (1, 2)], [0.7351, 0.03377], rtol=1e-3
    )
    for gap, wanted in ((0.2, 1.021), (0.1, 0.876), (0.05, 0.809), (0.02, 0.769), (0.01, 0.7545)):
        assert theory.local_moment(gap, 1) == pytest.approx(wanted, rel=0.01)
    for gap in (0.2, 0.02):
        pair = OrnsteinUhlenbeck(1.0, gap), OrnsteinUhlenbeck(1.5, gap)
        moment = gap * theory.global_quantities(*pair, Local()).moment
        assert theory.local_moment(gap, 1) == pytest.approx(moment, rel=0.01)
        share = theory.theorem_3(*pair, Local()).details["share of the bound"]
        assert 0.28 < share < 0.33
    assert theory.local_moment(0.002, 2) == pytest.approx(theory.moment_limit(2), rel=0.03)


def test_the_moment_in_two_dimensions_is_that_of_a_simulation():
    rng, gap = np.random.default_rng(0), 0.1
    (a, v), (b, w) = (
        [m.item() for m in OrnsteinUhlenbeck(rho, gap).moments()] for rho in (1.0, 1.5)
    )
    z = rng.normal(size=(200_000, 2))
    y = a * z + np.sqrt(v) * rng.normal(size=z.shape)

    def density(mean, variance):
        return np.exp(-((y - mean) ** 2).sum(axis=1) / (2 * variance)) / (2 * np.pi * variance)

    p, r, q = density(a * z, v), density(b * z, w), density(z, 2 * gap)
    terms = gap**2 * (np.maximum(p, r) + q) ** 4 / q**2
    error = 4 * terms.std() / np.sqrt(len(terms))
    assert theory.local_moment(gap, 2) == pytest.approx(terms.mean(), abs=error)


def test_lemma_6_depends_on_its_constants():
    for world in (HALF, GridDiffusion(LOG_COSH, 0.2, points=161, radius=5.0)):
        assert theory.lemma_6(world, 4.0, 8.0).holds
        assert not theory.lemma_6(world, 1.01, 1.01).holds


# -- prices -----------------------------------------------------------------------------------------

GAPS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("contrast", "digits"),
    [
        (Stationary(), (16.96, 12.15, 10.94, 10.05, 9.107, 8.443, 8.048, 8.005)),
        (Local(), (7.98, 7.93, 7.89, 7.86, 7.86, 7.94, 8.10, 8.26)),
    ],
)
def test_prices_by_gap(contrast, digits):
    found = [theory.price(OrnsteinUhlenbeck(1.0, gap), contrast) for gap in GAPS]
    np.testing.assert_allclose(found, digits, rtol=2e-3)


def test_prices_by_shift_and_width():
    found = [theory.price(HALF, Gaussian(float(m), 1.0)) for m in range(7)]
    np.testing.assert_allclose(found, (9.107, 10.63, 15.54, 23.32, 39.74, 97.15, 344.1), rtol=2e-3)
    widths = (0.1, 0.25, 0.5, 1, 2, 4, 16, 64, 256)
    found = [theory.price(HALF, Gaussian(0.0, float(v))) for v in widths]
    digits = (27.4, 20.3, 13.8, 9.1, 7.95, 8.10, 9.39, 11.9, 16.5)
    np.testing.assert_allclose(found, digits, rtol=1e-2)


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_a_price_by_another_rule_of_integration(loss):
    """Gauss and Hermite in both variables, with gradients by differences, at a gap where one scale is
    enough."""
    u, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / np.sqrt(2 * np.pi)
    z, law = u[:, None], weights[:, None]
    a, v = np.exp(-1.0), 1 - np.exp(-2.0)

    def log_p(theta, y):
        return norm.logpdf(y, theta[0] * z, np.exp(theta[1] / 2))

    def second(f):
        """`E_pi` of the integral over y of `p f` and of `q f` with their gradients."""
        total = np.zeros((2, 2))
        for y, share in ((a * z + np.sqrt(v) * u[None], "p"), (u[None] + 0 * z, "q")):
            theta = np.array([a, np.log(v)])
            e = 1e-5 * np.eye(2)
            g = [(log_p(theta + d, y) - log_p(theta - d, y)) / 2e-5 for d in e]
            p, q = np.exp(log_p(theta, y)), norm.pdf(y)
            k = p * q / (p + q) ** 2
            value = law * weights[None] * f(k, share)
            total += [[np.sum(value * g[i] * g[j]) for j in range(2)] for i in range(2)]
        return total

    information = second(lambda k, share: 1.0 * (share == "p"))
    if loss == "log":
        wanted = np.trace(information @ np.linalg.inv(second(lambda k, share: k / 2)))
    else:
        inverse = np.linalg.inv(second(lambda k, share: k**2 / 2))
        V = second(lambda k, share: k**3 / 2)
        wanted = np.trace(information @ inverse @ V @ inverse)
    found = theory.price(OrnsteinUhlenbeck(1.0, 1.0), Stationary(), loss)
    assert found == pytest.approx(wanted, rel=1e-4)


def test_a_contrast_law_that_is_the_kernel_costs_eight():
    """At a wide gap the kernel is the stationary law; then twice a parameter costs four."""
    assert theory.price(OrnsteinUhlenbeck(1.0, 12.0), Stationary()) == pytest.approx(8, rel=1e-4)


def test_nodes_integrate_densities_to_one():
    for gap, contrast in ((1e-6, Gaussian(0.0, 1.0)), (0.01, Local()), (1.0, Gaussian(6.0, 1.0))):
        at = nodes(OrnsteinUhlenbeck(1.0, gap), contrast)
        assert np.sum(at.weights * at.kernel) == pytest.approx(1, abs=1e-4)
        assert np.sum(at.weights * at.contrast) == pytest.approx(1, abs=1e-4)
        h = best_classifier(at)
        assert ((h >= 0) & (h <= 1)).all()
