"""Referees: the same questions answered by enumerating every hidden path, with no shared code.

A `Chain` is plain numbers: a list of equally valid emission matrices, one for each value of what is
drawn once per sequence (a single one for an ordinary HMM), and the prior over that list.
"""

import itertools
from typing import NamedTuple

import numpy as np


class Chain(NamedTuple):
    A: np.ndarray  # (H, H)
    p0: np.ndarray  # (H,)
    emissions: list[np.ndarray]  # one (V, H) for each configuration
    prior: np.ndarray  # (C,)
    cells: list[tuple[int, ...]]  # what each cell holds in each configuration


def of_hmm(world) -> Chain:
    return Chain(np.asarray(world.A), np.asarray(world.p0), [np.asarray(world.W)], np.ones(1), [()])


def of_memory(world) -> Chain:
    W = np.asarray(world.W)
    _, values, cells, syntax = W.shape
    memories = list(itertools.product(range(values), repeat=cells))
    emissions = [
        np.stack([W[:, m[h // syntax], h // syntax, h % syntax] for h in range(cells * syntax)], 1)
        for m in memories
    ]
    return Chain(
        np.asarray(world.A), np.asarray(world.p0), emissions, np.asarray(world.pM), memories
    )


def paths(chain: Chain, length: int):
    """Every (configuration, hidden path 0..length) with its probability."""
    states = range(len(chain.p0))
    for c, prior in enumerate(chain.prior):
        for path in itertools.product(states, repeat=length + 1):
            weight = prior * chain.p0[path[0]]
            for before, after in itertools.pairwise(path):
                weight = weight * chain.A[after, before]
            yield c, path, weight


class Answers(NamedTuple):
    probability: float
    conditionals: np.ndarray  # (T, V)
    hidden: np.ndarray  # (T+1, H)
    cells: np.ndarray  # (N, M)
    configurations: np.ndarray  # (C,)
    next_token: np.ndarray  # (V,)


def answers(chain: Chain, tokens, observed=None) -> Answers:
    """Everything a world answers about one sequence."""
    length, states, vocab = len(tokens), len(chain.p0), len(chain.emissions[0])
    observed = [True] * length if observed is None else observed
    total = 0.0
    conditionals = np.zeros((length, vocab))
    hidden = np.zeros((length + 1, states))
    configurations = np.zeros(len(chain.prior))
    following = np.zeros(vocab)
    for c, path, weight in paths(chain, length):
        W = chain.emissions[c]
        seen = [W[x, h] if o else 1.0 for x, h, o in zip(tokens, path[1:], observed, strict=True)]
        here = weight * np.prod(seen)
        total += here
        configurations[c] += here
        for i, h in enumerate(path):
            hidden[i, h] += here
        for i in range(length):
            others = weight * np.prod(seen[:i] + seen[i + 1 :])
            conditionals[i] += others * W[:, path[i + 1]]
        for h, arrow in enumerate(chain.A[:, path[-1]]):
            following += here * arrow * W[:, h]
    cell_count = len(chain.cells[0])
    values = 1 + max((m for memory in chain.cells for m in memory), default=0)
    cells = np.zeros((cell_count, values))
    for c, memory in enumerate(chain.cells):
        for j, m in enumerate(memory):
            cells[j, m] += configurations[c]
    return Answers(
        total, *map(_normalise, (conditionals, hidden, cells, configurations, following))
    )


def _normalise(weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def sequence_law(chain: Chain, length: int) -> dict[tuple[int, ...], float]:
    """The probability of every token sequence."""
    vocab = len(chain.emissions[0])
    return {
        tokens: answers(chain, tokens).probability
        for tokens in itertools.product(range(vocab), repeat=length)
    }


def supports(chain: Chain, rows: np.ndarray):
    """Which (configuration, state) pairs are possible; rows (T, C, H) of truth values."""
    length, count, states = rows.shape
    others = np.zeros((length, count, states), bool)
    start = np.zeros((count, states), bool)
    for c, path, weight in paths(
        Chain(chain.A > 0, chain.p0 > 0, chain.emissions, chain.prior > 0, chain.cells), length
    ):
        if not weight:
            continue
        seen = [rows[i, c, h] for i, h in enumerate(path[1:])]
        start[c, path[0]] |= all(seen)
        for i in range(length):
            others[i, c, path[i + 1]] |= all(seen[:i] + seen[i + 1 :])
    return others, start, start.any()
