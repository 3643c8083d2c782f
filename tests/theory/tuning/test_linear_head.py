"""Theorem 3.3: the head it writes down, the conditions it needs, and what happens without them."""

import jax
import numpy as np
import pytest
from path_sums import output, start_score

from minicosm.theory import all_sequences
from minicosm.theory.tuning import (
    best_linear_head,
    duplicate_emissions,
    linear_head_exists,
    linear_head_for_task,
    nondegenerate,
    observable_span,
    regular,
    start_recurs,
    theorem_3_3,
)
from minicosm.worlds import (
    HMM,
    PosteriorTask,
    duplicate_columns_world,
    full_rank_world,
    rank_deficient_world,
    transient_world,
)


def random_mu(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("seed", range(4))
def test_the_score_identity_against_path_sums(seed):
    world = full_rank_world(jax.random.key(seed), hidden=3, vocab=4)
    mu = random_mu(seed, 3)
    b = theorem_3_3(world, PosteriorTask(mu)).construction.head.weights
    checked = 0
    for x in all_sequences(4, 3).tolist():
        score, probability = start_score(world, mu, x)
        if score is None:
            continue
        law, shifted = output(world, [None, *x], 0)
        assert np.dot(b, law) == pytest.approx(probability / shifted * score, abs=1e-11)
        checked += 1
    assert checked > 4


def test_many_random_worlds():
    worst, compared = 0.0, 0
    for seed in range(80):
        world = full_rank_world(jax.random.key(seed), hidden=4, vocab=5, sparse=seed % 3 > 0)
        certificate = theorem_3_3(world, PosteriorTask(random_mu(seed, 4))).certify(length=4)
        assert certificate.details["disagreements"] == 0
        worst = max(worst, certificate.error)
        compared += certificate.details["compared"]
    assert worst < 1e-11 and compared > 4_000


def test_several_classes():
    for seed in range(5):
        world = full_rank_world(jax.random.key(seed), hidden=4, vocab=5)
        certificate = theorem_3_3(world, PosteriorTask(random_mu(seed, 3, 4))).certify(length=4)
        assert certificate.details["disagreements"] == 0 and certificate.error < 1e-11


@pytest.mark.parametrize("mu", [1.0, -1.0, 0.0])
def test_one_state_and_one_token(mu):
    world = HMM(np.ones((1, 1)), np.array([[0.25], [0.75]]), np.ones(1))
    certificate = theorem_3_3(world, PosteriorTask(np.array([mu]))).certify(length=1)
    assert certificate.details["sequences"] == 2 and certificate.details["skipped"] == 0
    assert certificate.error < 1e-15 and certificate.details["disagreements"] == 0
    assert certificate.details["compared"] == (2 if mu else 0)
    assert certificate.details["zero scores kept"] == (0 if mu else 2)


def test_equal_columns_leave_nothing_to_read():
    for seed in range(5):
        world, mu = duplicate_columns_world(jax.random.key(seed), hidden=4, vocab=5)
        task = PosteriorTask(mu)
        theorem = theorem_3_3(world, task)
        assert not theorem.applies and theorem.construction is None
        (failed,) = theorem.failed()
        assert failed.numbers["rank"] == 3 and failed.numbers["condition"] == np.inf
        constant = duplicate_emissions(world, task, 3)
        assert constant.holds and constant.error < 1e-12
        with pytest.raises(ValueError, match="W has rank 3 and 4 columns"):
            theorem.certify(length=3)


def test_regularity_names_what_fails():
    swap = HMM(np.array([[0.0, 1], [1, 0]]), np.eye(2), np.array([1.0, 0]))
    condition = regular(swap)
    assert not condition.holds
    assert "power of A" in condition.reason and "p0[1] is 0" in condition.reason
    assert regular(full_rank_world(jax.random.key(0))).holds


def test_without_full_support_the_theorem_needs_only_that_the_start_recurs():
    """p0 may vanish somewhere, and the chain need not be ergodic, if supp(p0) ⊆ supp(p1)."""
    for seed in range(5):
        world = full_rank_world(jax.random.key(seed), hidden=4, vocab=5)
        A = 0.5 * np.asarray(world.A) + 0.5 * np.eye(4)
        p0 = np.array([0.5, 0.5, 0, 0])
        world, task = HMM(A, world.W, p0), PosteriorTask(random_mu(seed, 4))
        assert theorem_3_3(world, task).construction is None
        certificate = theorem_3_3(world, task, printed=False).certify(length=4)
        assert certificate.details["disagreements"] == 0 and certificate.error < 1e-11


def test_a_transient_state_leaves_no_trace():
    world, mu = transient_world(jax.random.key(1), hidden=5, vocab=5)
    assert nondegenerate(world).holds and not start_recurs(world).holds
    assert start_recurs(world).numbers["lost_states"] == [0]
    assert not linear_head_exists(world, mu).holds
    # A task that does not ask about the transient state still has its head.
    mu = np.array([0, 0, 1.0, -1.0, 0.5])
    certificate = linear_head_for_task(world, PosteriorTask(mu)).certify(length=4)
    assert certificate.details["disagreements"] == 0 and certificate.error < 1e-11
    assert certificate.details["impossible when shifted"] > 0


def test_the_observable_span_is_that_of_all_suffix_likelihoods():
    for seed in range(10):
        world = rank_deficient_world(jax.random.key(seed), rank=2, hidden=5, vocab=3)
        for length in (1, 2, 3):
            rows = []
            for x in all_sequences(3, length):
                b = np.ones(5)
                for token in x[::-1]:
                    b = world.A.T @ (world.W[token] * b)
                rows.append(b / b.max())
            basis = observable_span(world, length)
            assert basis.shape[1] == np.linalg.matrix_rank(np.array(rows), tol=1e-9)
            np.testing.assert_allclose(np.array(rows) @ basis @ basis.T, rows, atol=1e-9)


def test_a_task_in_the_row_space_has_a_head_in_a_degenerate_world():
    for seed in range(10):
        world = rank_deficient_world(jax.random.key(seed), rank=3, hidden=5, vocab=5)
        p1 = world.A @ world.p0
        inside = world.W.T @ random_mu(seed, 5) * p1 / world.p0
        theorem = linear_head_for_task(world, PosteriorTask(inside))
        certificate = theorem.certify(length=4)
        assert certificate.details["disagreements"] == 0 and certificate.error < 1e-10
        assert not linear_head_exists(world, random_mu(seed + 100, 5)).holds


def test_labels_may_be_right_where_the_score_identity_fails():
    """A mu >= 0 has the label 1 everywhere, which any positive head computes: the row-space
    condition is necessary for the scores, not for the labels."""
    world = rank_deficient_world(jax.random.key(0), rank=2, hidden=5, vocab=4)
    mu = np.abs(random_mu(0, 5))
    assert not linear_head_exists(world, mu).holds
    assert all(start_score(world, mu, x)[0] > 0 for x in all_sequences(4, 2).tolist())


def test_full_row_rank_is_not_enough():
    """The proof of Theorem 3.3 prints row rank. Here W has full row rank, and two sequences with the
    same output have scores of opposite signs, so that no head works. The pairs {0, 1} and {2, 3} emit
    one law each and are entered alike from everywhere; 0 and 2 go mostly into {0, 1}, 1 and 3 into
    {2, 3}, and mu asks which."""
    W = np.array([[0.8, 0.3], [0.2, 0.7]])[:, [0, 0, 1, 1]]
    into = np.array([[0.9, 0.1, 0.9, 0.1], [0.1, 0.9, 0.1, 0.9]])
    world, mu = HMM(np.repeat(into / 2, 2, axis=0), W, np.full(4, 0.25)), [1.0, -1.0, 1.0, -1.0]
    assert np.linalg.matrix_rank(W) == world.vocab == 2
    laws, scores = zip(
        *(
            (output(world, [None, *x], 0)[0], start_score(world, mu, x)[0])
            for x in all_sequences(2, 3).tolist()
        ),
        strict=True,
    )
    gaps = np.abs(np.array(laws)[:, None] - np.array(laws)[None]).max(axis=2)
    opposite = np.greater.outer(scores, np.full(8, 0.3)) & np.less(scores, -0.3)
    assert gaps[opposite].min() < 1e-14


def test_the_best_head_loses_with_the_rank():
    """The mean over worlds: some tasks are easy at any rank."""

    def compare(rank, seed):
        world = rank_deficient_world(jax.random.key(seed), rank=rank, hidden=5, vocab=5)
        mu = random_mu(seed, 5)
        task = PosteriorTask(mu - mu @ world.p0)
        key = jax.random.key(seed + 50)
        return best_linear_head(world, task, key, length=8, train=2000, test=1000)

    full, poor = ([compare(rank, seed) for seed in range(6)] for rank in (5, 2))
    assert all(c.rank == 5 and c.constructed_accuracy == 1 for c in full)
    assert all(c.rank == 2 for c in poor)
    assert min(c.fitted_accuracy for c in full) > 0.97
    assert np.mean([c.fitted_accuracy for c in poor]) < 0.93
    assert np.mean([c.constructed_accuracy for c in poor]) < 0.85


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (PosteriorTask(np.ones(4), "first"), "need latent='start'"),
        (PosteriorTask(np.ones(4), "start", mask_first=True), "no masked token"),
        (PosteriorTask(np.ones(3)), "4 hidden states"),
    ],
)
def test_tasks_it_is_not_about_are_refused(task, message):
    with pytest.raises(ValueError, match=message):
        theorem_3_3(full_rank_world(jax.random.key(0), hidden=4, vocab=5), task)
