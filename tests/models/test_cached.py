"""Reading token by token with a memory gives what reading whole strings gives."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_models

from minicosm.models import CachedTransformer, TransformerConfig

CONFIGS = [
    TransformerConfig(
        5,
        causal=True,
        positions="learned",
        max_length=9,
        layers=2,
        heads=2,
        width=8,
        init_std=0.4,
    ),
    TransformerConfig(
        5,
        causal=True,
        positions="rotary",
        norm="post",
        layers=1,
        heads=2,
        width=8,
        extra_inputs=1,
        tied=False,
        init_std=0.4,
    ),
    TransformerConfig(
        5,
        causal=True,
        positions="sinusoidal",
        layers=1,
        norm="branch",
        activation="relu",
        attention_bias=False,
        heads=1,
        width=8,
        head_width=6,
        head_transform=True,
        init_std=0.4,
    ),
    TransformerConfig(
        5,
        causal=True,
        positions="none",
        norm="none",
        mlp_width=0,
        layers=1,
        width=8,
        heads=2,
        attention_scale=0.7,
        init_std=0.4,
    ),
    TransformerConfig(
        5,
        causal=True,
        positions="linear",
        max_length=20,
        normaliser="unit",
        norm_residual=True,
        layers=1,
        width=8,
        heads=2,
        epsilon=1e-3,
        init_std=0.4,
    ),
]


def laws(generator, tokens, back):
    """Read the tokens; go back by `back[i]` tokens after token i; all laws on the way."""

    def step(carry, now):
        memory, n = carry
        token, shorter = now
        memory = generator.read(memory, n, token)
        n = n + 1
        law = generator.law(memory, n)
        streams, hidden = memory.streams[:, n], memory.hidden[n]
        return (memory, n - shorter), (law, hidden, streams, generator.law(memory, n - shorter))

    memory = generator.begin(8)
    return jax.lax.scan(step, (memory, jnp.int32(0)), (tokens, back))[1]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.positions)
def test_equals_the_whole_string_also_after_going_back(config):
    """In double precision: in single, the two orders of the sums differ by 1e-5 and more."""
    with jax.enable_x64(True):
        check_strings(config, random_models.transformer(config))


def check_strings(config, model):
    start = config.vocab if config.extra_inputs else 2
    generator = CachedTransformer(model, start=start, keep=(0, config.layers))
    draw = np.random.default_rng(0)
    tokens = draw.integers(0, 5, (3, 14)).astype(np.int32)
    back = np.zeros((3, 14), np.int32)

    wanted = np.zeros((3, 14, 9), np.int32)  # the string that each law comes after, padded
    lengths = np.zeros((3, 14), int)
    for row in range(3):
        string: list[int] = []
        for i in range(14):
            string.append(int(tokens[row, i]))
            wanted[row, i, 1 : len(string) + 1] = string
            lengths[row, i] = len(string)
            least = 1 if len(string) == 8 else 0
            back[row, i] = draw.integers(least, len(string) + 1) if draw.random() < 0.4 else least
            string = string[: len(string) - back[row, i]]

    wanted[..., 0] = start

    def whole_string(string):
        trace = model.trace(string)
        last = trace.hidden[-1]
        last = last if model.final_norm is None else model.final_norm(config, last)
        return jax.nn.log_softmax(trace.logits), last, trace.hidden[jnp.array([0, -1])]

    @jax.jit
    def both(tokens, back, strings):
        return jax.vmap(partial(laws, generator))(tokens, back), jax.vmap(whole_string)(strings)

    read, exact_ones = jax.tree.map(np.asarray, both(tokens, back, wanted.reshape(-1, 9)))
    found, hidden, streams, after = read
    exact, whole, kept = (x.reshape(3, 14, *x.shape[1:]) for x in exact_ones)
    assert found.dtype == np.float64
    assert (back > 0).sum() > 6
    for row in range(3):
        for i in range(14):
            n = lengths[row, i]
            np.testing.assert_allclose(found[row, i], exact[row, i, n], atol=1e-10)
            for mine, its in (
                (hidden[row, i], whole[row, i, n]),
                (streams[row, i], kept[row, i, :, n]),
            ):
                np.testing.assert_allclose(mine, its, atol=1e-10)
            shorter = n - back[row, i]
            np.testing.assert_allclose(after[row, i], exact[row, i, shorter], atol=1e-10)


def test_a_prompt_read_in_one_pass():
    """The laws and states after all its prefixes, and after one token more."""
    config = dataclasses.replace(CONFIGS[1], layers=2)
    model = random_models.transformer(config)
    generator = CachedTransformer(model, start=2, keep=(0, config.layers))
    string = np.random.default_rng(0).integers(0, 5, 7).astype(np.int32)

    @jax.jit
    def both(string):
        memory = generator.begin_after(8, string[1:6])
        memory = generator.read(memory, jnp.int32(5), string[6])
        trace = model.trace(string)
        last = trace.hidden[-1]
        last = last if model.final_norm is None else model.final_norm(config, last)
        return memory, trace.logits, last, trace.hidden[jnp.array([0, -1])]

    string[0] = 2
    memory, logits, hidden, streams = both(string)
    assert memory.logits.shape[0] == 9
    for mine, its in (
        (memory.logits[:7], logits), (memory.hidden[:7], hidden), (memory.streams[:, :7], streams)
    ):  # fmt: skip
        np.testing.assert_allclose(mine, its, atol=1e-5 * np.abs(its).max())


def test_bad_input():
    causal, both = CONFIGS[0], TransformerConfig(5)
    model = random_models.transformer(causal)
    with pytest.raises(ValueError, match="reads ahead"):
        CachedTransformer(random_models.transformer(both), start=0)
    with pytest.raises(ValueError, match=r"start token is 7; it must be one of 0\.\.4"):
        CachedTransformer(model, start=7)
    with pytest.raises(ValueError, match=r"keep has layer 3; this model has the layers 0\.\.2"):
        CachedTransformer(model, start=0, keep=(3,))
    with pytest.raises(ValueError, match="room for 9 tokens after the start token"):
        CachedTransformer(model, start=0).begin(9)
    assert CachedTransformer(model, start=0).context == 8
