"""The Transformer against plain NumPy loops, and the symmetries that its options promise."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_models
from numpy_transformer import forward

from minicosm.adaptation import SoftPrompt
from minicosm.models import (
    CausalLM,
    MaskedLM,
    Transformer,
    TransformerConfig,
    from_arrays,
    to_arrays,
)

SMALL = {"vocab": 5, "layers": 2, "heads": 2, "width": 8, "mlp_width": 12, "max_length": 10}

OPTIONS = {
    "defaults": {},
    "bert": {
        "norm": "post",
        "head_transform": True,
        "epsilon": 1e-12,
        "positions": "rotary",
        "rotary_base": 100.0,
        "activation": "gelu_tanh",
    },
    "linear positions, biases nowhere": {
        "positions": "linear",
        "max_length": 7,
        "causal": True,
        "tied": False,
        "output_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        "layers": 1,
    },
    "branch, sinusoidal, wide heads": {
        "norm": "branch",
        "activation": "silu",
        "positions": "sinusoidal",
        "head_width": 3,
        "heads": 3,
        "attention_scale": 1.0,
        "layers": 1,
    },
    "two heads wider than the stream": {
        "head_width": 11,
        "attention_bias": False,
        "causal": True,
        "positions": "none",
        "layers": 1,
    },
    "no norm, no positions, input-only tokens": {
        "norm": "none",
        "extra_inputs": 2,
        "positions": "none",
        "activation": "tanh",
        "layers": 1,
    },
    "bare": {"layers": 1, "mlp_width": 0, "attention_residual": False, "norm": "none"},
    "residual outside the norm": {
        "norm": "branch",
        "mlp_norm": "none",
        "mlp_residual": False,
        "normaliser": "unit",
        "epsilon": 0.0,
        "causal": True,
        "layers": 1,
    },
    "residual inside the norm": {
        "norm": "post",
        "mlp_norm": "none",
        "mlp_residual": False,
        "activation": "relu",
        "layers": 1,
    },
}
RECOMPUTED = {"remat": True, "layers": 3}


def make(seed=0, **fields) -> Transformer:
    """A model whose biases, norms and weights are all far from their starting values."""
    return random_models.transformer(TransformerConfig(**(SMALL | fields)), seed)


@pytest.mark.parametrize("name", OPTIONS)
def test_agrees_with_plain_loops(name):
    model = make(**OPTIONS[name])
    config, arrays = model.config, to_arrays(model)
    tokens = np.array([3, 0, 4, 4, 1, 2, 0])
    if config.extra_inputs:
        tokens[0] = config.vocab + 1
    observed = None if config.causal else np.array([1, 1, 0, 1, 0, 1, 1], bool)
    rows = arrays["token_embedding"][tokens]
    if observed is not None:
        rows[~observed] = arrays["mask_embedding"]
    logits, streams, patterns = forward(config, arrays, rows)

    def ordinary_path(model):
        rows = model.embed(tokens, observed)
        return model.logits(rows), model.predict(rows), model.logits(rows, at)

    at = np.array([5, 2, 2, 0])
    with jax.enable_x64(True):
        trace, (ordinary, laws, some) = jax.jit(
            lambda model: (model.trace(tokens, observed), ordinary_path(model))
        )(model)
    ordinary, laws = np.asarray(ordinary), np.asarray(laws)
    np.testing.assert_allclose(ordinary, logits, atol=1e-10)
    np.testing.assert_allclose(np.asarray(some), logits[at], atol=1e-10)
    np.testing.assert_allclose(trace.logits, logits, atol=1e-10)
    np.testing.assert_allclose(trace.hidden, streams, atol=1e-10)
    np.testing.assert_allclose(trace.attention, patterns, atol=1e-10)
    np.testing.assert_allclose(laws.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(laws, np.exp(logits) / np.exp(logits).sum(-1)[:, None], atol=1e-10)


def test_visible_positions_against_plain_loops():
    """Keys that padding hides, and an arbitrary pattern, for an encoder and a decoder."""
    draw = np.random.default_rng(1)
    pattern = draw.random((6, 6)) < 0.6
    pattern[:, 0] = True
    padding = np.array([1, 1, 1, 1, 0, 0], bool)
    rows = draw.normal(size=(6, 8))

    @jax.jit
    def both(model, visible):
        at = np.array([3, 1])
        return model.logits(rows, visible=visible), model.logits(rows, at, visible=visible)

    for causal, visible in ((False, padding), (True, pattern)):
        model = make(causal=causal, layers=1)
        whole = np.broadcast_to(visible, (6, 6))
        expected = forward(model.config, to_arrays(model), rows, whole)[0]
        with jax.enable_x64(True):
            logits, some = both(model, visible)
            if not causal:  # any pattern, not only a row for all
                square, _ = both(model, whole & pattern)
                other = forward(model.config, to_arrays(model), rows, whole & pattern)[0]
                np.testing.assert_allclose(np.asarray(square), other, atol=1e-10)
                alone = forward(model.config, to_arrays(model), rows[:4])[0]
                np.testing.assert_allclose(np.asarray(logits)[:4], alone, atol=1e-10)
        np.testing.assert_allclose(np.asarray(logits), expected, atol=1e-10)
        np.testing.assert_allclose(np.asarray(some), expected[[3, 1]], atol=1e-10)


def test_both_kinds_of_language_model():
    assert isinstance(make(), MaskedLM)
    assert isinstance(make(causal=True), CausalLM)


def test_future_tokens_do_not_matter_to_a_causal_model():
    model = make(causal=True)
    tokens = np.array([0, 1, 2, 3, 4, 0])
    changed = tokens.copy()
    changed[4:] = [1, 2]

    @jax.jit
    def logits_and_gradient(tokens):
        rows = model.embed(tokens)
        return model.next_logits(tokens), jax.grad(lambda rows: model.logits(rows)[2].sum())(rows)

    (before, gradient), (after, _) = (
        jax.tree.map(np.asarray, logits_and_gradient(t)) for t in (tokens, changed)
    )
    np.testing.assert_array_equal(before[:4], after[:4])
    assert (np.abs(before[4:] - after[4:]) > 1e-3).any()
    assert (gradient[3:] == 0).all() and (gradient[:3] != 0).any()


def test_without_positions_an_encoder_commutes_with_permutations():
    tokens, order = np.array([0, 1, 2, 3, 4, 1]), np.array([3, 5, 0, 2, 1, 4])
    for positions in ("none", "learned"):
        model = make(positions=positions, layers=1)
        logits = jax.jit(lambda tokens, model=model: model.logits(model.embed(tokens)))
        difference = np.abs(np.asarray(logits(tokens[order])) - np.asarray(logits(tokens))[order])
        assert difference.max() < 1e-5 if positions == "none" else difference.max() > 0.01


def test_rotary_positions_matter_only_by_their_differences():
    """With the rows before them hidden, a sequence gives the same logits wherever it stands."""
    model = make(positions="rotary", layers=1)
    logits = jax.jit(lambda rows, visible: model.logits(rows, visible=visible))
    rows = np.random.default_rng(0).normal(size=(5, 8))

    def moved_by(shift, rows=rows):
        """Of 35 positions all are hidden but those from `shift` on."""
        padded = np.ones((35, 8))
        padded[shift : shift + 5] = rows
        visible = np.isin(np.arange(35), shift + np.arange(5))
        return np.asarray(logits(padded, visible))[shift : shift + 5]

    with jax.enable_x64(True):
        first = moved_by(0)
        for shift in (1, 30):
            np.testing.assert_allclose(moved_by(shift), first, atol=1e-9)
        assert np.abs(moved_by(0, rows[::-1])[::-1] - first).max() > 1e-3


def test_scan_equals_layers_one_by_one():
    """Also where the last iteration of the compiled loop has fewer layers than the others."""
    model = make(layers=3)
    rows = np.asarray(model.token_embedding[:5])
    expected = forward(model.config, to_arrays(model), rows)[0]
    others = [with_config(model, unroll=unroll) for unroll in (1, 2, 9)]
    for logits in jax.jit(lambda rows: [m.logits(rows) for m in others])(rows.astype(np.float32)):
        np.testing.assert_allclose(logits, expected, atol=1e-4)


def with_config(model, **fields) -> Transformer:
    return from_arrays(dataclasses.replace(model.config, **fields), to_arrays(model))


def test_one_compilation_whatever_the_depth():
    """The compiled program of twenty layers is no longer than that of four."""

    def size(layers):
        model = make(layers=layers)
        program = jax.jit(lambda m, t: m.logits(m.embed(t))).lower(model, jnp.arange(5))
        return len(program.as_text().splitlines())

    assert size(20) == size(4)


def test_prompt_rows_take_the_first_positions():
    model = make()
    tokens = np.array([0, 1, 2])
    prompt = SoftPrompt(np.ones((2, 8), np.float32))
    rows = prompt.prepend(model.embed(tokens))
    expected = forward(model.config, to_arrays(model), rows)[0]
    np.testing.assert_allclose(jax.jit(lambda rows: model.logits(rows))(rows), expected, atol=2e-4)


@pytest.mark.parametrize("options", [OPTIONS["residual outside the norm"], RECOMPUTED])
def test_batches_and_gradients(options):
    """A batch is its examples; the gradient is that of finite differences along a direction."""
    model = make(**options)
    tokens = jax.random.randint(jax.random.key(1), (3, 7), 0, 5)

    def loss(model, tokens):
        logits = jax.vmap(lambda t: model.logits(model.embed(t)))(tokens)
        laws = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(laws, tokens[..., None], -1).mean()

    with jax.enable_x64(True):
        examples = []
        for row in np.asarray(tokens):
            logits = forward(model.config, to_arrays(model), model.token_embedding[row])[0]
            laws = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            examples.append(-laws[np.arange(7), row].mean())
        draw = np.random.default_rng(2)
        direction = jax.tree.map(lambda leaf: draw.normal(size=np.shape(leaf)), model)
        value_and_gradient = jax.jit(jax.value_and_grad(loss))

        def along(step):
            moved = jax.tree.map(lambda w, d: w + step * d, model, direction)
            value, gradient = value_and_gradient(moved, tokens)
            return float(value), jax.tree.map(np.asarray, gradient)

        value, gradient = along(0.0)
        assert value == pytest.approx(np.mean(examples), abs=1e-10)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
        slope = sum(jax.tree.leaves(jax.tree.map(lambda g, d: (g * d).sum(), gradient, direction)))
        difference = along(1e-5)[0] - along(-1e-5)[0]
        np.testing.assert_allclose(slope, difference / 2e-5, rtol=1e-4)


@jax.jit
def one_layer(key) -> Transformer:
    """As a user makes it."""
    return Transformer(TransformerConfig(**(SMALL | {"layers": 1}), init_std=0.2), key=key)


def test_an_ensemble_is_its_members():
    keys = jax.random.split(jax.random.key(0), 3)
    members = jax.jit(jax.vmap(one_layer))(keys)
    together = jax.jit(jax.vmap(lambda model: model.logits(model.embed(np.arange(5)))))(members)
    for i, key in enumerate(keys):
        alone = to_arrays(one_layer(key))
        for name, value in to_arrays(jax.tree.map(lambda leaf, i=i: leaf[i], members)).items():
            np.testing.assert_allclose(value, alone[name], atol=1e-6)
        expected = forward(members.config, alone, alone["token_embedding"][np.arange(5)])[0]
        np.testing.assert_allclose(together[i], expected, atol=1e-5)


def test_dropout_is_off_without_a_key_and_right_on_average():
    """One linear layer: dropout's mean is the ordinary output, and about `rate` entries are zero."""
    fields = {"layers": 1, "norm": "none", "mlp_width": 0, "attention_residual": False}
    model, plain = make(dropout=0.3, **fields), make(**fields)
    rows = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    ordinary = [jax.jit(lambda m: m.hidden(rows))(m) for m in (model, plain)]
    np.testing.assert_array_equal(*ordinary)
    linear = eqx.tree_at(
        lambda m: (m.layers.attention.qkv, m.layers.attention.qkv_bias),
        model,
        replace_fn=lambda w: w * np.array([0, 0, 1])[:, None, None],
    )  # equal attention to all, so that the output is linear in what is dropped
    keys = jax.random.split(jax.random.key(0), 10000)
    dropped = jax.jit(jax.vmap(lambda key: linear.hidden(rows, key=key)))
    hidden = np.asarray(dropped(keys))
    mean, error = hidden.mean(0), hidden.std(0) / 100
    assert (np.abs(mean - jax.jit(lambda m: m.hidden(rows))(linear)) < 5 * error).all()
    assert abs((hidden == 0).mean() - 0.3) < 0.005
    assert (hidden[0] != hidden[1]).any()
    np.testing.assert_array_equal(dropped(keys), hidden)


