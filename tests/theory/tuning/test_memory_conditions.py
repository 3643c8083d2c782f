"""Assumptions 4.2, 4.4, 4.5 and D.5: the coloop test against every subset, and what is reported."""

from itertools import combinations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.tuning import (
    recoverable_for,
    recoverable_relations,
    recoverable_states,
    star_states,
    start_recurs,
    stationary,
)
from minicosm.worlds import (
    MemoryHMM,
    nonstationary,
    overlapping_spans_world,
    prompt_memory_world,
    recoverable_memory_world,
)


def rank(columns):
    """The rank of a list of columns, by Gaussian elimination with full pivoting."""
    matrix = np.array(columns, float)
    found = 0
    while matrix.size and np.abs(matrix).max() > 1e-9:
        r, c = np.unravel_index(np.argmax(np.abs(matrix)), matrix.shape)
        pivot = matrix[r] / matrix[r, c]
        matrix = np.delete(matrix - np.outer(matrix[:, c], pivot), r, axis=0)
        found += 1
    return found


def admissible(W, cell, values):
    """All S* that satisfy the assumption as printed, tried one by one.

    `values` are the memory values that count for the cell: all of them in 4.2, M* in D.5.
    """
    _, memory, cells, syntax = W.shape
    found = set()
    for size in range(1, syntax + 1):
        for star in combinations(range(syntax), size):
            own = [W[:, m, cell, s] for m in values for s in star]
            rest = [W[:, m, cell, s] for m in values for s in range(syntax) if s not in star]
            others = [j for j in range(cells) if j != cell]
            rest += [W[:, m, j, s] for m in range(memory) for j in others for s in range(syntax)]
            # Independent, and spans that meet only in 0: dim(U + V) = dim U + dim V.
            if rank(own) == len(own) and rank(own + rest) == len(own) + rank(rest):
                found.add(star)
    return found


def world_of(W):
    hidden = W.shape[2] * W.shape[3]
    count = W.shape[1] ** W.shape[2]
    return MemoryHMM(
        np.full((hidden, hidden), 1 / hidden),
        W,
        np.full(count, 1 / count),
        np.full(hidden, 1 / hidden),
    )


def subsets(star):
    return {c for size in range(1, len(star) + 1) for c in combinations(star, size)}


def random_columns(rng):
    """Emissions of which some are independent, some copies and some mixtures of others."""
    values, cells, syntax = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 4)
    vocab = int(rng.integers(2, 10))
    W = rng.dirichlet(np.ones(vocab), size=(values, cells, syntax))
    flat = W.reshape(-1, vocab)
    for _ in range(rng.integers(0, 4)):
        a, b, c = rng.integers(len(flat), size=3)
        flat[a] = flat[b] if rng.random() < 0.5 else (flat[b] + flat[c]) / 2
    return np.moveaxis(flat.reshape(values, cells, syntax, vocab), -1, 0)


