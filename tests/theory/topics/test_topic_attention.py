"""Losses and optima of attention on infinite documents, against sums over tokens in plain NumPy."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory import topics
from minicosm.theory.topics.attention import normalisers
from minicosm.theory.topics.attention_theorems import limit_of_weight, loss_2_27
from minicosm.worlds import Corruption, TopicWorld

BERT = Corruption()
SMALL = TopicWorld(4, 3, per_document=2)


def by_tokens(world, corruption, alpha, beta, value, keys):
    """The loss of one document of the first tau topics, label by label and shown word by shown word."""
    T, v, tau, n = world.topics, world.words, world.per_document, world.vocab
    a, b, k = corruption.a, corruption.b, corruption.k
    shown = [a / (tau * v) + b / n if i // v < tau else b / n for i in range(n)]
    W = (topics.block_value if value == "block" else topics.diagonal_value)(world, corruption)
    total = 0.0
    for label, q in itertools.product(range(tau * v), range(n)):
        p = (corruption.kept * (q == label) + corruption.random / n) / (tau * v)
        y = np.zeros(n + 1)
        for i in range(n):
            y[i + 1] = shown[i] * (beta if i == q else alpha if i // v == q // v else 1)
        y[0] = k if keys == "full" else 0.0
        y /= y.sum()
        if keys == "printed":  # q of topic means, or of words
            means = np.repeat(y[1:].reshape(T, v).mean(axis=1), v) if value == "block" else y[1:]
            out = np.concatenate([[0], (means - b / n) / a])
        else:
            out = W @ y
        out[label + 1] -= 1
        total += p * out @ out
    return total


@given(
    st.floats(0.01, 20), st.floats(0.01, 60), st.sampled_from(["block", "diagonal"]),
    st.sampled_from(["full", "hidden", "printed"]),
)  # fmt: skip
def test_the_loss_is_a_sum_over_tokens(alpha, beta, value, keys):
    corruption = Corruption(0.3, 0.25, 0.15)
    weights = (np.array(alpha), np.array(beta))
    found = topics.attention_loss(SMALL, corruption, *weights, value, keys, total=False)
    wanted = by_tokens(SMALL, corruption, alpha, beta, value, keys)
    assert float(found) == pytest.approx(wanted, abs=1e-12)
    z1, z2 = normalisers(SMALL, corruption, alpha, beta, "full")
    x = topics.features(SMALL, corruption)[0]
    topic, word = SMALL.labels[0], 1
    near = np.where(SMALL.labels == topic, alpha, 1.0)
    near[0] = beta
    assert z1 == pytest.approx(x[word:] @ near + x[0])
    far = np.where(SMALL.labels == SMALL.labels[-1], alpha, 1.0)
    far[-1] = beta
    assert z2 == pytest.approx(x[word:] @ far + x[0])


@pytest.mark.parametrize("value", ["block", "diagonal"])
def test_the_family_is_a_transformer_and_its_loss_the_formula(value):
    key = jax.random.key(1)
    assert topics.assumption_2_1_2(SMALL, BERT, 3.0, 8.0, key, value).holds
    assert topics.attention_normaliser(SMALL, BERT, 3.0, 8.0, value).holds
    printed = topics.attention_normaliser(SMALL, BERT, 3.0, 8.0, value, as_printed=True)
    assert printed.holds is False and printed.error > 1e-6
    with pytest.raises(ValueError, match="softmax has no zeros"):
        topics.attention_model(SMALL, BERT, 0.0, 1.0)


def test_digits_of_the_normalisers():
    world = TopicWorld(10, 10, per_document=3)
    one = np.array(1.0)
    for keys, digits in (("printed", 0.193459), ("hidden", 0.194146), ("full", 0.193333)):
        found = float(topics.attention_loss(world, BERT, one, one, "block", keys, total=False))
        assert found == pytest.approx(digits, abs=5e-7)
        seven = {"printed": 0.188336, "hidden": 0.189023, "full": 0.188437}[keys]
        found = float(
            topics.attention_loss(world, BERT, 7 * one, 7 * one, "block", keys, total=False)
        )
        assert found == pytest.approx(seven, abs=5e-7)
    uniform = topics.attention_loss(world, BERT, one, one)
    assert float(uniform) == pytest.approx(world.stage1_loss(), abs=1e-12)


@given(st.floats(0.01, 100), st.floats(0, 1), st.sampled_from(["full", "printed", "hidden"]))
def test_only_the_topic_matters_to_the_block_matrix(gamma, share, keys):
    assert topics.remark_2_1_5(SMALL, BERT, gamma, share, keys).holds


def test_digits_of_the_best_attention():
    world = TopicWorld(10, 10, per_document=3)
    block, diagonal = (topics.best_attention(world, BERT, value) for value in ("block", "diagonal"))
    assert block.topic == pytest.approx(7.005, abs=5e-4) and block.loss == pytest.approx(
        0.961770, abs=5e-7
    )
    assert diagonal.beta == pytest.approx(67.8, abs=0.05) and diagonal.loss == pytest.approx(
        0.892364, abs=5e-7
    )
    assert diagonal.alpha == pytest.approx(0.916, abs=5e-4)
    printed = topics.best_attention(world, BERT, "diagonal", "printed")
    assert (printed.alpha, printed.beta) == pytest.approx((0.982, 61.0), abs=0.05)
    assert topics.loss_ladder(world, BERT).holds
    assert topics.same_topic_last(world, BERT).holds
    for (T, tau, v), digits in {
        (10**3, 30, 30): (5.362, 6.037),
        (10**5, 300, 30): (6.379, 7.246),
    }.items():
        large = TopicWorld(T, v, per_document=tau)
        for keys, wanted in zip(("printed", "full"), digits, strict=True):
            found = topics.best_attention(large, BERT, "block", keys).topic / tau
            assert found == pytest.approx(wanted, abs=5e-4)
    assert limit_of_weight(BERT, "full") == pytest.approx(7.4074, abs=5e-5)
    assert limit_of_weight(BERT, "printed") == pytest.approx(6.5185, abs=5e-5)


@settings(max_examples=5)
@given(st.integers(2, 6), st.integers(2, 5), st.data())
def test_the_best_attention_is_where_the_loss_is_least(T, v, data):
    world = TopicWorld(T, v, per_document=data.draw(st.integers(1, T - 1)))
    for value in ("block", "diagonal"):
        best = topics.best_attention(world, BERT, value)
        near = np.exp(np.linspace(-0.2, 0.2, 9))
        alpha = best.alpha * near[:, None] if value == "diagonal" else best.alpha * near
        beta = best.beta * near
        around = topics.attention_loss(world, BERT, alpha, beta, value)
        assert best.loss <= around.min() + 1e-15


@pytest.mark.parametrize("value", ["block", "diagonal"])
def test_no_table_of_weights_is_better_than_the_symmetric_one(value):
    found = topics.symmetric_pattern(
        TopicWorld(3, 2, per_document=2), BERT, value, jax.random.key(2), 1
    )
    assert found.holds, found
    assert found.details["lost if the mask weighs as other topics"] > 1e-6


def test_theorems_2_1_3_and_2_1_5_hold_where_they_apply():
    large = TopicWorld(1000, 30, per_document=30)
    for keys in ("full", "printed"):
        assert topics.theorem_2_1_3(large, BERT, keys).holds
        assert topics.theorem_2_1_3(large, BERT, keys, proof=True).holds
        assert topics.theorem_2_1_5(large, BERT, keys).holds
    assert "the asymptotic setting needs" in str(topics.theorem_2_1_3(SMALL, BERT))
    assert not topics.theorem_2_1_3(large, Corruption(0.15, 0.1, 0.2)).applies
    assert topics.best_block_attention(TopicWorld(10**5, 30, per_document=300), BERT, 0.03).holds
    assert topics.best_diagonal_attention(TopicWorld(10**5, 30, per_document=300), BERT, 0.03).holds


def test_the_asymptotic_loss_needs_the_factor_v():
    for T in (10**4, 10**8):
        world = TopicWorld(T, 30, per_document=int(T**0.5))
        assert topics.equation_2_27(world, BERT, 50.0 * T).holds
        printed = topics.equation_2_27(world, BERT, 50.0 * T, as_printed=True)
        assert printed.holds is False and printed.error == pytest.approx(9.15e-4, abs=4e-6)
    # the difference is p_r (v - 1) B^2, which does not vanish
    gap = loss_2_27(world, BERT, 50.0 * T, as_printed=False)
    gap -= loss_2_27(world, BERT, 50.0 * T, as_printed=True)
    B = 0.015 / 0.865 * 50 * T / (0.015 * 50 * T * 30 + 0.88 * 30 * T)
    assert gap == pytest.approx(0.1 * 29 * B**2, rel=1e-10)
