"""What the experiments on exact models stand on: sampling, tasks, features; and the same numbers for
the same configuration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minicosm.lab import silent
from minicosm.studies.tuning.experiments import corpora, memory_outputs, oracle_heads
from minicosm.studies.tuning.trials import OracleHeads
from minicosm.worlds import HMM, MemoryHMM


@pytest.mark.long
def test_one_configuration_has_one_result():
    config = OracleHeads(
        hidden=5, worlds=2, length=20, train=300, validation=50, test=200, steps=40, warmup=5,
        prompt_length=3,
    )  # fmt: skip
    calls = []
    result = oracle_heads.run(config, lambda done, total, note="": calls.append((done, total)))
    numbers = {k: np.asarray(v) for k, v in result.numbers.items()}
    assert (numbers["posterior"] >= numbers["majority"]).all()
    assert (numbers["majority"] >= 0.5).all()
    assert numbers["clear_errors"].sum() == 0
    assert calls[-1] == (42, 42)
    assert oracle_heads.run(config, silent).numbers == result.numbers


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


def test_white_outputs_are_an_affine_change_of_coordinates():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(4), (2, 30, 5)) @ np.diag([1, 1, 1, 1e-3])
    laws /= laws.sum(axis=-1, keepdims=True)
    white = memory_outputs.white_outputs(laws, 20)
    assert (white[..., -1] == 1).all()
    for before, after in zip(laws, white, strict=True):
        inputs = after[:20].reshape(-1, 4)[:, :-1]
        np.testing.assert_allclose(np.cov(inputs.T, bias=True), np.eye(3), atol=1e-9)
        back, *_ = np.linalg.lstsq(after.reshape(-1, 4), before.reshape(-1, 4))
        np.testing.assert_allclose(after @ back, before, atol=1e-12)
