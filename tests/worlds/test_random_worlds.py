"""The random worlds of the source's Appendix E look as they should."""

from functools import cache

import jax
import numpy as np
import pytest

from minicosm.worlds import HMM, MemoryHMM

COUNT = 200


@cache
def worlds(hidden: int) -> HMM:
    """A stack of random worlds in double precision."""
    keys = jax.random.split(jax.random.key(0), COUNT)
    with jax.enable_x64(True):
        draw = jax.jit(jax.vmap(lambda key: HMM.random(key, hidden=hidden)))
        return jax.tree.map(np.asarray, draw(keys))


def top_transition(hidden: int, count: int = 1000) -> np.ndarray:
    """The mean largest entry per column of plainly written mixtures of permutations."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        weights = np.exp(rng.random(hidden) / 0.01 - 100)
        weights /= weights.sum()
        A = np.zeros((hidden, hidden))
        for weight in weights:
            A[rng.permutation(hidden), np.arange(hidden)] += weight
        found.append(A.max(axis=0).mean())
    return np.array(found)


# Mean top emission and median condition number from an independent implementation (40 worlds
# each); at |H| = 30 > |X| = 10 there is no inverse.
@pytest.mark.parametrize(
    ("hidden", "emission", "log_condition"),
    [
        pytest.param(4, 0.95, 0.15, marks=pytest.mark.long),
        (10, 0.93, 10.6),
        pytest.param(30, 0.93, None, marks=pytest.mark.long),
    ],
)
def test_statistics(hidden, emission, log_condition):
    drawn = worlds(hidden)
    assert drawn.W.shape == (COUNT, 10, hidden)
    np.testing.assert_allclose(drawn.A.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(drawn.A.sum(axis=2), 1, atol=1e-9)  # doubly stochastic
    assert (drawn.p0.max(axis=1) / drawn.p0.min(axis=1)).max() < np.exp(0.1)
    assert drawn.W.max(axis=1).mean() == pytest.approx(emission, abs=0.02)
    expected = top_transition(hidden)
    error = expected.std() * np.sqrt(1 / COUNT + 1 / len(expected))
    assert drawn.A.max(axis=1).mean() == pytest.approx(expected.mean(), abs=4 * error)
    if log_condition is not None:
        log = np.log10(np.linalg.cond(drawn.W))
        assert np.median(log) == pytest.approx(log_condition, abs=1.5)


def test_stationary_law_is_uniform():
    for world in worlds(10).unstack()[:50]:
        np.testing.assert_allclose(world.stationary(), 0.1, rtol=1e-6)


def test_one_key_one_world_in_either_precision():
    """A known key gives float64 parameters in both modes; a traced one rounds them."""
    for make in (
        lambda key: HMM.random(key, hidden=4),
        lambda key: MemoryHMM.random(key, memory=2, hidden=2),
    ):
        single = make(jax.random.key(3))
        with jax.enable_x64(True):
            double = make(jax.random.key(3))
            traced = jax.jit(make)(jax.random.key(3))
        rounded = jax.jit(make)(jax.random.key(3))
        for a, b, c, d in zip(
            *map(jax.tree.leaves, (single, double, traced, rounded)), strict=True
        ):
            assert a.dtype == b.dtype == c.dtype == np.float64 and d.dtype == np.float32
            np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, c, atol=1e-12)
            np.testing.assert_allclose(a, d, atol=1e-4)


def test_memory_worlds():
    """One block shared by all memory values, independent columns, start law of product form."""
    world = MemoryHMM.random(jax.random.key(0), memory=5)
    assert world.W.shape == (10, 5, 1, 4) and world.A.shape == (4, 4)
    np.testing.assert_allclose(world.A.sum(axis=1), 1, atol=1e-9)
    assert len(np.unique(world.W.reshape(10, -1), axis=1).T) == 20
    assert world.pM.max() / world.pM.min() < np.exp(0.1)
    assert world.p0.max() / world.p0.min() < np.exp(0.1)
