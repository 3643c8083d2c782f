"""Masked information against scores from differences of conditionals that loops over states compute."""

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.parallel import information as info
from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import two_islands


def log_conditional(theta, T, masks, m, x, states):
    """log p_theta(x_K | x_-K, K) by a loop over the context."""
    hidden = masks.masks[m]
    table = masks.table(len(states))

    def weight(i):
        return math.exp(float(theta @ T[i])) * table[i, m]

    same = [i for i, y in enumerate(states) if (y[~hidden] == states[x][~hidden]).all()]
    return math.log(weight(x) / sum(weight(i) for i in same))


def by_hand(joint: Joint, T, theta, masks: MaskLaw):
    """E[s s^T] and Cov_x(E_K[s]) with scores by central differences."""
    states, d, e = joint.states, len(theta), 1e-5
    table, p = masks.table(len(states)), joint.probabilities
    I_mask, means = np.zeros((d, d)), np.zeros((len(states), d))
    for x, m in itertools.product(range(len(states)), range(len(masks.masks))):
        if table[x, m] == 0:
            continue
        s = np.array(
            [
                log_conditional(theta + e * u, T, masks, m, x, states)
                - log_conditional(theta - e * u, T, masks, m, x, states)
                for u in np.eye(d)
            ]
        ) / (2 * e)
        I_mask += p[x] * table[x, m] * np.outer(s, s)
        means[x] += table[x, m] * s
    return I_mask, means.T @ (p[:, None] * means)


@settings(max_examples=6)
@given(st.integers(0, 50), st.sampled_from(["k", "bernoulli", "adaptive"]))
def test_information_is_that_of_the_scores(seed, kind):
    rng = np.random.default_rng(seed)
    N = int(rng.integers(2, 4))
    world = random_ising(jax.random.key(seed), N)
    joint, T, theta = world.joint(), world.statistics(), world.parameters()
    masks = {
        "k": MaskLaw.uniform(N, int(rng.integers(1, N + 1))),
        "bernoulli": MaskLaw.bernoulli(N, 0.4),
        "adaptive": MaskLaw(MaskLaw.uniform(N, 1).masks, rng.dirichlet(np.ones(N), size=2**N)),
    }[kind]
    I_mask, V = by_hand(joint, T, theta, masks)
    np.testing.assert_allclose(info.information(joint, T, masks), I_mask, atol=1e-7)
    np.testing.assert_allclose(info.averaged_information(joint, T, masks), V, atol=1e-7)
    if np.linalg.cond(I_mask) < 1e6:
        inverse = np.linalg.inv(I_mask)
        for m in (1, 3, math.inf):
            wanted = inverse @ (V + (I_mask - V) / m) @ inverse
            found = info.asymptotic_covariance(joint, T, masks, m)
            np.testing.assert_allclose(found.matrix, wanted, rtol=1e-4, atol=1e-4)
            assert found.identifiable and found.trace == pytest.approx(np.trace(wanted), rel=1e-4)


def test_whole_sequences_have_fishers_information():
    world = random_ising(jax.random.key(1), 4)
    joint, T = world.joint(), world.statistics()
    p = joint.probabilities
    wanted = np.cov(T.T, aweights=p, ddof=0)
    np.testing.assert_allclose(info.fisher(joint, T), wanted, atol=1e-12)
    np.testing.assert_allclose(
        info.information(joint, T, MaskLaw.uniform(4, 4)), wanted, atol=1e-12
    )


@given(st.integers(0, 30), st.integers(2, 4))
def test_the_chain_rule(seed, N):
    world = random_ising(jax.random.key(seed), N)
    joint, T = world.joint(), world.statistics()
    before = np.zeros((T.shape[1],) * 2)
    for k in range(N):  # the first term, k = 0, is the whole of I^1
        before = before + info.chain_rule_term(joint, T, k)
        wanted = info.information(joint, T, MaskLaw.uniform(N, k + 1))
        np.testing.assert_allclose(before, wanted, atol=1e-12)


def test_what_is_not_identifiable_is_said():
    t = 0.3
    score = np.array([[-1 / (1 - t)], [0], [0], [1 / t]])
    found = info.asymptotic_covariance(two_islands(t), score, MaskLaw.uniform(2, 1))
    assert not found.identifiable and found.trace == math.inf and "not identifiable" in str(found)
    whole = info.asymptotic_covariance(two_islands(t), score, MaskLaw.uniform(2, 2))
    assert whole.trace == pytest.approx(t * (1 - t))


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_a_sentence():
    joint = two_islands(0.5)
    with pytest.raises(
        ValueError, match=r"scores has shape \(3, 1\); it must have shape \(4, any\)"
    ):
        info.fisher(joint, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="masks_per_example is 0"):
        info.asymptotic_covariance(joint, np.ones((4, 1)), MaskLaw.uniform(2, 1), 0)
    with pytest.raises(ValueError, match=r"k is 2; it must be a whole number in 0..1"):
        info.chain_rule_term(joint, np.ones((4, 1)), 2)
    with pytest.raises(ValueError, match=r"scores has shape \(4, 0\)"):
        info.information(joint, np.ones((4, 0)), MaskLaw.uniform(2, 1))
