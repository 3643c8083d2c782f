"""One layer from counts of words is the ordinary Transformer, position by position."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.models import BagAttention

WORDS = 6


def model(one_hot, std=0.8, seed=0):
    rng = np.random.default_rng(seed)
    made = BagAttention.random(
        jax.random.key(seed), words=WORDS, one_hot=one_hot, width=None if one_hot else 4, std=std
    )
    parts = ("key_bias", "query_bias", "value_bias", "output_bias")
    return eqx.tree_at(
        lambda m: [getattr(m, name) for name in parts],
        made,
        [rng.normal(size=getattr(made, name).shape).astype(np.float32) for name in parts],
    )


outputs = eqx.filter_jit(lambda m, tokens, observed: m.of_tokens(tokens, observed))
ordinary_outputs = eqx.filter_jit(lambda t, tokens, seen: t.logits(t.embed(tokens, seen)))


def by_hand(m, tokens, observed):
    """The formula of the layer, with columns for positions."""
    X = np.zeros((m.ids, len(tokens)))
    X[np.where(observed, tokens + 1, 0), np.arange(len(tokens))] = 1
    E = np.eye(m.ids) if m.embedding is None else np.asarray(m.embedding, float)
    Z = E @ X
    keys = np.asarray(m.key) @ Z + np.asarray(m.key_bias)[:, None]
    queries = np.asarray(m.query) @ Z + np.asarray(m.query_bias)[:, None]
    A = np.exp(keys.T @ queries / np.sqrt(len(m.key)))
    A /= A.sum(axis=0)
    hidden = np.asarray(m.value) @ Z @ A + np.asarray(m.value_bias)[:, None]
    return (E.T @ hidden + np.asarray(m.output_bias)[:, None]).T


@pytest.mark.parametrize("one_hot", [True, False])
def test_it_is_the_formula_and_the_transformer(one_hot):
    m = model(one_hot)
    rng = np.random.default_rng(1)
    tokens, observed = rng.integers(0, WORDS, 9), rng.random(9) < 0.7
    found = np.asarray(outputs(m, tokens, observed))
    np.testing.assert_allclose(found, by_hand(m, tokens, observed), atol=1e-5)
    ordinary = m.to_transformer()
    logits = ordinary_outputs(ordinary, tokens, observed)
    np.testing.assert_allclose(found[:, 1:], logits, atol=1e-5)
    assert ordinary.vocab == m.vocab == WORDS


def test_weights_in_double_precision_compute_in_double_precision():
    rng = np.random.default_rng(2)
    m = BagAttention(rng.normal(size=(3, 5)), *rng.normal(size=(2, 2, 3)), rng.normal(size=(3, 3)))
    tokens = np.array([0, 3, 3, 1])
    with jax.enable_x64(True):
        found = np.asarray(outputs(m, tokens, np.ones(4, bool)))
        logits = np.asarray(ordinary_outputs(m.to_transformer(), tokens, np.ones(4, bool)))
    np.testing.assert_allclose(found, by_hand(m, tokens, np.ones(4, bool)), atol=1e-12)
    np.testing.assert_allclose(found[:, 1:], logits, atol=1e-12)


def test_attention_sums_to_one_and_the_bias_of_keys_does_nothing():
    m = model(True)
    counts = jnp.array([2.0, 0, 3, 1, 0, 0, 4])

    @eqx.filter_jit
    def both(m):
        slope = eqx.filter_grad(lambda m: jnp.sum(m.logits(counts, jnp.array([0, 2])) ** 2))
        return m.mix(counts, jnp.arange(7)), slope(m)

    mixed, gradient = both(m)
    np.testing.assert_allclose(np.asarray(mixed).sum(axis=1), 1, atol=1e-6)
    assert np.asarray(mixed)[:, 1].max() == 0  # a word that is not there
    assert np.abs(gradient.key_bias).max() < 1e-4 * np.abs(np.asarray(gradient.query_bias)).max()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BagAttention(None, np.eye(3), np.eye(3), np.ones((3, 2))), "value has shape"),
        (lambda: BagAttention(None, np.eye(3), np.ones((2, 3)), np.eye(3)), "query has shape"),
        (lambda: BagAttention(np.ones((2, 5)), np.eye(3), np.eye(3), np.eye(3)), "embedding has shape"),
        (lambda: BagAttention.random(jax.random.key(0), words=4, width=9), "one-hot embeddings have width 5"),
        (lambda: model(True).logits(np.zeros(7), np.array([1])), "one of them positive"),
        (lambda: model(True).logits(np.ones(6), np.array([1])), "counts has shape"),
        (lambda: model(True).logits(np.ones(7), np.array([9])), "queries"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_meets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
