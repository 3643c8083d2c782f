"""Every exact answer of an HMM, against enumeration of hidden paths and against hmmlearn."""

import drawn
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import referee
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given
from hypothesis import strategies as st

from minicosm.worlds import HMM, full_rank_world

# (in float64, tolerance for probabilities and relative tolerance for log probabilities)
PRECISIONS = [pytest.param(True, 1e-10, id="float64"), pytest.param(False, 1e-5, id="float32")]
CASES = [(size, True, 1e-10) for size in drawn.HMM_SIZES] + [((3, 2, 4), False, 1e-5)]


@eqx.filter_jit
def ask(world, tokens, observed):
    return {
        "log_prob": world.log_prob(tokens, observed),
        "conditionals": world.conditionals(tokens, observed),
        "hidden": world.posterior(tokens, observed).hidden,
        "next_token": world.next_token(tokens),
        "next_logits": world.next_logits(tokens),
        "full": world.log_prob(tokens),
    }


def assert_log(ours, probability, tolerance):
    if probability == 0:
        assert ours == -np.inf
    else:
        assert ours == pytest.approx(np.log(probability), rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(("size", "double", "tolerance"), CASES, ids=str)
@given(data=st.data())
def test_answers_equal_enumeration(size, double, tolerance, data):
    hidden, vocab, length = size
    world = data.draw(drawn.hmms(hidden, vocab))
    tokens = data.draw(drawn.token_arrays(vocab, length))
    observed = data.draw(drawn.masks(length))
    chain = referee.of_hmm(world)
    with jax.enable_x64(double):
        ours = {name: np.asarray(value) for name, value in ask(world, tokens, observed).items()}
    assert ours["conditionals"].dtype == (np.float64 if double else np.float32)

    masked = referee.answers(chain, tokens, observed)
    assert_log(ours["log_prob"], masked.probability, tolerance)
    np.testing.assert_allclose(ours["conditionals"], masked.conditionals, atol=tolerance)
    np.testing.assert_allclose(ours["hidden"], masked.hidden, atol=tolerance)

    full = referee.answers(chain, tokens)
    assert_log(ours["full"], full.probability, tolerance)
    np.testing.assert_allclose(ours["next_token"], full.next_token, atol=tolerance)
    for i in range(1, length + 1):
        prefix = referee.answers(chain, tokens[:i]).next_token
        np.testing.assert_allclose(np.exp(ours["next_logits"][i - 1]), prefix, atol=tolerance)


def test_empty_prefix_is_the_law_of_the_first_token():
    world = full_rank_world(jax.random.key(0))
    with jax.enable_x64(True):
        law = np.asarray(world.next_token(np.zeros(0, int)))
    np.testing.assert_allclose(law, world.W @ world.A @ world.p0, atol=1e-15)


def test_impossible_tokens_have_defined_answers():
    """State 0 emits token 0 and stays; token 1 cannot follow it."""
    world = HMM(np.eye(2), np.eye(2), np.array([0.5, 0.5]))
    tokens = np.array([0, 1, 0])
    assert world.log_prob(tokens) == -np.inf
    assert not np.asarray(world.posterior(tokens).hidden).any()
    assert not np.asarray(world.next_token(tokens)).any()
    # The context of the middle token is possible, those of the outer ones are not.
    np.testing.assert_array_equal(world.conditionals(tokens), [[0, 0], [1, 0], [0, 0]])


@pytest.mark.parametrize(("double", "tolerance"), PRECISIONS)
def test_hmmlearn_agrees(double, tolerance):
    """hmmlearn has no silent H_0: its start law is A p0."""
    length = 200
    for seed in range(10):
        world = full_rank_world(jax.random.key(seed), hidden=4, vocab=6)
        tokens = np.asarray(world.sample(jax.random.key(100 + seed), length).tokens)
        peer = CategoricalHMM(n_components=4, n_features=6)
        peer.startprob_, peer.transmat_, peer.emissionprob_ = (
            world.A @ world.p0,
            world.A.T,
            world.W.T,
        )
        log_prob, posterior = peer.score_samples(tokens[:, None])
        with jax.enable_x64(double):
            ours = ask(world, tokens, np.ones(length, bool))
        assert float(ours["log_prob"]) == pytest.approx(log_prob, rel=tolerance)
        np.testing.assert_allclose(ours["hidden"][1:], posterior, atol=tolerance)


@pytest.mark.parametrize(("double", "tolerance"), PRECISIONS)
def test_ten_thousand_tokens(double, tolerance):
    length = 10_000
    world = full_rank_world(jax.random.key(1))
    tokens = np.asarray(world.sample(jax.random.key(2), length).tokens)
    message, log_prob = world.A @ world.p0, 0.0
    for token in tokens:
        weight = message @ world.W[token]
        log_prob += np.log(weight)
        message = world.A @ (message * world.W[token]) / weight
    with jax.enable_x64(double):
        ours = ask(world, tokens, np.ones(length, bool))
    assert float(ours["log_prob"]) == pytest.approx(log_prob, rel=tolerance)
    np.testing.assert_allclose(ours["next_token"], world.W @ message, atol=tolerance)
    for name in ("conditionals", "hidden"):
        sums = np.asarray(ours[name], np.float64).sum(axis=1)
        np.testing.assert_allclose(sums, 1, atol=max(tolerance, 1e-10))


@pytest.mark.parametrize("size", [(3, 2, 4), (4, 4, 3)], ids=str)
@given(data=st.data())
def test_supports_equal_enumeration(size, data):
    hidden, vocab, length = size
    world = data.draw(drawn.hmms(hidden, vocab))
    rows = data.draw(drawn.hnp.arrays(bool, (length, hidden)))
    ours = _supports(world, rows.astype(float))
    others, start, possible = referee.supports(referee.of_hmm(world), rows[:, None])
    np.testing.assert_array_equal(ours.others, others[:, 0])
    np.testing.assert_array_equal(ours.start, start[0])
    assert bool(ours.possible) == possible


def test_supports_do_not_underflow():
    """Two arrows of 1e-200 make a product that no float holds; it is possible all the same."""
    tiny = 1e-200
    world = HMM(
        np.array([[1 - tiny, 0, 0], [tiny, 1 - tiny, 0], [0, tiny, 1]]),
        np.eye(3),
        np.array([1.0, 0, 0]),
    )
    supports = world.supports(np.array([[0.0, 1, 0], [0, 0, 1]]))
    assert bool(supports.possible)
    np.testing.assert_array_equal(supports.start, [True, False, False])
    np.testing.assert_array_equal(supports.others, [[False, True, False], [False, True, True]])


def test_stacked_worlds_equal_single_ones():
    worlds = [full_rank_world(jax.random.key(i)) for i in range(3)]
    tokens = np.random.default_rng(0).integers(0, 6, size=(3, 7))
    observed = np.ones(7, bool)
    with jax.enable_x64(True):
        together = jax.vmap(ask, in_axes=(0, 0, None))(HMM.stack(worlds), tokens, observed)
        for i, world in enumerate(worlds):
            alone = ask(world, tokens[i], observed)
            for name in alone:
                np.testing.assert_allclose(together[name][i], alone[name], rtol=1e-12, atol=1e-14)
    for world, back in zip(worlds, HMM.stack(worlds).unstack(), strict=True):
        np.testing.assert_array_equal(world.W, back.W)


@given(data=st.data())
def test_gradients_are_finite_and_right(data):
    """Derivatives of the predictor and of the log probability, zeros and dead ends included."""
    world = data.draw(drawn.hmms(3, 2))
    tokens = data.draw(drawn.token_arrays(2, 4))
    with jax.enable_x64(True):
        rows = np.asarray(world.embed(tokens))
        slope = np.asarray(_predictor_slope(world, rows))
        assert np.isfinite(slope).all()
        assert all(
            np.isfinite(leaf).all() for leaf in jax.tree.leaves(_parameter_slope(world, tokens))
        )
        if world.log_prob(tokens) > -30:
            # Away from the boundary a central difference is the referee.
            rows = rows + 0.1
            slope = np.asarray(_predictor_slope(world, rows))
            step = np.zeros_like(rows)
            step[1, 2] = 1e-6
            rise = (_score(world, rows + step) - _score(world, rows - step)) / 2e-6
            assert slope[1, 2] == pytest.approx(float(rise), abs=1e-6)


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
def _parameter_slope(world, tokens):
    return jax.grad(lambda w: w.log_prob(tokens))(world)
