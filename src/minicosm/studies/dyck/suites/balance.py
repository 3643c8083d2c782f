"""Balance: its projector and its measure."""

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import Theorem
from minicosm.theory.dyck import balance, exact_dyck, first_weights, token_depth_embedding
from minicosm.worlds import Dyck

from ..trials import Exact
from .worlds import balanced, worlds

NOISE = 0.1


def run(config: Exact, progress: Progress) -> TrialResult:
    """The projector in worlds of many sizes; the violation of exact weights and of shifted logits."""
    ledger = Ledger()
    for world in worlds(config):
        for kind in ("onehot", "sum", "yao", "random"):
            rng = np.random.default_rng([config.seed, world.types, world.depth])
            E = token_depth_embedding(world, kind, seed=config.seed)
            M, other = rng.normal(size=(2, E.shape[1], E.shape[1]))
            ledger.add(balance.nearest_balanced(M, E, world, other))
        E = token_depth_embedding(world)
        ledger.add(balance.balance_dimension(E, world))
    _violations(config, ledger, progress)
    return ledger.result()


def _violations(config: Exact, ledger: Ledger, progress: Progress) -> None:
    world = Dyck()
    E = token_depth_embedding(world)
    m = len(E)
    with jax.enable_x64(True):
        violation = jax.jit(lambda M, V: balance.balance_violation(E, M, V, world))
        for i in range(4 * config.draws):
            progress(i, 4 * config.draws, "balance violation")
            rng = np.random.default_rng([config.seed, i])
            M = balanced(world, E, 1.0, rng)
            _, _, V = first_weights(exact_dyck(world, E, M))
            exact = violation(M, V)
            ledger.add(Theorem.identity("violation of an exact model", float(exact.largest)))
            noisy = M + NOISE * rng.normal(size=(m, m))
            shift = np.ones((m, 1)) * rng.normal(size=m)  # a constant of the query's on every logit
            moved = abs(float(violation(noisy + shift, V).mean) - float(violation(noisy, V).mean))
            ledger.add(Theorem.identity("violation of shifted logits", moved))
