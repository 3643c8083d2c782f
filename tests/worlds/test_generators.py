"""Generated worlds have the property they promise, judged by ranks and supports computed here."""

import itertools

import jax
import numpy as np
import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import matrix_rank
from scipy.optimize import linprog

from minicosm.worlds import (
    HMM,
    balance_contrast,
    balance_dense,
    covered_world,
    degrade_rank,
    duplicate_columns_world,
    full_rank_world,
    harder_memory_world,
    nonstationary,
    overlapping_spans_world,
    position_one_world,
    prompt_memory_world,
    rank_deficient_world,
    recoverable_memory_world,
    separable_world,
    transient_world,
    uncovered_world,
)

SEEDS = range(30)


def keys():
    return [jax.random.key(seed) for seed in SEEDS]


def reaches_everything(A) -> bool:
    """Whether some power of A is positive, by counting walks far beyond Wielandt's bound."""
    walks = np.linalg.matrix_power((np.asarray(A) > 0).astype(object), len(A) ** 2 + 1)
    return bool((walks > 0).all())


def rank(columns) -> int:
    return int(matrix_rank(columns, tol=1e-9)) if columns.shape[1] else 0


def recoverable_syntax(world, cell, values=None) -> set[int]:
    """The syntax states of `cell` whose columns, for the given memory values, are all coloops:
    taking one away lowers the rank. `values` also restricts the columns that are counted."""
    _, all_values, cells, syntax = world.W.shape
    values = range(all_values) if values is None else values
    index = [
        (m, j, s)
        for m in range(all_values)
        for j in range(cells)
        for s in range(syntax)
        if j != cell or m in values
    ]
    columns = np.stack([world.W[:, m, j, s] for m, j, s in index], axis=1)
    whole = rank(columns)
    coloops = {
        name for k, name in enumerate(index) if rank(np.delete(columns, k, axis=1)) == whole - 1
    }
    return {s for s in range(syntax) if all((m, cell, s) in coloops for m in values)}


def in_R(world, cell, star_syntax, tokens) -> bool:
    """Definition (4.3): the tokens are possible, and some H_i is surely in H* given the others."""
    chain = referee.of_memory(world)
    rows = np.array([[W[x] > 0 for W in chain.emissions] for x in tokens])
    others, _, possible = referee.supports(chain, rows)
    star = np.isin(np.arange(world.hidden), [cell * world.W.shape[3] + s for s in star_syntax])
    return possible and any(not row.any(axis=0)[~star].any() for row in others)


@pytest.mark.parametrize(
    "make",
    [
        full_rank_world,
        lambda key: covered_world(key, sources=2).world,
        lambda key: recoverable_memory_world(key, cells=2).world,
        lambda key: prompt_memory_world(key, cells=2).world,
        lambda key: overlapping_spans_world(key).world,
        lambda key: transient_world(key).world,
        lambda key: rank_deficient_world(key, rank=3),
        uncovered_world,
    ],
)
def test_one_key_one_world_of_one_size(make):
    shapes = set()
    for key in keys():
        first, second = make(key).parameters(), make(key).parameters()
        shapes.add(tuple(value.shape for value in first.values()))
        for name, value in first.items():
            assert value.dtype == np.float64
            np.testing.assert_array_equal(value, second[name])
    assert len(shapes) == 1
    assert not np.array_equal(make(jax.random.key(0)).W, make(jax.random.key(1)).W)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(("hidden", "vocab"), [(4, 6), (5, 5), (1, 1)])
def test_full_rank_worlds(hidden, vocab, sparse):
    for key in keys():
        world = full_rank_world(key, hidden=hidden, vocab=vocab, sparse=sparse, max_cond=1e3)
        assert rank(world.W) == hidden == world.hidden and vocab == world.vocab
        assert np.linalg.cond(world.W) <= 1e3
        assert reaches_everything(world.A) and (world.p0 > 0).all()
        assert (world.W.sum(axis=1) > 0).all()


@pytest.mark.parametrize("size", [(8, 4, 3, 1), (8, 4, 3, 2), (10, 4, 4, 2)])
def test_covered_worlds(size):
    hidden, vocab, star, sources = size
    for key in keys():
        made = covered_world(key, hidden=hidden, vocab=vocab, star=star, sources=sources)
        reached = np.flatnonzero((made.world.A[:, list(made.sources)] > 0).any(axis=1))
        assert tuple(reached) == made.star and len(made.star) == star
        assert len(made.sources) == sources
        assert set(np.flatnonzero(made.mu)) <= set(made.star) and made.mu.any()
        assert rank(made.world.W[:, list(made.star)]) == star
        assert reaches_everything(made.world.A) and (made.world.p0 > 0).all()
        assert (made.world.W.sum(axis=1) > 0).all()


