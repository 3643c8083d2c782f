"""Constrained generation without a verifier and with one: parity, knapsack, needle, some zero."""

from collections.abc import Iterator
from itertools import product

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import guided
from minicosm.theory.guided import Backtracking
from minicosm.worlds import Knapsack, lagged_error, noisy_table, random_tree

from ..trials import Constraints

BITS = (1, 2, 3, 5, 8)
SECRETS = 16  # of each number of bits, at most


def run(config: Constraints, progress: Progress) -> TrialResult:
    ledger = Ledger()
    parts = (_parity, _knapsack, _needle, _backtracking)
    for i, part in enumerate(parts):
        progress(i, len(parts), part.__name__.strip("_"))
        part(config, ledger)
    return ledger.result()


def _parity(config: Constraints, ledger: Ledger) -> None:
    for D in BITS:
        key = jax.random.fold_in(jax.random.key(config.seed), D)
        secrets = list(product((0, 1), repeat=D - 1))
        chosen = np.random.default_rng([config.seed, D]).permutation(len(secrets))[:SECRETS]
        secrets = [secrets[i] for i in chosen]
        ledger.add(guided.theorem_3_1_1_as_printed(D))
        ledger.add(guided.theorem_3_1_1(D))
        ledger.add(guided.short_queries(secrets))
        counts = np.concatenate(
            [
                guided.searches(secret, jax.random.fold_in(key, i), config.searches // len(secrets))
                for i, secret in enumerate(secrets)
            ]
        )
        mean, exact = float(counts.mean()), guided.theorem_3_1_1(D).details["queries"]
        error = float(counts.std() / np.sqrt(len(counts)))
        distance = abs(mean - exact) / error if error else float(np.where(mean == exact, 0, np.inf))
        ledger.measure("searches", D=D, mean=mean, error=error, distance=distance)
        for secret in secrets:
            ledger.add(guided.verifier_calls(secret))


def _instances(config: Constraints) -> Iterator[Knapsack]:
    """Edge cases, random instances with a solution, and the same weights with any target."""
    yield Knapsack(tuple(range(1, 13)), 39)
    yield from (Knapsack((0, 0, 3), 0), Knapsack((2, 4, 6), 5), Knapsack((0, 0), 1))
    yield from (Knapsack((5,), 5), Knapsack((7, 1), 100))
    rng, key = np.random.default_rng([config.seed, 31]), jax.random.key(config.seed)
    for i in range(config.knapsacks):
        size, largest = int(rng.integers(1, 15)), int(rng.choice([5, 50, 10**6]))
        drawn = Knapsack.random(jax.random.fold_in(key, i), size, largest)
        yield drawn
        yield Knapsack(drawn.weights, int(rng.integers(0, sum(drawn.weights) + 2)))


def _knapsack(config: Constraints, ledger: Ledger) -> None:
    for instance in _instances(config):
        ledger.add(guided.theorem_3_1_2(instance), density=instance.density)
        ledger.add(guided.tokenwise_calls_of_uniform_bits(instance.world()))
    rng = np.random.default_rng([config.seed, 32])
    for key in jax.random.split(jax.random.key(config.seed), config.knapsacks):
        drawn = Knapsack.superincreasing(key, int(rng.integers(1, 13)))
        ledger.add(guided.superincreasing_weights(drawn))
        other = Knapsack(drawn.weights, int(rng.integers(0, sum(drawn.weights) + 1)))
        ledger.add(guided.superincreasing_weights(other))


def _needle(config: Constraints, ledger: Ledger) -> None:
    for D in range(1, 13):
        ledger.add(guided.proposition_3_1_1(D))
    for D in range(1, 9):
        ledger.add(guided.proposition_3_1_2(D))


def _backtracking(config: Constraints, ledger: Ledger) -> None:
    """Algorithm 1 where mistakes are noticed late, and on random trees with any scores."""
    for D, position, lag, chance in ((8, 3, 2, 0.3), (7, 2, 1, 0.1), (6, 1, 3, 0.45)):
        for quota, stride in product((1, 2, 4), range(1, D)):
            for settings in (
                Backtracking(quota, stride),
                Backtracking(quota, stride, refill="none"),
            ):
                ledger.add(guided.lagged_errors(D, position, lag, chance, settings))
        ledger.add(
            guided.query_count(*lagged_error(D, position, lag, chance), Backtracking(1, lag + 1))
        )
    for i, (quota, stride) in enumerate(product((1, 2, 4), (1, 2, 4))):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), i))
        world = random_tree(keys[0], 2, 4)
        table = noisy_table(world, keys[1], kappa=4.0)
        for settings in (
            Backtracking(quota, stride),
            Backtracking(quota, stride, check_during_refill=True),
        ):
            ledger.add(guided.query_count(world, table, settings))
