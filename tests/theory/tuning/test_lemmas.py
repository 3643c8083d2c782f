"""The lemmas behind Theorems 3.3 and 3.6."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_sums import joint

from minicosm.theory import all_sequences
from minicosm.theory.tuning import (
    claim_b1,
    conditionally_independent_joint,
    enumerate_paths,
    equation_c1,
    lemma_c1,
    lemma_c2,
    message_form,
    prompted_emissions,
    proposition_3_4,
    reached,
)
from minicosm.worlds import HMM, covered_world, full_rank_world

ALL = all_sequences(3, 3)
WORLDS = [full_rank_world(jax.random.key(seed), hidden=3, vocab=3) for seed in range(8)]


def prompt_row(seed):
    """Entries 0, 1 and in between."""
    rng = np.random.default_rng(seed)
    return rng.choice([0, 1, -1], size=3) * 1.0 % 1.5


@given(seed=st.integers(0, 10_000))
def test_proposition_3_4(seed):
    result = proposition_3_4(conditionally_independent_joint(jax.random.key(seed), 6, 4, 2))
    assert result.holds and result.details["factored"] < 1e-13
    assert result.details["recovery"] < 1e-8


def test_proposition_3_4_needs_its_premise():
    joint_law = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(3, 4, 2)
    result = proposition_3_4(joint_law)
    assert not result.applies and result.holds is None and result.details["factored"] > 0.01
    # With fewer values of U than of Z there is no left inverse.
    wide = conditionally_independent_joint(jax.random.key(0), 2, 4, 3)
    assert proposition_3_4(wide).holds and proposition_3_4(wide).details["recovery"] is None


def test_claim_b1():
    for world in WORLDS:
        for i in (1, 2):
            found = claim_b1(world, ALL, i)
            assert found.holds and found.error < 1e-12 and 0 < found.details["cases"] <= 27


def test_the_enumeration_is_a_sum_over_paths():
    world = WORLDS[0]
    tau = enumerate_paths(world.A, world.p0, world.W[ALL])
    for x, got in zip(ALL.tolist(), tau, strict=True):
        for i in range(3):
            others = [None if j == i else token for j, token in enumerate(x)]
            assert got[i] == pytest.approx(joint(world, others)[i + 1], abs=1e-15)
    with pytest.raises(ValueError, match="too many paths"):
        enumerate_paths(np.eye(8), np.ones(8) / 8, np.ones((1, 8, 8)))


def test_lemma_c1_a_prompt_is_a_fake_token():
    impossible = 0
    for seed, world in enumerate(WORLDS):
        first, later = prompted_emissions(world, prompt_row(seed))
        np.testing.assert_allclose(first.sum(axis=0), 1, atol=1e-12)
        np.testing.assert_allclose(later.sum(axis=0), 1, atol=1e-12)
        result = lemma_c1(world, prompt_row(seed), ALL)
        assert result.details["messages"] < 1e-14 and result.details["outputs"] < 1e-13
        assert result.holds and result.details["output at impossible contexts"] == 0
        impossible += result.details["impossible contexts"]
    assert impossible > 0


def test_lemma_c1_refuses_a_prompt_outside_the_box():
    with pytest.raises(ValueError, match="at most 1"):
        lemma_c1(WORLDS[0], np.array([0.5, 1.5, 0.0]), ALL)


def test_lemma_c2_separates_prompt_and_sequence():
    for seed, world in enumerate(WORLDS):
        found = lemma_c2(world, prompt_row(seed), ALL)
        assert found.holds is (True if prompt_row(seed).any() else None)
        assert not found.holds or found.error < 1e-12
    start = HMM(WORLDS[0].A, WORLDS[0].W, np.array([0.5, 0.5, 0]))
    with pytest.raises(ValueError, match=r"p0\[2\] is 0"):
        lemma_c2(start, np.ones(3), ALL)


def test_the_message_form_is_exact_at_every_position():
    for world in WORLDS:
        assert equation_c1(world, ALL).error < 1e-13


def test_the_message_form_of_one_position():
    world = WORLDS[0]
    law = message_form(world, np.ones((1, 1, 3)))[0, 0]
    np.testing.assert_allclose(law, world.W @ world.A @ world.p0, atol=1e-15)


def test_the_left_inverse_of_theorem_3_6_gives_states():
    """`W^+ W D v = D v` for v supported on H*, with `D = diag(c / p0)`; its proof prints W D v."""
    for seed in range(4):
        world, _, star, sources = covered_world(jax.random.key(seed), hidden=6, vocab=4, star=3)
        inverse = np.zeros((6, 4))
        inverse[list(star)] = np.linalg.pinv(np.asarray(world.W)[:, list(star)])
        u = np.isin(np.arange(6), sources).astype(float)
        v = np.where(np.isin(np.arange(6), star), np.random.default_rng(seed).random(6), 0)
        Dv = reached(world, u) / world.p0 * v
        np.testing.assert_allclose(inverse @ world.W @ Dv, Dv, atol=1e-12)
