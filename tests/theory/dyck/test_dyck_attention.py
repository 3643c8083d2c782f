"""Variation of attention patterns and their likeness to a stack."""

import itertools

import numpy as np
import pytest

from minicosm.models import attention_patterns as attention
from minicosm.worlds import Dyck


def test_mean_variation_is_the_mean_over_pairs():
    patterns = np.random.default_rng(0).normal(size=(6, 2, 4, 5))
    pairs = itertools.combinations(patterns, 2)
    wanted = np.mean([((a - b) ** 2).sum(axis=(1, 2)) for a, b in pairs], axis=0)
    assert np.allclose(attention.mean_variation(patterns), wanted)
    assert np.allclose(
        attention.variation(patterns[0], patterns[1]),
        ((patterns[0] - patterns[1]) ** 2).sum((1, 2)),
    )
    each = attention.pairwise_variation(patterns)
    assert each.shape == (2, 6, 6)
    assert np.allclose(each[:, 0, 1], attention.variation(patterns[0], patterns[1]))
    assert np.allclose(each.sum(axis=(1, 2)) / 30, wanted)
    with pytest.raises(ValueError, match="at least 2"):
        attention.mean_variation(patterns[:1])


def test_random_variation_against_sampled_patterns():
    rng = np.random.default_rng(1)
    for n in (1, 4, 16):
        total = np.zeros(20_000)
        for i in range(n):
            a, b = rng.dirichlet(np.ones(i + 1), size=(2, len(total)))
            total += ((a - b) ** 2).sum(axis=1)
        error = total.std() / len(total) ** 0.5
        assert abs(total.mean() - attention.random_variation(n)) <= 4 * error + 1e-12
    assert [round(attention.random_variation(n), 3) for n in (15, 16, 19, 20)] == [
        2.886,
        2.997,
        3.295,
        3.386,
    ]


def test_stack_score_counts_closed_brackets_of_positive_depth():
    world = Dyck()
    tokens = np.array([0, 2, 3, 2, 3, 1, 0])  # ( [ ] [ ] ) (
    pattern = np.zeros((7, 7))
    pattern[np.arange(7), np.arange(7)] = 1.0
    pattern[2] = [0.7, 0.1, 0.2, 0, 0, 0, 0]  # the query ] at 2: top is position 0
    pattern[4] = [0.3, 0.1, 0.1, 0.1, 0.4, 0, 0]
    score = attention.stack_score(pattern[None], world, tokens[None])
    assert score.queries == 2 and np.isclose(score.mean, 0.5) and score.rate == 0.5
    with_start = np.pad(pattern, ((1, 0), (1, 0)))
    assert attention.stack_score(with_start[None], world, tokens[None]) == score
    padded = np.pad(pattern, ((0, 2), (0, 2)))
    assert attention.stack_score(padded[None], world, np.append(tokens, [4, 4])[None]) == score


def test_stack_score_of_several_patterns_and_strings_pools_their_queries():
    world = Dyck()
    tokens = np.array([[0, 2, 3, 1], [0, 0, 1, 0], [2, 0, 1, 1]])  # the last is no prefix
    patterns = np.random.default_rng(2).dirichlet(np.ones(4), size=(2, 2, 4))
    score = attention.stack_score(patterns, world, tokens[:2])
    on_top = patterns[:, [0, 1], [2, 2], [0, 0]]
    assert score.queries == 2 and np.allclose(score.mean, on_top.mean(axis=1))
    with pytest.raises(ValueError, match="string 2 is no prefix"):
        attention.stack_score(np.eye(4)[None].repeat(3, 0), world, tokens)


def test_stack_score_of_strings_without_queries_and_of_bad_input():
    world = Dyck()
    empty = attention.stack_score(np.eye(2)[None], world, np.array([[0, 1]]))
    assert empty.queries == 0 and np.isnan(empty.mean)
    with pytest.raises(ValueError, match="rows and columns"):
        attention.stack_score(np.eye(5)[None], world, np.array([[0, 1]]))
    with pytest.raises(ValueError, match="no prefix"):
        attention.stack_score(np.eye(2)[None], world, np.array([[0, 3]]))
