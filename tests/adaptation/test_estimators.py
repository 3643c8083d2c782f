"""Tuning in three lines against the same made by hand, and against the exact posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.adaptation import (
    Classifier,
    HeadTuning,
    PromptTuning,
    TuningLoss,
    fresh_linear_head,
    fresh_prompt,
    logistic_regression,
    prompt_rates,
)
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import adam, fit
from minicosm.worlds import HMM, MemoryHMM, PosteriorTask, covered_world

WORLD = HMM.random(jax.random.key(0), hidden=3, vocab=4, emission_temperature=0.3)
RNG = np.random.default_rng(0)
TOKENS, LABELS = RNG.integers(0, 4, (60, 5)), RNG.integers(0, 2, 60)
SMALL = TransformerConfig(4, layers=1, heads=2, width=8, positions="rotary")


@pytest.mark.parametrize("mask_first", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_linear_head_is_logistic_regression_on_the_masked_laws(mask_first, classes):
    labels = TOKENS[:, -1] % classes
    tuned = HeadTuning(mask_first=mask_first, ridge=1e-3).fit(WORLD, TOKENS, labels)
    padded = TOKENS if mask_first else np.pad(TOKENS, ((0, 0), (1, 0)))
    seen = np.arange(padded.shape[1]) > 0
    with jax.enable_x64(True):
        laws = np.asarray(jax.jit(jax.vmap(lambda x: WORLD.conditionals(x, seen)[0]))(padded))
    head = logistic_regression(laws, labels, classes, ridge=1e-3)
    scores = laws @ head.weights.T + head.bias
    found = tuned.decision_function(TOKENS)
    if classes > 2:  # a number added to all of them changes nothing
        found, scores = (x - x.mean(axis=1, keepdims=True) for x in (found, scores))
    np.testing.assert_allclose(found, scores, atol=1e-9)
    expected = (scores >= 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(tuned.predict(TOKENS), expected)
    assert tuned.score(TOKENS, labels) == pytest.approx((expected == labels).mean())
    law = tuned.predict_proba(TOKENS)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(law.argmax(axis=1), expected)


@pytest.mark.parametrize("mask_first", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_prompt_on_an_exact_world_is_the_long_way(mask_first):
    """The generic loss, which runs the model, in place of the fast one."""
    with jax.enable_x64(True):
        key = jax.random.key(3)
        tuned = PromptTuning(length=2, steps=12, batch=8, mask_first=mask_first).fit(
            WORLD, TOKENS, LABELS, key
        )
        start_key, fit_key = jax.random.split(key)
        start = Classifier(
            fresh_linear_head(4), fresh_prompt(start_key, 2, 3), placeholder=not mask_first
        )
        found, history = fit(
            TuningLoss(WORLD, TOKENS, LABELS, mask_first, 8),
            {"prompt": start},
            adam({"prompt": prompt_rates(start, 0.05, 0.3)}, 12, 1),
            12,
            fit_key,
        )
        np.testing.assert_allclose(
            tuned.classifier.prompt.rows, found["prompt"].prompt.rows, rtol=1e-6
        )
        np.testing.assert_allclose(tuned.history["prompt_loss"], history["prompt_loss"], rtol=1e-9)


def test_the_prompt_of_theorem_3_6_is_found():
    """More states than tokens: the best head alone errs, a head behind a prompt hardly does."""
    world, mu, *_ = covered_world(jax.random.key(3), hidden=8, vocab=4)
    task = PosteriorTask(mu)
    draw = jax.jit(jax.vmap(lambda k: world.sample(k, 8).tokens))
    tokens = draw(jax.random.split(jax.random.key(1), 1200))
    labels = np.asarray(jax.jit(jax.vmap(lambda x: task.label(world, x)))(tokens))
    train, test = slice(900), slice(900, None)
    head = HeadTuning().fit(world, tokens[train], labels[train])
    prompt = PromptTuning(steps=600).fit(world, tokens[train], labels[train], jax.random.key(5))
    assert head.score(tokens[test], labels[test]) < 0.9
    assert prompt.score(tokens[test], labels[test]) > 0.97


@pytest.mark.parametrize("kind", ["transformer", pytest.param("memory", marks=pytest.mark.long)])
def test_any_masked_language_model_can_be_tuned(kind):
    if kind == "transformer":
        model = Transformer(SMALL, key=jax.random.key(0))
    else:
        model = MemoryHMM.random(jax.random.key(0), hidden=2, memory=2, vocab=4)
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    for settings in (HeadTuning("attention", steps=3), PromptTuning(steps=3)):
        tuned = settings.fit(model, TOKENS, LABELS, jax.random.key(1))
        assert set(tuned.predict(TOKENS)) <= {0, 1} and 0 <= tuned.score(TOKENS, LABELS) <= 1
        assert jnp.isfinite(tuned.decision_function(TOKENS)).all()
    for one, other in zip(before, jax.tree.leaves(model), strict=True):
        np.testing.assert_array_equal(one, other)


def sentence(call) -> str:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("unchecked_types")
def test_what_cannot_be_tuned_is_refused():
    head, prompt = HeadTuning(), PromptTuning()
    assert "labels are all 0" in sentence(lambda: head.fit(WORLD, TOKENS, LABELS * 0))
    assert "labels" in sentence(lambda: head.fit(WORLD, TOKENS, LABELS[:, None]))
    assert "labels" in sentence(lambda: head.fit(WORLD, TOKENS, LABELS * 10**9))
    assert "tokens" in sentence(lambda: head.fit(WORLD, TOKENS + 4, LABELS))
    assert "model" in sentence(lambda: head.fit("bert", TOKENS, LABELS))
    assert "key" in sentence(lambda: prompt.fit(WORLD, TOKENS, LABELS, 0))
    assert "key" in sentence(lambda: HeadTuning("attention").fit(WORLD, TOKENS, LABELS))
    assert "head" in sentence(lambda: HeadTuning("quadratic"))
    assert "steps" in sentence(lambda: PromptTuning(steps=2.5))
    tuned = head.fit(WORLD, TOKENS, LABELS)
    assert "labels" in sentence(lambda: tuned.score(TOKENS, LABELS[:-1]))
    assert "tokens" in sentence(lambda: tuned.predict(TOKENS - 1))
