"""Samples have the exact law (chi-square at one fixed key, at a level of one in a million)."""

import itertools
from collections import Counter

import equinox as eqx
import jax
import numpy as np
import referee
from scipy import stats

from minicosm.worlds import HMM, MemoryHMM, full_rank_world, recoverable_memory_world

COUNT = 20_000


@eqx.filter_jit
def samples(world, key, length):
    return jax.vmap(lambda k: world.sample(k, length))(jax.random.split(key, COUNT))


def assert_law(drawn: list[tuple], law: dict[tuple, float]) -> None:
    """Counts against probabilities; what is impossible never occurs; rare outcomes are pooled."""
    counts = Counter(drawn)
    assert set(counts) <= {outcome for outcome, p in law.items() if p > 0}
    assert sum(law.values()) == 1 or abs(sum(law.values()) - 1) < 1e-9
    common = [outcome for outcome, p in law.items() if COUNT * p >= 5]
    observed = [counts[outcome] for outcome in common]
    expected = [COUNT * law[outcome] for outcome in common]
    rest = COUNT - sum(expected)
    if rest > 1e-6:
        observed.append(COUNT - sum(observed))
        expected.append(rest)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    assert stats.chi2.sf(statistic, len(expected) - 1) > 1e-6


def test_hmm_samples():
    """The joint law of hidden states 0..2 and tokens 1..2."""
    world = full_rank_world(jax.random.key(0), hidden=3, vocab=3)
    drawn = samples(world, jax.random.key(1), 2)
    assert drawn.tokens.shape == (COUNT, 2) and drawn.hidden.shape == (COUNT, 3)
    law = {}
    for path in itertools.product(range(3), repeat=3):
        for tokens in itertools.product(range(3), repeat=2):
            moves = world.p0[path[0]] * world.A[path[1], path[0]] * world.A[path[2], path[1]]
            law[(*path, *tokens)] = (
                moves * world.W[tokens[0], path[1]] * world.W[tokens[1], path[2]]
            )
    joint = np.concatenate([drawn.hidden, drawn.tokens], axis=1)
    assert_law([tuple(row) for row in joint.tolist()], law)


def test_memory_samples():
    """The joint law of the memory and the tokens, and of the hidden states alone."""
    world = recoverable_memory_world(jax.random.key(4), cells=2).world
    drawn = samples(world, jax.random.key(1), 2)
    assert drawn.memory.shape == (COUNT, 2) and drawn.hidden.shape == (COUNT, 3)
    chain = referee.of_memory(world)
    law = {}
    for c, memory in enumerate(chain.cells):
        alone = chain._replace(prior=np.eye(len(chain.cells))[c])
        for tokens, p in referee.sequence_law(alone, 2).items():
            law[(*memory, *tokens)] = chain.prior[c] * p
    joint = np.concatenate([drawn.memory, drawn.tokens], axis=1)
    assert_law([tuple(row) for row in joint.tolist()], law)

    walks = Counter()
    for _, path, weight in referee.paths(chain, 2):
        walks[path] += weight
    assert_law([tuple(row) for row in drawn.hidden.tolist()], dict(walks))


def test_one_key_one_sample():
    world = HMM.random(jax.random.key(0), hidden=3, vocab=4)
    first, again = (world.sample(jax.random.key(5), 20).tokens for _ in range(2))
    np.testing.assert_array_equal(first, again)
    alone = samples(world, jax.random.key(5), 20).tokens[7]
    key = jax.random.split(jax.random.key(5), COUNT)[7]
    np.testing.assert_array_equal(alone, world.sample(key, 20).tokens)
    memory = MemoryHMM.random(jax.random.key(0), memory=2)
    assert memory.sample(jax.random.key(1), 5).tokens.shape == (5,)
