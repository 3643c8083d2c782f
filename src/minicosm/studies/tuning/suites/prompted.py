"""Worlds with memory and a prompt: Theorems 4.6 and D.6 and what surrounds them."""

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import all_sequences, both_scores, sample_sequences
from minicosm.theory.tuning import (
    binary_prompt,
    claim_d10,
    claim_d12,
    claim_d14,
    claim_d15,
    in_scope,
    lemma_d7,
    lemma_d9,
    lemma_d9_by_any_head,
    lemma_d13,
    opposed_world,
    proposition_d8,
    proposition_d11,
    recoverable_states,
    star_states,
    theorem_4_6,
    theorem_d6,
    wrong_label_world,
)
from minicosm.worlds import PosteriorTask, nonstationary, prompt_memory_world

from ..trials import Suite

# values, cells, syntax, |S*|, |M*|, length of sampled sequences
SHAPES = ((3, 1, 3, 1, 2, 6), (3, 2, 2, 1, 2, 6))

LEMMAS = (lemma_d9, claim_d10, proposition_d11, claim_d12, lemma_d13, claim_d14, claim_d15)


def run(config: Suite, progress: Progress) -> TrialResult:
    """Theorem D.6 on R and on the wider set it holds on, with and without stationarity; Theorem 4.6;
    Propositions D.8 and D.11 and the lemmas; and the printed position vector `beta_1 = -2` on all
    sequences of length four of a world in which it gives wrong labels, and the safe one; and a world in
    which no head attends as Lemma D.9 states."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds with memory and a prompt")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        values, cells, syntax, star, relevant, length = SHAPES[i % config.shapes]
        drawn = prompt_memory_world(
            key, values=values, cells=cells, syntax=syntax, star=star, relevant=relevant
        )
        world = drawn.world
        task = PosteriorTask(drawn.mu, "cell", cell=drawn.cell)
        theorem = theorem_d6(world, task)
        condition = theorem.conditions[0].numbers["condition"]
        sequences = sample_sequences(world, key, length, config.samples)
        weaker = not recoverable_states(world, drawn.cell).holds
        ledger.add(theorem.certify(sequences=sequences), condition=condition, weaker=weaker)
        wider = theorem.certify(sequences=sequences, scope="wider")
        ledger.add(wider, "Theorem D.6, wider set", condition=condition)
        if cells == 1:
            one = theorem_4_6(world, task).certify(sequences=sequences)
            ledger.add(one, condition=condition)
        for lemma in LEMMAS:
            ledger.add(lemma(world, task, sequences))
        ledger.add(lemma_d9(world, task, sequences, printed=True))

        moved = nonstationary(drawn, key)
        shifted = sample_sequences(moved.world, key, length, config.samples)
        ledger.add(theorem_d6(moved.world, task, stationary=False).certify(sequences=shifted))
        ledger.add(binary_prompt(moved.world, task, sequences=shifted))

        ledger.add(proposition_d8(world))
        between = rng.random((world.configurations, world.hidden))
        for row in (between, (between < 0.5).astype(float)):
            ledger.add(lemma_d7(world, row, all_sequences(world.vocab, 2)))
        if i == 0:
            states = star_states(world, drawn.cell, theorem.conditions[0].witness)
            chosen = sequences[in_scope(world, sequences, states).inside]
            ledger.picture(scores=both_scores(world, task, theorem.construction, chosen))
    bad = wrong_label_world()
    task = PosteriorTask(bad.mu, "cell", cell=bad.cell)
    for name, theorem in (
        ("Position vector -2", theorem_4_6(bad.world, task, beta="printed")),
        ("Position vector below every key", theorem_4_6(bad.world, task)),
    ):
        ledger.add(theorem.certify(length=4), name)
    opposed = opposed_world()
    task = PosteriorTask(opposed.mu, "cell", cell=opposed.cell)
    every = all_sequences(opposed.world.vocab, 4)
    ledger.add(lemma_d9_by_any_head(opposed.world, task, every))
    return ledger.result()
