"""How many directions of parameters every task leaves unseen, at nine sizes."""

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import identifiability as theory
from minicosm.worlds import doubly_stochastic_world

from ..trials import Worlds
from .worlds import key_of

SIZES = ((2, 2), (3, 2), (4, 2), (3, 3), (4, 3), (6, 3), (4, 4), (6, 4), (7, 5))


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i, (d, k) in enumerate(SIZES):
        progress(i, len(SIZES), f"{d} tokens, {k} states")
        for number in range(config.worlds):
            key = key_of(config, 10, i, number)
            world = doubly_stochastic_world(key, hidden=k, vocab=d)
            for name, entry in theory.ATLAS.items():
                statement = theory.unseen_directions(name, world, entry.tasks, entry.unseen(k))
                ledger.add(statement, "Atlas", task=name, d=d, k=k)
                if k == 2 and name in ("x2|x1", "pairs on 3"):
                    ledger.add(statement, f"Two states, {name}")
                if name in ("x3|x1,x2", "x2|x1,x3"):
                    ledger.add(statement, f"Unseen, {name}")
    return ledger.result()
