"""Brackets that are typed: parsed as the language says, exact laws, constructed and trained models."""

import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

from minicosm.explorer import brackets, panels, trained


@hypothesis.given(text=st.text("()[]", max_size=12))
def test_what_is_read_is_what_the_language_has(text):
    tokens = np.array(["()[]".index(sign) for sign in text], int)
    legal = not text or bool(trained.WORLD.is_prefix(tokens))
    try:
        assert brackets.read_brackets(text).tolist() == tokens.tolist() and legal
    except ValueError as error:
        assert not legal and str(error).startswith("sign ")


@pytest.mark.parametrize(
    "text, said",
    [
        ("(a", "sign 2 is 'a'; it must be one of ( ) [ ]"),
        ("(]", "sign 2, ], cannot close (, which is open there"),
        ("[)", "sign 2, ), cannot close [, which is open there"),
        ("())", "sign 3, ), closes a bracket, but none is open there"),
        ("([([(", "sign 5, (, opens bracket 5 inside of others; at most 4 may be open at once"),
        ("()" * 17, "there are 34 brackets; the explorer reads at most 32"),
    ],
)
def test_brackets_that_do_not_parse_are_a_sentence(text, said):
    shown = panels.brackets(text, 0)
    assert 'role="alert"' in shown and said in shown.replace("&#x27;", "'")


@hypothesis.given(seed=st.integers(0, 10**6), length=st.integers(1, 32))
@hypothesis.settings(max_examples=10)
def test_exact_laws_are_the_worlds_and_the_constructed_model_has_them(seed, length):
    tokens = np.asarray(trained.WORLD.sample(jax.random.key(seed), 32).tokens)[:length]
    with jax.enable_x64(True):
        wanted = np.exp(np.asarray(trained.WORLD.next_logits(tokens, start=True)))
    assert np.allclose(brackets.exact_laws(tokens), wanted)
    found = brackets.readings(tokens, seed % 10)
    assert np.abs(found[0].laws - wanted).max() < 1e-6
    for reading in found:
        assert reading.laws.shape == wanted.shape
        assert np.allclose(reading.attention.sum(axis=1), 1, atol=1e-5)
        assert np.allclose(np.triu(reading.attention, 1), 0)


def test_nothing_typed_has_the_law_of_the_first_bracket():
    (first,) = brackets.exact_laws(np.zeros(0, int))
    assert first.tolist() == [0.5, 0, 0.5, 0]
    assert "<figure" in panels.brackets("", 0)


def test_the_shipped_models_have_learned():
    """Close to Bayes on fresh strings, and not the same."""
    keys = jax.random.split(jax.random.key(7), 20)
    off, maps = [], []
    for key in keys:
        tokens = np.asarray(trained.WORLD.sample(key, 26).tokens)
        found = brackets.readings(tokens)
        exact = brackets.exact_laws(tokens)
        off.append([np.abs(reading.laws - exact).sum(axis=1).mean() / 2 for reading in found])
        maps.append(np.abs(found[1].attention - found[2].attention).max())
    assert np.mean(off, axis=0).max() < 0.03 and max(maps) > 0.01
    assert all(0.01 < brackets.violation(f"trained, seed {seed}") < 1 for seed in trained.SEEDS)


@pytest.mark.long
def test_the_recipe_of_the_shipped_models_learns():
    model, loss = trained.train(5, 1000)
    assert loss < trained.WORLD.optimal_loss(trained.LENGTH) + 0.03
    assert model.config == brackets.trained(0).config
