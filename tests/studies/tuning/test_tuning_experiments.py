"""Every experiment at its smallest: the promised fields, relations that must hold, and the same
numbers for the same configuration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.lab import silent
from minicosm.studies.tuning.experiments import (
    corpora,
    harder_memory,
    oracle_heads,
    oracle_memory,
    prompt_gap,
    rank_curve,
    sharpness,
    temperature,
)
from minicosm.worlds import HMM, MemoryHMM


def test_oracle_heads():
    config = oracle_heads.OracleHeads(
        hidden=5, worlds=2, length=20, train=300, validation=50, test=200, steps=40, warmup=5,
        prompt_length=3,
    )  # fmt: skip
    calls = []
    result = oracle_heads.run(config, lambda done, total, note="": calls.append((done, total)))
    numbers = {k: np.asarray(v) for k, v in result.numbers.items()}
    for name in (
        "majority", "constructed", "logistic", "logistic_whitened", "head", "prompt_1", "prompt_20",
        "hot", "hot_refit", "first_tokens", "histogram", "posterior", "gain_prompt_1",
        "gain_prompt_20", "gain_hot_refit", "condition", "small_margins",
    ):  # fmt: skip
        assert numbers[name].shape == (2,), name
    assert (numbers["posterior"] >= numbers["majority"]).all()
    assert (numbers["majority"] >= 0.5).all() and numbers["two_classes"].all()
    assert numbers["clear_errors"].sum() == 0
    assert calls[-1] == (42, 42)
    assert oracle_heads.run(config, silent).numbers == result.numbers


def test_oracle_memory():
    config = oracle_memory.OracleMemory(
        worlds=2, length=30, train=200, validation=50, test=100, steps=40, warmup=5
    )
    numbers = oracle_memory.run(config, silent).numbers
    for name in (
        "majority", "attention_slow", "attention_fast", "token_attention", "mean_output",
        "first_output", "histogram", "certainty",
    ):  # fmt: skip
        assert np.shape(numbers[name]) == (2,), name
    assert np.greater_equal(numbers["mean_output"], 0.9).all()  # two values, 29 sharp tokens


def test_rank_curve():
    config = rank_curve.RankCurve(worlds=2, ranks=(6, 2), length=8, train=400, test=200)
    numbers = rank_curve.run(config, silent).numbers
    assert numbers["rank"] == [[6, 6], [2, 2]]
    assert min(numbers["constructed"][0]) == 1  # the theorem: no error at full rank
    assert np.mean(numbers["logistic"][1]) < np.mean(numbers["logistic"][0])


def test_temperature():
    config = temperature.Temperature(
        temperatures=(0.01, 0.3), worlds=2, length=20, train=300, validation=50, test=100
    )
    numbers = temperature.run(config, silent).numbers
    assert np.shape(numbers["logistic"]) == (2, 2)
    assert np.median(numbers["condition"][0]) > np.median(numbers["condition"][1])


def test_prompt_gap():
    config = prompt_gap.PromptGap(
        worlds=2, length=8, train=400, test=200, starts=2, steps=40, warmup=5, batch=32
    )
    numbers = prompt_gap.run(config, silent).numbers
    assert numbers["covered_assumption_3_5"] == [True, True]
    assert numbers["covered_constructed"] == [1.0, 1.0]
    assert numbers["uncovered_assumption_3_5"] == [False, False]
    assert np.isnan(numbers["uncovered_constructed"]).all()
    assert max(numbers["covered_majority"] + numbers["uncovered_majority"]) < 0.65


def test_sharpness():
    config = sharpness.Sharpness(lambdas=(1.0, 100.0), worlds=2, length=8, sequences=100)
    numbers = sharpness.run(config, silent).numbers
    assert numbers["hard_agreement"] == [1.0, 1.0]
    assert np.sum(numbers["bound_broken"]) == 0
    assert np.mean(numbers["mean_error"][1]) < np.mean(numbers["mean_error"][0])


@pytest.mark.parametrize("family", ["random", "gated"])
def test_harder_memory(family):
    config = harder_memory.HarderMemory(
        family=family, temperatures=(0.2,), length=8, worlds=2, train=200, test=100, steps=20
    )
    numbers = harder_memory.run(config, silent).numbers
    for name in ("attention", "mean_output", "first_output", "histogram", "posterior", "in_R"):
        assert np.shape(numbers[name]) == (1, 2), name
    inside = np.asarray(numbers["constructed_inside"])
    assert np.isnan(inside).all() if family == "random" else (inside == 1).all()


def test_fast_sampling_has_the_law_of_the_world():
    """Token frequencies at each position against exact marginals, within five standard errors."""
    with jax.enable_x64(True):
        vanilla = HMM.random(jax.random.key(0), hidden=4, vocab=5, emission_temperature=0.3)
        memory = MemoryHMM.random(jax.random.key(1), hidden=3, memory=2, vocab=5)
        for world in (vanilla, memory):
            stacked = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], world)
            count = 20_000
            tokens = np.asarray(corpora.sample_tokens(stacked, jax.random.key(2), count, 3))[0]
            exact = np.asarray(world.conditionals(np.zeros(3, int), np.zeros(3, bool)))
            for i in range(3):
                share = np.bincount(tokens[:, i], minlength=5) / count
                error = np.sqrt(exact[i] * (1 - exact[i]) / count) + 1e-4
                assert (np.abs(share - exact[i]) < 5 * error).all()
            # Pairs too: the law of (X_1, X_2) is P[X_1] P[X_2 | X_1].
            pairs = np.bincount(tokens[:, 0] * 5 + tokens[:, 1], minlength=25) / count
            seen = np.array([True, False, False])
            joint = np.stack(
                [exact[0][z] * world.conditionals(np.array([z, 0, 0]), seen)[1] for z in range(5)]
            ).ravel()
            assert np.abs(pairs - joint).max() < 5 * np.sqrt(0.25 / count)


def test_tasks_have_both_classes_in_every_split():
    with jax.enable_x64(True):
        law = jax.random.dirichlet(jax.random.key(0), jnp.full(4, 0.1), (3, 300))
        split = corpora.Split(200, 50, 50)
        task = corpora.sparse_tasks(jax.random.key(1), law, split)
        assert np.asarray(task.two_classes).all()
        for part in split.parts():
            share = np.asarray(task.labels)[:, part].mean(axis=1)
            assert ((share > 0) & (share < 1)).all()
        scores = np.einsum("wrs,wns->wnr", task.mu, law)
        np.testing.assert_array_equal(scores.argmax(axis=2), task.labels)


def test_whitened_features_have_unit_covariance():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(2, 500, 3)) @ np.diag([1, 1e-5, 0.0])
    white = corpora.whitened(jnp.asarray(features), 400)[:, :400]
    for x in white:
        np.testing.assert_allclose(np.cov(x.T, bias=True), np.diag([1, 1, 0.0]), atol=1e-5)
