"""The fast losses against the generic one, and its gradient against finite differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.adaptation import (
    Classifier,
    FineTuningLoss,
    HeadLoss,
    LinearHead,
    SlotLoss,
    TuningLoss,
    accuracy,
    attention_trainable,
    fresh_attention_head,
    fresh_linear_head,
    fresh_prompt,
    fresh_rows,
    slot_messages,
)
from minicosm.adaptation.controls import first_tokens, mean_output, token_histogram
from minicosm.adaptation.tuning import cross_entropy
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import adam, fit
from minicosm.worlds import HMM, MemoryHMM


def labelled(world, count=40, length=9):
    """Any tokens and labels will do: every sequence is possible in these worlds."""
    rng = np.random.default_rng(0)
    return rng.integers(0, world.vocab, (count, length)), rng.integers(0, 2, count)


def value_and_gradient(loss, params):
    """Both at the same minibatch, compiled."""

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def both(params):
        return loss(params, jax.random.key(4), jnp.asarray(0))[0]

    return both(params)


def leaves_close(a, b, tolerance):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("length", "placeholder"), [(0, False), (1, True), (4, False)])
def test_slot_loss_is_the_generic_loss_and_gradient(length, placeholder):
    with jax.enable_x64(True):
        world = HMM.random(jax.random.key(0), hidden=5, vocab=4, emission_temperature=0.3)
        tokens, labels = labelled(world)
        rng = np.random.default_rng(1)
        head = LinearHead(jnp.asarray(rng.normal(size=(2, 4))), jnp.asarray(rng.normal(size=2)))
        prompt = fresh_prompt(jax.random.key(2), length, 5) if length else None
        tuned = {"c": Classifier(head, prompt, placeholder=placeholder)}
        # With a placeholder the slot stands before the sequence, else it is the masked first token.
        right = tokens if placeholder else tokens[:, 1:]
        messages = slot_messages(world, right)
        slow = TuningLoss(world, tokens, labels, mask_first=not placeholder, batch=16)
        fast = SlotLoss(world, messages, labels, batch=16)

        (a, da), (b, db) = value_and_gradient(slow, tuned), value_and_gradient(fast, tuned)
        np.testing.assert_allclose(a, b, rtol=1e-12)
        leaves_close(da, db, 1e-10)


def test_slot_gradient_agrees_with_finite_differences():
    with jax.enable_x64(True):
        world = HMM.random(jax.random.key(0), hidden=6, vocab=4, emission_temperature=0.2)
        tokens, labels = labelled(world)
        loss = SlotLoss(world, slot_messages(world, tokens[:, 1:]), labels, batch=16)
        rng = np.random.default_rng(1)
        head = LinearHead(jnp.asarray(rng.normal(size=(2, 4))), jnp.zeros(2))
        start = fresh_prompt(jax.random.key(2), 3, 6)

        @jax.jit
        def value(theta):
            prompt = eqx.tree_at(lambda p: p.parameters, start, theta)
            return loss({"c": Classifier(head, prompt)}, jax.random.key(4), jnp.asarray(0))[0]

        theta = start.parameters
        gradient, step = jax.grad(value)(theta), 1e-5
        for place in ((0, 0), (1, 3), (2, 5)):
            up, down = theta.at[place].add(step), theta.at[place].add(-step)
            numeric = (value(up) - value(down)) / (2 * step)
            assert float(gradient[place]) == pytest.approx(float(numeric), abs=1e-9)


def test_every_prompt_has_an_equal_prompt_of_length_one():
    """c of any prompt is A w with w >= 0, and so is that of u = w / p_1 (scaled into the box)."""
    from minicosm.adaptation import SoftPrompt
    from minicosm.adaptation.tuning import slot_features

    with jax.enable_x64(True):
        world = HMM.random(jax.random.key(0), hidden=6, vocab=4, emission_temperature=0.2)
        tokens, _ = labelled(world)
        messages = slot_messages(world, tokens[:, 1:])
        rows = jax.random.uniform(jax.random.key(3), (20, 6))
        w = jnp.asarray(world.first)
        for row in rows[:-1]:
            w = jnp.asarray(world.A) @ (row * w)
        u = rows[-1] * w / world.first
        long, short = SoftPrompt(rows), SoftPrompt((u / jnp.max(u))[None])
        np.testing.assert_allclose(
            slot_features(world, long, messages), slot_features(world, short, messages), atol=1e-13
        )


@pytest.mark.parametrize("by_token", [False, True])
def test_head_loss_is_the_generic_loss_and_gradient(by_token):
    with jax.enable_x64(True):
        world = MemoryHMM.random(jax.random.key(0), hidden=3, memory=2, vocab=5)
        tokens, labels = labelled(world)
        fresh = fresh_attention_head(5, by_token=by_token)
        keys = iter(jax.random.split(jax.random.key(8), 9))
        head = jax.tree.map(
            lambda x: x + jax.random.normal(next(keys), x.shape) if eqx.is_array(x) else x, fresh
        )
        seen = np.arange(9) > 0
        outputs = jax.jit(jax.vmap(lambda x: world.conditionals(x, seen)))(tokens)
        slow = TuningLoss(world, tokens, labels, mask_first=True, batch=16)
        fast = HeadLoss(outputs, tokens, labels, mask_first=True, batch=16)
        a, da = value_and_gradient(lambda h, *rest: slow({"h": Classifier(h)}, *rest), head)
        b, db = value_and_gradient(lambda h, *rest: fast({"h": h}, *rest), head)
        np.testing.assert_allclose(a, b, rtol=1e-12)
        leaves_close(da, db, 1e-10)


def test_token_values_are_one_vector_per_token():
    head = eqx.tree_at(
        lambda h: h.value, fresh_attention_head(3, by_token=True), jnp.arange(9.0).reshape(3, 3)
    )
    g = jnp.asarray([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    values = head.values(g, jnp.asarray([2, 0]), jnp.asarray([True, True]))
    expected = np.asarray([g[0] @ np.array([6, 7, 8.0]), g[1] @ np.array([0, 1, 2.0])])
    np.testing.assert_allclose(values, np.stack([-expected, expected], axis=1), rtol=1e-6)


def test_side_by_side_training_is_training_alone():
    with jax.enable_x64(True):
        world = HMM.random(jax.random.key(0), hidden=5, vocab=4)
        tokens, labels = labelled(world)
        loss = SlotLoss(world, slot_messages(world, tokens[:, 1:]), labels, batch=16)
        pair = {
            "a": Classifier(fresh_linear_head(4)),
            "b": Classifier(fresh_linear_head(4), fresh_prompt(jax.random.key(1), 2, 5)),
        }
        rates = {"a": 0.1, "b": 0.02}
        together, _ = fit(loss, pair, adam(rates, 12, 3), 12, jax.random.key(5))
        for name in pair:
            alone, _ = fit(
                loss, {name: pair[name]}, adam({name: rates[name]}, 12, 3), 12, jax.random.key(5)
            )
            # Schedules give rates in float32, whose last digit may differ between two programs.
            leaves_close(together[name], alone[name], 1e-7)


def test_frozen_parts_of_an_attention_head_stay():
    head = fresh_attention_head(4, by_token=True)
    spec = attention_trainable(head)
    assert spec.key is True and spec.value is True and spec.bias is True
    assert spec.query is False and spec.tokens is False and spec.readout is False


def test_cross_entropy_and_accuracy_of_known_scores():
    scores, labels = jnp.asarray([[0.0, 2.0], [1.0, 0.0]]), jnp.asarray([1, 1])
    expected = np.mean([np.log1p(np.exp(-2.0)), np.log1p(np.exp(1.0))])
    assert float(cross_entropy(scores, labels)) == pytest.approx(expected, rel=1e-6)
    assert float(accuracy(scores, labels)) == 0.5
    assert float(accuracy(jnp.asarray([0.0, -1.0]), labels)) == 0.5  # a score of 0 decides 1


def test_controls_count_what_they_say():
    tokens = jnp.asarray([[0, 2, 2, 1], [1, 1, 1, 1]])
    np.testing.assert_allclose(token_histogram(tokens, 3), [[0.25, 0.25, 0.5], [0, 1, 0]])
    np.testing.assert_allclose(first_tokens(tokens, 2, 3), [[1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0]])
    np.testing.assert_allclose(mean_output(jnp.asarray([[[0.0, 1.0], [1.0, 0.0]]])), [[0.5, 0.5]])


def test_fine_tuning_is_tuning_with_the_model_trained_as_well():
    model = Transformer(TransformerConfig(4, layers=1, heads=2, width=8), key=jax.random.key(0))
    tokens, labels = labelled(HMM.random(jax.random.key(0), hidden=3, vocab=4))
    classifier = Classifier(
        LinearHead(jax.random.normal(jax.random.key(1), (2, 4)), jnp.zeros(2)),
        fresh_rows(jax.random.key(2), 3, model),
    )
    value, (of_model, of_classifier) = value_and_gradient(
        FineTuningLoss(tokens, labels, True, 8), (model, classifier)
    )
    frozen, gradient = value_and_gradient(
        TuningLoss(model, tokens, labels, True, 8), {"c": classifier}
    )
    np.testing.assert_allclose(value, frozen, rtol=1e-6)
    leaves_close(of_classifier, gradient["c"], 1e-5)
    # A step along the model's own gradient lowers the loss by its squared length.
    step = 1e-2
    moved = jax.tree.map(lambda leaf, g: leaf - step * g, model, of_model)
    lower, _ = value_and_gradient(FineTuningLoss(tokens, labels, True, 8), (moved, classifier))
    square = sum(float(jnp.sum(g**2)) for g in jax.tree.leaves(of_model))
    assert square > 0
    np.testing.assert_allclose(value - lower, step * square, rtol=0.05)


def test_fresh_rows_are_as_large_as_the_token_rows():
    model = Transformer(TransformerConfig(4, width=64, heads=2), key=jax.random.key(0))
    rows = fresh_rows(jax.random.key(1), 50, model).rows
    assert rows.shape == (50, 64)
    np.testing.assert_allclose(jnp.std(rows), jnp.std(model.token_embedding), rtol=0.15)
