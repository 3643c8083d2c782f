"""Gated units and dropout of attention and MLPs apart, against the plain model, NumPy and means over keys."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from minicosm.models import Transformer, TransformerConfig, with_layer_options

TOKENS = np.array([0, 3, 2, 4, 1])
LINEAR = TransformerConfig(
    5, layers=1, heads=2, width=8, max_length=8, causal=True, norm="none", init_std=0.3
)


def test_without_options_it_is_the_plain_model():
    config = TransformerConfig(5, layers=2, heads=2, width=8, max_length=8, causal=True)
    key = jax.random.key(0)
    model = with_layer_options(config, key=key)
    plain = Transformer(config, key=jax.random.split(key)[0])
    at = np.array([0, 4])
    for one, other in ((model, plain),):
        np.testing.assert_allclose(one.next_logits(TOKENS), other.next_logits(TOKENS), atol=1e-6)
        np.testing.assert_allclose(
            one.logits(one.embed(TOKENS), at), other.logits(other.embed(TOKENS), at), atol=1e-6
        )
        np.testing.assert_allclose(
            one.trace(TOKENS).attention, other.trace(TOKENS).attention, atol=1e-6
        )


def test_gated_units_are_a_product():
    model = with_layer_options(LINEAR, key=jax.random.key(1), gated=True)
    mlp = jax.tree.map(lambda leaf: np.asarray(leaf[0], float), model.layers.mlp)
    x = np.random.default_rng(0).normal(size=(3, 8))
    up, gate = x @ mlp.mlp.up + mlp.mlp.up_bias, x @ mlp.gate + mlp.gate_bias
    wanted = (up * norm.cdf(up) * gate) @ mlp.mlp.down + mlp.mlp.down_bias
    found = jax.tree.map(lambda leaf: leaf[0], model.layers).mlp(LINEAR, jnp.asarray(x), None)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("rates", [(0.5, 0.0), (0.0, 0.5)], ids=["attention", "MLP"])
def test_dropout_has_the_mean_of_what_it_drops_from(rates):
    model = with_layer_options(
        LINEAR, key=jax.random.key(2), attention_dropout=rates[0], mlp_dropout=rates[1]
    )
    if rates[0]:  # what attention writes is then the only thing that is drawn
        model = eqx.tree_at(lambda m: m.layers.mlp.mlp.down, model, replace_fn=jnp.zeros_like)
    rows = model.embed(TOKENS)
    keys = jax.random.split(jax.random.key(3), 4000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: model.hidden(rows, key=key)))(keys))
    exact = np.asarray(model.hidden(rows))
    spread = drawn.std(axis=0)
    assert (np.abs(drawn.mean(axis=0) - exact) < 5 * spread / 4000**0.5 + 1e-5).all()
    assert spread.max() > 0.01


def test_other_layers_are_refused():
    with pytest.raises(ValueError, match="it must be 0, as rates are given apart"):
        with_layer_options(
            TransformerConfig(5, heads=1, width=4, dropout=0.1), key=jax.random.key(0)
        )
    with pytest.raises(ValueError, match="x \\+ f\\(x\\)"):
        with_layer_options(
            TransformerConfig(5, heads=1, width=4, norm="post"), key=jax.random.key(0)
        )
