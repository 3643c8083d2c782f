"""The lemmas behind Theorems 3.3 and 3.6, and the slips in their printed proofs."""

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
    lemma_c1,
    lemma_c2,
    message_form,
    message_form_gap,
    prompted_emissions,
    proportional_emission,
    proposition_3_4,
    pseudo_inverse_slip,
)
from minicosm.worlds import HMM, covered_world, full_rank_world

ALL = all_sequences(3, 3)
WORLDS = [full_rank_world(jax.random.key(seed), hidden=3, vocab=3) for seed in range(20)]


def prompt_row(seed):
    """Entries 0, 1 and in between."""
    rng = np.random.default_rng(seed)
    return rng.choice([0, 1, -1], size=3) * 1.0 % 1.5


@given(seed=st.integers(0, 10_000))
def test_proposition_3_4(seed):
    result = proposition_3_4(conditionally_independent_joint(jax.random.key(seed), 6, 4, 2))
    assert result.premise < 1e-13 and result.identity < 1e-13
    assert result.recovery is not None and result.recovery < 1e-8


def test_proposition_3_4_needs_its_premise():
    joint_law = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(3, 4, 2)
    result = proposition_3_4(joint_law)
    assert result.premise > 0.01 and result.identity > 0.01
    # With fewer values of U than of Z there is no left inverse.
    wide = conditionally_independent_joint(jax.random.key(0), 2, 4, 3)
    assert proposition_3_4(wide).recovery is None


def test_claim_b1():
    for world in WORLDS:
        for i in (1, 2):
            assert claim_b1(world, ALL, i) < 1e-12
        assert claim_b1(world, ALL, 1, printed=True) < 1e-12
        assert claim_b1(world, ALL, 2, printed=True) > 0.01


def test_the_enumeration_is_a_sum_over_paths():
    world = WORLDS[0]
    tau = enumerate_paths(world.A, world.p0, world.W[ALL])
    for x, got in zip(ALL.tolist(), tau, strict=True):
        for i in range(3):
            others = [None if j == i else token for j, token in enumerate(x)]
            assert got[i] == pytest.approx(joint(world, others)[i + 1], abs=1e-15)
    with pytest.raises(ValueError, match="paths of length"):
        enumerate_paths(np.eye(8), np.ones(8) / 8, np.ones((1, 8, 8)))


def test_lemma_c1_a_prompt_is_a_fake_token():
    impossible = 0
    for seed, world in enumerate(WORLDS):
        first, later = prompted_emissions(world, prompt_row(seed))
        np.testing.assert_allclose(first.sum(axis=0), 1, atol=1e-12)
        np.testing.assert_allclose(later.sum(axis=0), 1, atol=1e-12)
        result = lemma_c1(world, prompt_row(seed), ALL)
        assert result.messages < 1e-14 and result.outputs < 1e-13
        assert result.largest_impossible == 0
        impossible += result.impossible
    assert impossible > 0


def test_lemma_c1_refuses_a_prompt_outside_the_box():
    with pytest.raises(ValueError, match=r"entries in \[0, 1\]"):
        lemma_c1(WORLDS[0], np.array([0.5, 1.5, 0.0]), ALL)


def test_lemma_c2_separates_prompt_and_sequence():
    for seed, world in enumerate(WORLDS):
        assert lemma_c2(world, prompt_row(seed), ALL) < 1e-12
    start = HMM(WORLDS[0].A, WORLDS[0].W, np.array([0.5, 0.5, 0]))
    with pytest.raises(ValueError, match=r"p0\[2\] is 0"):
        lemma_c2(start, np.ones(3), ALL)


def test_the_message_form_needs_its_division():
    """(C.1) as printed counts the prior of H_i twice at inner positions."""
    gaps = [message_form_gap(world, ALL) for world in WORLDS]
    assert max(gap.with_division for gap in gaps) < 1e-13
    assert np.median([gap.without_division for gap in gaps]) > 0.05
    # A uniform stationary chain has nothing to count twice.
    A = np.array([[0.6, 0.4, 0], [0.4, 0.2, 0.4], [0, 0.4, 0.6]])
    even = HMM(A, WORLDS[0].W, np.full(3, 1 / 3))
    assert message_form_gap(even, ALL).without_division < 1e-13


def test_the_message_form_of_one_position():
    world = WORLDS[0]
    rows = np.ones((1, 1, 3))
    for divide in (True, False):
        law = message_form(world, rows, divide=divide)[0, 0]
        np.testing.assert_allclose(law, world.W @ world.A @ world.p0, atol=1e-15)


def test_proportional_emissions_leave_constants_free():
    world = full_rank_world(jax.random.key(0), hidden=3, vocab=5)
    u = np.array([0, 0.4, 1.0])
    result = proportional_emission(world, u)
    assert result.freedom == 3 and result.equality_error < 1e-12 and result.law_gap > 1e-3
    table = np.vstack([result.constants[:, None] * (1 - u) * world.W, u])
    assert table.min() >= 0
    np.testing.assert_allclose(table.sum(axis=0), 1, atol=1e-12)
    square = full_rank_world(jax.random.key(0), hidden=3, vocab=3)
    assert proportional_emission(square, np.zeros(3)).freedom == 0


def test_the_left_inverse_gives_states_not_tokens():
    for seed in range(10):
        world, _, star, sources = covered_world(jax.random.key(seed), hidden=5, vocab=5, star=3)
        u = np.zeros(5)
        u[list(sources)] = 1
        slip = pseudo_inverse_slip(
            world, star, u, np.random.default_rng(seed).dirichlet(np.ones(5))
        )
        assert slip.right < 1e-12 and slip.printed > 1e-4
