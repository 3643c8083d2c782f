"""Verifiers on a small Transformer and on brackets."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.decoding import (
    Backtracking,
    CallableVerifier,
    DyckVerifier,
    ProbeVerifier,
    RandomVerifier,
    Thresholded,
    sample,
)
from minicosm.models import CachedTransformer, TransformerConfig, from_arrays
from minicosm.models.weights import shapes


def scores(verifier, strings):
    """The score of every prefix of every string, with no generator."""
    room = strings.shape[1]

    def one(string):
        def step(memory, now):
            n, token = now
            memory = verifier.read(memory, n, token, None)
            return memory, verifier.score(memory, n + 1)

        memory = verifier.begin(room, None)
        first = verifier.score(memory, jnp.int32(0))
        _, rest = jax.lax.scan(step, memory, (jnp.arange(room), string))
        return jnp.concatenate([first[None], rest])

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(strings, jnp.int32)))


@pytest.mark.parametrize("max_depth", [None, 1])
def test_brackets_that_can_be_completed(max_depth):
    """Against a search through all completions: 4 brackets of 2 types, B = 4 in front, E = 5."""
    vocab, room = 6, 6

    def is_whole(s):
        if s[0] != 4 or s[-1] != 5 or any(a > 3 for a in s[1:-1]):
            return False
        stack = []
        for a in s[1:-1]:
            if a % 2 == 0:
                stack.append(a)
                if max_depth is not None and len(stack) > max_depth:
                    return False
            elif not stack or stack.pop() != a - 1:
                return False
        return not stack

    brackets = itertools.product(range(4), repeat=4)
    good = {s[:n] for b in brackets if is_whole(s := (4, *b, 5)) for n in range(7)}
    strings = np.array(list(itertools.product(range(vocab), repeat=room - 1)))
    strings = strings[(strings[:, 0] == 4) | (np.random.default_rng(0).random(len(strings)) < 0.05)]
    last = np.random.default_rng(1).integers(0, vocab, (len(strings), 1))
    strings = np.concatenate([strings, np.where(last < 3, 5, last)], 1)
    found = scores(DyckVerifier(2, 4, end=5, start=4, max_depth=max_depth), strings)
    wanted = [[tuple(s[:n]) in good for n in range(room + 1)] for s in strings.tolist()]
    assert np.array_equal(found, np.array(wanted, float))


def test_an_odd_number_of_brackets_is_never_right():
    assert (scores(DyckVerifier(1, 3), np.zeros((1, 2), int)) == 0).all()


def test_random_scores():
    strings = np.random.default_rng(0).integers(0, 2, (2000, 6))
    verifier = RandomVerifier(jax.random.key(0))
    found = scores(verifier, strings)
    assert (found >= 0).all() and (found < 1).all()
    # 126 different prefixes have 126 different scores; equal strings have equal ones.
    ends = {tuple(s): x for s, x in zip(strings.tolist(), found[:, -1], strict=True)}
    assert len(set(ends.values())) == 64
    assert all(ends[tuple(s)] == x for s, x in zip(strings.tolist(), found[:, -1], strict=True))
    values = np.unique(found[:, 1:])
    assert 0.4 < values.mean() < 0.6 and (values < 0.1).any() and (values > 0.9).any()


def test_thresholds_and_functions():
    sums = CallableVerifier(lambda s, n: jnp.sum(jnp.where(jnp.arange(4) < n, s, 0)) / 4)
    strings = np.array(list(itertools.product(range(2), repeat=4)))
    found = scores(sums, strings)
    assert np.array_equal(found[:, 1:], np.cumsum(strings, 1) / 4)
    assert np.array_equal(scores(Thresholded(sums, 0.5), strings), found >= 0.5)


def test_a_probe_reads_the_state_of_the_last_token():
    config = TransformerConfig(
        4, layers=1, heads=2, width=8, causal=True, max_length=8, extra_inputs=1, init_std=0.5
    )
    draw = np.random.default_rng(0)
    arrays = {name: 0.5 * draw.normal(size=shape) for name, shape in shapes(config).items()}
    model = from_arrays(config, {name: a.astype(np.float32) for name, a in arrays.items()})
    weights = (draw.normal(size=(8, 5)), draw.normal(size=(5, 2)))
    biases = (draw.normal(size=5), draw.normal(size=2))
    generator = CachedTransformer(model, start=4, keep=(1,))
    probe = ProbeVerifier(weights, biases, place=0)
    settings = Backtracking(quota=9, stride=1, record=9, refill="none", threshold=0.5)
    trace = sample(
        settings, generator, probe, np.zeros((8, 1), int), jax.random.key(1), length=6, chunk=8
    )
    fired = trace.fired[trace.fired_lengths > 1]
    lengths = trace.fired_lengths[trace.fired_lengths > 1]
    assert len(fired) > 10

    # On whole strings, in NumPy after the residual stream.
    strings = np.maximum(np.concatenate([fired, trace.tokens]), 0)
    ids = np.concatenate([np.full((len(strings), 1), 4), strings], 1)
    x = np.asarray(jax.jit(jax.vmap(lambda t: model.trace(t).hidden[1]))(ids))
    logits = np.maximum(x @ weights[0] + biases[0], 0) @ weights[1] + biases[1]
    scores = 1 / (1 + np.exp(logits[..., 0] - logits[..., 1]))
    assert (scores[np.arange(len(fired)), lengths] < 0.5 + 1e-5).all()
    kept = trace.quota_left > 0  # checked to the end
    assert (scores[len(fired) :][kept, 2:7] >= 0.5 - 1e-5).all()
    assert (trace.lengths == 6).all()


def test_bad_probes():
    with pytest.raises(ValueError, match="1 matrices and 0 biases"):
        ProbeVerifier((np.ones((2, 1)),), ())
    with pytest.raises(ValueError, match="3 outputs; it must have one or two"):
        ProbeVerifier((np.ones((2, 3)),), (np.ones(3),))
