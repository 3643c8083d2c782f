"""Questions outside a trace are padded to few shapes; the answers are those without padding."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from minicosm.worlds import HMM, Dyck, MemoryHMM
from minicosm.worlds.padding import padded_length

WORLDS = [
    HMM([[0.9, 0.3], [0.1, 0.7]], [[0.7, 0.0], [0.3, 0.4], [0.0, 0.6]], [0.6, 0.4]),
    MemoryHMM(
        [[0.2, 0.7], [0.8, 0.3]],
        np.array([[[0.9, 0.2], [0.1, 0.2]], [[0.1, 0.8], [0.9, 0.8]]]),
        [0.3, 0.7],
        [0.5, 0.5],
    ),
    Dyck(2, 3, 0.6),
]


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: type(w).__name__)
@pytest.mark.parametrize("length", [1, 17])
def test_padded_answers_are_those_of_a_trace(world, length):
    """A trace is not padded: the same draws, likelihoods and laws come from the plain shapes."""
    key = jax.random.key(length)
    drawn = world.sample(key, length)
    plain = jax.jit(lambda k: world.sample(k, length))(key)
    jax.tree.map(np.testing.assert_array_equal, tuple(drawn), tuple(plain))
    tokens = np.asarray(drawn.tokens)
    asked = jax.jit(lambda t: (world.log_prob(t), world.next_logits(t)))(tokens)
    np.testing.assert_allclose(world.log_prob(tokens), asked[0], rtol=1e-6)
    np.testing.assert_allclose(world.next_logits(tokens), asked[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("world", WORLDS[:2], ids=lambda w: type(w).__name__)
@pytest.mark.parametrize("length", [1, 17])
def test_padded_conditionals_and_posteriors_are_those_of_a_trace(world, length):
    """With tokens missing and without: nothing is seen after the end, so the end stays the end."""
    draw = np.random.default_rng(length)
    tokens, observed = (
        np.asarray(world.sample(jax.random.key(1), length).tokens),
        draw.random(length) < 0.7,
    )
    for seen in (None, observed):
        mine = (world.conditionals(tokens, seen), *world.posterior(tokens, seen))
        plain = jax.jit(lambda t, s=seen: (world.conditionals(t, s), *world.posterior(t, s)))(
            tokens
        )
        for a, b in zip(mine, plain, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


MEMORY = """
import jax, numpy as np
from test_padding import WORLDS

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

for world in WORLDS[:2]:
    for length in [*(16, 32, 64, 128, 256), *range(1, 201)]:
        tokens = world.sample(jax.random.key(length), length).tokens
        world.log_prob(tokens), world.next_logits(tokens)
        world.conditionals(tokens), world.posterior(tokens)
        if length == 256:
            before = resident()
    print(before, resident())
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures memory by /proc")
def test_memory_is_flat_over_two_hundred_lengths():
    """Once the five shapes are compiled, 200 lengths of five questions take less than 40 MB."""
    command = [sys.executable, "-c", MEMORY]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(command, env=here, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    for line in done.stdout.splitlines():
        before, after = map(float, line.split())
        assert after - before < 40, done.stdout
    assert len(done.stdout.splitlines()) == 2


def test_two_hundred_lengths_have_few_shapes():
    assert {padded_length(n) for n in range(1, 201)} == {16, 32, 64, 128, 256}
