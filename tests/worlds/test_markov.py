"""Ergodicity against walks and cycle lengths, the stationary law against eigenvectors."""

from math import gcd

import jax
import numpy as np
import pytest
from drawn import stochastic
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.worlds import HMM, full_rank_world


def world_of(A: np.ndarray) -> HMM:
    n = len(A)
    return HMM(A, np.ones((1, n)), np.full(n, 1 / n))


def closed_walks(A: np.ndarray) -> tuple[bool, int]:
    """Whether every state reaches every state, and the gcd of the lengths of walks 0 -> 0."""
    arrows = (A > 0).astype(object)
    n = len(A)
    walks, seen, period = np.eye(n, dtype=object), np.zeros((n, n), bool), 0
    for steps in range(1, 2 * n * n + 1):
        walks = (arrows @ walks > 0).astype(object)
        seen |= walks.astype(bool)
        if walks[0, 0]:
            period = gcd(period, steps)
    return bool(seen.all()), period


@settings(max_examples=150)
@given(st.integers(1, 5).flatmap(lambda n: stochastic(n, n)))
def test_ergodic_means_one_class_of_period_one(A):
    connected, period = closed_walks(A)
    assert world_of(A).is_ergodic() == (connected and period == 1)


@settings(max_examples=150)
@given(st.integers(1, 5).flatmap(lambda n: stochastic(n, n)))
def test_stationary_law_is_the_eigenvector_of_one(A):
    reach = np.linalg.matrix_power(np.eye(len(A)) + (A > 0), len(A)) > 0  # [i, j]: j reaches i
    # j is recurrent if whatever it reaches reaches it back; equal columns are one class.
    recurrent = {tuple(reach[:, j]) for j in range(len(A)) if (reach[:, j] <= reach[j]).all()}
    if len(recurrent) > 1:
        with pytest.raises(ValueError, match=f"{len(recurrent)} recurrent classes"):
            world_of(A).stationary()
        return
    law = world_of(A).stationary()
    assert law.sum() == pytest.approx(1) and (law >= 0).all()
    np.testing.assert_allclose(A @ law, law, atol=1e-12)
    assert set(np.flatnonzero(law)) == set(np.flatnonzero(next(iter(recurrent))))


def test_stationary_law_of_primitive_chains():
    for seed in range(20):
        world = full_rank_world(jax.random.key(seed))
        values, vectors = np.linalg.eig(world.A)
        vector = np.real(vectors[:, np.argmin(np.abs(values - 1))])
        np.testing.assert_allclose(world.stationary(), vector / vector.sum(), atol=1e-12)


def test_stationary_law_of_a_nearly_decomposable_chain():
    """Two halves that exchange 1e-14 and 3e-14 of their mass: (3/4, 1/4), to full precision."""
    a, b = 1e-14, 3e-14
    law = world_of(np.array([[1 - a, b], [a, 1 - b]])).stationary()
    np.testing.assert_allclose(law, [0.75, 0.25], rtol=1e-9)
