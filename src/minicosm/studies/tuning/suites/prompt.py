"""Worlds with more states than tokens: Theorem 3.6 and what surrounds it."""

import jax
import numpy as np
from jaxtyping import Float

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import all_sequences, both_scores, sample_sequences
from minicosm.theory.tuning import (
    covering,
    lemma_c1,
    lemma_c2,
    nondegenerate,
    prompt_length_is_irrelevant,
    separable_prompt_head,
    theorem_3_3,
    theorem_3_6,
)
from minicosm.worlds import PosteriorTask, covered_world, separable_world

from ..trials import Suite

# hidden, vocab, |H*|, |B|, length enumerated
SHAPES = ((8, 4, 3, 1, 5), (10, 4, 4, 2, 5))


def run(config: Suite, progress: Progress) -> TrialResult:
    """Theorem 3.6 on all sequences of a short length and on sampled long ones, with a sign and with
    three classes; Lemmas C.1 and C.2 by enumeration; prompt length; the six-state world in which 3.5
    fails and a prompt works for one task but not for another."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds with a covering set")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        hidden, vocab, star, sources, length = SHAPES[i % config.shapes]
        drawn = covered_world(key, hidden=hidden, vocab=vocab, star=star, sources=sources)
        world, task = drawn.world, PosteriorTask(drawn.mu)
        theorem = theorem_3_6(world, task)
        condition = theorem.conditions[1].numbers["condition"]
        independent = nondegenerate(world).holds
        ledger.add(theorem.certify(length=length), condition=condition, independent=independent)
        long = sample_sequences(world, key, config.long, config.samples)
        far = theorem.certify(sequences=long)
        ledger.add(far, "Theorem 3.6, long sequences", condition=condition)
        rows = np.where(np.isin(np.arange(hidden), drawn.star), rng.normal(size=(3, hidden)), 0)
        classes = theorem_3_6(world, PosteriorTask(rows), sources=drawn.sources)
        ledger.add(classes.certify(length=length), "Theorem 3.6, three classes")
        rows = rng.random((20, hidden))
        ledger.add(prompt_length_is_irrelevant(world, rows, long[:32, :16]))

        tiny = covered_world(key, hidden=4, vocab=3, star=2).world
        sequences = all_sequences(3, 3)
        for name, u in _prompts(rng, 4).items():
            ledger.add(lemma_c1(tiny, u, sequences), prompt=name)
            ledger.add(lemma_c2(tiny, u, sequences), prompt=name)
        if i == 0:
            ledger.picture(scores=both_scores(world, task, theorem.construction, long))
    for kind in (True, False):
        world, mu = separable_world(separable=kind)
        theorem = separable_prompt_head(world, PosteriorTask(mu))
        ledger.measure(
            "separable task" if kind else "inseparable task",
            covered=covering(world, mu).holds,
            head=theorem_3_3(world, PosteriorTask(mu)).applies,
            separable=theorem.applies,
        )
        if kind:
            ledger.add(theorem.certify(length=6))
    return ledger.result()


def _prompts(rng: np.random.Generator, hidden: int) -> dict[str, Float[np.ndarray, " H"]]:
    """Prompt rows with entries in between, at 0 and 1, and mixed."""
    mixed = rng.random(hidden)
    mixed[rng.integers(hidden)] = 0.0
    mixed[rng.integers(hidden)] = 1.0
    zeros_and_ones = (rng.random(hidden) < 0.5).astype(float)
    return {"between": rng.random(hidden), "zero-one": zeros_and_ones, "mixed": mixed}
