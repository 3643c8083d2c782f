"""Masked sentences: which positions are hidden, and the exact law of what was hidden by enumeration."""

import itertools
from collections import Counter

import jax
import numpy as np
import pytest

from minicosm.training import MaskedSentences
from minicosm.worlds import LayeredPCFG

WORLD = LayeredPCFG({4: [[3, 3], [3]], 3: [[0, 1], [2, 2, 0]]}, 4)
SENTENCES = Counter()
for parts in itertools.chain(
    itertools.product([(0, 1), (2, 2, 0)]), itertools.product([(0, 1), (2, 2, 0)], repeat=2)
):
    SENTENCES[sum(parts, ())] += 0.5 ** (1 + len(parts))
TASK = MaskedSentences(WORLD, batch=300, rate=0.5)


@pytest.fixture(scope="module")
def batch():
    return jax.tree.map(np.asarray, jax.jit(TASK.draw)(jax.random.key(0)))


def test_half_of_each_sentence_is_chosen_and_corrupted_as_in_bert(batch):
    lengths = batch.visible.sum(axis=1)
    np.testing.assert_array_equal(batch.weights.sum(axis=1), np.maximum(1, np.round(0.5 * lengths)))
    chosen = batch.weights > 0
    assert (np.take_along_axis(batch.visible, batch.at, axis=1) | ~chosen).all()
    masked = ~np.take_along_axis(batch.observed, batch.at, axis=1)[chosen]
    assert abs(masked.mean() - 0.8) < 5 * 0.4 / np.sqrt(masked.size)
    assert (batch.observed.sum() + masked.sum()) == batch.observed.size


def likelihood(sentence, batch, i, own):
    """P[what is shown | sentence, position `own` is chosen]; the others are chosen or not by chance."""
    total = 1.0
    for j, token in enumerate(sentence):
        if not batch.observed[i, j]:
            continue
        same = float(token == batch.shown[i, j])
        if j == own:
            total *= 0.1 * same + 0.1 / 3
        else:
            total *= (1 - 0.5 + 0.05) * same + 0.05 / 3
    return total


def test_the_exact_law_is_that_of_all_sentences(batch):
    found = np.asarray(jax.jit(TASK.bayes)(jax.tree.map(lambda x: x[:8], batch))).reshape(8, -1, 3)
    for i in range(8):
        length = int(batch.visible[i].sum())
        for m in np.flatnonzero(batch.weights[i] > 0):
            at, law = batch.at[i, m], np.zeros(3)
            for sentence, p in SENTENCES.items():
                if len(sentence) == length:
                    law[sentence[at]] += p * likelihood(sentence, batch, i, at)
            np.testing.assert_allclose(found[i, m], law / law.sum(), atol=1e-5)
