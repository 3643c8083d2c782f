"""Questions outside a trace are padded to few shapes; the answers are those without padding."""

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


def test_two_hundred_lengths_have_few_shapes():
    assert {padded_length(n) for n in range(1, 201)} == {16, 32, 64, 128, 256}
