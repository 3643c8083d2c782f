"""What the worlds and tasks of the simulations (Appendix E) look like: which assumptions they satisfy."""

from functools import partial

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.linear_algebra import rank_test
from minicosm.theory.tuning import covering, covering_numeric
from minicosm.worlds import HMM, PosteriorTask

from ..trials import TOKENS, SimulatedWorlds


def run(config: SimulatedWorlds, progress: Progress) -> TrialResult:
    """A row for every world with one task, by size. `strict` is Assumption 3.5 as it stands; `numeric`
    counts transitions of at least .01 and singular values of at least 1e-3 of the largest."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for done, hidden in enumerate(config.sizes):
        progress(done, len(config.sizes), f"|H| = {hidden}")
        world_keys, task_keys = jax.random.split(
            jax.random.fold_in(root, hidden), (2, config.worlds)
        )
        with jax.enable_x64(True):
            draw = partial(HMM.random, hidden=hidden, vocab=TOKENS)
            worlds = jax.tree.map(np.asarray, jax.jit(jax.vmap(draw))(world_keys)).unstack()
            task = jax.vmap(lambda key, size=hidden: PosteriorTask.random(key, size).mu)
            rows = np.asarray(jax.jit(task)(task_keys))
        for world, mu in zip(worlds, rows[:, 1] - rows[:, 0], strict=True):
            test = rank_test(world.W)
            ledger.measure(
                f"|H|={hidden}",
                strict=covering(world, mu).holds,
                numeric=covering_numeric(world, mu).holds,
                independent=test.rank == hidden,
                usable=test.rank == hidden and not test.degenerate,
                shared=len(np.unique(world.W.argmax(axis=0))) < hidden,
                emission=float(world.W.max(axis=0).mean()),
                transition=float(world.A.max(axis=0).mean()),
            )
    return ledger.result()
