"""Worlds with independent emissions: Theorem 3.3 and what surrounds it."""

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import all_sequences, both_scores, sample_sequences
from minicosm.theory.tuning import (
    claim_b1,
    conditionally_independent_joint,
    duplicate_emissions,
    equation_c1,
    linear_head_exists,
    linear_head_for_task,
    nondegenerate,
    nondegenerate_implies_covering,
    proposition_3_4,
    regular,
    theorem_3_3,
    theorem_3_6,
)
from minicosm.worlds import (
    HMM,
    PosteriorTask,
    balance_dense,
    duplicate_columns_world,
    full_rank_world,
    rank_deficient_world,
    transient_world,
)

from ..trials import Suite

SHAPES = ((4, 6, 5), (3, 3, 7))  # hidden, vocab, length enumerated


def run(config: Suite, progress: Progress) -> TrialResult:
    """Theorem 3.3 on all sequences of a short length and on sampled long ones, one task with a sign
    and one with three classes; Claim B.1; Proposition 3.4; equation C.1; 3.1 + 3.2 => 3.5, and the
    prompt of all states."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds with independent emissions")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        hidden, vocab, length = SHAPES[i % config.shapes]
        sparse = (i // config.shapes) % 2 == 0
        world = full_rank_world(key, hidden=hidden, vocab=vocab, sparse=sparse)
        condition = nondegenerate(world).numbers["condition"]
        mu = rng.normal(size=hidden)
        theorem = theorem_3_3(world, PosteriorTask(mu))
        ledger.add(theorem.certify(length=length), condition=condition)
        far = theorem.certify(key=key, length=config.long, count=config.samples)
        ledger.add(far, "Theorem 3.3, long sequences", condition=condition)
        classes = theorem_3_3(world, PosteriorTask(rng.normal(size=(3, hidden))))
        ledger.add(classes.certify(length=length), "Theorem 3.3, three classes")
        ledger.add(nondegenerate_implies_covering(world, mu))
        everyone = theorem_3_6(world, PosteriorTask(mu), sources=range(hidden))
        ledger.add(everyone.certify(length=length), "Theorem 3.6, all states")
        for shift in (1, 2, 3):
            ledger.add(claim_b1(world, all_sequences(vocab, min(length, 4)), shift))
        ledger.add(proposition_3_4(conditionally_independent_joint(key, vocab, 5, hidden)))
        dense = full_rank_world(key, hidden=4, vocab=4, sparse=False)
        ledger.add(equation_c1(dense, all_sequences(4, 4)))
    key = jax.random.fold_in(root, config.worlds)
    ledger.picture(scores=_scores(key, config.long, config.samples))
    return ledger.result()


def _scores(key: PRNGKeyArray, length: int, count: int) -> Float[np.ndarray, "n 2"]:
    """Exact and constructed scores in one world with dense emissions, both classes equally likely."""
    world = full_rank_world(key, hidden=4, vocab=6, sparse=False)
    drawn = sample_sequences(world, key, length, count)
    with jax.enable_x64(True):
        posteriors = np.asarray(jax.vmap(lambda x: world.posterior(x).hidden[0])(drawn))
    mu = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist()).normal(size=4)
    task = PosteriorTask(balance_dense(mu, posteriors))
    return both_scores(world, task, theorem_3_3(world, task).construction, drawn)


def without(config: Suite, progress: Progress) -> TrialResult:
    """What happens where a condition of Theorem 3.3 fails.

    Duplicated emission laws (the constructed head is constant); rank-deficient worlds with tasks
    inside and outside the row space (whether an exact head exists); a start law with zeros, which
    breaks Assumption 3.2 but not what the proof needs; a state that never comes back, which does.
    """
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds that break a condition")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])

        world, mu = duplicate_columns_world(key)
        ledger.add(duplicate_emissions(world, PosteriorTask(mu), 4))

        world = rank_deficient_world(key, rank=4, hidden=6, vocab=6)
        p0, p1 = np.asarray(world.p0), np.asarray(world.A) @ np.asarray(world.p0)
        inside = (np.asarray(world.W).T @ rng.normal(size=6)) * p1 / p0
        theorem = linear_head_for_task(world, PosteriorTask(inside))
        ledger.measure("task in the row space", exists=theorem.applies)
        ledger.add(theorem.certify(length=5) if theorem.applies else theorem)
        found = linear_head_exists(world, rng.normal(size=6))
        residual = found.numbers["residual"]
        ledger.measure("generic task", exists=found.holds, residual=residual)

        dense = full_rank_world(key, hidden=4, vocab=6, sparse=False)
        start = np.array(dense.p0)
        start[rng.integers(4)] = 0
        world = HMM(dense.A, dense.W, start / start.sum())
        theorem = theorem_3_3(world, PosteriorTask(rng.normal(size=4)), printed=False)
        ledger.measure("start with zeros", regular=regular(world).holds)
        run = theorem.certify(length=5) if theorem.applies else theorem
        ledger.add(run, "Theorem 3.3, start with zeros")

        world, mu = transient_world(key)
        theorem = theorem_3_3(world, PosteriorTask(mu), printed=False)
        found = linear_head_exists(world, mu)
        ledger.measure("transient state", applies=theorem.applies, exists=found.holds)
    return ledger.result()
