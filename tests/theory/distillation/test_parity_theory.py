"""The theory of the first two stages, against enumeration and definitions written out."""

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from minicosm.theory import distillation as theory


def cube(d):
    return np.array(list(itertools.product((1.0, -1.0), repeat=d)))


@pytest.mark.parametrize("d", [1, 3, 7, 11])
def test_majority_coefficients_are_expectations(d):
    x = cube(d)
    majority = np.sign(x.sum(axis=1))
    for i in range(d + 1):
        wanted = (majority * np.prod(x[:, :i], axis=1)).mean()
        assert theory.majority_coefficient(d, i) == pytest.approx(wanted, abs=1e-12)


@hypothesis.given(st.integers(1, 6), st.integers(0, 2**32))
def test_the_fast_transform_is_the_definition(d, seed):
    values = np.random.default_rng(seed).normal(size=2**d)
    x = theory.sign_cube(d)
    found = theory.walsh_hadamard(values)
    for number in range(2**d):
        inside = [j for j in range(d) if number >> j & 1]
        assert found[number] == pytest.approx((values * np.prod(x[:, inside], axis=1)).mean())


@hypothesis.given(st.integers(3, 6), st.integers(1, 3), st.integers(0, 2**32))
def test_monomial_correlations_are_fourier_coefficients_of_one_degree(d, degree, seed):
    rng = np.random.default_rng(seed)
    values, support = rng.normal(size=2**d), rng.permutation(d)[:3].tolist()
    found = theory.monomial_correlations(values, theory.sign_cube(d), support, degree)
    coefficients = np.abs(theory.walsh_hadamard(values))
    on, off = [], []
    for chosen in itertools.combinations(range(d), degree):
        (on if set(chosen) <= set(support) else off).append(coefficients[sum(2**j for j in chosen)])
    np.testing.assert_allclose(found.on_support, on, atol=1e-12)
    np.testing.assert_allclose(found.off_support, off, atol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(5, 2), (9, 4), (11, 4)])
def test_first_steps_are_as_stated(d, k):
    for found in (theory.claim_7(d, k, 16, 1), theory.lemma_63(d, k, 16, 2),
                  theory.student_gradient(d, k, 16, 8, 3)):  # fmt: skip
        assert found.holds, str(found)
    # A gradient by differences of the loss, which shares no formula with the others.
    start = theory.symmetric_start(d, k, 8, 5)
    x = cube(d)
    y = np.prod(x[:, :k], axis=1)
    found = theory.expected_gradient(start, k)
    for i, j in ((0, 0), (3, d - 1), (7, 1)):
        moved = [start.w.copy(), start.w.copy()]
        for w, step in zip(moved, (1e-6, -1e-6), strict=True):
            w[i, j] += step
        losses = [
            np.maximum(0, 1 - (np.maximum(x @ w.T + start.b, 0) @ start.a) * y).mean()
            for w in moved
        ]
        slope = (losses[0] - losses[1]) / 2e-6
        assert found[i, j] == pytest.approx(slope, abs=1e-6)


def test_lemma_64_needs_aligned_signs():
    assert theory.lemma_64(11, 4, 64, 0, aligned=True).holds
    assert theory.lemma_64(9, 4, 4096, 0).holds is False
    assert theory.lemma_64(12, 4, 16, 0).holds is None  # the closed form is for odd d
    printed = theory.corollary_3(9, 4, 32, 0)
    assert printed.holds is False and printed.details["left"] < 1e-15


@pytest.mark.parametrize("seed", range(5))
def test_a_teacher_after_one_step_is_odd_and_smaller_than_lemma_64_says(seed):
    """Items 3 and 4: no coefficient of an even set, and a mean square of at most the order of d/k."""
    values = theory.one_step_teacher(9, 4, 32, seed)(theory.sign_cube(9))
    even = [bin(u).count("1") % 2 == 0 for u in range(2**9)]
    assert np.abs(theory.walsh_hadamard(values)[even]).max() < 1e-15
    assert 0 < np.mean(values**2) < 9 / 4


def test_corollary_4_holds_when_clipped_and_the_example_refutes_it_as_printed():
    rng = np.random.default_rng(0)
    x = theory.sign_cube(6)
    y = np.prod(x[:, :4], axis=1)
    for scale in (0.1, 1.0, 5.0):
        values = scale * rng.normal(size=64) + y
        assert theory.corollary_4(values, 4).holds
    example = 11 * y + 10 * x[:, 0]
    assert theory.corollary_4(example, 4).holds
    assert theory.corollary_4(example, 4, clipped=False).holds is False


def test_equal_coefficients_can_be_fitted_and_unequal_ones_cannot():
    assert theory.collinear_loss(np.array([1.0, -1.0, 1.0, 1.0])) < 1e-9
    assert theory.unequal_example().holds
    assert theory.unequal_example().details["least loss"] == 0.25
    assert theory.collinear_loss(np.array([1.0, 1.0, 0.5, 0.5])) >= 0.25 - 1e-9
    assert theory.collinear_loss(np.array([1.0, 2.0, 4.0, 8.0])) > 0.1


def test_kept_signs_learn_where_the_support_is_found():
    found = theory.student_fits(11, 2, 64, 3000, 0)
    assert found["kept signs"].recall == 1.0 and found["kept signs"].error == 0.0
    assert theory.lemma_65_error(11, 2, 64, 1) == 0.0


def test_recall_grows_with_the_batch_and_levels_are_interpolated():
    grown = [
        theory.recall_by_batch("leak", 11, 2, 8, [4, 4000], seed, leak=0.5) for seed in range(6)
    ]
    assert np.mean(grown, axis=0)[1] == 1.0 > np.mean(grown, axis=0)[0]
    batches, recall = np.array([10.0, 1000.0]), np.array([0.4, 0.8])
    assert theory.batch_for_recall(batches, recall, 0.6) == pytest.approx(100)
    assert theory.batch_for_recall(batches, recall, 0.9) == np.inf


@pytest.mark.parametrize(("d", "k"), [(3, 1), (6, 2), (10, 4), (100, 6)])
def test_both_transformers_compute_the_parity(d, k):
    nine = theory.proposition_9(d, k)
    assert nine.holds and nine.details["error below it"] > 1e-3
    assert theory.proposition_10(d, k).holds


def test_few_parities_correlate_with_a_derivative():
    found = theory.lemma_66(8, 4, 4, 0.01, 0)
    assert found.holds and found.details["most parities"] > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: theory.symmetric_start(9, 3, 4, 0), "k is 3; it must be even"),
        (lambda: theory.symmetric_start(9, 4, 5, 0), "m is 5; neurons come in mirrored pairs"),
        (lambda: theory.majority_coefficient(4, 1), "d is 4; the closed form is for odd d"),
        (lambda: theory.walsh_hadamard(np.ones(3)), "must be a power of two"),
        (lambda: theory.proposition_9(4, 4), "k is 4 and d is 4"),
        (lambda: theory.recall_by_batch("labels", 9, 2, 4, [5, 5], 0), "they must increase"),
    ],
)
def test_bad_input_meets_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
