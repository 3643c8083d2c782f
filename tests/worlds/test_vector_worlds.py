"""Gaussian HMMs and masked predictors against sums over all hidden paths, integrals and hmmlearn."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from minicosm.worlds import (
    HMM,
    GaussianHMM,
    MaskedTask,
    doubly_stochastic_world,
    gaussian_world,
    predictor,
)
from minicosm.worlds.hmm.doubly_stochastic import least_singular, sinkhorn


def random_hmm(rng, d, k, zeros):
    """Any chain, any start; with zeros, some probabilities vanish."""
    A, W, p0 = (
        rng.dirichlet(np.ones(k), k).T,
        rng.dirichlet(np.ones(d), k).T,
        rng.dirichlet(np.ones(k)),
    )
    if zeros:
        A, W = A * (rng.random((k, k)) < 0.7), W * (rng.random((d, k)) < 0.7)
        A[0] += A.sum(axis=0) == 0
        W[0] += W.sum(axis=0) == 0
    return HMM(A / A.sum(axis=0), W / W.sum(axis=0), p0)


def by_paths(world, task):
    """P(targets, given) by a loop over hidden paths and tokens, then divided by P(given)."""
    last, d, k = max(task.positions), world.vocab, world.hidden
    joint = np.zeros((d,) * len(task.positions))
    for path in itertools.product(range(k), repeat=last + 1):
        weight = world.p0[path[0]]
        for before, after in itertools.pairwise(path):
            weight = weight * world.A[after, before]
        for tokens in itertools.product(range(d), repeat=len(task.positions)):
            named = task.given + task.targets
            joint[tokens] += weight * np.prod(
                [world.W[x, path[t]] for t, x in zip(named, tokens, strict=True)]
            )
    total = joint.sum(axis=tuple(range(len(task.given), joint.ndim)), keepdims=True)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [
            "x2|x1",
            "x1|x3",
            "x2,x3|x1",
            "x3,x1|x2",
            "x1,x2|x3",
            "x3|x1,x2",
            "x2|x3,x1",
            "x1,x2|x3,x4",
        ]
    ),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_table_is_the_sum_over_paths(seed, text, k, zeros):
    world, task = random_hmm(np.random.default_rng(seed), 2, k, zeros), MaskedTask.parse(text)
    assert str(task) == text
    np.testing.assert_allclose(predictor(world, text), by_paths(world, task), atol=1e-12)


@given(
    st.integers(0, 10**6),
    st.sampled_from(["x2|x1", "x2,x3|x1", "x1,x3|x2", "x2|x1,x3", "x1,x2|x4,x3"]),
)
def test_a_gaussian_predictor_is_the_sum_over_paths(seed, text):
    rng = np.random.default_rng(seed)
    k, d = 2, int(rng.integers(1, 4))
    world = GaussianHMM(rng.dirichlet(np.ones(k), k).T, 2 * rng.normal(size=(d, k)), [0.3, 0.7])
    task = MaskedTask.parse(text)
    points = [2 * rng.normal(size=(3, d)) for _ in task.given]
    found = predictor(world, text)(*points)
    for n in range(3):
        top, total = np.zeros((d,) * len(task.targets)), 0.0
        for path in itertools.product(range(k), repeat=max(task.positions) + 1):
            weight = world.p0[path[0]]
            for before, after in itertools.pairwise(path):
                weight = weight * world.A[after, before]
            for t, x in zip(task.given, points, strict=True):
                weight = weight * multivariate_normal.pdf(x[n], world.M[:, path[t]], np.eye(d))
            term = np.ones(())
            for t in task.targets:
                term = np.multiply.outer(term, world.M[:, path[t]])
            top, total = top + weight * term, total + weight
        np.testing.assert_allclose(found[n], top / total, atol=1e-9)


@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_a_gaussian_hmm_is_that_of_hmmlearn(seed):
    from hmmlearn.hmm import GaussianHMM as Peer

    rng = np.random.default_rng(seed)
    k, d, T = 3, 2, 4
    world = GaussianHMM(
        rng.dirichlet(np.ones(k), k).T, 2 * rng.normal(size=(d, k)), rng.dirichlet(np.ones(k))
    )
    peer = Peer(k, "diag")
    peer.startprob_ = np.asarray(world.A @ world.p0)
    peer.transmat_, peer.means_ = np.asarray(world.A.T), np.asarray(world.M.T)
    peer.covars_ = np.ones((k, d))
    x = 2 * rng.normal(size=(T, d))
    with jax.enable_x64(True):
        assert world.log_density(x) == pytest.approx(peer.score(x), abs=1e-9)
        law = np.asarray(world.posterior(x).hidden)
        np.testing.assert_allclose(law[1:], peer.predict_proba(x), atol=1e-9)
        np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-12)


def test_conditional_means_are_those_of_the_predictor():
    world = gaussian_world(jax.random.key(3), hidden=3, dimension=3)
    x = np.random.default_rng(0).normal(size=(3, 3))
    with jax.enable_x64(True):
        found = np.asarray(world.conditional_means(x, np.array([True, False, True])))
        alone = np.asarray(world.conditional_means(x, np.array([True, False, False])))
        nothing = world.log_density(x, np.zeros(3, bool))
    np.testing.assert_allclose(found[1], predictor(world, "x2|x1,x3")(x[:1], x[2:])[0], atol=1e-12)
    np.testing.assert_allclose(alone[2], predictor(world, "x3|x1")(x[:1])[0], atol=1e-12)
    assert nothing == pytest.approx(0, abs=1e-12)


def test_the_density_of_one_observation_integrates_to_one():
    world = GaussianHMM([[0.7, 0.4], [0.3, 0.6]], [[-2.0, 1.5]], [0.5, 0.5])
    grid = np.linspace(-9, 9, 2001)[:, None, None]
    with jax.enable_x64(True):
        values = np.exp(np.asarray(jax.vmap(world.log_density)(grid)))
    assert np.trapezoid(values, grid[:, 0, 0]) == pytest.approx(1, abs=1e-9)


def test_observations_are_drawn_around_the_means_of_their_states():
    world = GaussianHMM([[0.9, 0.1], [0.1, 0.9]], [[4.0, -4.0], [0.0, 3.0]])
    drawn = world.sample(jax.random.key(0), 20_000)
    states = np.asarray(drawn.hidden[1:])
    for h in (0, 1):
        own = np.asarray(drawn.observations)[states == h]
        assert np.abs(own.mean(axis=0) - world.M[:, h]).max() < 5 / np.sqrt(len(own))
        assert np.abs(np.cov(own.T) - np.eye(2)).max() < 0.06
    stays = (states[1:] == states[:-1]).mean()
    assert stays == pytest.approx(0.9, abs=0.02)
    again = world.sample(jax.random.key(0), 20_000)
    np.testing.assert_array_equal(drawn.observations, again.observations)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 3))
def test_random_worlds_meet_what_they_promise(seed, k, more):
    for world, emissions in (
        (w := doubly_stochastic_world(jax.random.key(seed), hidden=k, vocab=k + more), w.W),
        (g := gaussian_world(jax.random.key(seed), hidden=k, dimension=k + more, least=0.02), g.M),
    ):
        sums = np.concatenate([world.A.sum(axis=0), world.A.sum(axis=1)])
        np.testing.assert_allclose(sums, 1, atol=1e-12)
        assert min(least_singular(world.A), least_singular(emissions)) > 0.02
        np.testing.assert_allclose(world.p0, 1 / k)
    np.testing.assert_allclose(np.linalg.norm(g.M, axis=0), 1)


def test_sinkhorn_scales_rows_and_columns():
    A = np.random.default_rng(0).gamma(1.0, size=(4, 4)) + 0.1
    found = sinkhorn(A)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-14)
    ratio = np.log(found / A)  # a row part plus a column part
    np.testing.assert_allclose(ratio - ratio[:1] - ratio[:, :1] + ratio[0, 0], 0, atol=1e-10)
