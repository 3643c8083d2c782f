"""Training on brackets: the objective, the measures and the checks of the claims."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.lab import Estimate, TrialResult, silent
from minicosm.studies.dyck.claims import copying, length, trials, variation
from minicosm.studies.dyck.experiments import measures, models, objective, training
from minicosm.theory.dyck.constructions import uniform_dyck
from minicosm.worlds import CompleteDyck, Dyck

WORLD = Dyck(2, 3)


def model_of(name, key=0, **fields):
    settings = {"embedding": "onehot", "width": 8, "layers": 1, "positions": "none", "longest": 12}
    config = models.shape(name, WORLD, **(settings | fields))
    return models.fresh(name, config, WORLD, "onehot", jax.random.split(jax.random.key(key), 1))


def single(stacked):
    return jax.tree.map(lambda leaf: leaf[0], stacked)


# -- the objective ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["minimal", "gpt"])
def test_the_contrastive_term_reads_the_string_behind_nested_pairs(name):
    """Referee: the string with its pairs written out, nothing hidden, as an ordinary input."""
    pairs = name == "minimal"
    model = single(model_of(name)[0])
    task = objective.BracketObjective(
        WORLD, np.ones((), np.float32), length=9, batch=1, pairs=pairs
    )
    tokens = np.asarray(WORLD.sample(jax.random.key(4), 8).tokens)
    depths = set()
    for seed in range(5):
        key = jax.random.key(seed)
        depth_key, type_key = jax.random.split(key)
        depth = int(jax.random.randint(depth_key, (), 1, 4))
        types = np.asarray(jax.random.randint(type_key, (3,), 0, 2))[:depth]
        nested = [*(2 * t for t in types), *(2 * t + 1 for t in reversed(types))]
        whole = objective.with_start(WORLD, np.array([*nested, *tokens]), pairs)
        expected = model.next_logits(whole)[-len(tokens) :]
        found = task._behind(model, WORLD, key, jnp.asarray(tokens))
        np.testing.assert_allclose(found, expected, atol=2e-5)
        depths.add(depth)
    assert len(depths) > 1


def test_the_loss_is_the_mean_over_brackets_and_not_over_padding():
    world = CompleteDyck(WORLD, (2, 6))
    model = single(model_of("minimal")[0])
    task = objective.BracketObjective(world, length=6, batch=7, pairs=True)
    key = jax.random.key(0)
    loss, metrics = task(model, key, 0)
    total, count = 0.0, 0
    for k in jax.random.split(key, 7):
        sample = world.sample(jax.random.split(k)[0])
        tokens = np.asarray(sample.tokens)[: int(sample.length)]
        logits = model.next_logits(objective.with_start(WORLD, tokens, True))
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
    rows = jax.nn.log_softmax(model.next_logits(objective.with_start(WORLD, tokens, False)))
    expected = -np.mean([rows[i + 1, token] for i, token in enumerate(tokens)])
    assert float(task(model, key, 0)[0]) == pytest.approx(float(expected), rel=1e-4)


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
    """It closes an open bracket and guesses type 0 behind a closed one."""

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

TINY = {"depth": 3, "width": 8, "steps": 4, "batch": 4, "seeds": 2, "queries": 20, "lengths": ()}


def test_a_trial_measures_balance_closing_and_attention(tmp_path):
    config = training.Training(length=8, **TINY)
    found = training.run(config, silent, tmp_path)
    names = ("loss", "within", "long", "long_hard", "beta", "worst_ratio", "stack_rate")
    assert all(len(found.numbers[name]) == 2 for name in names)
    assert found.arrays["probe"].shape == (2, 1, 13, 13)
    assert found.arrays["probe_distances"].shape == (1, 1, 2, 2)
    assert np.isfinite(found.numbers["beta"]).all()


def test_copying_is_measured_with_and_without_attention_and_by_layer():
    config = training.Training(model="gpt", task="copy", length=8, **TINY)
    stacked = model_of("gpt", layers=2)[0]
    numbers = training._copy(config, stacked, WORLD, jax.random.key(0))
    closed, opened = np.array(numbers["on_closed"]), np.array(numbers["on_open"])
    assert closed.shape == (1, 2) and len(numbers["copied"]) == len(numbers["copied_uniform"]) == 1
    np.testing.assert_allclose(closed + opened, 1, atol=1e-6)
    assert (np.array(numbers["on_type"]) >= 0.5 - 1e-6).all()


# -- checks -----------------------------------------------------------------------------------


def result(**numbers):
    distances = numbers.pop("distances", None)
    arrays = {} if distances is None else {"probe_distances": distances[None, None]}
    return TrialResult(numbers, arrays)


def test_the_jackknife_is_over_seeds():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(6, 3))
    matrix = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    found = trials.variation({"a": result(distances=matrix)}, "a")

    def mean(kept):
        part = matrix[np.ix_(kept, kept)]
        return part.sum() / (len(kept) * (len(kept) - 1))

    everyone = list(range(6))
    pseudo = [6 * mean(everyone) - 5 * mean([j for j in everyone if j != i]) for i in everyone]
    expected = Estimate.of(pseudo)
    assert found.value == pytest.approx(mean(everyone)) == pytest.approx(expected.value)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_checks_of_length_come_out_both_ways():
    def arms(before, after, gain):
        common = {"within": [1.0] * 4, "long_hard": [0.6] * 4, "worst_ratio": [1.0] * 4}
        return {
            "minimal": result(beta=before, long=[0.8, 0.81, 0.82, 0.8], **common),
            "minimal, contrast": result(
                beta=after, long=np.array([0.8, 0.81, 0.82, 0.8]) + gain, **common
            ),
        }

    claims = {claim.id: claim for claim in length.STUDY.claims}
    lower = claims["dyck/complete-contrast-balances"].check
    longer = claims["dyck/complete-contrast-lengthens"].check
    wide = [0.1, 0.11, 0.12, 0.1]
    assert lower(arms(wide, [0.03, 0.02, 0.03, 0.02], 0)).verdict == "holds"
    assert lower(arms(wide, wide, 0)).verdict == "fails"
    assert lower(arms(wide, [0.01, 0.1, 0.02, 0.09], 0)).verdict == "undecided"
    assert longer(arms(wide, wide, np.array([0.1, 0.11, 0.1, 0.1]))).verdict == "holds"
    assert longer(arms(wide, wide, np.array([0.01, 0, 0.01, 0]))).verdict == "fails"
    assert longer(arms(wide, wide, np.array([0.2, -0.1, 0.2, 0]))).verdict == "undecided"


def test_the_rank_correlation_is_that_of_scipy_and_one_seed_more_decides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    found = length.spearman(x, -x + 0.1 * rng.normal(size=30))
    assert found.low < found.value < found.high < 0
    assert length.spearman(x[:3], -x[:3]).high == 1


def test_misleading_heads_need_a_class_and_no_loss():
    check = {claim.id: claim for claim in copying.STUDY.claims}["dyck/misleading-heads"].check

    def arms(share, uniform):
        one = result(
            copied=[1.0, 1.0], copied_uniform=[uniform] * 2, on_closed=[[share], [0.5]],
            on_open=[[1 - share], [0.5]], on_type=[[0.5], [0.5]],
        )  # fmt: skip
        return {copying.SHALLOW: one, copying.DEEP: one}

    assert check(arms(0.9, 0.99)).verdict == "holds"
    assert check(arms(0.9, 0.6)).verdict == "fails"
    assert check(arms(0.6, 0.99)).verdict == "undecided"


@pytest.mark.parametrize("option", ["seeds", "steps"])
def test_options_below_two_are_refused(option):
    with pytest.raises(ValueError, match=f"{option} is 1; it must be at least 2"):
        trials.arms("minimal")("laptop", 0, **{option: 1})


def test_every_arm_is_asked_for_and_makes_a_config():
    from minicosm.studies.dyck import STUDY

    made = {
        name for claim in STUDY.claims if claim.trials.__module__ == trials.__name__
        for name in claim.trials("laptop", 0)
    }  # fmt: skip
    assert made <= set(trials.ARMS)
    assert variation.PRINTED.keys() <= set(trials.ARMS)
    for profile, wanted in (
        ("smoke", trials.QUICK),
        ("laptop", trials.ARMS),
        ("paper", trials.ARMS),
    ):
        assert set(trials.arms(*trials.ARMS)(profile, 0)) == set(wanted)
    for claim in STUDY.claims:
        assert claim.trials("smoke", 0)
