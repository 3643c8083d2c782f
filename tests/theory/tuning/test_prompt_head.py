"""Theorem 3.6: the search for essential states, the prompt and head, and the weaker condition."""

from itertools import chain, combinations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_sums import output, start_score
from scipy.optimize import linprog

from minicosm.theory import all_sequences
from minicosm.theory.tuning import (
    covering,
    covering_numeric,
    nondegenerate_implies_covering,
    prompt_length_is_irrelevant,
    reached,
    regular,
    separable_prompt,
    separable_prompt_head,
    shorter_prompt,
    theorem_3_3,
    theorem_3_6,
)
from minicosm.worlds import (
    HMM,
    PosteriorTask,
    covered_world,
    full_rank_world,
    separable_world,
    uncovered_world,
)


def subsets(states):
    return chain.from_iterable(combinations(states, k) for k in range(len(states) + 1))


def covers(world, mu, sources, arrow=0.0, tolerance=1e-10):
    """Assumption 3.5 for one B, by its definition."""
    star = {h for b in sources for h in range(world.hidden) if world.A[h, b] > arrow}
    if not set(np.flatnonzero(np.atleast_2d(mu).any(axis=0)).tolist()) <= star:
        return False
    if not star:
        return True
    values = np.linalg.svd(world.W[:, sorted(star)], compute_uv=False)
    return len(star) <= world.vocab and values[-1] > tolerance * values[0]


def sparse_world(seed, hidden=6, vocab=4):
    """A world on the edge of Assumption 3.5: sparse columns of A, few different columns of W."""
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.ones(hidden), size=hidden).T
    A *= rng.random(A.shape) < 0.35
    A[rng.integers(hidden, size=hidden), np.arange(hidden)] += 0.3
    W = rng.dirichlet(np.ones(vocab), size=hidden).T
    if rng.random() < 0.5:
        W[:, rng.integers(hidden)] = W[:, rng.integers(hidden)]
    mu = rng.normal(size=hidden) * (rng.random(hidden) < 0.4)
    return HMM(A / A.sum(axis=0), W, rng.dirichlet(np.ones(hidden))), mu


def test_the_search_agrees_with_all_subsets():
    found = 0
    for seed in range(150):
        world, mu = sparse_world(seed)
        condition = covering(world, mu)
        assert condition.numbers["exact"]
        assert condition.holds == any(covers(world, mu, B) for B in subsets(range(6)))
        if condition.holds:
            B, star = condition.witness
            assert covers(world, mu, B)
            assert set(star) == {h for b in B for h in range(6) if world.A[h, b] > 0}
            found += 1
        else:
            assert condition.reason
    assert 35 < found < 115


def test_the_numeric_search_agrees_with_all_subsets():
    found = 0
    for seed in range(40):
        world = HMM.random(jax.random.key(seed), hidden=6, vocab=4)
        mu = np.random.default_rng(seed).normal(size=(2, 6))
        mu[np.random.default_rng(seed + 1).random((2, 6)) < 0.8] = 0
        expected = any(covers(world, mu, B, 0.01, 1e-3) for B in subsets(range(6)))
        assert covering_numeric(world, mu).holds == expected
        found += expected
    assert 5 < found < 35


def test_a_search_that_stops_early_says_so():
    world, mu = covered_world(jax.random.key(0), hidden=7, vocab=4, star=3, sources=2)[:2]
    mu = np.ones(7)  # needs H* = all seven states: there is no witness
    condition = covering(world, mu, budget=1)
    if not condition.numbers["exact"]:
        assert condition.reason.startswith("undecided") and not condition.holds
    assert not covering(world, mu).holds
    long = [covering(*sparse_world(seed), budget=1) for seed in range(50)]
    assert any(c.reason.startswith("undecided") and not c.holds for c in long)


def test_an_unreachable_relevant_state_is_named():
    world = uncovered_world(jax.random.key(0), hidden=6, vocab=4)
    condition = covering(world, np.array([0, 0, 1.0, 0, 0, -1.0]))
    assert not condition.holds and "reaches state 2" in condition.reason
    assert theorem_3_6(world, PosteriorTask(np.array([0, 0, 1.0, 0, 0, -1]))).construction is None


