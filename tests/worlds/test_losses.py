"""Optimal losses, against sums over all token sequences."""

import itertools

import jax
import numpy as np
import pytest
import referee
from scipy import stats

from minicosm.worlds import entropy_rate, full_rank_world, masked_loss, recoverable_memory_world

LENGTH, COUNT = 3, 4000
WORLDS = [
    pytest.param(
        lambda: full_rank_world(jax.random.key(0), hidden=2, vocab=3), referee.of_hmm, id="hmm"
    ),
    pytest.param(
        lambda: recoverable_memory_world(jax.random.key(0)).world, referee.of_memory, id="memory"
    ),
]


def assert_covers(interval, exact):
    """The exact value lies within five standard errors of the estimate."""
    assert interval.low <= interval.mean <= interval.high
    assert interval.count == COUNT
    error = (interval.high - interval.low) / 2 / stats.t.ppf(0.975, COUNT - 1)
    assert 0 < error < 0.05
    assert abs(interval.mean - exact) < 5 * error


@pytest.mark.parametrize(("make", "as_chain"), WORLDS)
def test_entropy_rate(make, as_chain):
    world = make()
    law = np.array(list(referee.sequence_law(as_chain(world), LENGTH).values()))
    exact = -np.sum(law * np.log(np.where(law > 0, law, 1))) / LENGTH
    assert_covers(entropy_rate(world, jax.random.key(1), length=LENGTH, count=COUNT), exact)


@pytest.mark.parametrize("masked", [1, 3])
@pytest.mark.parametrize(("make", "as_chain"), WORLDS)
def test_masked_loss(make, as_chain, masked):
    """The mean over sets of masked positions of E[-log P(X_i | visible)], i in the set."""
    world = make()
    chain = as_chain(world)
    exact = []
    for hidden in itertools.combinations(range(LENGTH), masked):
        observed = [i not in hidden for i in range(LENGTH)]
        for tokens, probability in referee.sequence_law(chain, LENGTH).items():
            if probability > 0:
                given = referee.answers(chain, tokens, observed).conditionals
                logs = [np.log(given[i, tokens[i]]) for i in hidden]
                exact.append(-probability * np.mean(logs))
    sets = len(list(itertools.combinations(range(LENGTH), masked)))
    interval = masked_loss(
        world, jax.random.key(2), rate=masked / LENGTH, length=LENGTH, count=COUNT
    )
    assert_covers(interval, np.sum(exact) / sets)


def test_bad_arguments_name_the_number():
    world = full_rank_world(jax.random.key(0))
    for call, number in [
        (lambda: entropy_rate(world, jax.random.key(0), length=0), "0"),
        (lambda: entropy_rate(world, jax.random.key(0), count=1), "1"),
        (lambda: masked_loss(world, jax.random.key(0), rate=1.5), "1.5"),
        (lambda: masked_loss(world, jax.random.key(0), rate=float("nan")), "nan"),
    ]:
        with pytest.raises(ValueError, match=number):
            call()
