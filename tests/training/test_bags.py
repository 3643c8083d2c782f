"""Masked documents as counts: their losses are those of the tokens, and arms train as Optax does."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from minicosm.models import BagAttention
from minicosm.training import (
    ARMS,
    Arm,
    BagLoss,
    draw_bags,
    fit_ensemble,
    mean_losses,
    stack_arms,
    stack_bags,
)
from minicosm.training.bags import bag_documents, losses_of
from minicosm.worlds import Corruption, TopicWorld
from minicosm.worlds.topics.draws import corrupt_documents, draw_documents, draw_text

BERT = Corruption(0.3, 0.3, 0.3)
WORLD = TopicWorld(3, 2, dirichlet=0.3, lengths=(4, 9))
MODEL = BagAttention.random(jax.random.key(0), words=6, std=0.7)


def documents(count, seed=0):
    rng = np.random.default_rng(seed)
    tokens = draw_documents(WORLD, rng, count)
    return tokens, *corrupt_documents(BERT, rng, tokens, WORLD.vocab)


def by_tokens(model, tokens, shown, observed, chosen):
    """Both losses at the chosen positions of one document, from the formula of the layer with one-hot
    embeddings, position by position."""
    real = tokens < WORLD.vocab
    ids = np.where(observed, shown + 1, 0)[real]
    K, Q, V = (np.asarray(getattr(model, name), float) for name in ("key", "query", "value"))
    A = np.exp(K[:, ids].T @ Q[:, ids] / np.sqrt(len(K)))
    out = (V[:, ids] @ (A / A.sum(axis=0))).T[chosen[real]]
    labels = tokens[real][chosen[real]] + 1
    right = out[np.arange(len(out)), labels]
    cross = np.log(np.exp(out).sum(axis=1)) - right
    return cross, (out**2).sum(axis=1) - 2 * right + 1


each_loss = jax.jit(losses_of)


@eqx.filter_jit
def called(loss, arm, key):
    return loss(arm, key, 0)


@eqx.filter_jit
def slope(loss, arm, key):
    return eqx.filter_grad(lambda arm: loss(arm, key, 0)[0])(arm).model


def test_losses_of_counts_are_those_of_tokens():
    parts = documents(6)
    found = each_loss(MODEL, bag_documents(*parts, WORLD.vocab))
    for d, row in enumerate(zip(*parts, strict=True)):
        cross, squared = by_tokens(MODEL, *row)
        assert found.positions[d] == len(cross)
        assert found.cross_entropy[d] == pytest.approx(cross.sum(), rel=1e-5)
        assert found.squared[d] == pytest.approx(squared.sum(), rel=1e-5)
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), MODEL)
    means = mean_losses(stacked, bag_documents(*parts, WORLD.vocab), batch=4)
    total = float(np.sum(found.cross_entropy) / np.sum(found.positions))
    assert means["cross_entropy"][0] == pytest.approx(total, rel=1e-5)


def test_a_batch_is_a_mean_over_positions_or_over_documents():
    bags = bag_documents(*documents(5), WORLD.vocab)
    arm = Arm(MODEL, rate=0.1, penalty=0.5, frozen=["attention", "value_bias", "output_bias"])
    key = jax.random.key(3)
    at = np.asarray(jax.random.randint(key, (4,), 0, 5))
    each = each_loss(MODEL, jax.tree.map(lambda leaf: leaf[at], bags))
    loss, metrics = called(BagLoss(bags, batch=4), arm, key)
    wanted = float(each.cross_entropy.sum() / each.positions.sum())
    assert metrics["cross_entropy"] == pytest.approx(wanted, rel=1e-5)
    assert loss == pytest.approx(
        wanted + 0.5 * float(np.sum(np.asarray(MODEL.value) ** 2)), rel=1e-5
    )
    by_document = called(BagLoss(bags, batch=4, by_document=True), arm, key)[1]["squared"]
    assert by_document == pytest.approx(float((each.squared / each.positions).mean()), rel=1e-5)


def test_arms_train_as_optax_does_and_frozen_parts_stay():
    """In one ensemble: Adam on cross-entropy, gradient descent on the squared loss, and one whose attention
    and biases are frozen."""
    bags = bag_documents(*documents(40), WORLD.vocab)
    arms = [
        Arm(MODEL, rate=0.01),
        Arm(MODEL, rate=0.05, adam=False, cross_entropy=False),
        Arm(MODEL, rate=0.01, frozen=["attention", "value_bias", "output_bias"]),
    ]
    keys = jax.random.split(jax.random.key(1), 3)
    trained, _ = fit_ensemble(
        BagLoss(stack_bags([bags] * 3), batch=8), stack_arms(arms), ARMS, 3, keys, chunk=3
    )
    for member, optimiser in ((0, optax.adam(0.01)), (1, optax.sgd(0.05))):
        model, state = arms[member].model, optimiser.init(arms[member].model)
        for i in range(3):
            arm = eqx.tree_at(lambda a: a.model, arms[member], model)
            gradient = slope(BagLoss(bags, batch=8), arm, jax.random.fold_in(keys[member], i))
            updates, state = optimiser.update(gradient, state)
            model = optax.apply_updates(model, updates)
        np.testing.assert_allclose(trained.model.value[member], model.value, atol=2e-5)
        np.testing.assert_allclose(trained.model.query[member], model.query, atol=2e-5)
    np.testing.assert_array_equal(trained.model.key[2], MODEL.key)
    np.testing.assert_array_equal(trained.model.output_bias[2], 0)
    assert np.abs(np.asarray(trained.model.value[2]) - MODEL.value).max() > 0.01
    np.testing.assert_array_equal(trained.rate, np.float32([0.01, 0.05, 0.01]))


def test_draws_in_numpy_have_the_law_of_the_world():
    world = TopicWorld(4, 2, dirichlet=0.3, lengths=(2, 5))
    tokens = draw_documents(world, np.random.default_rng(0), 40_000)
    lengths = (tokens < 8).sum(axis=1)
    for n in (2, 5):
        assert np.mean(lengths == n) == pytest.approx(0.25, abs=0.012)
    same = np.mean(tokens[:, 0] // 2 == tokens[:, 1] // 2)
    assert same == pytest.approx(4 * world.moments.same, abs=0.012)
    assert np.bincount(tokens[:, 0], minlength=8) / 40_000 == pytest.approx(
        np.full(8, 1 / 8), abs=0.01
    )
    sets = draw_documents(TopicWorld(4, 1, per_document=2), np.random.default_rng(1), 20_000, 6)
    assert max(len(set(row)) for row in sets.tolist()) == 2
    assert np.mean(sets[:, 0] == sets[:, 1]) == pytest.approx(0.5, abs=0.015)
    shown, observed, chosen = corrupt_documents(BERT, np.random.default_rng(2), tokens, 8)
    real = tokens < 8
    assert chosen.any(axis=1).all() and not chosen[~real].any()
    assert np.mean(~observed[chosen]) == pytest.approx(0.4, abs=0.01)
    assert np.mean((shown == tokens)[chosen & observed]) == pytest.approx(
        (0.3 + 0.3 / 8) / 0.6, abs=0.01
    )


def test_text_in_numpy_has_the_law_of_the_world():
    from minicosm.worlds import OverlappingTopics

    W = np.array([[0.7, 0, 0.1], [0.3, 0.5, 0.2], [0, 0.5, 0.7], [0, 0, 0]])
    world = OverlappingTopics(W, [0, 0, 0, 1.0], most=2)
    tokens = draw_text(world, np.random.default_rng(0), 20_000, 3)
    shares = np.bincount(tokens.ravel(), minlength=4) / tokens.size
    assert shares == pytest.approx(world.law(), abs=0.012)


def test_only_unchosen_positions_are_read_if_asked():
    parts = documents(6)
    bags = bag_documents(*parts, WORLD.vocab, keys="unchosen")
    tokens, chosen = parts[0], parts[3]
    assert (bags.counts[:, 0] == 0).all()
    np.testing.assert_array_equal(bags.counts.sum(axis=1), ((tokens < 6) & ~chosen).sum(axis=1))


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_meets_a_sentence():
    with pytest.raises(ValueError, match="no lengths of its own"):
        draw_bags(TopicWorld(2, 2, dirichlet=1.0), BERT, jax.random.key(0), 5)
    with pytest.raises(ValueError, match="must be a list of embedding, attention"):
        Arm(MODEL, rate=0.1, frozen=["keys"])
    with pytest.raises(ValueError, match="other shapes than arms"):
        other = BagAttention.random(jax.random.key(0), words=3)
        stack_arms([Arm(MODEL, rate=0.1), Arm(other, rate=0.1)])
