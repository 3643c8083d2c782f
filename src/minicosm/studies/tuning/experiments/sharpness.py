"""How sharp softmax attention must be to do what the hard head of Theorem 4.3 does.

Worlds of Assumption 4.2 with markers and gates; for sequences in R the hard head's scores are exact.
Scores are multiplied by lambda and put through a softmax. For every lambda: the share of labels right
on R, and the largest and mean difference from the hard score there, with the mean of its bound.
"""

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import both_scores, sample_sequences
from minicosm.theory.tuning import (
    in_scope,
    soft_attention,
    softmax_bound,
    star_states,
    theorem_4_3,
)
from minicosm.worlds import PosteriorTask, recoverable_memory_world

from ..extension_trials import Sharpness

CLEAR = 1e-9  # labels are compared where the exact score is farther from zero than this


def run(config: Sharpness, progress: Progress) -> TrialResult:
    """The bound on every sequence, and rows named after lambda, one per world."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds with recoverable states")
        world_key, token_key = jax.random.split(jax.random.fold_in(root, i))
        world, mu, cell, _ = recoverable_memory_world(
            world_key, values=config.values, syntax=config.syntax, star=config.star
        )
        task = PosteriorTask(mu, "cell", cell=cell)
        theorem = theorem_4_3(world, task)
        sequences = sample_sequences(world, token_key, config.length, config.sequences)
        star = star_states(world, cell, theorem.conditions[0].witness)
        inside = in_scope(world, sequences, star).inside
        found = soft_attention(world, theorem.construction, sequences, config.lambdas)
        ledger.add(softmax_bound(found))
        exact, hard = both_scores(world, task, theorem.construction, sequences).T
        clear = inside & (np.abs(exact) > CLEAR)
        if not clear.any():
            continue
        right = (hard >= 0)[clear] == (exact >= 0)[clear]
        ledger.measure("hard head", right=float(right.mean()), compared=int(clear.sum()))
        bound = np.minimum(found.bound, found.value_range)
        for k, rate in enumerate(config.lambdas):
            same = (found.soft[k] >= 0)[clear] == (exact >= 0)[clear]
            ledger.measure(
                f"lambda {rate:g}",
                right=float(same.mean()),
                largest=float(found.error[k][inside].max()),
                mean=float(found.error[k][inside].mean()),
                bound=float(bound[k][inside].mean()),
            )
    return ledger.result()
