"""Recovery, twins, gauges and unseen directions of discrete HMMs, against permutations that are enumerated,
differences by hand, and exact arithmetic."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory import identifiability as theory
from minicosm.theory.identifiability.examples import every_gap_fractions, stationary
from minicosm.theory.identifiability.recovery import forward, two_tokens_of_next
from minicosm.worlds import HMM, doubly_stochastic_world, predictor

SIZES = st.sampled_from([(2, 2), (3, 2), (3, 3), (4, 3), (5, 4)])


def random_world(seed, d, k, least=0.05):
    return doubly_stochastic_world(jax.random.key(seed), hidden=k, vocab=d, least=least)


def relabelled(world, order):
    order = list(order)
    return HMM(np.asarray(world.A)[np.ix_(order, order)], np.asarray(world.W)[:, order], world.p0)


@given(st.integers(0, 10**6), SIZES)
def test_distance_is_the_best_of_all_relabellings(seed, size):
    one, other = random_world(seed, *size), random_world(seed + 1, *size)
    by_hand = min(
        max(np.abs(one.W - w.W).max(), np.abs(one.A - w.A).max())
        for w in (relabelled(other, p) for p in itertools.permutations(range(size[1])))
    )
    assert theory.distance(one, other) == pytest.approx(by_hand, abs=1e-14)
    assert (
        theory.distance(one, relabelled(one, np.random.default_rng(seed).permutation(size[1]))) == 0
    )


@given(
    st.integers(0, 10**6),
    SIZES,
    st.sampled_from(
        ["x2,x3|x1", "x3,x2|x1", "x1,x3|x2", "x1,x2|x3", "x4,x2|x3", "x3|x1,x2", "x3|x2,x1"]
    ),
)
def test_the_world_is_recovered_up_to_names(seed, size, task):
    world = random_world(seed, *size)
    found = theory.recover(predictor(world, task), task, hidden=size[1])
    assert theory.distance(world, found.world) < 1e-7 and found.residual < 1e-8


def test_eight_states_are_recovered():
    world = random_world(0, 20, 8)
    for task in theory.TWO_TOKENS:
        found = theory.recover(predictor(world, task), task, hidden=8)
        assert theory.distance(world, found.world) < 1e-8


def test_one_state_is_recovered():
    world = HMM([[1.0]], [[0.3], [0.7]], [1.0])
    for task in ("x2,x3|x1", "x1,x3|x2", "x3|x1,x2"):
        assert (
            theory.distance(world, theory.recover(predictor(world, task), task, hidden=1).world)
            < 1e-12
        )


@given(st.integers(0, 10**6))
def test_the_forward_task_needs_no_stationary_chain(seed):
    """Read off as in the proof of Theorem 7, Case 1, for any chain and start law."""
    rng = np.random.default_rng(seed)
    A, W = 0.2 + rng.dirichlet(np.ones(2), 2).T, np.array([[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]])
    A[:, 0] += [0.3, 0]  # the columns differ
    world = HMM(A / A.sum(axis=0), W, [0.2, 0.8])
    O, T, _ = forward(predictor(world, "x2,x3|x1"), 2)
    order = [0, 1] if abs(O[0, 0] - 0.7) < abs(O[0, 1] - 0.7) else [1, 0]
    if abs(np.linalg.det(world.A)) > 0.05:
        np.testing.assert_allclose(O[:, order], W, atol=1e-8)
        np.testing.assert_allclose(T[np.ix_(order, order)], world.A, atol=1e-8)


@given(st.integers(0, 10**6), SIZES)
def test_the_law_of_pairs_follows_from_the_next_token(seed, size):
    world = random_world(seed, *size)
    found = two_tokens_of_next(predictor(world, "x3|x1,x2"))
    hidden = np.einsum("i,ji,kj->ijk", np.asarray(world.p0), world.A, world.A)  # p0 is stationary
    law = np.einsum("ijk,ai,bj,ck->abc", hidden, world.W, world.W, world.W)
    np.testing.assert_allclose(found, law / law.sum(axis=(1, 2), keepdims=True), atol=1e-10)


def test_noise_is_repaired_and_what_no_world_has_is_refused():
    world = theory.clear_states()
    table = predictor(world, "x2,x3|x1") + 1e-4 * np.random.default_rng(0).normal(size=(4, 4, 4))
    with pytest.raises(
        ValueError, match=r"table differs by .* it must be that of a world to 1e-06"
    ):
        theory.recover(table, "x2,x3|x1", hidden=3)
    found = theory.recover(table, "x2,x3|x1", hidden=3, within=0.01)
    assert 1e-6 < theory.distance(world, found.world) < 0.05
    np.testing.assert_allclose(found.world.A.sum(axis=1), 1, atol=1e-9)


# -- what pairs do not see ----------------------------------------------------------------------


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([(3, 2), (3, 3), (4, 3)]))
def test_unseen_directions_are_those_by_differences(seed, size):
    world = random_world(seed, *size)
    for task in ("x2|x1", "x2,x3|x1"):
        found = theory.unseen(world, task)
        assert found.dimension == len(found.directions)
        before, step = predictor(world, task), 1e-6
        for dO, dT in found.directions:
            moved = HMM(np.asarray(world.A) + step * dT, np.asarray(world.W) + step * dO, world.p0)
            assert np.abs(predictor(moved, task) - before).max() < 1e-10
    assert theory.unseen(world, "x2|x1").dimension == (size[1] - 1) ** 2
    one = HMM([[1.0]], [[0.4], [0.6]], [1.0])
    assert theory.unseen(one, "x2|x1").dimension == 0


@pytest.mark.parametrize("tasks", ["x2|x1", "x3|x1", theory.PAIRS_ON_3])
def test_a_walk_ends_in_a_twin(tasks):
    world = theory.four_tokens()
    found = theory.twin(world, tasks, jax.random.key(0), tries=1)
    assert isinstance(found, theory.Twin) and found.error < 1e-12 and found.distance > 0.02
    assert "twins: parameters apart by" in str(found)
    two = np.abs(predictor(world, "x2,x3|x1") - predictor(found.second, "x2,x3|x1")).max()
    assert two > 1e-4


@pytest.mark.parametrize("task", ["x2,x3|x1", "x1,x3|x2", "x3|x1,x2", "x2|x1,x3"])
def test_where_all_is_seen_there_is_a_certificate(task):
    found = theory.twin(theory.four_tokens(), task, jax.random.key(0))
    assert isinstance(found, theory.NoTwinNearby) and found.unseen == 0 and found.least_kept > 1e-4
    assert "no twin nearby" in str(found)


@settings(max_examples=4)
@given(st.integers(0, 10**6), st.booleans())
def test_a_gauge_joins_the_twins_that_it_made(seed, orthogonal):
    world = random_world(seed, 4, 3)
    other = theory.gauge_twin(world, jax.random.key(seed), orthogonal=orthogonal, tries=1)
    tasks = theory.PAIRS_ON_8 if orthogonal else ("x2|x1", "x1|x2")
    assert theory.apart(world, other, tasks) < 1e-12
    joins = theory.gauge(world, other)
    assert max(joins.emissions, joins.chain, joins.sums) < 1e-8
    assert (joins.orthogonality < 1e-8) == orthogonal or theory.distance(world, other) < 1e-3
    again = theory.joined(world, joins.S)
    np.testing.assert_allclose(again.W, other.W, atol=1e-8)


def test_named_pairs_have_the_digits_of_their_derivation():
    first, second = theory.one_step_pair(0.8)
    np.testing.assert_allclose(second.W, [[0.65, 0.15], [0.1625, 0.5375], [0.1875, 0.3125]])
    np.testing.assert_allclose(second.A, [[0.628, 0.372], [0.372, 0.628]])
    assert theory.apart(first, second, "x3|x1") == pytest.approx(5.76e-3)
    first, second = theory.every_gap_pair(0.7)
    for task in theory.TWO_TOKENS:
        assert theory.apart(first, second, task) == pytest.approx(0.7**2 / 18)
    laws = [
        np.einsum("a,abc->abc", np.full(3, 1 / 3), predictor(w, "x2,x3|x1"))
        for w in (first, second)
    ]
    assert np.abs(laws[0] - laws[1]).sum() / 2 == pytest.approx(0.7**2 / 6)
    assert np.sum(laws[0] * np.log(laws[0] / laws[1])) == pytest.approx(0.02058, abs=1e-5)
    assert np.sum(laws[1] * np.log(laws[1] / laws[0])) == pytest.approx(0.01869, abs=1e-5)
    tables = [3 * law for law in laws]
    loss = np.sum(laws[0]) - np.sum(tables[0] * laws[0])  # E |e_{x2} e_{x3} - W|^2 of the best W
    assert loss == pytest.approx(0.87111, abs=1e-5)
    regret = np.sum((tables[0] - tables[1]) ** 2) / 3
    assert regret == pytest.approx(0.003335, abs=1e-6)
    first, second = theory.printed_worlds()
    assert np.sqrt(np.linalg.det(first.W.T @ first.W)) == pytest.approx(0.0110, abs=5e-5)
    assert np.linalg.det(second.A) == pytest.approx(-0.1611, abs=5e-5)


def test_turned_chains_in_small():
    np.testing.assert_allclose(theory.powers_pair(2)[1][0], [1 / 6, 2 / 3, 1 / 6], atol=1e-14)
    np.testing.assert_allclose(theory.powers_pair(3)[1][0], [0, 1 / 2, 1 / 2], atol=1e-14)


@pytest.mark.parametrize("gap", [2, 3, 7, 50])
def test_the_turned_chain_is_the_one_that_the_source_constructs(gap):
    """M^-1 R(theta)^-1 M T, with the matrices of Section 2.2.3.3."""
    T, turned = theory.powers_pair(gap)
    M = np.array([[1, -0.5, -0.5], [0, -np.sqrt(3) / 2, np.sqrt(3) / 2], [1 / np.sqrt(2)] * 3])
    c, s = np.cos(2 * np.pi / gap), np.sin(2 * np.pi / gap)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    np.testing.assert_allclose(np.linalg.inv(M) @ np.linalg.inv(R) @ M @ T, turned, atol=1e-12)
    assert any(np.abs(root - turned).max() < 1e-9 for root in theory.other_roots(T, gap))


def test_a_rotation_about_the_ones_has_rows_and_columns_that_sum_to_one():
    """Claim 2: for the printed pair, `R = O'^+ O`."""
    first, second = theory.printed_worlds()
    R = np.linalg.pinv(first.W) @ second.W
    np.testing.assert_allclose([R.sum(axis=0), R.sum(axis=1)], 1, atol=1e-6)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-6)
    assert np.arccos((np.trace(R) - 1) / 2) == pytest.approx(0.1, abs=1e-5)


def test_in_fractions_the_pair_agrees_and_is_no_relabelling():
    O, other, T = every_gap_fractions(Fraction(2, 5))
    assert (
        (T.sum(axis=0) == 1).all() and (other.sum(axis=0) == 1).all() and (O.sum(axis=1) == 1).all()
    )
    assert theory.theorem_6_in_fractions(2, 5).holds
    orders = itertools.permutations(range(3))
    assert all((O[:, order] != other).any() for order in orders)


def test_another_proper_loss_has_the_same_optimum():
    """Remark 2: the law that minimises the expected log loss is the table that minimises the squared one, so
    that twins stay twins."""
    first, second = theory.one_step_pair()
    law = predictor(first, "x2|x1")[0]
    for other in np.random.default_rng(0).dirichlet(np.ones(3), 200):
        assert -(law @ np.log(other)) >= -(law @ np.log(law))
        assert law @ (1 - 2 * other + other @ other) >= law @ (1 - 2 * law + law @ law)
    np.testing.assert_allclose(predictor(second, "x2|x1")[0], law, atol=1e-14)


def test_statements_say_what_is_missing():
    world = theory.four_tokens()
    idle = stationary(world.W, np.full((3, 3), 1 / 3))
    told = theory.theorem_7(idle, "x2,x3|x1")
    assert told.holds is None and "least singular values" in str(told)
    close = theory.theorem_4(world, world)
    assert close.holds is False and close.details["distance"] == 0
    assert theory.refuses_degenerate(world, "x2,x3|x1").holds is False
    assert theory.theorem_6(*theory.one_step_pair()).holds is False  # it agrees on one step only
    assert not theory.gauge_joins(world, theory.clear_states()).holds
    with pytest.raises(ValueError, match="must be doubly stochastic and uniform"):
        theory.unseen(HMM([[0.9, 0.3], [0.1, 0.7]], np.eye(2), [0.5, 0.5]), "x2|x1")
