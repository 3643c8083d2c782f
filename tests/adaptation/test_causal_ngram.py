"""Reliance of causal models on the tokens before a position, against sentences written out."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.adaptation import causal_reliance
from minicosm.adaptation.ngram import causal_laws
from minicosm.models import Transformer, TransformerConfig
from minicosm.worlds import HMM, LayeredPCFG

RULES = {5: [[3, 4], [4, 3, 3]], 3: [[0, 1], [1, 2], [2, 0]], 4: [[2], [0, 0]]}
WORLD = LayeredPCFG(RULES, 5)


def derivations(symbol):
    """Strings with the last positions of nodes of height 2, and their probabilities."""
    if symbol not in RULES:
        return [((symbol,), frozenset(), 1.0)]
    found = []
    for children in RULES[symbol]:
        for parts in itertools.product(*(derivations(child) for child in children)):
            text, ends, chance = (), set(), 1 / len(RULES[symbol])
            for part, own, p in parts:
                ends |= {len(text) + end for end in own}
                text, chance = text + part, chance * p
            if symbol != 5:
                ends = {len(text) - 1}
            found.append((text, frozenset(ends), chance))
    return found


def law_of(tokens, at, seen, height):
    """By summing over all derivations with such a token there."""
    law = np.zeros(3)
    for text, ends, chance in derivations(5):
        fits = len(text) > at and all(text[j] == tokens[j] for j in seen)
        if fits and (height == 1 or at in ends):
            law[text[at]] += chance
    return law / law.sum()


@pytest.mark.parametrize(("height", "at"), [(1, 3), (2, 3), (2, 4)])
def test_the_measures_of_a_grammar_are_those_of_its_derivations(height, at):
    tokens = [0, 0, 1, 2, 0, 1]  # 4 -> 0 0, 3 -> 1 2, 3 -> 0 1
    tokens = tokens if at == 3 else [2, 0, 1, 2, 0]  # 4 -> 2, 3 -> 0 1, 3 -> 2 0
    found = np.asarray(causal_reliance(WORLD, np.array(tokens), at, (2, 3, 4), height=height))
    full = law_of(tokens, at, range(at), height)
    for j, n in enumerate((2, 3, 4)):
        window = range(max(0, at - n + 1), at)
        kept = [i for i in range(at) if i not in window or i == at - 1]
        for i, seen in enumerate((kept, window)):
            wanted = np.abs(law_of(tokens, at, seen, height) - full).sum() / 2
            np.testing.assert_allclose(found[i, j], wanted, atol=1e-6)
    assert found[0, 0] == 0  # the token before the position is always seen


@pytest.mark.long
def test_a_transformer_reads_what_is_seen_and_nothing_else():
    shape = TransformerConfig(
        vocab=3, layers=2, heads=1, width=4, max_length=6, causal=True, extra_inputs=1, init_std=0.5
    )
    model = Transformer(shape, key=jax.random.key(0))
    tokens = np.array([0, 2, 1, 1, 0, 2])
    rows = [[1] * 6, [0, 1, 0, 1, 1, 1], [1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0]]
    seen, starts = np.array(rows, bool), np.array([True, True, True, False])

    @jax.jit
    def laws(row):
        return causal_laws(model, row, 4, seen, start=3, start_seen=starts)

    @jax.jit
    def logits(row):
        return model.logits(model.embed(row))

    found = np.asarray(laws(tokens))
    inputs = np.array([3, 0, 2, 1, 1, 0])
    np.testing.assert_allclose(found[0], jax.nn.softmax(logits(inputs)[4]), atol=1e-6)
    other = np.array([2, 2, 0, 1, 1, 1])  # differs where the second row sees nothing
    np.testing.assert_allclose(found[1], np.asarray(laws(other))[1], atol=1e-6)
    shifted = np.array([2, 1, 2, 1, 0, 0])  # the same tokens at other positions are another law
    assert np.abs(found[1] - np.asarray(laws(shifted))[1]).max() > 1e-4
    # Of the window of three L_robust hides token 2 only, and L_close sees the tokens 2 and 3 only.
    measures = jax.jit(lambda row: causal_reliance(model, row, 4, [3], start=3))(tokens)
    wanted = np.abs(found[2:] - found[0]).sum(axis=1) / 2
    np.testing.assert_allclose(measures[:, 0], wanted, atol=1e-6)
    assert wanted.min() > 1e-3


def test_a_hidden_markov_world_is_asked_through_its_past_only():
    world = HMM(
        A=np.array([[0.9, 0.3], [0.1, 0.7]]), W=np.array([[0.8, 0.1], [0.2, 0.9]]), p0=np.array([0.5, 0.5])
    )  # fmt: skip
    tokens = np.array([0, 1, 1, 0])
    law = causal_laws(world, tokens, 3, np.ones((1, 4), bool))[0]
    np.testing.assert_allclose(law, jnp.exp(world.next_logits(tokens)[2]), atol=1e-6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sizes": [1]}, "sizes[0] is 1; it must be a whole number of at least 2"),
        ({"sizes": []}, "sizes is []; it must be a list of sizes of windows"),
        ({"at": 0}, "at"),
        ({"tokens": np.array([1])}, "tokens has 1 entries; there must be two or more"),
        ({"model": 3}, "model is int; it must have embed"),
    ],
)
def test_bad_input_is_one_sentence(changed, message):
    given = {"model": WORLD, "tokens": np.array([2, 0, 1]), "at": 1, "sizes": (3,)} | changed
    with pytest.raises((ValueError, TypeError)) as error:
        causal_reliance(**given)
    assert message in str(error.value)
