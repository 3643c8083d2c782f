"""Penalties of attention on rows by hand, and their schedules."""

import jax
import numpy as np
import pytest

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import AttentionPenalty, LabelObjective, LayerPenalty
from minicosm.worlds import FlipFlop


def test_rows_that_look_at_one_position_and_at_all():
    T = 5
    one, even = np.eye(T)[None, None], np.full((1, 1, T, T), 1 / T)
    wanted = {"entropy": (0, np.log(T)), "l2": (-1, -(T**-0.5)), "max": (-1, -1 / T)}
    for kind, values in wanted.items():
        penalty = AttentionPenalty(1.0, kind=kind)
        np.testing.assert_allclose([penalty.of(one), penalty.of(even)], values, atol=1e-6)


def test_schedules():
    steps = [0, 10, 20, 60, 100]
    linear = AttentionPenalty(2.0, schedule="linear", start=20, steps=100)
    np.testing.assert_allclose([linear.factor(s) for s in steps], [0, 0, 0, 1, 2], atol=1e-6)
    constant = AttentionPenalty(2.0, start=20)
    np.testing.assert_allclose([constant.factor(s) for s in steps], [0, 0, 2, 2, 2])
    waves = AttentionPenalty(2.0, schedule="oscillating")
    np.testing.assert_allclose(
        [waves.factor(s) for s in (0, 250, 500, 1000)], [0, 1, 2, 0], atol=1e-5
    )
    with pytest.raises(ValueError, match="more steps"):
        AttentionPenalty(1.0, schedule="linear", steps=0)


def test_the_penalty_joins_the_loss_and_a_weight_of_zero_changes_nothing():
    world = FlipFlop(8, p_ignore=0.5)
    config = TransformerConfig(5, width=8, heads=2, causal=True, max_length=8, tied=False)
    model = Transformer(config, key=jax.random.key(0))
    options = {"length": 8, "batch": 4, "at": world.instructions}

    @jax.jit
    def losses(weight):
        plain, _ = LabelObjective(world, **options)(model, jax.random.key(1), 0)
        objective = LabelObjective(world, penalty=AttentionPenalty(weight), **options)
        return plain, *objective(model, jax.random.key(1), 0)

    found = {}
    for weight in (0.0, 0.5):
        plain, loss, metrics = losses(weight)
        found[weight] = float(loss)
    assert found[0.0] == pytest.approx(float(plain), rel=1e-5)
    assert found[0.5] == pytest.approx(found[0.0] + 0.5 * float(metrics["penalty"]), rel=1e-5)


def test_embeddings_have_their_own_start_and_dropout():
    config = TransformerConfig(
        50, width=64, causal=True, max_length=400, embedding_std=0.2, position_std=0.1,
        embedding_dropout=0.5,
    )  # fmt: skip
    model = Transformer(config, key=jax.random.key(0))
    assert np.std(model.token_embedding) == pytest.approx(0.2, rel=0.05)
    assert np.std(model.position_embedding) == pytest.approx(0.1, rel=0.05)
    assert np.std(model.layers.mlp.up) == pytest.approx(0.02, rel=0.05)
    tokens = np.arange(50)
    start = model.trace(tokens).hidden[0]
    dropped = model.trace(tokens, key=jax.random.key(1)).hidden[0]
    zero = np.asarray(dropped) == 0
    assert abs(zero.mean() - 0.5) < 0.05
    np.testing.assert_allclose(dropped[~zero], 2 * np.asarray(start)[~zero], rtol=1e-5)


def test_a_penalty_of_the_first_layer_leaves_the_others_free():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(5), (3, 2, 5))
    for layers in ((0,), (0, 2)):
        found = LayerPenalty(0.1, layers=layers).of(rows)
        assert float(found) == pytest.approx(float(AttentionPenalty(0.1).of(rows[list(layers)])))
    with pytest.raises(ValueError, match="layers has 3; attention has"):
        LayerPenalty(0.1, layers=(3,)).of(rows)
