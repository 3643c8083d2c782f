"""Reading token by token with a memory gives what reading whole strings gives."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.models import CachedTransformer, Transformer, TransformerConfig

CONFIGS = [
    TransformerConfig(5, causal=True, positions="learned", max_length=9, init_std=0.4),
    TransformerConfig(
        5,
        causal=True,
        positions="rotary",
        norm="post",
        layers=2,
        heads=2,
        width=16,
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
    model = Transformer(config, key=jax.random.key(1))
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
    found, hidden, streams, after = jax.jit(jax.vmap(partial(laws, generator)))(tokens, back)

    @jax.jit
    @jax.vmap
    def whole_strings(string):
        trace = model.trace(string)
        last = trace.hidden[-1]
        last = last if model.final_norm is None else model.final_norm(config, last)
        return jax.nn.log_softmax(trace.logits), last, trace.hidden[jnp.array([0, -1])]

    exact, whole, kept = (
        np.asarray(x).reshape(3, 14, *x.shape[1:]) for x in whole_strings(wanted.reshape(-1, 9))
    )
    assert (back > 0).sum() > 6
    for row in range(3):
        for i in range(14):
            n = lengths[row, i]
            np.testing.assert_allclose(found[row, i], exact[row, i, n], atol=1e-5)
            for mine, its in (
                (hidden[row, i], whole[row, i, n]),
                (streams[row, i], kept[row, i, :, n]),
            ):
                np.testing.assert_allclose(mine, its, atol=1e-5 * np.abs(its).max())
            shorter = n - back[row, i]
            np.testing.assert_allclose(after[row, i], exact[row, i, shorter], atol=1e-5)


@pytest.mark.parametrize("config", CONFIGS[:2], ids=lambda config: config.positions)
def test_a_prompt_read_in_one_pass(config):
    """The laws and states after all its prefixes, and after one token more."""
    model = Transformer(config, key=jax.random.key(1))
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
    model = Transformer(causal, key=jax.random.key(0))
    with pytest.raises(ValueError, match="reads ahead"):
        CachedTransformer(Transformer(both, key=jax.random.key(0)), start=0)
    with pytest.raises(ValueError, match=r"start token is 7; it must be one of 0\.\.4"):
        CachedTransformer(model, start=7)
    with pytest.raises(ValueError, match=r"keep has layer 3; this model has the layers 0\.\.2"):
        CachedTransformer(model, start=0, keep=(3,))
    with pytest.raises(ValueError, match="room for 9 tokens after the start token"):
        CachedTransformer(model, start=0).begin(9)
    assert CachedTransformer(model, start=0).context == 8
