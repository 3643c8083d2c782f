"""Next tokens at the ends of nodes: which are asked for, the exact laws by all derivations, sign tokens."""

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.training import NextTokens, SignTokens
from minicosm.worlds import LayeredPCFG, SparseParity

WORLD = LayeredPCFG({4: [[3, 3], [3]], 3: [[0, 1], [2, 2, 0], [0, 0]]}, 4)
PARTS = [(0, 1), (2, 2, 0), (0, 0)]
# Sentences with the positions at which a node of height 2 ends, and their probabilities.
TREES = [
    (parts, 0.5 / 3 ** len(parts)) for n in (1, 2) for parts in itertools.product(PARTS, repeat=n)
]


def ends(parts, height):
    sizes = np.cumsum([len(part) for part in parts])
    return {1: set(range(sizes[-1])), 2: {int(s) - 1 for s in sizes}, 3: {int(sizes[-1]) - 1}}[
        height
    ]


@pytest.mark.parametrize("height", [1, 2, 3])
def test_a_batch_asks_for_the_ends_and_knows_their_laws(height):
    task = NextTokens(WORLD, height, batch=40)
    batch = jax.tree.map(np.asarray, jax.jit(task.draw)(jax.random.key(height)))
    found = np.asarray(jax.jit(task.bayes)(batch)).reshape(40, -1, 3)
    possible = {sum(parts, ()): [] for parts, _ in TREES}
    for parts, _ in TREES:
        possible[sum(parts, ())].append(ends(parts, height))
    for i in range(40):
        tokens = tuple(batch.tokens[i][batch.tokens[i] < 3].tolist())
        asked = batch.at[i][batch.weights[i] > 0]
        assert set(asked.tolist()) in possible[tokens]
        assert batch.weights[i].sum() == pytest.approx(1)
        assert batch.inputs[i, 0] == 3 and tuple(batch.inputs[i, 1 : len(tokens)]) == tokens[:-1]
        for place, at in enumerate(asked):
            law = Counter()
            for parts, p in TREES:
                other = sum(parts, ())
                if other[:at] == tokens[:at] and at in ends(parts, height):
                    law[other[at]] += p
            wanted = np.array([law[w] for w in range(3)]) / sum(law.values())
            np.testing.assert_allclose(found[i, place], wanted, atol=1e-5)
            assert batch.labels[i, place] == tokens[at]


def test_heights_of_members_are_data():
    keys = jax.random.split(jax.random.key(0), 2)
    drawn = [
        jax.jit(NextTokens(WORLD, h, batch=3, lowest=2).draw)(k)
        for h, k in zip((2, 3), keys, strict=True)
    ]
    task = NextTokens(WORLD, np.array([2, 3]), batch=3, lowest=2)
    draw = jax.jit(jax.vmap(lambda h, k: NextTokens(WORLD, h, batch=3, lowest=2).draw(k)))
    together = draw(jnp.asarray(task.height), keys)
    for i, one in enumerate(drawn):
        jax.tree.map(lambda a, b, i=i: np.testing.assert_array_equal(a[i], b), together, one)


def test_sign_tokens_read_the_class_at_the_last_position():
    class Counts:
        def embed(self, tokens):
            return jnp.cumsum(tokens)[:, None].astype(float)

        def logits(self, rows, at):
            odd = rows[at, 0] % 2
            return jnp.stack([1 - odd, odd], axis=1)

    task = SignTokens(SparseParity(5, 5), batch=20)
    batch = task.draw(jax.random.key(0))
    said = np.argmax(np.asarray(task.logits(Counts(), batch)), axis=1)
    np.testing.assert_array_equal(said, task.labels(batch))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NextTokens(WORLD, 4), "height is 4"),
        (lambda: NextTokens(WORLD, 1, lowest=2), "height is 1"),
        (lambda: NextTokens(WORLD, 1, lowest=9), "heights 1..3"),
        (lambda: NextTokens("cfg3b", 1), "LayeredPCFG"),
    ],
)
def test_bad_input_meets_a_sentence(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()
