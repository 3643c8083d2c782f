"""The best possible accuracy of masked prediction in the five grammars of the source."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_inside_outside import CFG3G, asked, hidden, read, sentence, token_posterior

from minicosm.training import MaskedSentences
from minicosm.training.sentences import MaskedBatch
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


@pytest.mark.long
@pytest.mark.parametrize(("below", "count"), [(16, 4), (22, 2)])
def test_the_law_of_hidden_tokens_is_that_of_plain_inside_outside(below, count):
    rules, rng = read(CFG3G), np.random.default_rng(below)
    world = LayeredPCFG.named("cfg3g", below)
    task, room = MaskedSentences(world, batch=1), world.longest
    for _ in range(count):
        tokens = sentence(rules, below, rng)
        shown, at = hidden(tokens, rng)
        length = len(tokens)
        with jax.enable_x64(True):
            batch = MaskedBatch(
                jnp.asarray(np.pad(np.maximum(shown, 0), (0, room - length)))[None],
                jnp.asarray(np.pad(shown >= 0, (0, room - length), constant_values=True))[None],
                (jnp.arange(room) < length)[None], jnp.asarray(at)[None], jnp.asarray(tokens[at])[None],
                jnp.ones((1, len(at))),
            )  # fmt: skip
            found = np.asarray(task.bayes(batch))
        wanted = asked(token_posterior(rules, below, shown), shown, at)
        np.testing.assert_allclose(found, wanted, atol=1e-10)
