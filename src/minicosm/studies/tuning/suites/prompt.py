"""Worlds with more states than tokens: Theorem 3.6 and what surrounds it."""

from itertools import combinations

import jax
import numpy as np
from jaxtyping import Float

from minicosm.lab import Progress, TrialResult
from minicosm.theory import all_sequences, sample_sequences
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
from minicosm.worlds import HMM, PosteriorTask, covered_world, full_rank_world, separable_world

from ...common.ledger import Ledger
from .scores import both_scores
from .suite import Suite

# hidden, vocab, |H*|, |B|, length enumerated
SHAPES = ((8, 4, 3, 1, 5), (10, 4, 4, 2, 5))


def run(config: Suite, progress: Progress) -> TrialResult:
    """Theorem 3.6 on all sequences of a short length and on sampled long ones, with a sign and with
    three classes; the search for H*; Lemmas C.1 and C.2 by enumeration; prompt length."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds with a covering set")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        hidden, vocab, star, sources, length = SHAPES[i % config.shapes]
        drawn = covered_world(key, hidden=hidden, vocab=vocab, star=star, sources=sources)
        world, mu = drawn.world, drawn.mu
        task = PosteriorTask(mu)
        theorem = theorem_3_6(world, task)
        found = theorem.conditions[1]
        ledger.add("search", found=found.holds, nodes=found.numbers["nodes"])
        ledger.certificate(
            "theorem-3.6",
            theorem.certify(length=length),
            condition=found.numbers["condition"],
            head_exists=nondegenerate(world).holds,
        )
        far = theorem.certify(key=key, length=config.long, count=config.samples)
        ledger.certificate("theorem-3.6-long", far, condition=found.numbers["condition"])
        rows = np.where(np.isin(np.arange(hidden), drawn.star), rng.normal(size=(3, hidden)), 0)
        classes = theorem_3_6(world, PosteriorTask(rows), sources=drawn.sources)
        ledger.certificate("theorem-3.6-classes", classes.certify(length=length))
        sampled = sample_sequences(world, key, 16, 32)
        shorter = prompt_length_is_irrelevant(world, rng.random((20, hidden)), sampled)
        ledger.add("prompt-length", error=shorter.error, sequences=len(sampled))

        tiny = covered_world(key, hidden=4, vocab=3, star=2).world
        sequences = all_sequences(3, 3)
        for name, u in _prompts(rng, 4).items():
            lemma = lemma_c1(tiny, u, sequences)
            ledger.add(
                "lemma-c.1",
                prompt=name,
                error=max(lemma.messages, lemma.outputs),
                impossible=lemma.impossible,
                largest_impossible=lemma.largest_impossible,
                sequences=len(sequences),
            )
            ledger.add("lemma-c.2", error=lemma_c2(tiny, u, sequences), sequences=len(sequences))
        if i == 0:
            shown = sample_sequences(world, key, 12, 400)
            ledger.picture(
                scores=both_scores(world, task, theorem.construction, shown),
                prompt=np.asarray(theorem.construction.prompt.parameters),
                mu=np.asarray(mu),
            )
    return ledger.result()


def search(config: Suite, progress: Progress) -> TrialResult:
    """The backtracking search for (B, H*) against trying every B, on worlds of both kinds."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "searches against brute force")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        vocab = int(rng.integers(2, 5))
        if i % 2:
            world, mu, *_ = covered_world(key, hidden=6, vocab=max(vocab, 3), star=2)
        else:
            world = full_rank_world(key, hidden=6, vocab=6)
            world = HMM(world.A, rng.dirichlet(np.ones(vocab), size=6).T, world.p0)
            mu = np.where(rng.random(6) < 0.4, rng.normal(size=6), 0.0)
        found = covering(world, mu)
        ledger.add(
            "search-exact",
            agrees=found.holds == _any_cover(world, mu),
            holds=found.holds,
            nodes=found.numbers["nodes"],
        )
    return ledger.result()


def separable(config: Suite, progress: Progress) -> TrialResult:
    """The six-state world in which 3.5 fails and a prompt works for one task but not for another."""
    ledger = Ledger()
    for name, kind in (("separable", True), ("inseparable", False)):
        world, mu = separable_world(separable=kind)
        task = PosteriorTask(mu)
        theorem = separable_prompt_head(world, task)
        conditions = {
            "covered": covering(world, mu).holds,
            "head": theorem_3_3(world, task).applies,
            "applies": theorem.applies,
        }
        if theorem.applies:
            ledger.certificate(name, theorem.certify(length=6), **conditions)
        else:
            ledger.add(name, reason=theorem.failed()[0].reason, **conditions)
    progress(2, 2, "two tasks")
    return ledger.result()


def _prompts(rng: np.random.Generator, hidden: int) -> dict[str, Float[np.ndarray, " H"]]:
    """Prompt rows with entries in between, at 0 and 1, and mixed."""
    mixed = rng.random(hidden)
    mixed[rng.integers(hidden)] = 0.0
    mixed[rng.integers(hidden)] = 1.0
    zeros_and_ones = (rng.random(hidden) < 0.5).astype(float)
    return {"between": rng.random(hidden), "zero-one": zeros_and_ones, "mixed": mixed}


def _any_cover(world: HMM, mu: Float[np.ndarray, " H"]) -> bool:
    """Whether any set B of states satisfies Assumption 3.5, by trying all of them."""
    A, W = np.asarray(world.A) > 0, np.asarray(world.W)
    states = range(world.hidden)
    for size in range(world.hidden + 1):
        for sources in combinations(states, size):
            star = A[:, list(sources)].any(axis=1)
            covers = not (np.asarray(mu) != 0)[~star].any()
            if covers and np.linalg.matrix_rank(W[:, star], tol=1e-10) == star.sum():
                return True
    return False
