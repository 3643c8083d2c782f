"""The layers of the theory against their formulas, written out."""

import jax
import numpy as np
import pytest

from minicosm.models import Transformer, variants


def drawn(config):
    with jax.enable_x64(True):
        model = Transformer(config, key=jax.random.key(3))
        return jax.tree.map(lambda leaf: np.asarray(leaf) * 20, model)


def unit(x, constant=0.0):
    x = x - x.mean()
    size = max(np.linalg.norm(x), constant)
    return x / size if size else x


def attend(model, x):
    """Values mixed by the exponentials of key-query products, position by position."""
    (query, key, value), out = (
        np.moveaxis(model.layers.attention.qkv[0], 1, 0),
        model.layers.attention.out,
    )
    rows = []
    for i in range(len(x)):
        logits = (x[: i + 1] @ key[:, 0]) @ (x[i] @ query[:, 0])
        weights = np.exp(logits - logits.max())
        rows.append(weights / weights.sum() @ (x[: i + 1] @ value[:, 0]) @ out[0, 0])
    return np.array(rows)


def mlp(model, x):
    g = model.layers.mlp
    return np.maximum(x @ g.up[0] + g.up_bias[0], 0) @ g.down[0] + g.down_bias[0]


FORMULAS = {
    "theory": lambda m, x: mlp(m, np.array([unit(a, 0.1) for a in attend(m, x)]) + x),
    "residual_inside": lambda m, x: mlp(m, np.array([unit(a, 0.1) for a in attend(m, x) + x])),
    "bare": attend,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_layer_is_its_formula(name):
    config = getattr(variants, name)(4, width=6, inputs=9, constant=0.1)
    model = drawn(config)
    tokens = np.array([8, 0, 3, 7, 2])
    expected = FORMULAS[name](model, model.token_embedding[tokens]) @ model.output
    with jax.enable_x64(True):
        both = jax.jit(lambda model: (model.next_logits(tokens), model.trace(tokens).logits))
        for logits in both(model):
            np.testing.assert_allclose(logits, expected, atol=1e-10)


def test_a_residual_after_the_norm_adds_the_stream():
    plain, more = (
        drawn(variants.gpt2(4, width=6, layers=1, norm_residual=on)) for on in (False, True)
    )
    tokens = np.array([4, 0, 1])

    @jax.jit
    def by_hand(more, plain):
        x = more.embed(tokens)
        seen = more.layers.attention_norm
        layer = jax.tree.map(lambda leaf: leaf[0], plain.layers)
        norm = jax.tree.map(lambda leaf: leaf[0], seen)
        y = (
            x
            + layer.attention(
                more.config, norm(more.config, x) + x, np.tril(np.ones((3, 3), bool)), None
            )[0]
        )
        y = y + layer.mlp(more.config, layer.mlp_norm(more.config, y) + y)
        expected = more.readout(more.final_norm(more.config, y))
        return expected, more.next_logits(tokens), plain.next_logits(tokens)

    with jax.enable_x64(True):
        expected, found, without = map(np.asarray, by_hand(more, plain))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert np.abs(without - expected).max() > 1e-3


def test_too_few_inputs_are_refused():
    with pytest.raises(ValueError, match="inputs is 3; it must be at least the vocabulary, 4"):
        variants.theory(4, width=5, inputs=3)
