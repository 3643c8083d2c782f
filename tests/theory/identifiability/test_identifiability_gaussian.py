"""Gaussian HMMs: recovery from functions, reflections and twins, against sums in fractions."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory import identifiability as theory
from minicosm.theory.identifiability.examples import middle_fractions
from minicosm.theory.identifiability.gaussian_theorems import posterior
from minicosm.worlds import GaussianHMM, gaussian_world, predictor

SIZES = st.sampled_from([(2, 2), (3, 2), (3, 3), (5, 3)])


def random_world(seed, d, k, unit=True):
    return gaussian_world(jax.random.key(seed), hidden=k, dimension=d, unit=unit)


def solutions(world, task):
    return theory.recover_gaussian(
        predictor(world, task), task, hidden=world.hidden, dimension=world.dimension
    )


@settings(max_examples=10)
@given(st.integers(0, 10**6), SIZES, st.booleans())
def test_one_token_from_another_gives_the_world(seed, size, unit):
    world = random_world(seed, *size, unit)
    for task in ("x2|x1", "x1|x2", "x7|x6"):
        (found,) = solutions(world, task)
        assert theory.distance(world, found.world) < 1e-6


@settings(max_examples=10)
@given(st.integers(0, 10**6), SIZES, st.sampled_from((*theory.TWO_TOKENS, "x3,x2|x1", "x2,x1|x3")))
def test_two_tokens_from_one_give_the_world_among_their_solutions(seed, size, task):
    world = random_world(seed, *size)
    found = solutions(world, task)
    assert len(found) == (2 if size[1] == 2 and task.endswith("x2") else 1)
    assert min(theory.distance(world, s.world) for s in found) < 1e-6
    for s in found:
        assert theory.apart(world, s.world, task) < 1e-6


def test_means_that_are_close_are_recovered_across_a_gap():
    """Near ties far out, which are off by little, must not be taken for the values of the predictor."""
    M = [[0.99952889, 0.9598107], [0.03069209, 0.2806482]]
    world = GaussianHMM([[0.41951618, 0.58048382], [0.58048382, 0.41951618]], M)
    (found,) = solutions(world, "x3|x1")
    assert np.abs(np.sort(found.M[1]) - np.sort(np.asarray(world.M)[1])).max() < 1e-8


def test_unequal_lengths_have_no_twin_of_the_middle_token():
    world = GaussianHMM([[0.8, 0.2], [0.2, 0.8]], [[1.0, 0.0], [0.0, 1.4]])
    assert len(solutions(world, "x1,x3|x2")) == 1


@pytest.mark.parametrize("number", [0, 1, 2])
def test_predictors_of_the_pairs_are_equal_from_the_definition(number):
    """E[x1 ⊗ x3 | h2] as a sum over all hidden paths, in fractions: weights of paths times outer products of
    means."""
    M, T, other_M, other_T = middle_fractions()[number]
    k = len(T)
    for h in range(k):
        one = two = 0
        for i, j in itertools.product(range(k), repeat=2):
            # P(h1 = i | h2 = h) = T[h, i], since the chain is doubly stochastic; P(h3 = j | h2 = h) = T[j, h]
            one = one + T[h, i] * T[j, h] * np.outer(M[:, i], M[:, j])
            two = two + other_T[h, i] * other_T[j, h] * np.outer(other_M[:, i], other_M[:, j])
        assert (one == two).all()
    assert ((M - M[:, :1]) == (other_M - other_M[:, :1])).all()  # so the log odds have equal slopes
    assert (
        (other_T >= 0).all()
        and (other_T.sum(axis=0) == 1).all()
        and (other_T.sum(axis=1) == 1).all()
    )


def test_the_twin_of_two_states_exists_for_all_means_and_chains():
    """Means (c, ±s), any chain that stays with probability a: both predictors are polynomials of degree at
    most 2 in each of the three, and equal without rounding at 4 values of each, so equal."""
    values = [Fraction(n, 7) for n in (1, 2, 4, 9)]
    for c, s, a in itertools.product(values, repeat=3):
        M, T = np.array([[c, c], [s, -s]]), np.array([[a, 1 - a], [1 - a, a]])
        mirrored, swapped = np.array([[-c, -c], [s, -s]]), np.array([[1 - a, a], [a, 1 - a]])
        for h in (0, 1):
            one = np.outer((M @ T.T)[:, h], (M @ T)[:, h])
            two = np.outer((mirrored @ swapped.T)[:, h], (mirrored @ swapped)[:, h])
            assert (one == two).all()


@given(st.integers(0, 10**6), st.sampled_from([(3, 2), (4, 2), (5, 3)]), st.floats(0.3, 3.0))
def test_means_turned_out_of_their_span_have_the_same_posterior(seed, size, angle):
    M = np.asarray(random_world(seed, *size).M)
    turned = theory.turned_means(M, angle)
    x = 3 * np.random.default_rng(seed).normal(size=(50, size[0]))
    np.testing.assert_allclose(posterior(turned, x), posterior(M, x), atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=0), 1)
    assert theory.lemma_7_as_printed(M, turned).holds is False
    assert theory.lemma_7_as_printed(M, theory.reflection(M) @ M).holds


def test_a_reflection_moves_all_means_by_one_vector():
    """Claims 4 and 5: by twice the foot of the perpendicular from the origin on their affine hull."""
    M = np.asarray(random_world(4, 4, 3).M)
    H = theory.reflection(M)
    moved = M - H @ M
    np.testing.assert_allclose(moved, moved[:, :1] @ np.ones((1, 3)), atol=1e-12)
    weights = np.linalg.solve(M.T @ M, np.ones(3))
    foot = M @ weights / weights.sum()  # the point of least norm whose weights sum to one
    np.testing.assert_allclose(moved[:, 0], 2 * foot, atol=1e-12)
    np.testing.assert_allclose(H @ H, np.eye(4), atol=1e-12)


@settings(max_examples=4)
@given(st.integers(0, 10**6), st.sampled_from([(2, 2), (5, 3)]))
def test_the_conditional_density_gives_the_chain(seed, size):
    assert theory.theorem_9(random_world(seed, *size)).error < 1e-8


def test_isolated_twins_are_found_and_certificates_given():
    pair = theory.middle_pair(1)
    found = theory.twin(pair[0], "x1,x3|x2", jax.random.key(0))
    assert isinstance(found, theory.Twin) and theory.distance(found.second, pair[1]) < 1e-12
    both = theory.twin(pair[0], ["x1,x3|x2", "x1|x2"], jax.random.key(0))
    assert isinstance(both, theory.NoTwinNearby) and both.unseen == 0
    first, _ = theory.gaussian_gap_pair(3)
    gap = theory.twin(first, "x4|x1", jax.random.key(0))
    assert isinstance(gap, theory.Twin) and gap.error < 1e-12 and gap.distance > 0.1


def test_statements_on_worlds_outside_their_scope():
    long = random_world(0, 3, 2, unit=False)
    assert theory.theorem_5(long).holds is None and theory.theorem_5(long, any_norms=True).holds
    assert theory.theorem_8(long, "x1,x3|x2").holds is None
    assert theory.two_states(random_world(0, 3, 3)).holds is None
    assert theory.lemma_8(long.M, long.M).holds is False  # related means are mapped to each other
    with pytest.raises(ValueError, match="hidden is 3; independent means in dimension = 2"):
        theory.recover_gaussian(lambda x: x, "x2|x1", hidden=3, dimension=2)
    with pytest.raises(ValueError, match="function asks for a posterior of"):
        theory.recover_gaussian(lambda x: np.tanh(x) ** 3, "x2|x1", hidden=2, dimension=2)
