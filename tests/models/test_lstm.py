"""An LSTM against a loop in NumPy, token by token against the whole string, and in a file."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.models import (
    LSTM,
    CausalLM,
    Generator,
    LSTMConfig,
    LSTMGenerator,
    from_arrays,
    load,
    save,
    to_arrays,
)
from minicosm.models.weights import shapes

CONFIG = LSTMConfig(5, hidden=6, embedding=4, extra_inputs=1)


def drawn(config=CONFIG, seed=0):
    draw = np.random.default_rng(seed)
    return from_arrays(
        config, {name: draw.normal(size=shape) for name, shape in shapes(config).items()}
    )


def numpy_lstm(arrays, tokens):
    """Logits after every token, gate by gate."""
    size = arrays["cell.weight_hh"].shape[1]
    hidden, cell, logits = np.zeros(size), np.zeros(size), []

    def squashed(x):
        return 1 / (1 + np.exp(-x))

    for token in tokens:
        row = arrays["token_embedding"][token]
        gates = {}
        for i, name in enumerate(("in", "forget", "new", "out")):
            part = slice(i * size, (i + 1) * size)
            gates[name] = (
                arrays["cell.weight_ih"][part] @ row
                + arrays["cell.weight_hh"][part] @ hidden
                + arrays["cell.bias"][part]
            )
        cell = squashed(gates["forget"]) * cell + squashed(gates["in"]) * np.tanh(gates["new"])
        hidden = squashed(gates["out"]) * np.tanh(cell)
        logits.append(hidden @ arrays["output"] + arrays["output_bias"])
    return np.array(logits)


@pytest.mark.parametrize("tokens", [[3], [0, 5, 2, 2, 4, 1, 0]])
def test_it_is_a_loop_over_gates(tokens):
    model = drawn()
    with jax.enable_x64(True):
        found = model.next_logits(np.array(tokens))
        some = model.logits(model.embed(np.array(tokens)), np.array([len(tokens) - 1]))
        laws = model.predict(model.embed(np.array(tokens)))
    expected = numpy_lstm(to_arrays(model), tokens)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(some, expected[-1:], atol=1e-12)
    np.testing.assert_allclose(np.log(laws), jax.nn.log_softmax(expected), atol=1e-6)


def test_token_by_token_and_going_back():
    model = drawn()
    generator = LSTMGenerator(model, start=5)
    assert isinstance(generator, Generator) and isinstance(model, CausalLM)

    @jax.jit
    def run(generator):
        memory = generator.begin(4)
        first = generator.law(memory, jnp.int32(0))
        for n, token in enumerate([0, 3, 3]):
            memory = generator.read(memory, jnp.int32(n), jnp.int32(token))
        far = generator.law(memory, jnp.int32(3))
        memory = generator.read(memory, jnp.int32(1), jnp.int32(2))
        other = generator.law(generator.begin(0, jnp.int32(4)), jnp.int32(0))
        return first, far, generator.law(memory, jnp.int32(2)), other

    with jax.enable_x64(True):
        found = run(generator)
    for law, string in zip(found, ([5], [5, 0, 3, 3], [5, 0, 2], [4]), strict=True):
        expected = numpy_lstm(to_arrays(model), string)[-1]
        expected = expected - np.log(np.exp(expected).sum())
        np.testing.assert_allclose(law, expected, atol=1e-12)


def test_a_file_and_back(tmp_path):
    model = drawn()
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert isinstance(again, LSTM) and again.config == CONFIG
    assert jax.tree.structure(again) == jax.tree.structure(model)
    for mine, theirs in zip(jax.tree.leaves(model), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_fresh_weights_have_the_stated_laws():
    model = LSTM(LSTMConfig(50, hidden=64), key=jax.random.key(0))
    assert abs(float(model.token_embedding.std()) - 1) < 0.05
    for leaf in (model.cell.weight_ih, model.cell.weight_hh, model.output):
        assert float(jnp.abs(leaf).max()) <= 64**-0.5
        assert abs(float(leaf.std()) - 64**-0.5 / 3**0.5) < 0.01
    assert not np.asarray(model.output_bias).any()


def test_bad_input(tmp_path):
    model = drawn()
    with pytest.raises(ValueError, match=r"token 6 at index 1 is outside the vocabulary 0\.\.5"):
        model.next_logits(np.array([0, 6]))
    with pytest.raises(ValueError, match=r"they must have shape \(T, 4\)"):
        model.logits(np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"at\[0\] is 3; the sequence has the positions 0\.\.2"):
        model.logits(np.zeros((3, 4)), np.array([3]))
    with pytest.raises(ValueError, match=r"start token is 6; it must be one of 0\.\.5"):
        LSTMGenerator(model, start=6)
    with pytest.raises(ValueError, match="hidden is 0"):
        LSTMConfig(5, hidden=0)
    with pytest.raises(ValueError, match="an LSTMConfig has no field 'layers'"):
        LSTMConfig.from_dict({"vocab": 3, "layers": 2})
