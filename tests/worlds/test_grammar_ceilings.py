"""The best possible accuracy of masked prediction in the five grammars of the source."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.training import MaskedSentences
from minicosm.worlds import LayeredPCFG

# Top-1 accuracy at a rate of 30%, with its standard error, by another implementation in plain NumPy.
KNOWN = {
    "cfg3b": (0.954, 0.004), "cfg3i": (0.946, 0.005), "cfg3h": (0.842, 0.009), "cfg3g": (0.732, 0.013),
    "cfg3f": (0.719, 0.013),
}  # fmt: skip


def exact_accuracies(name, count, seed, below=22):
    """The expected top-1 accuracy of the exact law in each of `count` sentences: the mean over hidden
    positions of the largest probability."""
    task = MaskedSentences(LayeredPCFG.named(name, below), batch=1)

    @eqx.filter_jit
    def one(key):
        batch = task.draw(key)
        weights = task.weights(batch)
        return jnp.sum(weights * jnp.max(task.bayes(batch), axis=1)) / jnp.sum(weights)

    with jax.enable_x64(True):
        return np.array([one(k) for k in jax.random.split(jax.random.key(seed), count)])


@pytest.mark.long
@pytest.mark.parametrize("name", KNOWN)
def test_the_exact_accuracy_is_that_of_another_implementation(name):
    found = exact_accuracies(name, 16, 1)
    mean, error = KNOWN[name]
    own = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - mean) < 3 * np.hypot(error, own)
