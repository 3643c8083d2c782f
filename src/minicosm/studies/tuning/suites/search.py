"""Searches for the sets of Assumptions 3.5, 4.2 and D.5 against trying every set."""

from itertools import combinations

import jax
import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import Condition, Theorem
from minicosm.theory.tuning import (
    covering,
    recoverable_for,
    recoverable_relations,
    recoverable_states,
)
from minicosm.worlds import (
    HMM,
    MemoryHMM,
    covered_world,
    full_rank_world,
    prompt_memory_world,
    recoverable_memory_world,
)

from ..trials import Suite


def covering_sets(config: Suite, progress: Progress) -> TrialResult:
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
        wrong = found.holds != _any_cover(world, mu)
        ledger.add(_agreement("Search for Assumption 3.5", wrong), found=found.holds)
    return ledger.result()


def recoverable_sets(config: Suite, progress: Progress) -> TrialResult:
    """The coloop test for the largest S* against ranks of every subset, for 4.2 and for D.5, and the
    relations between the assumptions."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "coloops against all subsets")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        world, cell = _mixed_world(key, rng, i)
        mu = np.where(rng.random(world.values) < 0.6, 1.0, 0.0)
        mu[rng.integers(world.values)] = 1.0
        for relation in recoverable_relations(world, mu, cell):
            ledger.add(relation)
        every = np.ones(world.values, bool)
        for number, found, relevant in (
            ("4.2", recoverable_states(world, cell), every),
            ("D.5", recoverable_for(world, mu, cell), mu != 0),
        ):
            wrong = _subsets(found) != _admissible(world, cell, relevant)
            name = f"Largest set of Assumption {number}"
            ledger.add(_agreement(name, wrong), found=found.holds)
    return ledger.result()


def _agreement(name: str, wrong: bool) -> Theorem:
    return Theorem.identity(name, float(wrong), within=0.0)


def _subsets(found: Condition) -> set[tuple[int, ...]]:
    largest = found.witness if found.holds else ()
    sizes = range(1, len(largest) + 1)
    return {subset for size in sizes for subset in combinations(largest, size)}


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


def _mixed_world(key: PRNGKeyArray, rng: np.random.Generator, i: int) -> tuple[MemoryHMM, int]:
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


def _admissible(
    world: MemoryHMM, cell: int, relevant: Bool[np.ndarray, " M"]
) -> set[tuple[int, ...]]:
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