MEMORY_SIZES = [
    {"values": 2, "cells": 1, "syntax": 2, "star": 1},
    {"values": 2, "cells": 2, "syntax": 2, "star": 1},
    {"values": 3, "cells": 1, "syntax": 3, "star": 2},
    {"values": 2, "cells": 1, "syntax": 2, "star": 2},
    {"values": 2, "cells": 1, "syntax": 3, "star": 1, "vocab": 7, "exclusive": True},
]


@pytest.mark.parametrize("size", MEMORY_SIZES, ids=str)
def test_recoverable_worlds(size):
    some_zero = 0
    for key in keys():
        made = recoverable_memory_world(key, **size)
        world = made.world
        assert len(made.star_syntax) == size["star"]
        assert set(made.star_syntax) <= recoverable_syntax(world, made.cell)
        assert reaches_everything(world.A) and (world.p0 > 0).all()
        assert (made.mu > 0).any() and (made.mu < 0).any()
        assert (world.W.sum(axis=(1, 2, 3)) > 0).all()
        pairs = itertools.product(range(world.vocab), repeat=2)
        assert any(in_R(world, made.cell, made.star_syntax, pair) for pair in pairs)
        some_zero += (world.pM == 0).any()
    assert 0 < some_zero < len(SEEDS)


@pytest.mark.parametrize("size", [{}, {"cells": 2}, {"values": 4, "syntax": 3, "star": 2}], ids=str)
def test_prompt_worlds(size):
    for key in keys():
        made = prompt_memory_world(key, **size)
        world, relevant = made.world, np.flatnonzero(made.mu).tolist()
        assert len(relevant) == 2
        assert not recoverable_syntax(world, made.cell)
        assert set(made.star_syntax) <= recoverable_syntax(world, made.cell, relevant)
        assert np.abs(world.A @ world.p0 - world.p0).sum() < 1e-12
        assert reaches_everything(world.A) and (world.p0 > 0).all()
        pairs = itertools.product(range(world.vocab), repeat=2)
        assert any(in_R(world, made.cell, made.star_syntax, pair) for pair in pairs)

        moved = nonstationary(made, key)
        assert np.abs(world.A @ moved.world.p0 - moved.world.p0).sum() >= 0.1
        np.testing.assert_array_equal(moved.world.W, world.W)


def test_harder_worlds_hide_the_memory():
    world = harder_memory_world(jax.random.key(0), values=3, hidden=6, uninformative=4)
    assert world.W.shape == (10, 3, 1, 6) and world.configurations == 3
    np.testing.assert_array_equal(world.W[:, 0, :, 2:], world.W[:, 1, :, 2:])
    np.testing.assert_array_equal(world.W[:, 0, :, 2:], world.W[:, 2, :, 2:])
    assert np.abs(world.W[:, 0, :, :2] - world.W[:, 1, :, :2]).max() > 0.1
    sharp = harder_memory_world(jax.random.key(0), emission_temperature=0.01)
    assert world.W.max(axis=0).mean() < sharp.W.max(axis=0).mean() - 0.1


@pytest.mark.parametrize("wanted", range(1, 7))
def test_rank_deficient_worlds(wanted):
    for key in keys():
        world = rank_deficient_world(key, rank=wanted)
        assert rank(world.W) == len(np.unique(world.W, axis=1).T) == wanted
        assert reaches_everything(world.A)
        lowered = degrade_rank(full_rank_world(key, hidden=6, vocab=6), wanted, key)
        assert rank(lowered.W) == wanted


def test_duplicated_columns_defeat_the_head_of_theorem_3_3():
    for key in keys():
        world, mu = duplicate_columns_world(key)
        (plus,), (minus,) = np.flatnonzero(mu == 1), np.flatnonzero(mu == -1)
        np.testing.assert_array_equal(world.W[:, plus], world.W[:, minus])
        head = np.linalg.pinv(world.W).T @ (mu * world.p0 / (world.A @ world.p0))
        assert np.abs(head).max() < 1e-10


def test_transient_worlds():
    for key in keys():
        world, mu = transient_world(key)
        first = world.A @ world.p0
        assert world.p0[0] > 0 == first[0] and mu[0] == 1
        assert not reaches_everything(world.A) and not world.is_ergodic()
        assert rank(world.W) == world.hidden
        assert (world.W @ first)[0] > 0 == (world.W @ world.A @ first)[0]


def test_uncovered_worlds():
    for key in keys():
        world = uncovered_world(key)
        assert (world.A > 0).all() and world.hidden > world.vocab


