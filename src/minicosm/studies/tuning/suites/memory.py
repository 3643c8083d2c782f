"""Worlds with memory: Theorem 4.3 and what surrounds it."""

from itertools import combinations

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory import all_sequences, sample_sequences
from minicosm.theory.tuning import (
    claim_d3,
    in_scope,
    lemma_d2,
    lemma_d4,
    overlapping_spans,
    proposition_d1,
    recoverable_for,
    recoverable_relations,
    recoverable_states,
    star_states,
    theorem_4_3,
)
from minicosm.worlds import (
    MemoryHMM,
    PosteriorTask,
    overlapping_spans_world,
    prompt_memory_world,
    recoverable_memory_world,
)

from ...common.ledger import Ledger
from .scores import both_scores
from .suite import Suite

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
        inside = theorem.certify(sequences=sequences)
        ledger.certificate("theorem-4.3", inside, condition=condition)
        outside = theorem.certify(sequences=sequences, scope="outside")
        ledger.add("outside", compared=outside.compared, disagreements=outside.disagreements)
        for name, lemma in (
            ("lemma-d.2", lemma_d2),
            ("claim-d.3", claim_d3),
            ("lemma-d.4", lemma_d4),
        ):
            measured = lemma(world, task, sequences)
            ledger.add(name, error=measured.error, sequences=measured.cases, condition=condition)
        for name, holds in recoverable_relations(world, drawn.mu, drawn.cell).items():
            ledger.add(name, holds=holds)
        short = all_sequences(world.vocab, 2)
        measured = proposition_d1(world, short)
        ledger.add(
            "proposition-d.1",
            error=max(measured.error, measured.details["model"]),
            printed=measured.details["printed"],
            sequences=measured.cases,
        )
        if i == 0:
            states = star_states(world, drawn.cell, theorem.conditions[0].witness)
            chosen = sequences[in_scope(world, sequences, states).inside]
            ledger.picture(scores=both_scores(world, task, theorem.construction, chosen))

        broken = overlapping_spans_world(key)
        other = PosteriorTask(broken.mu, "cell", cell=broken.cell)
        measured = overlapping_spans(
            broken.world, other, broken.star_syntax, sample_sequences(broken.world, key, 6, 64)
        )
        ledger.add(
            "overlapping",
            condition_fails=not theorem_4_3(broken.world, other).applies,
            error=measured.error,
        )
    return ledger.result()


def search(config: Suite, progress: Progress) -> TrialResult:
    """The coloop test for the largest S* against ranks of every subset, for 4.2 and for D.5."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "coloops against all subsets")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        world, cell = _mixed_world(key, rng, i)
        mu = np.where(rng.random(world.values) < 0.6, 1.0, 0.0)
        mu[rng.integers(world.values)] = 1.0
        for name, found, relevant in (
            ("coloops-4.2", recoverable_states(world, cell), np.ones(world.values, bool)),
            ("coloops-d.5", recoverable_for(world, mu, cell), mu != 0),
        ):
            admissible = _admissible(world, cell, relevant)
            largest = found.witness if found.holds else ()
            subsets = {
                subset
                for size in range(1, len(largest) + 1)
                for subset in combinations(largest, size)
            }
            ledger.add(name, agrees=subsets == admissible, holds=found.holds)
    return ledger.result()


def _mixed_world(key, rng: np.random.Generator, i: int) -> tuple[MemoryHMM, int]:
    """Worlds in which some, all or none of the syntax states are recoverable."""
    if i % 3 == 0:
        drawn = recoverable_memory_world(key, values=2, cells=1 + i % 2, syntax=3, star=2)
        return drawn.world, drawn.cell
    if i % 3 == 1:
        drawn = prompt_memory_world(key, values=3, cells=1, syntax=3, star=1)
        return drawn.world, drawn.cell
    values, cells, syntax = 2, 1 + i % 2, 3
    vocab = int(rng.integers(3, values * cells * syntax + 2))
    W = rng.dirichlet(np.ones(vocab), size=(values, cells, syntax)).transpose(3, 0, 1, 2)
    if rng.random() < 0.5:  # a column in the span of two others
        W[:, 0, 0, 0] = (W[:, 1, 0, 1] + W[:, 0, 0, 1]) / 2
    states = cells * syntax
    uniform = np.full((states, states), 1 / states)
    pM = np.full(values**cells, 1 / values**cells)
    return MemoryHMM(uniform, W, pM, uniform[0]), int(rng.integers(cells))


def _admissible(world: MemoryHMM, cell: int, relevant: np.ndarray) -> set[tuple[int, ...]]:
    """Every S* that satisfies the assumption, by the ranks the definition speaks of."""
    W = np.asarray(world.W)
    values, cells, syntax = W.shape[1:]
    kept = np.ones((values, cells, syntax), bool)
    kept[~relevant, cell] = False

    def rank(mask: np.ndarray) -> int:
        chosen = W[:, mask]
        return int(np.linalg.matrix_rank(chosen, tol=1e-9)) if chosen.size else 0

    found = set()
    for size in range(1, syntax + 1):
        for star in combinations(range(syntax), size):
            own = np.zeros_like(kept)
            own[:, cell, list(star)] = True
            own &= kept
            independent = rank(own) == own.sum()
            if independent and rank(kept) == own.sum() + rank(kept & ~own):
                found.add(star)
    return found