@pytest.mark.parametrize("seed", range(3))
def test_the_score_identity_against_path_sums(seed):
    world, mu, _, _ = covered_world(jax.random.key(seed), hidden=4, vocab=3, star=2)
    classifier = theorem_3_6(world, PosteriorTask(mu)).construction
    b, u = classifier.head.weights, classifier.prompt.parameters[0].tolist()
    possible = 0
    for x in all_sequences(3, 2).tolist():
        score, probability = start_score(world, mu, x)
        if score is None:
            continue
        possible += 1
        law, prompted = output(world, [u, None, *x], 1)
        if law is None:
            assert score == 0
        else:
            assert np.dot(b, law) == pytest.approx(probability / prompted * score, abs=1e-11)
    assert possible > 3


def test_many_random_worlds():
    worst, compared, excluded = 0.0, 0, 0
    for seed in range(80):
        world, mu, _, _ = covered_world(
            jax.random.key(seed), hidden=7, vocab=4, star=3, sources=1 + seed % 2
        )
        theorem = theorem_3_6(world, PosteriorTask(mu))
        assert theorem.applies
        certificate = theorem.certify(length=4)
        details = certificate.details
        assert certificate.details["disagreements"] == 0
        assert details["largest output when excluded"] == 0
        assert details["zero scores"] == details["zero scores kept"]
        worst = max(worst, certificate.error)
        compared += certificate.details["compared"]
        excluded += details["excluded by the prompt"]
    assert worst < 1e-11 and compared > 4_000 and excluded > 40


def test_several_classes_share_one_prompt():
    for seed in range(10):
        world, _, star, _ = covered_world(jax.random.key(seed), hidden=7, vocab=4, star=3)
        mu = np.zeros((3, 7))
        mu[:, list(star)] = np.random.default_rng(seed).normal(size=(3, 3))
        mu[0, star[0]] = 0
        certificate = theorem_3_6(world, PosteriorTask(mu)).certify(length=4)
        assert certificate.details["disagreements"] == 0 and certificate.error < 1e-11


def test_a_prompt_of_ones_is_theorem_3_3_one_position_later():
    for seed in range(5):
        world = full_rank_world(jax.random.key(seed), hidden=4, vocab=5)
        mu = np.random.default_rng(seed).normal(size=4)
        assert nondegenerate_implies_covering(world, mu).holds
        task = PosteriorTask(mu)
        prompted = theorem_3_6(world, task, sources=range(4))
        np.testing.assert_array_equal(prompted.construction.prompt.parameters, np.ones((1, 4)))
        assert prompted.certify(length=4).details["disagreements"] == 0
        # Started one step later, p1 takes the place of p0 up to the task's own weights.
        later = HMM(world.A, world.W, world.A @ world.p0)
        shifted = PosteriorTask(mu * world.p0 / (world.A @ world.p0))
        head = theorem_3_3(later, shifted).construction.head
        np.testing.assert_allclose(head.weights, prompted.construction.head.weights, rtol=1e-9)


def test_a_task_about_nothing_needs_no_states():
    world = uncovered_world(jax.random.key(0), hidden=7, vocab=4)
    certificate = theorem_3_6(world, PosteriorTask(np.zeros(7))).certify(length=4)
    assert certificate.details["zero scores kept"] == certificate.details["sequences"] == 256


def test_given_sources_are_tested_as_they_are():
    world, mu, _, B = covered_world(jax.random.key(1), hidden=7, vocab=4, star=3)
    assert covering(world, mu, sources=B).holds
    assert "no source moves to it" in covering(world, mu, sources=()).reason
    assert "dependent" in covering(world, mu, sources=range(7)).reason
    with pytest.raises(ValueError, match=r"must lie in 0\.\.6"):
        covering(world, mu, sources=[7])


# -- the weaker condition ---------------------------------------------------------------------


