"""Rank-one terms of tensors against TensorLy, and Kruskal ranks against a definition that is spelled out."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minicosm.theory.identifiability import jennrich, kruskal_condition, kruskal_rank, proposition_1


def terms(A, B, C):
    return np.einsum("ai,bi,ci->iabc", A, B, C)


def matched(one, other):
    """The largest difference of terms, in the best order."""
    orders = itertools.permutations(range(len(one)))
    return min(np.abs(one - other[list(order)]).max() for order in orders)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 2), st.integers(0, 2))
def test_the_terms_are_those_that_were_put_together(seed, r, more_rows, more_columns):
    rng = np.random.default_rng(seed)
    A, B, C = (rng.normal(size=(r + n, r)) for n in (more_rows + 1, more_columns, 1))
    assume(min(np.linalg.svd(F, compute_uv=False)[-1] for F in (A, B, C)) > 0.05)
    found = jennrich(np.einsum("ai,bi,ci->abc", A, B, C), r)
    assert matched(terms(A, B, C), terms(found.A, found.B, found.C)) < 1e-8
    assert found.residual < 1e-8
    np.testing.assert_allclose(np.linalg.norm(found.B, axis=0), 1)


@settings(max_examples=6)
@given(st.integers(0, 10**6))
def test_the_terms_are_those_of_tensorly(seed):
    """An alternating decomposition that shares nothing with simultaneous diagonalisation."""
    import tensorly
    from tensorly.decomposition import parafac

    rng = np.random.default_rng(seed)
    A, B, C = (
        np.linalg.qr(rng.normal(size=(5, 3)))[0] + 0.2 * rng.normal(size=(5, 3)) for _ in range(3)
    )
    tensor = np.einsum("ai,bi,ci->abc", A, B, C)
    weights, factors = parafac(
        tensorly.tensor(tensor), 3, n_iter_max=3000, tol=1e-15, init="random", random_state=seed
    )
    peer = terms(factors[0] * weights, factors[1], factors[2])
    assume(np.abs(peer.sum(axis=0) - tensor).max() < 1e-9)  # it may stop in a swamp
    found = jennrich(tensor, 3)
    assert matched(peer, terms(found.A, found.B, found.C)) < 1e-6


def test_terms_that_cannot_be_told_apart_are_refused():
    rng = np.random.default_rng(0)
    A, B, C = (rng.normal(size=(4, 3)) for _ in range(3))
    B[:, 1] = B[:, 0]
    with pytest.raises(ValueError, match="no 3 rank-one terms that can be told apart"):
        jennrich(np.einsum("ai,bi,ci->abc", A, B, C), 3)
    with pytest.raises(ValueError, match="no 3 rank-one terms"):
        jennrich(np.zeros((4, 4, 4)), 3)
    with pytest.raises(ValueError, match="rank is 5; slices of shape"):
        jennrich(np.ones((4, 4, 4)), 5)


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        (np.eye(3), 3),
        (
            np.array([[1.0, 0, 1], [0, 1, 1], [0, 0, 0]]),
            2,
        ),  # any two are independent, the three not
        (np.array([[1.0, 2, 0], [0, 0, 1]]), 1),  # two parallel columns
        (np.array([[1.0, 0], [1.0, 0]]), 0),  # a column of zeros
        (np.ones((1, 1)), 1),
    ],
)
def test_kruskal_ranks(matrix, rank):
    assert kruskal_rank(matrix) == rank


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5))
def test_kruskal_rank_is_the_definition(seed, rows, columns):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, size=(rows, columns)).astype(float)
    every = [
        all(
            np.linalg.matrix_rank(matrix[:, chosen]) == size
            for chosen in itertools.combinations(range(columns), size)
        )
        for size in range(1, columns + 1)
    ]
    assert kruskal_rank(matrix) == (every.index(False) if False in every else columns)


def test_kruskals_condition_and_what_it_gives():
    rng = np.random.default_rng(1)
    A, B, C = (rng.normal(size=(4, 3)) for _ in range(3))
    assert kruskal_condition(A, B, C).holds and proposition_1(A, B, C).holds
    A[:, 1] = A[:, 0]
    told = kruskal_condition(A, B, C)
    assert not told.holds and "sum to 7, less than 8" in told.reason
    assert proposition_1(A, B, C).holds is None
    with pytest.raises(ValueError, match="at most 12 can be looked at"):
        kruskal_rank(np.ones((2, 13)))
