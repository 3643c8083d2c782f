"""The exact decoders of a fertility world, measured as the trained ones are."""

from typing import Any

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models.exact_translator import ExactRefiner

from ..trials import Exact, Refining
from .measures import by_seed
from .training import Tests, refined


def run(config: Exact, progress: Progress) -> TrialResult:
    """Refinement by the exact posterior; seeds differ in the noise that it starts from."""
    tests = Tests(config.data, config.seed, config.tests)
    model = ExactRefiner(tests.world, config.keep)
    settings = Refining(seed=config.seed, candidates=config.candidates, rejecters=())
    seeds = []
    for i in range(config.seeds):
        progress(i, config.seeds, f"exact decoding, {config.data}")
        key = jax.random.fold_in(jax.random.key(config.seed), i)
        seeds.append(refined(model, tests, key, settings)[0])
    lengths = range(tests.world.shortest, tests.world.longest + 1)
    entropy = [_entropy(tests.world, L) for L in lengths]
    numbers = {"seeds": by_seed(seeds), "posterior_log_prob": -float(np.mean(entropy))}
    return TrialResult(numbers)


def _entropy(world: Any, L: int) -> float:
    """Of the target given the source: L phrases, each drawn by q (and turned by chance)."""
    q = world.q[world.q > 0]
    return float(-L * (q * np.log(q)).sum())
