"""The Transformer against plain NumPy loops, and the symmetries that its options promise."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
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
from minicosm.models.weights import shapes

SMALL = {"vocab": 5, "layers": 2, "heads": 2, "width": 8, "mlp_width": 12, "max_length": 10}

OPTIONS = {
    "defaults": {},
    "post": {"norm": "post"},
    "no norm, input-only tokens": {"norm": "none", "extra_inputs": 2},
    "branch, silu": {"norm": "branch", "activation": "silu"},
    "linear": {"positions": "linear", "max_length": 7, "causal": True},
    "sinusoidal, relu": {"positions": "sinusoidal", "activation": "relu"},
    "rotary, gelu_tanh": {"positions": "rotary", "rotary_base": 100.0, "activation": "gelu_tanh"},
    "no positions, tanh": {"positions": "none", "activation": "tanh"},
    "causal, free output": {"causal": True, "tied": False, "output_bias": False},
    "no biases": {"attention_bias": False, "mlp_bias": False},
    "bert": {"norm": "post", "head_transform": True, "epsilon": 1e-12},
    "wide heads": {"head_width": 3, "heads": 3, "attention_scale": 1.0},
    "bare": {"layers": 1, "mlp_width": 0, "attention_residual": False, "norm": "none"},
    "residual outside the norm": {
        "norm": "branch",
        "mlp_norm": "none",
        "mlp_residual": False,
        "normaliser": "unit",
        "epsilon": 0.0,
        "causal": True,
    },
    "residual inside the norm": {"norm": "post", "mlp_norm": "none", "mlp_residual": False},
    "recomputed": {"remat": True, "layers": 3},
}


def make(seed=0, **fields) -> Transformer:
    """A model whose biases, norms and weights are all far from their starting values."""
    config = TransformerConfig(**(SMALL | fields))
    draw = np.random.default_rng(seed)
    return from_arrays(
        config,
        {name: draw.normal(size=shape) * 0.4 + 0.1 for name, shape in shapes(config).items()},
    )


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
    for causal, visible in ((False, padding), (False, pattern), (True, pattern)):
        model = make(causal=causal)
        whole = np.broadcast_to(visible, (6, 6))
        expected = forward(model.config, to_arrays(model), rows, whole)[0]
        with jax.enable_x64(True):
            logits = jax.jit(lambda m, visible: m.logits(rows, visible=visible))(model, visible)
            some = model.logits(rows, np.array([3, 1]), visible=visible)
        np.testing.assert_allclose(np.asarray(logits), expected, atol=1e-10)
        np.testing.assert_allclose(np.asarray(some), expected[[3, 1]], atol=1e-10)
    encoder = make()
    alone = encoder.logits(rows[:4].astype(np.float32))
    padded = encoder.logits(rows.astype(np.float32), visible=padding)
    np.testing.assert_allclose(padded[:4], alone, atol=1e-5)


def test_both_kinds_of_language_model():
    assert isinstance(make(), MaskedLM)
    assert isinstance(make(causal=True), CausalLM)


def test_future_tokens_do_not_matter_to_a_causal_model():
    model = make(causal=True, layers=3)
    tokens = np.array([0, 1, 2, 3, 4, 0])
    changed = tokens.copy()
    changed[4:] = [1, 2]
    before, after = model.next_logits(tokens), model.next_logits(changed)
    np.testing.assert_array_equal(before[:4], after[:4])
    assert (np.abs(before[4:] - after[4:]) > 1e-3).any()
    gradient = jax.grad(lambda rows: model.logits(rows)[2].sum())(model.embed(tokens))
    assert (gradient[3:] == 0).all() and (gradient[:3] != 0).any()


def test_without_positions_an_encoder_commutes_with_permutations():
    model = make(positions="none")
    tokens, order = np.array([0, 1, 2, 3, 4, 1]), np.array([3, 5, 0, 2, 1, 4])
    plain, moved = model.logits(model.embed(tokens)), model.logits(model.embed(tokens[order]))
    np.testing.assert_allclose(moved, plain[order], atol=1e-5)
    learned = make()
    moved = learned.logits(learned.embed(tokens[order]))
    assert np.abs(moved - learned.logits(learned.embed(tokens))[order]).max() > 0.01


def test_rotary_positions_matter_only_by_their_differences():
    """With the rows before them hidden, a sequence gives the same logits wherever it stands."""
    model = make(positions="rotary")
    logits = jax.jit(lambda rows, visible=None: model.logits(rows, visible=visible))
    rows = np.random.default_rng(0).normal(size=(5, 8))
    for shift in (1, 30):
        moved = np.concatenate([np.ones((shift, 8)), rows])
        visible = np.arange(len(moved)) >= shift
        with jax.enable_x64(True):
            np.testing.assert_allclose(logits(moved, visible)[shift:], logits(rows), atol=1e-9)
    with jax.enable_x64(True):
        assert np.abs(logits(rows[::-1])[::-1] - logits(rows)).max() > 1e-3


def test_scan_equals_layers_one_by_one():
    model = make(layers=5)
    rows = model.embed(np.arange(5))
    x = rows + model.position_embedding[:5]
    step = jax.jit(lambda layer, x: layer(model.config, x, None, None)[0])
    for i in range(5):
        x = step(jax.tree.map(lambda leaf, i=i: leaf[i], model.layers), x)
    expected = model.readout(model.final_norm(model.config, x))
    for unroll in (1, 2, 9):
        other = with_config(model, unroll=unroll)
        np.testing.assert_allclose(other.logits(rows), expected, atol=1e-5)


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
    np.testing.assert_allclose(model.logits(rows), expected, atol=2e-4)


@pytest.mark.parametrize("name", ["bert", "residual outside the norm", "recomputed"])
def test_batches_and_gradients(name):
    """A batch is its examples; the gradient is that of finite differences along a direction."""
    model = make(**OPTIONS[name])
    tokens = jax.random.randint(jax.random.key(1), (3, 7), 0, 5)

    def loss(model, tokens):
        logits = jax.vmap(lambda t: model.logits(model.embed(t)))(tokens)
        laws = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(laws, tokens[..., None], -1).mean()

    def logits(tokens):
        return model.logits(model.embed(tokens))

    batch, alone = jax.jit(jax.vmap(logits))(tokens), jax.jit(logits)
    for one, row in zip(tokens, batch, strict=True):
        np.testing.assert_allclose(alone(one), row, atol=1e-4)
    with jax.enable_x64(True):
        draw = np.random.default_rng(2)
        direction = jax.tree.map(lambda leaf: draw.normal(size=np.shape(leaf)), model)
        value_and_gradient = jax.jit(jax.value_and_grad(loss))

        def along(step):
            moved = jax.tree.map(lambda w, d: w + step * d, model, direction)
            value, gradient = value_and_gradient(moved, tokens)
            return float(value), jax.tree.map(np.asarray, gradient)

        gradient = along(0.0)[1]
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
        slope = sum(jax.tree.leaves(jax.tree.map(lambda g, d: (g * d).sum(), gradient, direction)))
        difference = along(1e-5)[0] - along(-1e-5)[0]
        np.testing.assert_allclose(slope, difference / 2e-5, rtol=1e-4)


def test_an_ensemble_is_its_members():
    config = TransformerConfig(**SMALL)
    keys = jax.random.split(jax.random.key(0), 3)
    members = jax.vmap(lambda key: Transformer(config, key=key))(keys)

    def logits(model):
        return model.logits(model.embed(np.arange(5)))

    together, alone = jax.jit(jax.vmap(logits))(members), jax.jit(logits)
    for key, row in zip(keys, together, strict=True):
        np.testing.assert_allclose(alone(Transformer(config, key=key)), row, atol=1e-6)


def test_dropout_is_off_without_a_key_and_right_on_average():
    """One linear layer: dropout's mean is the ordinary output, and about `rate` entries are zero."""
    fields = {"layers": 1, "norm": "none", "mlp_width": 0, "attention_residual": False}
    model, plain = make(dropout=0.3, **fields), make(**fields)
    rows = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    np.testing.assert_array_equal(model.logits(rows), plain.logits(rows))
    linear = eqx.tree_at(
        lambda m: (m.layers.attention.qkv, m.layers.attention.qkv_bias),
        model,
        replace_fn=lambda w: w * np.array([0, 0, 1])[:, None, None],
    )  # equal attention to all, so that the output is linear in what is dropped
    keys = jax.random.split(jax.random.key(0), 10000)
    hidden = np.asarray(jax.jit(jax.vmap(lambda key: linear.hidden(rows, key=key)))(keys))
    mean, error = hidden.mean(0), hidden.std(0) / 100
    assert (np.abs(mean - linear.hidden(rows)) < 5 * error).all()
    assert abs((hidden == 0).mean() - 0.3) < 0.005
    assert (hidden[0] != hidden[1]).any()
    again = jax.jit(jax.vmap(lambda key: linear.hidden(rows, key=key)))(keys[:3])
    np.testing.assert_allclose(again, hidden[:3], atol=1e-6)


