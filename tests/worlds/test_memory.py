"""Every exact answer of a memory world, against enumeration and against its expansion to an HMM."""

import drawn
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st

from minicosm.worlds import MemoryHMM, recoverable_memory_world

# (size, in float64, tolerance)
CASES = [(size, True, 1e-10) for size in drawn.MEMORY_SIZES] + [((2, 2, 2, 3, 2), False, 1e-5)]


@eqx.filter_jit
def ask(world, tokens, observed):
    posterior = world.posterior(tokens, observed)
    answers = {
        "log_prob": world.log_prob(tokens, observed),
        "conditionals": world.conditionals(tokens, observed),
        "hidden": posterior.hidden,
        "next_token": world.next_token(tokens),
        "next_logits": world.next_logits(tokens),
    }
    if isinstance(world, MemoryHMM):
        answers |= {"cells": posterior.cells, "configurations": posterior.configurations}
    return answers


@pytest.mark.parametrize(("size", "double", "tolerance"), CASES, ids=str)
@given(data=st.data())
def test_answers_equal_enumeration(size, double, tolerance, data):
    *shape, length = size
    vocab = shape[-1]
    world = data.draw(drawn.memory_hmms(*shape))
    tokens = data.draw(drawn.token_arrays(vocab, length))
    observed = data.draw(drawn.masks(length))
    chain = referee.of_memory(world)
    with jax.enable_x64(double):
        ours = {name: np.asarray(value) for name, value in ask(world, tokens, observed).items()}

    masked = referee.answers(chain, tokens, observed)
    if masked.probability == 0:
        assert ours["log_prob"] == -np.inf
    else:
        expected = np.log(masked.probability)
        assert ours["log_prob"] == pytest.approx(expected, rel=tolerance, abs=tolerance)
    for name in ("conditionals", "hidden", "cells", "configurations"):
        np.testing.assert_allclose(ours[name], getattr(masked, name), atol=tolerance)

    for i in range(1, length + 1):
        expected = referee.answers(chain, tokens[:i]).next_token
        np.testing.assert_allclose(np.exp(ours["next_logits"][i - 1]), expected, atol=tolerance)
    np.testing.assert_allclose(ours["next_token"], expected, atol=tolerance)


@pytest.mark.parametrize("cells", [1, 2])
def test_expanded_hmm_agrees(cells):
    """`as_hmm` lives on (configuration, h); its posterior has ours as marginals."""
    length = 40
    for seed in range(5):
        world = recoverable_memory_world(jax.random.key(seed), values=3, cells=cells).world
        tokens = np.asarray(world.sample(jax.random.key(seed), length).tokens)
        observed = np.random.default_rng(seed).random(length) < 0.8
        with jax.enable_x64(True):
            ours, expanded = ask(world, tokens, observed), ask(world.as_hmm(), tokens, observed)
        joint = np.asarray(expanded["hidden"]).reshape(length + 1, world.configurations, -1)
        np.testing.assert_allclose(ours["hidden"], joint.sum(axis=1), atol=1e-10)
        for row in joint.sum(axis=2):
            np.testing.assert_allclose(ours["configurations"], row, atol=1e-10)
        for name in ("log_prob", "conditionals", "next_token"):
            np.testing.assert_allclose(ours[name], expanded[name], rtol=1e-10, atol=1e-10)


def test_empty_prefix_is_the_law_of_the_first_token():
    world = recoverable_memory_world(jax.random.key(0), cells=2).world
    chain = referee.of_memory(world)
    with jax.enable_x64(True):
        law = np.asarray(world.next_token(np.zeros(0, int)))
    expected = sum(
        p * W @ chain.A @ chain.p0 for p, W in zip(chain.prior, chain.emissions, strict=True)
    )
    np.testing.assert_allclose(law, expected, atol=1e-14)


def test_impossible_tokens_have_defined_answers():
    """One state that repeats the memory: two different tokens cannot both be seen."""
    world = MemoryHMM(np.ones((1, 1)), np.eye(2)[:, :, None], np.array([0.5, 0.5]), np.ones(1))
    tokens = np.array([0, 1, 1])
    assert world.log_prob(tokens) == -np.inf
    posterior = world.posterior(tokens)
    assert not any(np.asarray(part).any() for part in posterior)
    assert not np.asarray(world.next_token(tokens)).any()
    np.testing.assert_array_equal(world.conditionals(tokens), [[0, 1], [0, 0], [0, 0]])


def test_ten_thousand_tokens():
    """The losing configurations fall thousands of nats behind and spoil nothing."""
    world = recoverable_memory_world(jax.random.key(1)).world
    tokens = np.asarray(world.sample(jax.random.key(2), 10_000).tokens)
    ours = ask(world, tokens, np.ones(10_000, bool))
    assert np.isfinite(ours["log_prob"])
    for name in ("conditionals", "hidden", "cells"):
        np.testing.assert_allclose(np.asarray(ours[name], np.float64).sum(axis=-1), 1, atol=1e-5)
    with jax.enable_x64(True):
        exact = ask(world, tokens, np.ones(10_000, bool))
    for name in ("conditionals", "hidden", "cells"):
        np.testing.assert_allclose(ours[name], exact[name], atol=1e-5)


