"""Averaged heads against a computation in plain NumPy, and how models of one width differ."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.special import erf, softmax

from minicosm.models import Transformer, TransformerConfig
from minicosm.studies.distillation.experiments.heads import AveragedHeads, fresh
from minicosm.studies.distillation.head_trials import Heads

TOKENS = np.array([0, 1, 1, 0, 1])


def normed(norm, x, layer=...):
    scale, shift = np.asarray(norm.scale)[layer], np.asarray(norm.shift)[layer]
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=-1, keepdims=True)) / spread * scale + shift


def plain_logits(model, tokens):
    """A causal pre-norm Transformer, in which the outputs of heads are averaged, then multiplied by one
    matrix."""
    tied = jax.tree.map(np.asarray, model.tied)
    x = tied.token_embedding[tokens] + tied.position_embedding[: len(tokens)]
    attention, mlp = tied.layers.attention, tied.layers.mlp
    ahead = np.triu(np.ones((len(tokens), len(tokens)), bool), 1)
    for layer in range(tied.config.layers):
        rows = normed(tied.layers.attention_norm, x, layer)
        outputs = []
        for h in range(tied.config.heads):
            q, k, v = (
                rows @ attention.qkv[layer, :, i, h] + attention.qkv_bias[layer, i, h]
                for i in range(3)
            )
            logits = np.where(ahead, -np.inf, q @ k.T / np.sqrt(q.shape[1]))
            outputs.append(softmax(logits, axis=1) @ v)
        mean = np.mean(outputs, axis=0)
        x = x + mean @ attention.out[layer, 0] + attention.out_bias[layer]
        inner = normed(tied.layers.mlp_norm, x, layer) @ mlp.up[layer] + mlp.up_bias[layer]
        x = x + inner * (1 + erf(inner / np.sqrt(2))) / 2 @ mlp.down[layer] + mlp.down_bias[layer]
    return normed(tied.final_norm, x) @ tied.output + tied.output_bias


def averaged(heads, key=0):
    """With every parameter drawn, also biases and scales, which begin as zeros and ones."""
    shape = TransformerConfig(
        vocab=2, heads=heads, width=6, head_width=6, max_length=5, causal=True, tied=False, init_std=0.5
    )  # fmt: skip
    model = AveragedHeads(Transformer(shape, key=jax.random.key(key)))
    leaves, rest = eqx.partition(model, eqx.is_array)
    flat, tree = jax.tree.flatten(leaves)
    draw = np.random.default_rng(key)
    flat = [leaf + 0.3 * draw.standard_normal(leaf.shape) for leaf in flat]
    return eqx.combine(jax.tree.unflatten(tree, flat), rest)


@eqx.filter_jit
def logits(model, at):
    return model.logits(model.embed(TOKENS), at)


@pytest.mark.parametrize("heads", [1, 3])
def test_averaged_heads_are_what_numpy_says(heads):
    with jax.enable_x64(True):
        model = averaged(heads)
        expected = plain_logits(model, TOKENS)
        np.testing.assert_allclose(logits(model, None), expected, atol=1e-12)
        last = logits(model, np.array([4]))
        np.testing.assert_allclose(last, expected[4:], atol=1e-12)


def test_the_order_of_averaged_heads_does_not_matter():
    model = averaged(3)
    turned = eqx.tree_at(
        lambda m: (m.tied.layers.attention.qkv, m.tied.layers.attention.qkv_bias),
        model,
        replace_fn=lambda leaf: np.roll(leaf, 1, axis=-2),
    )
    np.testing.assert_allclose(logits(turned, None), logits(model, None), atol=1e-5)


def test_the_mean_has_one_matrix_whose_gradient_is_the_mean_of_the_heads():
    model = averaged(3)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(model):
        return model.logits(model.embed(TOKENS))[-1, 0]

    tied = gradient(model).tied.layers.attention.out
    untied = gradient(model.untied()).layers.attention.out
    assert tied.shape == (2, 1, 6, 6) and untied.shape == (2, 3, 6, 6)
    np.testing.assert_allclose(tied[:, 0], untied.mean(axis=1), atol=1e-5)


def test_models_of_one_width_have_one_mlp_and_as_many_dimensions_of_heads_as_said():
    config, keys = Heads(seed=0), jax.random.split(jax.random.key(0), 2)
    concatenated = fresh(config, 4, False, keys).layers
    mean = fresh(config, 4, True, keys).tied.layers
    assert concatenated.attention.qkv.shape == (2, 2, 32, 3, 4, 8)
    assert concatenated.attention.out.shape == (2, 2, 4, 8, 32)
    assert mean.attention.qkv.shape == (2, 2, 32, 3, 4, 32)
    assert mean.attention.out.shape == (2, 2, 1, 32, 32)
    assert concatenated.mlp.up.shape == mean.mlp.up.shape == (2, 2, 32, 128)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"few": 4}, "few must be at least 1 and below many"),
        ({"many": 5}, "width is 32; it must be a multiple"),
        ({"steps": 1510}, "must be a multiple of judged, 50"),
        ({"seeds": 1}, "an interval needs at least 2"),
        ({"k": 16}, "below d"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        Heads(seed=0, **given)
