"""Everything proved about VGB, on random trees with exact values and with errors."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import guided
from minicosm.theory.guided import PrefixTree
from minicosm.worlds import (
    GuidedWorld,
    Knapsack,
    biased_coin,
    biased_coin_table,
    needle,
    noisy_table,
    random_tree,
    some_zero,
)

from ..trials import Trees

STATEMENTS = (
    guided.stationary_law,
    guided.law_of_the_leaves,
    guided.mass_of_the_leaves,
    guided.least_mass_of_the_leaves,
    guided.masses_of_levels,
    guided.spectrum,
    guided.law_at_every_time,
    guided.gap_bounds,
    guided.time_to_the_root,
    guided.first_leaf,
    guided.first_leaf_of_exact_values,
    guided.spread_of_the_first_leaf,
    guided.plain_guidance,
    guided.scaled_levels,
)


def run(config: Trees, progress: Progress) -> TrialResult:
    ledger = Ledger()
    shapes = [
        (K, H)
        for K in (1, 2, 3)
        for H in range(1, 12)
        if sum(K**h for h in range(H + 1)) <= config.nodes
    ]
    start = jax.random.key(config.seed)
    for i, (K, H) in enumerate(shapes):
        progress(i, len(shapes), "random trees")
        for key in jax.random.split(jax.random.fold_in(start, i), config.draws):
            world_key, value_key = jax.random.split(key)
            zeros = 0.0 if K == 1 else 0.25
            world = random_tree(world_key, K, H, zero_laws=zeros, zero_tilts=zeros)
            if world.log_partition() > -np.inf:
                _world(ledger, world, value_key, config.steps)
    for world in (Knapsack((1, 2, 3, 4, 5, 6), 9).world(), some_zero(5), needle(4)):
        ledger.add(guided.sinclair_jerrum(world))
    for D in range(1, 13):
        ledger.add(guided.feasibility_stalls(D))
    for scale in (0.5, 1.0, 2.0):
        ledger.add(guided.scaled_below_the_leaves(biased_coin(5), scale))
    for key in jax.random.split(jax.random.fold_in(start, 77), max(config.draws, 4)):
        world_key, value_key = jax.random.split(key)
        world = random_tree(world_key, 2, 4)
        tree = PrefixTree(world, noisy_table(world, value_key, kappa=2.0))
        ledger.add(guided.holding_with_an_envelope(tree))
        ledger.add(guided.holding_on_rejection(tree))
    for H in (2, 4, 6):
        tree = PrefixTree(biased_coin(H), biased_coin_table(biased_coin(H), 0.5))
        ledger.add(guided.footnote_12_as_printed(tree))
        ledger.add(guided.no_convergence_without_laziness(tree))
        ledger.add(guided.convergence_with_laziness(tree))
    return ledger.result()


def _world(ledger: Ledger, world: GuidedWorld, key: PRNGKeyArray, steps: int) -> None:
    """Every statement with exact values, with two kinds of errors, and with errors at the leaves too."""
    keys = jax.random.split(key, 4)
    leaves = noisy_table(world, keys[0], kappa=2.0)
    factors = np.asarray(jax.random.uniform(keys[1], leaves.shape[1:], minval=-1, maxval=1))
    leaves[-1] += factors * np.log(2)
    tables = {
        "exact": world.log_values(),
        "kappa 4": noisy_table(world, keys[2], kappa=4.0),
        "sigma 0.5": noisy_table(world, keys[3], sigma=0.5),
        "leaves too": leaves,
    }
    for values, table in tables.items():
        tree = PrefixTree(world, table)
        for statement in STATEMENTS:
            ledger.add(statement(tree), values=values)
        ledger.add(guided.decay(tree, steps), values=values)
        ledger.add(guided.coverage(tree, steps), values=values)