@pytest.mark.parametrize("size", [(2, 1, 2, 3, 3), (2, 2, 2, 3, 2)], ids=str)
@given(data=st.data())
def test_supports_equal_enumeration(size, data):
    values, cells, syntax, vocab, length = size
    world = data.draw(drawn.memory_hmms(values, cells, syntax, vocab))
    rows = data.draw(drawn.hnp.arrays(bool, (length, values**cells, cells * syntax)))
    ours = _supports(world, rows.reshape(length, -1).astype(float))
    others, start, possible = referee.supports(referee.of_memory(world), rows)
    np.testing.assert_array_equal(ours.others, others.reshape(length, -1))
    np.testing.assert_array_equal(ours.start, start.reshape(-1))
    assert bool(ours.possible) == possible


def test_lift_and_unlift():
    """`eta(v)[m, (j, s)] = v[(m_j, j, s)]`, `phi` averages over the other cells, `phi(eta(v)) = v`."""
    world = recoverable_memory_world(jax.random.key(3), values=3, cells=2).world
    row = np.random.default_rng(0).random(3 * 2 * 2)
    with jax.enable_x64(True):
        lifted = np.asarray(world.lift(row))
        grid = row.reshape(3, 2, 2)
        for c, memory in enumerate(np.ndindex(3, 3)):
            for h in range(4):
                assert lifted[c, h] == grid[memory[h // 2], h // 2, h % 2]
        np.testing.assert_allclose(world.unlift(lifted), row, atol=1e-15)
        loose = np.random.default_rng(1).random((9, 4))
        means = np.asarray(world.unlift(loose)).reshape(3, 2, 2)
    by_memory = loose.reshape(3, 3, 2, 2)
    np.testing.assert_allclose(means[:, 0], by_memory[:, :, 0].mean(axis=1), atol=1e-15)
    np.testing.assert_allclose(means[:, 1], by_memory[:, :, 1].mean(axis=0), atol=1e-15)


def test_stacked_worlds_equal_single_ones():
    worlds = [recoverable_memory_world(jax.random.key(i), cells=2).world for i in range(3)]
    tokens = np.random.default_rng(0).integers(0, worlds[0].vocab, size=(3, 6))
    observed = np.ones(6, bool)
    with jax.enable_x64(True):
        together = jax.vmap(ask, in_axes=(0, 0, None))(MemoryHMM.stack(worlds), tokens, observed)
        for i, world in enumerate(worlds):
            alone = ask(world, tokens[i], observed)
            for name in alone:
                np.testing.assert_allclose(together[name][i], alone[name], rtol=1e-12, atol=1e-14)
    for world, back in zip(worlds, MemoryHMM.stack(worlds).unstack(), strict=True):
        np.testing.assert_array_equal(world.W, back.W)


@given(data=st.data())
def test_gradients_are_finite_and_right(data):
    """Also where `pM` has zeros, a configuration is ruled out, or the sequence is impossible."""
    world = data.draw(drawn.memory_hmms(2, 2, 1, 2))
    tokens = data.draw(drawn.token_arrays(2, 3))
    with jax.enable_x64(True):
        rows = np.asarray(world.embed(tokens))
        assert np.isfinite(_predictor_slope(world, rows)).all()
        for slopes in _parameter_slopes(world, tokens):
            assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes))
        rows = rows + 0.1  # away from the boundary a central difference is the referee
        step = np.zeros_like(rows)
        step[1, 2] = 1e-6
        rise = (_score(world, rows + step) - _score(world, rows - step)) / 2e-6
        assert _predictor_slope(world, rows)[1, 2] == pytest.approx(float(rise), abs=1e-6)


@eqx.filter_jit
def _supports(world, rows):
    return world.supports(rows)


@eqx.filter_jit
def _score(world, rows):
    predicted = world.predict(rows)
    return jnp.sum(predicted * jnp.arange(predicted.size).reshape(predicted.shape))


@eqx.filter_jit
def _predictor_slope(world, rows):
    return jax.grad(_score, argnums=1)(world, rows)


@eqx.filter_jit
def _parameter_slopes(world, tokens):
    return (
        jax.grad(lambda w: w.log_prob(tokens))(world),
        jax.grad(lambda w: w.conditionals(tokens)[:, 0].sum())(world),
        jax.grad(lambda w: w.posterior(tokens).cells[:, 0].sum())(world),
    )


def test_gradient_of_the_prior():
    """`d log P[x] / d pM[m] = P[x | m] / P[x]`, also for a configuration of probability zero."""
    world = recoverable_memory_world(jax.random.key(0)).world
    world = eqx.tree_at(lambda w: w.pM, world, np.array([1.0, 0.0]))
    tokens = np.array([0, 1, 2, 1])
    with jax.enable_x64(True):
        slope = jax.grad(lambda w: w.log_prob(tokens))(world).pM
    chain = referee.of_memory(world)
    given = [
        referee.answers(chain._replace(prior=np.eye(2)[m]), tokens).probability for m in range(2)
    ]
    np.testing.assert_allclose(slope, np.array(given) / given[0], rtol=1e-10)
