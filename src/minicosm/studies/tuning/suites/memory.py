"""Worlds with memory: Theorem 4.3 and what surrounds it."""

import jax

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import all_sequences, both_scores, sample_sequences
from minicosm.theory.certify import FLOOR
from minicosm.theory.tuning import (
    claim_d3,
    in_scope,
    lemma_d2,
    lemma_d4,
    overlapping_spans,
    proposition_d1,
    star_states,
    theorem_4_3,
)
from minicosm.worlds import PosteriorTask, overlapping_spans_world, recoverable_memory_world

from ..trials import Suite

# values, cells, syntax, |S*|, length of sampled sequences
SHAPES = ((2, 1, 3, 1, 7), (2, 2, 2, 1, 7))


def run(config: Suite, progress: Progress) -> TrialResult:
    """Theorem 4.3 inside R and outside, its lemmas at every position, Proposition D.1 by sums over
    configurations and paths, and the relations between the assumptions."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds with recoverable states")
        key = jax.random.fold_in(root, i)
        values, cells, syntax, star, length = SHAPES[i % config.shapes]
        drawn = recoverable_memory_world(key, values=values, cells=cells, syntax=syntax, star=star)
        world = drawn.world
        task = PosteriorTask(drawn.mu, "cell", cell=drawn.cell)
        theorem = theorem_4_3(world, task)
        condition = theorem.conditions[0].numbers["condition"]
        sequences = sample_sequences(world, key, length, config.samples)
        ledger.add(theorem.certify(sequences=sequences), condition=condition)
        states = star_states(world, drawn.cell, theorem.conditions[0].witness)
        inside = in_scope(world, sequences, states).inside
        exact = both_scores(world, task, theorem.construction, sequences)[~inside, 0]
        outside = theorem.certify(sequences=sequences, scope="outside").details
        counts = {name: outside[name] for name in ("compared", "disagreements")}
        ones = int((exact > FLOOR).sum())
        ledger.measure("outside R", **counts, majority=max(ones, counts["compared"] - ones))
        for lemma in (lemma_d2, claim_d3, lemma_d4):
            ledger.add(lemma(world, task, sequences), condition=condition)
        ledger.add(proposition_d1(world, all_sequences(world.vocab, 2)))
        if i == 0:
            chosen = sequences[inside]
            ledger.picture(scores=both_scores(world, task, theorem.construction, chosen))

        broken = overlapping_spans_world(key)
        other = PosteriorTask(broken.mu, "cell", cell=broken.cell)
        drawn_from = sample_sequences(broken.world, key, length, config.samples)
        applies = theorem_4_3(broken.world, other).applies
        spans = overlapping_spans(broken.world, other, broken.star_syntax, drawn_from)
        ledger.add(spans, assumption=applies)
    return ledger.result()
