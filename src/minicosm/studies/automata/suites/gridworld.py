"""Gridworlds in two layers of attention: Algorithm 1, Lemmas 22 and 23, Theorem 12."""

from typing import Any

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import automata as theory
from minicosm.theory.automata.gridworld import Reading, algorithm_1
from minicosm.theory.automata.gridworld_reading import Printed
from minicosm.theory.automata.simulation import simulates
from minicosm.worlds import Semiautomaton, automata

from ..trials import Gridworlds

PRINTED: tuple[Printed, ...] = ("step 2(a)", "unmatched heads", "centre head", "output")
READINGS: tuple[Reading, ...] = ("count", "deep", "wide")
PATH = "LRLLRRLRLRRRLLLRRRLRRLLRLR"  # of the picture, on a gridworld of four places


def run(config: Gridworlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for done, S in enumerate(config.sizes):
        for start in range(S + 1):
            progress(done, len(config.sizes), f"S = {S}, start {start}")
            world = Semiautomaton(automata.gridworld(S + 1, stay=True).delta, start)
            if S <= 3:
                _all_paths(ledger, world, min(10, max(config.lengths)))
            for length in config.lengths:
                _paths(ledger, config, world, length)
    _squares(ledger, config)
    for length in range(1, 2 * max(config.lengths)):
        ledger.add(theory.theorem_12_margins(length))
    _picture(ledger)
    return ledger.result()


def _all_paths(ledger: Ledger, world: Semiautomaton, length: int) -> None:
    paths = theory.strings(world, length, 1)
    ledger.add(theory.algorithm_1_is_exact(world, paths), all=True)
    ledger.add(theory.lemma_22(world, paths), all=True)


def _paths(ledger: Ledger, config: Gridworlds, world: Semiautomaton, length: int) -> None:
    """Random paths, and such that stay at walls."""
    S, start = world.states - 1, int(world.start)
    row: dict[str, Any] = {"S": S, "start": start}
    paths = theory.strings(world, length, config.sequences, config.seed, all_up_to=0)
    ledger.add(theory.algorithm_1_is_exact(world, paths), all=False)
    ledger.add(theory.lemma_22(world, paths), all=False)
    few = paths[: max(5, config.sequences // 20)]
    ledger.add(theory.lemma_23(world, length, few), **row)
    ledger.add(theory.lemma_23(world, length, few, printed=True), **row)
    some = paths[: max(5, config.sequences // (1 if start == 0 else 4))]
    for read in READINGS:
        theorem = theory.theorem_12(world, length, read=read)
        ledger.add(theorem.certify(inputs=some), f"Theorem 12 ({read})", **row)
        hard = theorem.construction.as_hard(2)
        ledger.add(simulates(f"Theorem 12 ({read}, hard)", hard, world, few), **row)
        ledger.add(theory.theorem_12_sizes(world, length, read=read), **row, length=length)
    for part in PRINTED:
        printed = theory.theorem_12(world, length, read="deep", printed=part)
        ledger.add(printed.certify(inputs=some), **row)


def _squares(ledger: Ledger, config: Gridworlds) -> None:
    """Grids of two dimensions, as copies side by side."""
    for n in (2, 3, 4):
        world, length = automata.gridworld_2d(n), min(33, max(config.lengths))
        theorem = theory.theorem_12(world, length, shape=(n, n))
        found = theorem.certify(count=config.sequences, seed=config.seed, all_up_to=0)
        ledger.add(found, "Theorem 12, two dimensions", S=n - 1)


def _picture(ledger: Ledger) -> None:
    """One path of Grid_4 with what Algorithm 1 finds at its end, and the attention of the second layer."""
    world = automata.gridworld(4)
    moves = np.array(["LR".index(letter) for letter in PATH])
    found = algorithm_1(2 * moves[None] - 1, 3)
    network = theory.theorem_12(world, len(PATH)).construction
    ledger.picture(
        path=moves,
        states=theory.exact_states(world, moves[None])[0],
        sums=found.sums[0],
        suffix=np.array([found.start[0, -1], found.wall_at[0, -1], found.wall[0, -1]]),
        attention=network.attention(moves, 2)[:, :, 1:],
    )
