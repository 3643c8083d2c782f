"""The encoder-decoder against loops in NumPy, and what it must not see."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy_translator as referee
import pytest
import random_models

from minicosm.models import Memory, Translator, TranslatorConfig
from minicosm.models.translator import relative_buckets

SMALL = {"heads": 2, "width": 8, "mlp_width": 12, "max_length": 9, "lengths": 7}
CONFIGS = {
    "parallel": TranslatorConfig(11, source_vocab=5, **SMALL),
    "causal": TranslatorConfig(11, causal=True, encoder_layers=1, **(SMALL | {"lengths": 0})),
    "relative": TranslatorConfig(
        11, positions="relative", positional_attention=False, bias=False, tied=False,
        encoder_layers=1, **SMALL,
    ),
}  # fmt: skip
SOURCE, SOURCE_REAL = np.array([3, 0, 4, 2, 1]), np.array([True, True, True, True, False])
TOKENS, REAL = np.array([4, 4, 10, 0, 7, 2]), np.array([True] * 5 + [False])


@pytest.fixture(scope="module", params=list(CONFIGS))
def model(request):
    """Weights far from the start: norms and biases random too."""
    return random_models.translator(CONFIGS[request.param], scale=0.3)


@eqx.filter_jit
def run(model, source, source_real, tokens, real):
    memory = model.encode(source, source_real)
    trace = model.trace(tokens, memory, real)
    lengths = None if memory.length is None else model.length_logits(memory)
    return lengths, trace, model.decode(tokens, memory, real)


def test_it_equals_the_loops_and_sees_neither_padding_nor_the_future(model):
    lengths, trace, logits = run(model, SOURCE, SOURCE_REAL, TOKENS, REAL)
    expected = referee.forward(model, SOURCE, SOURCE_REAL, TOKENS, REAL)
    np.testing.assert_allclose(logits[REAL], expected[1][REAL], atol=2e-5)
    np.testing.assert_allclose(trace.logits, logits, atol=1e-6)
    np.testing.assert_allclose(trace.self_attention[-1][:, REAL], expected[2][:, REAL], atol=1e-5)
    np.testing.assert_allclose(trace.cross_attention[-1][:, REAL], expected[3][:, REAL], atol=1e-5)
    np.testing.assert_allclose(trace.cross_attention.sum(-1), 1, atol=1e-5)
    if lengths is not None:
        np.testing.assert_allclose(lengths, expected[0], atol=2e-5)
    # Padding may hold anything, also what is no token at all.
    other = run(
        model, np.where(SOURCE_REAL, SOURCE, 99), SOURCE_REAL, np.where(REAL, TOKENS, -1), REAL
    )
    np.testing.assert_array_equal(other[2][:5], logits[:5])
    # What stands at position 3 changes the laws of all positions, or of those from 3 on if causal.
    changed = run(model, SOURCE, SOURCE_REAL, np.where(np.arange(6) == 3, 6, TOKENS), REAL)[2]
    moved = np.abs(np.asarray(changed - logits)).max(axis=1) > 1e-7
    np.testing.assert_array_equal(moved[:5], np.arange(5) >= 3 if model.config.causal else True)


def test_the_printed_size():
    """67 million parameters: the sheet's sum, and what it leaves out."""
    config = TranslatorConfig.paper()
    model = eqx.filter_eval_shape(lambda: Translator(config, key=jax.random.key(0)))
    total = sum(leaf.size for leaf in jax.tree.leaves(model))
    E, V, F = 512, 32128, 2048
    layers = 6 * (4 * E**2 + 2 * E * F) + 6 * (3 * 4 * E**2 + 2 * E * F)
    named = V * E + layers + 256 * E + 128 * E
    norms = 2 * E * (6 * 2 + 6 * 4 + 2)
    assert named == 66_977_792
    assert total == named + norms + E + 2 * 32 * 8  # and the length token, and biases of distances


@pytest.mark.parametrize("causal", [False, True])
def test_distances_fall_into_the_buckets_of_t5(causal):
    found = relative_buckets(200, causal=causal)
    for i in range(0, 200, 7):
        for j in range(0, 200, 3):
            assert found[i, j] == referee.bucket(j - i, causal)


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_named_in_a_sentence():
    with pytest.raises(ValueError, match="needs a length predictor"):
        TranslatorConfig(4, lengths=0)
    with pytest.raises(ValueError, match="only 8 positions"):
        TranslatorConfig(4, max_length=8)
    with pytest.raises(ValueError, match="one of 'learned', 'relative'"):
        TranslatorConfig(4, positions="rotary")
    with pytest.raises(ValueError, match="not divisible by 3 heads"):
        TranslatorConfig(4, heads=3)
    made = random_models.translator(CONFIGS["causal"])
    with pytest.raises(ValueError, match="token 12 at index 1 is outside"):
        made.encode(jnp.array([1, 12]))
    with pytest.raises(ValueError, match="10 positions"):
        made.encode(jnp.zeros(10, int))
    with pytest.raises(ValueError, match="no length predictor"):
        made.length_logits(Memory(jnp.zeros((2, 8)), np.ones(2, bool), None))
