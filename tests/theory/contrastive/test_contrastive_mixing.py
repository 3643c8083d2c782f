"""Mixing of points and pairs against integrals, exact fractions and sums over all paths."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from minicosm.theory import contrastive as theory
from minicosm.theory.contrastive.length import least_blocks
from minicosm.theory.contrastive.mixing import distances_after, normal_distance
from minicosm.worlds.diffusions import (
    LOG_COSH,
    QUADRATIC,
    GridDiffusion,
    Local,
    OrnsteinUhlenbeck,
    Stationary,
)

LINE = OrnsteinUhlenbeck(1.0, 1.0)


@given(st.floats(-6, 6), st.floats(0.05, 3), st.floats(0.05, 3))
def test_the_distance_of_two_normal_laws_is_the_integral(mean, variance, other):
    first, second = norm(mean, np.sqrt(variance)), norm(0, np.sqrt(other))
    x = np.linspace(-25, 25, 400_001)
    wanted = np.abs(first.pdf(x) - second.pdf(x)).sum() * (x[1] - x[0]) / 2
    assert normal_distance(mean, variance, other) == pytest.approx(wanted, abs=1e-6)


def test_the_distance_of_equal_variances():
    assert normal_distance(1.3, 2.0, 2.0) == pytest.approx(2 * norm.cdf(1.3 / np.sqrt(2) / 2) - 1)
    assert normal_distance(0.0, 2.0, 2.0) == 0


@pytest.mark.parametrize(
    ("time", "wanted"),
    [(0.1, 0.523351), (0.5, 0.240474), (1.0, 0.127138), (2.0, 0.043642), (5.0, 0.002145)],
)
def test_mixing_coefficients_of_ornstein_and_uhlenbeck(time, wanted):
    found = theory.beta(LINE, time)
    assert found == pytest.approx(wanted, abs=1e-6)
    a, v = np.exp(-time), 1 - np.exp(-2 * time)
    integral, _ = quad(lambda z: norm.pdf(z) * normal_distance(a * z, v, 1.0), -8, 8, limit=200)
    assert found == pytest.approx(integral, abs=1e-6)
    assert theory.beta(OrnsteinUhlenbeck(4.0, 1.0), time / 4) == pytest.approx(found, rel=1e-6)


def test_mixing_becomes_exponential_with_the_constant_one_over_pi():
    assert np.exp(9.0) * theory.beta(LINE, 9.0) == pytest.approx(1 / np.pi, rel=1e-3)


def test_the_mean_distance_from_a_start():
    starts = np.array([0.0, 1.0, 10.0])
    _, apart = distances_after(LINE, starts, 1.0)
    wanted = [quad(lambda y, z=z: abs(z - y) * norm.pdf(y), -9, 9, points=[z])[0] for z in (0, 1)]
    np.testing.assert_allclose(apart[:2], wanted, rtol=1e-6)
    assert apart[2] == pytest.approx(10.0)
    grid = GridDiffusion(QUADRATIC, 1.0, points=241, radius=6.0)
    near = np.array([0.0, 1.0, 3.0])
    for found, exact in zip(
        distances_after(grid, near, 1.0), distances_after(LINE, near, 1.0), strict=True
    ):
        np.testing.assert_allclose(found, exact, atol=2e-3)


# -- pairs ------------------------------------------------------------------------------------------


def by_paths(P, law, q, i):
    """The mixing coefficient of pairs 2i gaps apart, with labels or without, by the joint law of
    `(x0, x0', y0)` and the anchor 2i gaps later, summed over all paths between."""
    n = len(law)
    joint = {}
    for path in itertools.product(range(n), repeat=2 * i + 1):
        p = law[path[0]]
        for now, then in itertools.pairwise(path):
            p = p * P[now][then]
        last = path[-1]
        place = (path[0], path[1], 1, last)
        joint[place] = joint.get(place, 0) + p / 2
        for other in range(n):
            place = (path[0], other, 0, last)
            joint[place] = joint.get(place, 0) + p * q[path[0]][other] / 2
    labelled, plain = 0, {}
    for (x, y, label, last), p in joint.items():
        seen = sum(joint[x, y, label, k] for k in range(n))
        labelled = labelled + abs(p - seen * law[last])
        plain[x, y, last] = plain.get((x, y, last), 0) + p
    pairs = 0
    for (x, y, last), p in plain.items():
        pairs = pairs + abs(p - sum(plain[x, y, k] for k in range(n)) * law[last])
    return pairs / 2, labelled / 2


def test_the_two_state_chain_in_fractions():
    stay, half = Fraction(3, 5), Fraction(1, 2)
    P, law, q = [[stay, 1 - stay], [1 - stay, stay]], [half, half], [[half] * 2] * 2
    pairs, labelled = by_paths(P, law, q, 1)
    assert (pairs, labelled) == (Fraction(1, 20), Fraction(3, 50))
    found = theory.pair_mixing(*(np.array(a, float) for a in (P, law, q)), 1)
    np.testing.assert_allclose(found, [1 / 20, 3 / 50, 1 / 50, 1 / 10], atol=1e-15)
    assert theory.lemma_4(*(np.array(a, float) for a in (P, law, q)), 1).holds
    assert not theory.lemma_4_as_printed(*(np.array(a, float) for a in (P, law, q)), 1).holds


def random_chain(seed, n):
    rng = np.random.default_rng(seed)
    edges = rng.gamma(0.5, size=(n, n)) + 1e-3
    edges = edges + edges.T
    law, P = edges.sum(axis=1) / edges.sum(), edges / edges.sum(axis=1, keepdims=True)
    return P, law, rng.dirichlet(np.ones(n), size=n) * 0.99 + 0.01 / n


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 2))
def test_pairs_mix_as_the_sum_over_paths_says(seed, n, i):
    P, law, q = random_chain(seed, n)
    found = theory.pair_mixing(P, law, q, i)
    np.testing.assert_allclose(found[:2], by_paths(P, law, q, i), atol=1e-12)
    assert theory.lemma_4(P, law, q, i).holds


def test_lemma_4_can_fail():
    """For a law that is not stationary."""
    P, law, q = random_chain(3, 3)
    assert not theory.lemma_4(P, np.roll(law, 1), q, 1).holds


def test_lemma_3_says_nothing_where_its_bound_is_above_one():
    assert theory.lemma_3(GridDiffusion(LOG_COSH, 0.05, points=61), Stationary(), 1).holds is None
    for contrast in (Stationary(), Local()):
        theorem = theory.lemma_3(GridDiffusion(LOG_COSH, 0.5, points=61), contrast, 2)
        assert theorem.holds and theorem.details["pairs"] > 1e-3


# -- points -----------------------------------------------------------------------------------------


def test_lemma_5_and_its_printed_form():
    starts = np.linspace(0, 10, 51)
    for world in (LINE, GridDiffusion(LOG_COSH, 1.0, points=133, radius=11.0)):
        for time in (0.05, 1.0, 4.0):
            assert theory.lemma_5(world, starts, time).holds
    printed = theory.lemma_5_as_printed(LINE, starts, 1.0)
    assert not printed.holds
    assert printed.details["largest distance"] == pytest.approx(0.943, abs=1e-3)
    assert printed.details["bound"] == pytest.approx(0.318, abs=1e-3)
    assert printed.details["least start that violates it"] == pytest.approx(2.2, abs=0.05)
    assert theory.lemma_5_as_printed(LINE, np.zeros(1), 1.0).holds  # at the minimiser it is right


def test_equation_2_2_and_its_printed_form():
    one, twenty = (OrnsteinUhlenbeck(np.eye(d), 1.0) for d in (1, 20))
    assert theory.equation_2_2(one).holds and theory.equation_2_2(twenty).holds
    first, last = (theory.equation_2_2_as_printed(world) for world in (one, twenty))
    assert not first.holds and not last.holds
    assert first.details["B"] == pytest.approx(0.798, abs=1e-3)
    assert first.details["bound"] == pytest.approx(0.399, abs=1e-3)
    assert last.details["B"] == pytest.approx(4.42, abs=0.01)
    assert last.details["bound"] == pytest.approx(5e-8, rel=0.1)
    grid = GridDiffusion(LOG_COSH, 1.0, points=81)
    assert theory.equation_2_2(grid).holds
    line = theory.equation_2_2(GridDiffusion(QUADRATIC, 1.0, points=201, radius=8.0))
    assert line.details["B"] == pytest.approx(np.sqrt(2 / np.pi), abs=1e-3)


# -- lengths ----------------------------------------------------------------------------------------


def test_the_least_number_of_blocks_is_the_root():
    from scipy.optimize import brentq

    def above(mu, K, delta, gap):
        return theory.generalisation_bound(mu, K, delta) - gap

    for K, delta, gap in ((3.0, 0.05, 0.1), (1.0, 0.01, 0.01), (0.2, 0.4, 0.5)):
        wanted = brentq(above, 3, 1e12, args=(K, delta, gap))
        assert least_blocks(K, np.array([delta]), gap)[0] == pytest.approx(wanted, rel=1e-6)
    bound = theory.generalisation_bound(50.0, 2.0, 0.1)
    assert bound == pytest.approx(2 * np.sqrt(np.log(50) / 50) + np.sqrt(np.log(20) / 100))


def test_a_trajectory_is_as_long_as_lemma_2_asks_and_no_longer():
    """At the length that is returned some number of blocks meets both conditions; at 0.98 of it none does."""
    K, delta, gap, B = 1.0, 0.1, 0.2, 0.8
    T = theory.trajectory_length(theory.root_mixing(B), K, delta, gap)

    def possible(T):
        mus = np.geomspace(2, 1e6, 4000)
        left = delta - 2 * (mus - 1) * B / np.sqrt(np.pi * T / (2 * mus))
        with np.errstate(invalid="ignore", divide="ignore"):
            bound = K * np.sqrt(np.log(mus) / mus) + np.sqrt(np.log(2 / left) / (2 * mus))
        return bool(((left > 0) & (bound <= gap)).any())

    assert possible(1.02 * T) and not possible(0.98 * T)


def test_local_exponents_of_the_argument():
    gaps = (1e-2, 1e-3, 1e-4, 1e-5)
    root, exponential = theory.root_mixing(0.8), theory.exponential_mixing(1.0)
    found = [theory.exponent(root, 3.0, 0.05, pair) for pair in itertools.pairwise(gaps)]
    np.testing.assert_allclose(found, [6.32, 6.25, 6.21], atol=0.02)
    assert found == sorted(found, reverse=True)
    found = [theory.exponent(exponential, 3.0, 0.05, pair) for pair in itertools.pairwise(gaps)]
    np.testing.assert_allclose(found, [2.21, 2.17, 2.14], atol=0.03)


def test_the_printed_number_of_blocks():
    sides = [theory.printed_side(3.0, 0.05, gap) for gap in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(sides, [10.7, 40.5, 145.8], rtol=0.01)
    assert not theory.theorem_1_proof_as_printed().holds
