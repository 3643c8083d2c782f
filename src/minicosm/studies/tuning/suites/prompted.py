"""Worlds with memory and a prompt: Theorems 4.6 and D.6 and what surrounds them."""

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory import all_sequences, sample_sequences
from minicosm.theory.tuning import (
    binary_prompt,
    claim_d10,
    claim_d12,
    claim_d14,
    claim_d15,
    in_scope,
    lemma_d7,
    lemma_d9,
    lemma_d13,
    position_one,
    proposition_d8,
    proposition_d11,
    recoverable_states,
    star_states,
    theorem_4_6,
    theorem_d6,
    wrong_label_world,
)
from minicosm.theory.tuning.prompt_attention import Beta
from minicosm.worlds import PosteriorTask, nonstationary, prompt_memory_world

from ...common.ledger import Ledger
from .scores import both_scores
from .suite import Suite

# values, cells, syntax, |S*|, |M*|, length of sampled sequences
SHAPES = ((3, 1, 3, 1, 2, 6), (3, 2, 2, 1, 2, 6))

LEMMAS = {
    "lemma-d.9": lemma_d9,
    "claim-d.10": claim_d10,
    "proposition-d.11": proposition_d11,
    "claim-d.12": claim_d12,
    "lemma-d.13": lemma_d13,
    "claim-d.14": claim_d14,
    "claim-d.15": claim_d15,
}


def run(config: Suite, progress: Progress) -> TrialResult:
    """Theorem D.6 on R and on the wider set it holds on, with the printed and the safe position
    vector, with and without stationarity; Theorem 4.6; Propositions D.8 and D.11 and the lemmas."""
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
        ledger.certificate(
            "theorem-d.6",
            theorem.certify(sequences=sequences),
            condition=condition,
            weaker=not recoverable_states(world, drawn.cell).holds,
        )
        ledger.certificate("wider", theorem.certify(sequences=sequences, scope="wider"))
        printed = theorem_d6(world, task, beta="printed")
        ledger.certificate("printed-beta", printed.certify(sequences=sequences))
        if cells == 1:
            one = theorem_4_6(world, task).certify(sequences=sequences)
            ledger.certificate("theorem-4.6", one, condition=condition)
        for name, lemma in LEMMAS.items():
            measured = lemma(world, task, sequences)
            details = {k.replace(" ", "_"): v for k, v in measured.details.items()}
            ledger.add(name, error=measured.error, sequences=measured.cases, **details)

        moved = nonstationary(drawn, key)
        repaired = theorem_d6(moved.world, task, stationary=False)
        shifted = sample_sequences(moved.world, key, length, config.samples)
        ledger.certificate("not-stationary", repaired.certify(sequences=shifted))
        plain = binary_prompt(moved.world, task, sequences=shifted)
        ledger.certificate("not-stationary-printed", plain)

        short = all_sequences(world.vocab, 2)
        measured = proposition_d8(world)
        ledger.add("proposition-d.8", error=measured.error, sequences=measured.cases)
        between = rng.random((world.configurations, world.hidden))
        for row in (between, (between < 0.5).astype(float)):
            measured = lemma_d7(world, row, short)
            ledger.add("lemma-d.7", error=measured.error, sequences=measured.cases)
        if i == 0:
            states = star_states(world, drawn.cell, theorem.conditions[0].witness)
            chosen = sequences[in_scope(world, sequences, states).inside]
            ledger.picture(scores=both_scores(world, task, theorem.construction, chosen))
    return ledger.result()


def position(config: Suite, progress: Progress) -> TrialResult:
    """The printed `beta_1 = -2` on one sequence of the regression world, and on all sequences of
    length four of a world in which it gives wrong labels; the safe value beside it."""
    ledger = Ledger()
    drawn = wrong_label_world()
    task = PosteriorTask(drawn.mu, "cell", cell=drawn.cell)
    choices: tuple[Beta, ...] = ("printed", "safe")
    for done, beta in enumerate(choices):
        progress(done, 2, f"beta_1 {beta}")
        one = position_one(beta)
        ledger.add(
            f"one-sequence-{beta}",
            attended=list(one.attended),
            key_scores=one.key_scores.tolist(),
            query_key=one.query_key.tolist(),
            values=one.values.tolist(),
            memory=one.memory.tolist(),
        )
        theorem = theorem_4_6(drawn.world, task, beta=beta)
        ledger.certificate(f"all-sequences-{beta}", theorem.certify(length=4))
    return ledger.result()