def test_precisions():
    """bfloat16 products keep float32 parameters and outputs; a key gives one model in either."""
    config = TransformerConfig(**SMALL, init_std=0.2)
    model = Transformer(config, key=jax.random.key(0))
    tokens = np.arange(5)
    half = jax.tree.map(jnp.asarray, with_config(model, compute="bfloat16"))

    @jax.jit
    def logits(model):
        return model.logits(model.embed(tokens))

    exact, rough = logits(model), logits(half)
    assert exact.dtype == rough.dtype == jnp.float32
    assert 0 < np.abs(exact - rough).max() < 0.05
    gradient = jax.jit(jax.grad(lambda m: logits(m).var()))(half)
    assert all(g.dtype == jnp.float32 and np.isfinite(g).all() for g in jax.tree.leaves(gradient))
    with jax.enable_x64(True):
        double = Transformer(config, key=jax.random.key(0))
        assert logits(double).dtype == jnp.float64
        np.testing.assert_allclose(logits(double), exact, atol=1e-5)
    given = make()  # in double precision, computing in single
    single = logits(given)
    assert single.dtype == jnp.float32
    with jax.enable_x64(True):
        np.testing.assert_allclose(logits(given), single, atol=2e-4)


def test_random_weights_have_the_stated_deviations():
    config = TransformerConfig.gpt2(50, width=64, layers=8)
    model = Transformer(config, key=jax.random.key(0))
    assert abs(model.token_embedding.std() - 0.02) < 0.001
    assert abs(model.layers.attention.qkv.std() - 0.02) < 0.001
    assert abs(model.layers.mlp.down.std() - 0.02 / 4) < 0.0002  # sqrt(2 * 8) = 4
    assert (model.layers.mlp.up_bias == 0).all() and (model.layers.mlp_norm.scale == 1).all()
    assert np.abs(model.layers.mlp.up[0] - model.layers.mlp.up[1]).max() > 0.01
