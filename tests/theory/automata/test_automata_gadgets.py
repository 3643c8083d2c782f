"""Lookups, thresholds and heads against dictionaries, comparisons and sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from minicosm.theory.automata import gadget_lemmas as lemmas
from minicosm.theory.automata.gadgets import (
    circle,
    look_back,
    lookup,
    lookup_1d,
    previous_position,
    rotation,
    threshold,
)

SHIFTS = np.linspace(-1, 1, 9)


@given(st.integers(0, 10**6))
def test_lookups_give_the_value_of_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    n, outputs = rng.integers(1, 12), rng.integers(1, 4)
    points = np.cumsum(rng.uniform(0.1, 3, n)) - rng.uniform(0, 10)
    values = rng.normal(size=(n, outputs))
    assert lemmas.lemma_10(points, values, SHIFTS).holds
    assert lemmas.lemma_10_sizes(points, values).holds
    built = lookup_1d(points, values, 1, list(range(outputs)))
    assert (np.abs(built(np.array([[0.0], [1e4]]))) < 1e-6).all()


@given(st.integers(0, 10**6))
def test_lookups_of_several_coordinates_bear_close_coordinates(seed):
    rng = np.random.default_rng(seed)
    n, d_in = int(rng.integers(1, 15)), int(rng.integers(1, 4))
    # whole numbers apart, with coordinates that differ by a thousandth in others
    points = rng.integers(0, 3, (n, d_in)) + rng.choice([0, 1e-3], (n, d_in))
    kept = np.unique(np.rint(points), axis=0, return_index=True)[1]
    points, values = points[kept], rng.normal(size=(len(kept), 2))
    assert lemmas.lemma_11(points, values, SHIFTS).holds
    assert lemmas.lemma_11_sizes(points, values).holds


def test_lookups_fail_beyond_the_perturbation_they_bear():
    points, values = np.array([0.0, 1.0]), np.array([[0.0], [1.0]])
    built = lookup_1d(points, values, 0, [0])
    assert abs(built(np.array([[1 + 0.26]]))[0, 0] - 1) > 0.01
    wide = lookup(points[:, None], values, [0], [0])
    assert abs(wide(np.array([[1 + 0.26]]))[0, 0] - 1) > 0.01


@given(st.floats(1e-3, 1e3), st.integers(0, 10**6))
def test_thresholds_bear_half_of_the_gap(gap, seed):
    rng = np.random.default_rng(seed)
    points = gap * rng.choice([-1, 1], 20) * (1 + rng.exponential(size=20))
    points[:2] = gap, -gap
    assert lemmas.lemma_12(gap, points, SHIFTS).holds
    assert lemmas.lemma_12_sizes(gap).holds
    built = threshold(gap, 0, 0)
    for share in (-0.5, 0.5):
        asked = (points + share * gap * (1 - 1e-9))[None]
        np.testing.assert_allclose(built(asked)[0], points > 0, atol=1e-8)


def test_the_printed_threshold_gives_7_eighths():
    printed = threshold(2.0, 0, 0, printed=True)
    assert printed(np.array([[2.0 - 0.5]]))[0, 0] == 0.875
    assert lemmas.lemma_12(2.0, np.array([2.0]), np.array([0.0]), printed=True).holds
    assert lemmas.lemma_12(2.0, np.array([2.0]), SHIFTS, printed=True).holds is False


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_softmax_is_close_to_hard_attention(scores):
    z = np.array(scores)
    theorem = lemmas.lemma_13(z)
    assert theorem.holds
    weights = softmax(z)
    order = np.sort(z)
    gamma = order[-1] - order[-2] if len(z) > 1 else np.inf
    distance = 2 * (1 - weights.max())
    assert theorem.slack == pytest.approx(2 * len(z) * np.exp(-gamma) - distance, abs=1e-9)


def test_circles():
    for n in range(2, 60):
        points = circle(n, np.arange(n))
        products = points @ points.T - 2 * np.eye(n)
        assert lemmas.proposition_2(n).slack == pytest.approx(1 - 8 / n**2 - products.max())
        assert lemmas.proposition_2(n).holds
        assert lemmas.proposition_2(n, printed=True).holds is False
        moved = points @ rotation(2 * np.pi / n)
        np.testing.assert_allclose(moved, np.roll(points, -1, axis=0), atol=1e-12)
    assert lemmas.proposition_2_constant(2).slack == pytest.approx(0)


@pytest.mark.parametrize("length", [1, 2, 5, 40])
@pytest.mark.parametrize("largest", [1, 30])
def test_the_previous_position_is_copied_within_an_eighth(length, largest):
    rng = np.random.default_rng(length)
    x = np.zeros((20, length + 1, 4))
    x[:, :, 0] = rng.integers(0, largest + 1, (20, length + 1))
    x[:, :, 2:] = circle(length + 1, np.arange(length + 1))
    head = previous_position(4, length, largest, [2, 3], [0], [1])
    copied = head(x)[:, :, 1]
    wanted = np.concatenate([x[:, :1, 0], x[:, :-1, 0]], axis=1)
    assert np.abs(copied - wanted).max() <= 1 / 8


def test_looking_back_by_any_number_of_places():
    N = 16
    x = np.zeros((1, N, 3))
    x[0, :, 0] = np.arange(N)
    x[0, :, 1:] = circle(N, np.arange(N))
    for back in range(4):
        head = look_back(3, [1, 2], 2 * np.pi * back / N, 1e4, [0], [0])
        np.testing.assert_allclose(head(x)[0, back:, 0], np.arange(N - back), atol=1e-9)


def test_tables_need_points_that_differ_and_fit():
    values = np.ones((2, 1))
    with pytest.raises(ValueError, match="two of the points are the same"):
        lookup_1d(np.array([1.0, 1.0]), values, 0, [0])
    with pytest.raises(ValueError, match="gap is 2; two of the points are only 1 apart"):
        lookup_1d(np.array([1.0, 2.0]), values, 0, [0], gap=2.0)
    with pytest.raises(ValueError, match="writes has 2 dimensions; the values have 1"):
        lookup_1d(np.array([1.0, 2.0]), values, 0, [0, 1])
    with pytest.raises(ValueError, match="reads has 2 dimensions; the points have 1 coordinates"):
        lookup(np.array([[1.0], [2.0]]), values, [0, 1], [0])