def gated_world(seed, relevant=3, vocab=4):
    """State `relevant + h` moves surely to h; laws are in general position or on a line."""
    rng = np.random.default_rng(seed)
    hidden = 2 * relevant
    A = np.zeros((hidden, hidden))
    A[:, :relevant] = rng.dirichlet(np.ones(hidden), size=relevant).T
    A[np.arange(relevant), np.arange(relevant, hidden)] = 1
    laws = rng.dirichlet(np.ones(vocab), size=hidden)
    if seed % 2:
        laws[:relevant] = np.linspace(0, 1, relevant)[:, None] * (laws[0] - laws[1]) + laws[1]
    mu = np.concatenate([rng.normal(size=relevant), np.zeros(relevant)])
    return HMM(A, laws.T, rng.dirichlet(np.ones(hidden))), mu


def separates(world, mu):
    """Whether some b has `b . W_h` of the sign of mu_h wherever mu_h != 0, by its own program."""
    relevant = np.flatnonzero(mu)
    signed = -(np.sign(mu[relevant]) * world.W[:, relevant]).T
    bound = [(None, None)] * world.vocab
    return linprog(np.zeros(world.vocab), signed, -np.ones(len(relevant)), bounds=bound).status == 0


def test_a_prompt_exists_exactly_where_a_head_separates_the_laws():
    solved = 0
    for seed in range(30):
        world, mu = gated_world(seed)
        theorem = separable_prompt_head(world, PosteriorTask(mu))
        assert theorem.applies == separates(world, mu)
        if theorem.applies:
            u, b = theorem.conditions[0].witness
            assert u.min() >= 0 and u.max() == 1
            np.testing.assert_allclose(
                (world.W.T @ b) * reached(world, u), mu * world.p0, atol=1e-10
            )
            certificate = theorem.certify(length=4)
            assert certificate.details["disagreements"] == 0 and certificate.error < 1e-9
            solved += 1
    assert 5 < solved < 30


def test_separability_is_weaker_than_covering():
    world, mu = separable_world()
    assert regular(world).holds and not covering(world, mu).holds
    certificate = separable_prompt_head(world, PosteriorTask(mu)).certify(length=4)
    assert certificate.details["disagreements"] == 0 and certificate.error < 1e-12
    other = separable_world(separable=False)
    condition = separable_prompt(other.world, other.mu)
    assert not condition.holds and condition.numbers["exact"]
    both = np.stack([mu, 0.3 * mu, -mu])  # rows that one prompt can serve together
    certificate = separable_prompt_head(world, PosteriorTask(both)).certify(length=4)
    assert certificate.details["disagreements"] == 0 and certificate.error < 1e-12
    assert not separable_prompt(world, np.stack([mu, other.mu])).holds


def test_separability_without_gates_is_left_open():
    world = uncovered_world(jax.random.key(0), hidden=6, vocab=4)
    condition = separable_prompt(world, np.ones(6))
    assert not condition.holds and not condition.numbers["exact"]
    assert condition.reason.startswith("undecided")


# -- the length of a prompt -------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), zeros=st.floats(0, 0.5))
def test_one_row_does_what_twenty_do(seed, zeros):
    rng = np.random.default_rng(seed)
    world = full_rank_world(jax.random.key(seed), hidden=4, vocab=5)
    rows = rng.random((20, 4)) * (rng.random((20, 4)) >= zeros)
    shorter = prompt_length_is_irrelevant(world, rows, rng.integers(0, 5, size=(32, 4)))
    assert shorter.holds and shorter.error < 1e-12
    assert shorter.construction.min() >= 0 and shorter.construction.max() <= 1


def test_a_long_prompt_against_path_sums():
    world = full_rank_world(jax.random.key(4), hidden=3, vocab=3)
    rows = np.random.default_rng(4).random((3, 3))
    row = shorter_prompt(world, rows)
    for x in all_sequences(3, 2).tolist():
        long, _ = output(world, [*rows.tolist(), None, *x], 3)
        short, _ = output(world, [row.tolist(), None, *x], 1)
        assert long == (None if short is None else pytest.approx(short, abs=1e-12))
