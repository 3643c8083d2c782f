"""Two tokens from one, and one from two: Theorem 7, Proposition 1, and the next token."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import identifiability as theory
from minicosm.worlds import HMM

from ..trials import Worlds
from .worlds import discrete_worlds

SIZES = ((2, 2), (3, 3), (4, 3), (8, 5), (12, 6))
LARGEST, MANY = (20, 8), 200  # of runs with more worlds than that
TASKS = (*theory.TWO_TOKENS, "x3|x1,x2")


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    sizes = SIZES if config.worlds <= MANY else (*SIZES, LARGEST)
    for i, world in discrete_worlds(config, 20, sizes, 0.1):
        progress(i, config.worlds, "worlds")
        for task in TASKS:
            ledger.add(theory.theorem_7(world, task), d=world.vocab, k=world.hidden)
        _kruskal(ledger, world)
        _degenerate(ledger, world)
        for task in ("x3|x1,x2", "x2|x1,x3"):
            if i < 4 * len(sizes):
                ledger.add(theory.unseen_directions(f"Unseen, {task}", world, task, 0))
    return ledger.result()


def _kruskal(ledger: Ledger, world: HMM) -> None:
    """The factors of all three tensors: they have full Kruskal rank, and are found again."""
    O, T = np.asarray(world.W), np.asarray(world.A)
    D = O.sum(axis=1)[:, None]
    for A, B, C in ((O @ T.T / D, O, O @ T), (O / D, O @ T.T, O @ T), (O @ T / D, O @ T.T, O)):
        statement = theory.proposition_1(A, B, C)
        ledger.add(statement)
        if world.hidden > 1:
            rank = [theory.kruskal_rank(factor) for factor in (A, B, C)]
            ledger.measure("Kruskal ranks", full=rank == [world.hidden] * 3)


def _degenerate(ledger: Ledger, world: HMM) -> None:
    """Two states that emit alike, and a chain without memory."""
    k = world.hidden
    alike = np.array(world.W)
    alike[:, 1] = alike[:, 0]
    for broken in (
        HMM(world.A, alike, world.p0),
        HMM(np.full((k, k), 1 / k), world.W, world.p0),
    ):
        for task in theory.TWO_TOKENS:
            ledger.add(theory.refuses_degenerate(broken, task))
