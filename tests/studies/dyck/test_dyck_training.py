"""Training on brackets: the objective and the measures."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.lab import silent
from minicosm.studies.dyck.experiments import measures, models, objective, training
from minicosm.studies.dyck.trials import Training
from minicosm.theory.dyck import uniform_dyck
from minicosm.worlds import CompleteDyck, Dyck

WORLD = Dyck(2, 3)


def model_of(name, key=0, **fields):
    settings = {"embedding": "onehot", "width": 8, "layers": 1, "positions": "none", "longest": 12}
    config = models.shape(name, WORLD, **(settings | fields))
    return models.fresh(name, config, WORLD, "onehot", jax.random.split(jax.random.key(key), 1))


def single(stacked):
    return jax.tree.map(lambda leaf: leaf[0], stacked)


@eqx.filter_jit
def logits_of(model, ids):
    return model.next_logits(ids)


# -- the objective ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["minimal", "gpt"])
def test_the_contrastive_term_reads_the_string_after_nested_pairs(name):
    """Referee: the string with its pairs written out, nothing hidden, as an ordinary input."""
    pairs = name == "minimal"
    model = single(model_of(name)[0])
    task = objective.BracketObjective(
        WORLD, np.ones((), np.float32), length=9, batch=1, pairs=pairs
    )
    tokens = np.asarray(WORLD.sample(jax.random.key(4), 8).tokens)
    after = eqx.filter_jit(task._after)
    depths = set()
    for seed in range(6):
        key = jax.random.key(seed)
        depth_key, type_key = jax.random.split(key)
        depth = int(jax.random.randint(depth_key, (), 1, 4))
        if depth in depths or len(depths) == 2:
            continue
        types = np.asarray(jax.random.randint(type_key, (3,), 0, 2))[:depth]
        nested = [*(2 * t for t in types), *(2 * t + 1 for t in reversed(types))]
        whole = objective.with_start(WORLD, np.array([*nested, *tokens]), pairs)
        expected = logits_of(model, whole)[-len(tokens) :]
        logits = after(model, WORLD, key, jnp.asarray(tokens))
        np.testing.assert_allclose(logits, expected, atol=2e-5)
        depths.add(depth)
    assert len(depths) == 2


def test_the_loss_is_the_mean_over_brackets_and_not_over_padding():
    world = CompleteDyck(WORLD, (2, 6))
    model = single(model_of("minimal")[0])
    task = objective.BracketObjective(world, length=6, batch=4, pairs=True)
    key = jax.random.key(0)
    loss, metrics = eqx.filter_jit(task)(model, key, 0)
    total, count = 0.0, 0
    for k in jax.random.split(key, 4):
        sample = world.sample(jax.random.split(k)[0])
        tokens = np.asarray(sample.tokens)[: int(sample.length)]
        logits = logits_of(model, objective.with_start(WORLD, tokens, True))
        rows = np.asarray(jax.nn.log_softmax(logits))
        total -= sum(rows[i, token] for i, token in enumerate(tokens))
        count += len(tokens)
    assert metrics["tokens"] == count
    assert float(loss) == pytest.approx(total / count, rel=1e-4)


def test_copying_predicts_each_bracket_where_it_is_read():
    model = single(model_of("gpt")[0])
    task = objective.BracketObjective(WORLD, length=5, batch=1, pairs=False, copy=True)
    key = jax.random.key(2)
    tokens = np.asarray(WORLD.sample(jax.random.split(jax.random.split(key, 1)[0])[0], 5).tokens)
    rows = jax.nn.log_softmax(logits_of(model, objective.with_start(WORLD, tokens, False)))
    expected = -np.mean([rows[i + 1, token] for i, token in enumerate(tokens)])
    assert float(eqx.filter_jit(task)(model, key, 0)[0]) == pytest.approx(float(expected), rel=1e-4)


def test_fixed_embeddings_stay_and_uniform_attention_is_uniform():
    stacked, trainable = model_of("minimal")
    assert trainable.token_embedding is False
    np.testing.assert_array_equal(stacked.token_embedding[0], np.eye(WORLD.pairs + 1))
    uniform = single(model_of("uniform")[0])
    maps = uniform.trace(np.array([4, 0, 1])).attention[0, 0]
    np.testing.assert_allclose(maps, np.tril(np.ones((3, 3))) / [[1], [2], [3]], atol=1e-6)


# -- the measures -----------------------------------------------------------------------------


def stacked_exact():
    exact = uniform_dyck(WORLD)
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], exact)


def test_an_exact_model_answers_every_closing_query():
    with jax.enable_x64(True):
        found = measures.closing(stacked_exact(), WORLD, jax.random.key(0), 50, (60, 80), False)
    assert found.accuracy[0] == found.hard[0] == 1 and 5 < found.hard_queries < 45


def test_a_model_of_the_last_token_alone_is_at_the_floor():
    """It closes an open bracket and guesses type 0 after a closed one."""

    class Last(eqx.Module):
        scale: jax.Array

        def embed(self, tokens):
            return jax.nn.one_hot(tokens, 5)

        def logits(self, rows, at):
            token = jnp.argmax(rows[at], axis=-1)
            wanted = jnp.where(token % 2 == 0, token + 1, 1)
            return self.scale * jax.nn.one_hot(wanted, 4)

    world = Dyck(2, 4)
    found = measures.closing(Last(jnp.ones(1)), world, jax.random.key(1), 4000, (400, 500), False)
    floor = world.closing_floor().accuracy
    assert floor == pytest.approx(0.8125)
    assert abs(found.accuracy[0] - floor) < 4 * np.sqrt(floor * (1 - floor) / 4000)
    assert abs(found.hard[0] - 0.5) < 4 * 0.5 / np.sqrt(found.hard_queries)


def test_queries_of_zero_make_attention_uniform():
    flat = single(measures.without_attention(model_of("gpt", layers=2)[0]))
    maps = flat.trace(np.array([4, 0, 2])).attention[1, 0]
    np.testing.assert_allclose(maps[2], np.full(3, 1 / 3), atol=1e-6)


def test_the_probe_has_every_type_and_depth():
    world = Dyck(2, 4)
    tokens = measures.probe(world)
    assert len(set(np.asarray(world.token_depths(tokens)).tolist())) == world.pairs == len(tokens)


# -- trials -----------------------------------------------------------------------------------

TINY = {
    "depth": 3, "width": 8, "steps": 4, "batch": 4, "seeds": 2, "queries": 20, "lengths": (),
    "long": (30, 40), "sentences": 3, "stack_strings": 5,
}  # fmt: skip


@pytest.mark.long
def test_training_learns_what_the_smallest_profile_does_not(tmp_path):
    """A minimal model of width 16 reaches the accuracy from which on claims count it as learned."""
    config = Training(
        length=12, **(TINY | {"width": 16, "steps": 1500, "batch": 32, "queries": 400})
    )
    result = training.run(config, silent, tmp_path)
    assert min(result.numbers["within"]) >= 0.97
    assert max(result.numbers["beta"]) < 0.5


def test_copying_is_measured_with_and_without_attention_and_by_layer():
    config = Training(model="gpt", task="copy", length=8, **TINY)
    stacked = model_of("gpt", layers=2)[0]
    numbers = training._copy(config, stacked, WORLD, jax.random.key(0))
    closed, opened = (np.array(numbers[f"on_{name}_brackets"]) for name in ("closed", "open"))
    assert closed.shape == (1, 2) and len(numbers["copied"]) == len(numbers["copied_uniform"]) == 1
    np.testing.assert_allclose(closed + opened, 1, atol=1e-6)
    assert (np.array(numbers["on_closed"]) < closed).all()  # the start token has its share
    assert (np.array(numbers["on_type_brackets"]) >= 0.5 - 1e-6).all()


def test_attention_on_a_class_counts_queries_that_see_both_sides():
    """Referee: a loop over queries. The first query sees itself alone; the second string has one class."""
    inside = np.array([[False, True, False], [True, True, True]])
    maps = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2, 1, 3))
    expected = [np.mean([maps[s, 0, 0, q, inside[0]].sum() for q in (1, 2)]) for s in range(2)]
    np.testing.assert_allclose(measures.share_on(maps, inside)[:, 0], expected)
    assert np.isnan(measures.share_on(maps, np.ones((2, 3), bool))).all()


def test_distances_with_the_start_token_and_without():
    """Referee: norms of differences of maps that were cut by hand."""
    maps = np.random.default_rng(1).dirichlet(np.ones(4), size=(2, 1, 1, 4))
    found = training._distances("x", maps)
    first, second = maps[0, 0, 0], maps[1, 0, 0]
    cut = [m[1:, 1:] for m in (first, second)]
    scaled = [m / m.sum(axis=1, keepdims=True) for m in cut]
    for way, (a, b) in {
        "distances": (first, second), "dropped": cut, "renormalised": scaled,
    }.items():  # fmt: skip
        distance = found[f"x_{way}"][0, 0, 0, 1]
        assert distance == pytest.approx(np.linalg.norm(a - b) ** 2)