def test_precisions():
    """bfloat16 products keep float32 parameters and outputs; a key gives one model in either."""
    model, tokens = one_layer(jax.random.key(0)), np.arange(5)
    half = jax.tree.map(jnp.asarray, with_config(model, compute="bfloat16"))

    @jax.jit
    def logits(model):
        return model.logits(model.embed(tokens))

    @jax.jit
    def logits_and_gradient(model):
        return logits(model), jax.grad(lambda m: logits(m).var())(model)

    exact, (rough, gradient) = logits(model), logits_and_gradient(half)
    assert exact.dtype == rough.dtype == jnp.float32
    assert 0 < np.abs(exact - rough).max() < 0.05
    assert all(g.dtype == jnp.float32 and np.isfinite(g).all() for g in jax.tree.leaves(gradient))
    with jax.enable_x64(True):
        double = one_layer(jax.random.key(0))
        assert logits(double).dtype == jnp.float64
        np.testing.assert_allclose(logits(double), exact, atol=1e-5)
    # Arrays in double precision compute in single: the same program as that of the model above.
    given = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), double)
    single = logits(given)
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, exact, atol=1e-5)


def test_random_weights_have_the_stated_deviations():
    config = TransformerConfig.gpt2(50, width=64, layers=8)
    model = jax.jit(lambda key: Transformer(config, key=key))(jax.random.key(0))
    model = jax.tree.map(np.asarray, model)
    assert abs(model.token_embedding.std() - 0.02) < 0.001
    assert abs(model.layers.attention.qkv.std() - 0.02) < 0.001
    assert abs(model.layers.mlp.down.std() - 0.02 / 4) < 0.0002  # sqrt(2 * 8) = 4
    assert (model.layers.mlp.up_bias == 0).all() and (model.layers.mlp_norm.scale == 1).all()
    assert np.abs(model.layers.mlp.up[0] - model.layers.mlp.up[1]).max() > 0.01