def test_overlapping_spans():
    for key in keys():
        made = overlapping_spans_world(key)
        assert not recoverable_syntax(made.world, made.cell)
        pairs = itertools.product(range(made.world.vocab), repeat=2)
        assert any(in_R(made.world, made.cell, made.star_syntax, pair) for pair in pairs)


def test_position_one_world_has_the_printed_numbers():
    made = position_one_world()
    world = made.world
    np.testing.assert_allclose(world.A @ world.p0, world.p0, atol=1e-15)
    chosen = referee.answers(referee.of_memory(world), (2, 0, 0))
    np.testing.assert_allclose(chosen.cells, [[0.19974, 0.80026]], atol=5e-6)
    assert not recoverable_syntax(world, 0)
    assert 0 in recoverable_syntax(world, 0, [0])
    inverse = np.linalg.inv(world.W[:, 0, 0])  # columns of memory value 0
    np.testing.assert_allclose(inverse[0], [13, -12, 0], atol=1e-12)


@pytest.mark.parametrize("separable", [True, False])
def test_separable_world(separable):
    world, mu = separable_world(separable=separable)
    assert rank(world.W[:, :3]) == 2 and reaches_everything(world.A)
    # b . W_h >= 1 where mu > 0 and <= -1 where mu < 0, as a linear program
    laws = world.W[:, :3] * np.sign(mu[:3])
    found = linprog(np.zeros(4), A_ub=-laws.T, b_ub=-np.ones(3), bounds=(None, None))
    assert found.success == separable
    if separable:
        # Then (W^T b) * (A w) = mu * p0 with w on the states that move surely.
        b = found.x
        w = np.zeros(6)
        w[3:] = mu[:3] * world.p0[:3] / (b @ world.W[:, :3])
        assert (w >= 0).all()
        np.testing.assert_allclose((world.W.T @ b) * (world.A @ w), mu * world.p0, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_balanced_tasks_split_in_half(seed, size):
    rng = np.random.default_rng(seed)
    posteriors = rng.dirichlet(np.ones(size), size=100)
    mu = rng.normal(size=size)
    dense = balance_dense(mu, posteriors)
    assert (posteriors @ dense > 0).sum() == 50
    assert np.ptp(posteriors @ dense - posteriors @ mu) < 1e-12
    contrast = balance_contrast(0, size - 1, posteriors)
    assert (posteriors @ contrast > 0).sum() == 50
    assert np.flatnonzero(contrast).tolist() == [0, size - 1] and contrast[0] == 1


@pytest.mark.parametrize(
    ("call", "number"),
    [
        (lambda k: full_rank_world(k, hidden=7, vocab=6), "6"),
        (lambda k: full_rank_world(k, hidden=0), "0"),
        (lambda k: full_rank_world(k, hidden=6, vocab=6, max_cond=1.01), "1.01"),
        (lambda k: full_rank_world(k, max_cond=float("nan")), "nan"),
        (lambda k: covered_world(k, star=5), "5"),
        (lambda k: covered_world(k, star=1, sources=2), "2"),
        (lambda k: recoverable_memory_world(k, vocab=2), "2"),
        (lambda k: recoverable_memory_world(k, star=3), "3"),
        (lambda k: prompt_memory_world(k, values=2), "2"),
        (lambda k: harder_memory_world(k, uninformative=6), "6"),
        (lambda k: overlapping_spans_world(k, syntax=2), "1"),
        (lambda k: rank_deficient_world(k, rank=7), "7"),
        (lambda k: degrade_rank(full_rank_world(k), 5, k), "5"),
        (lambda k: degrade_rank(full_rank_world(k), 0, k), "0"),
        (lambda k: duplicate_columns_world(k, hidden=1), "1"),
        (lambda k: transient_world(k, hidden=2), "2"),
        (lambda k: transient_world(k, hidden=7), "6"),
        (lambda k: uncovered_world(k, hidden=4), "4"),
        (lambda k: balance_dense(np.ones(3), np.ones((2, 4))), "3"),
        (lambda k: balance_contrast(0, 4, np.ones((2, 4))), "4"),
        (lambda k: balance_contrast(1, 1, np.ones((2, 4))), "1"),
        (lambda k: balance_contrast(0, 1, np.array([[1.0, 0.0]])), "inf"),
    ],
)
def test_impossible_requests_name_the_number(unchecked_types, call, number):
    with pytest.raises(ValueError) as error:
        call(jax.random.key(0))
    assert number in str(error.value) and "\n" not in str(error.value)


def test_generated_worlds_stack():
    stacked = HMM.stack([full_rank_world(key) for key in keys()])
    assert stacked.W.shape == (30, 6, 4)