def test_coloops_find_exactly_the_admissible_sets():
    """The admissible S* of 4.2 and D.5 are the nonempty subsets of the witness: 400 random worlds."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        W = random_columns(rng)
        world, cell = world_of(W), int(rng.integers(W.shape[2]))
        full = recoverable_states(world, cell)
        expected = admissible(W, cell, range(world.values))
        assert full.holds == bool(expected)
        assert subsets(full.witness or ()) == expected
        mu = rng.normal(size=world.values) * (rng.random(world.values) < 0.6)
        reduced = recoverable_for(world, mu, cell)
        if mu.any():
            expected = admissible(W, cell, np.flatnonzero(mu))
            assert reduced.holds == bool(expected)
            assert subsets(reduced.witness or ()) == expected
        assert all(found.holds is not False for found in recoverable_relations(world, mu, cell))
        seen.add((full.holds, reduced.holds, full.holds and len(full.witness) < W.shape[3]))
    assert {
        (True, True, False),
        (True, True, True),
        (False, True, False),
        (False, False, False),
    } <= seen


SIMPLE = [
    (1, 0, 0, 0),
    (0, 1, 0, 0),
    (0, 0, 1, 0),
    (0.5, 0.5, 0, 0),
    (0, 0, 0.5, 0.5),
    (0.25, 0.25, 0.25, 0.25),
]


@given(
    st.lists(st.sampled_from(SIMPLE), min_size=4, max_size=4), st.integers(1, 2), st.integers(0, 3)
)
@settings(max_examples=100)
def test_exact_dependencies(columns, cells, relevant):
    """Columns from a small set, where dependencies are exact and frequent."""
    syntax = 2 // cells
    W = np.moveaxis(np.array(columns).reshape(2, cells, syntax, 4), -1, 0)
    world = world_of(W)
    found = recoverable_states(world, 0)
    assert subsets(found.witness or ()) == admissible(W, 0, range(2))
    mu = np.array([relevant & 1, relevant >> 1])
    if relevant:
        found = recoverable_for(world, mu, 0)
        assert subsets(found.witness or ()) == admissible(W, 0, np.flatnonzero(mu))


def test_one_cell_is_assumption_4_5():
    """With one cell only the columns of M* count, whatever the other values emit."""
    found = prompt_memory_world(jax.random.key(3))
    condition = recoverable_for(found.world, found.mu, 0)
    assert condition.name.startswith("Assumption 4.5")
    W = np.array(found.world.W)
    irrelevant = np.flatnonzero(found.mu == 0)
    W[:, irrelevant] = W[:, [np.flatnonzero(found.mu)[0]]]
    same = recoverable_for(MemoryHMM(found.world.A, W, found.world.pM, found.world.p0), found.mu, 0)
    assert same.witness == condition.witness
    np.testing.assert_allclose(
        same.numbers["residuals"], condition.numbers["residuals"], atol=1e-12
    )


def test_independent_columns_recover_everything():
    world = world_of(
        np.random.default_rng(1).dirichlet(np.ones(9), size=(2, 2, 2)).transpose(3, 0, 1, 2)
    )
    condition = recoverable_states(world, 1)
    assert condition.witness == (0, 1)
    assert condition.numbers["rank"] == condition.numbers["columns"] == 8
    assert len(condition.numbers["singular_values"]) == 8


def test_a_failed_condition_says_why():
    found = overlapping_spans_world(jax.random.key(0))
    condition = recoverable_states(found.world, found.cell)
    assert not condition.holds
    assert condition.witness is None
    assert "span of the others" in condition.reason
    assert np.max(condition.numbers["residuals"]) > 1e-3


def test_a_chosen_set_must_be_admissible():
    found = recoverable_memory_world(jax.random.key(0), values=2, syntax=3, star=1)
    largest = recoverable_states(found.world, found.cell).witness
    outside = next(s for s in range(3) if s not in largest)
    condition = recoverable_states(found.world, found.cell, star=(outside,))
    assert not condition.holds
    assert str(largest) in condition.reason
    assert recoverable_states(found.world, found.cell, star=largest).holds
    assert not recoverable_states(found.world, found.cell, star=()).holds


def test_a_task_without_weights_is_vacuous():
    found = prompt_memory_world(jax.random.key(0), syntax=3)
    assert recoverable_for(found.world, np.zeros(3), found.cell).witness == (0, 1, 2)


def test_stationary_start():
    found = prompt_memory_world(jax.random.key(0))
    assert stationary(found.world).holds
    moved = nonstationary(found, jax.random.key(1)).world
    condition = stationary(moved)
    assert not condition.holds
    assert condition.numbers["drift"] == pytest.approx(np.abs(moved.A @ moved.p0 - moved.p0).sum())
    # Uniform is stationary for a rotation, but a rotation is periodic.
    W = np.full((2, 2, 3), 0.5)
    rotation = MemoryHMM(np.roll(np.eye(3), 1, axis=0), W, [0.5, 0.5], np.full(3, 1 / 3))
    condition = stationary(rotation)
    assert not condition.holds
    assert condition.numbers["drift"] == 0
    assert "no power of A" in condition.reason


def test_start_covered_by_the_first_position():
    """A state that is possible at 0 and never again cannot be repaired by a prompt."""
    W = np.full((2, 2, 2), 0.5)
    leaving = MemoryHMM([[0, 0], [1, 1]], W, [0.5, 0.5], [0.5, 0.5])
    condition = start_recurs(leaving)
    assert not condition.holds
    assert "state 0" in condition.reason
    found = nonstationary(prompt_memory_world(jax.random.key(2)), jax.random.key(2)).world
    ratio = np.asarray(found.p0) / (np.asarray(found.A) @ found.p0)
    assert start_recurs(found).numbers["kappa"] * ratio.max() == pytest.approx(1)


def test_states_are_cells_times_syntax():
    world = world_of(np.full((2, 2, 2, 3), 0.5))
    assert np.flatnonzero(star_states(world, 1, (0, 2))).tolist() == [3, 5]
    with pytest.raises(ValueError, match="star is"):
        star_states(world, 1, (3,))
    with pytest.raises(ValueError, match="the cell is 2; this world has cells"):
        recoverable_states(world, 2)
    with pytest.raises(ValueError, match="a cell has 2 values"):
        recoverable_for(world, np.ones(3), 0)
