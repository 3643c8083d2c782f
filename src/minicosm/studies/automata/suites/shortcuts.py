"""Any automaton in logarithmic depth, counters and memories in one layer, and depths against lengths."""

from collections.abc import Callable
from math import ceil, log2

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import Theorem
from minicosm.theory import automata as theory
from minicosm.worlds import Semiautomaton, automata

from ..trials import Shortcuts

SHARPNESS = (16, 64, 256)  # lengths at which the least sharpness is looked for
WORD = "RRLRRRLL"  # of the picture of a scan, on a gridworld of four places
UNITS = (
    2_000_000  # of MLPs at all positions of an automaton's strings together, but at least 8 strings
)


def run(config: Shortcuts, progress: Progress) -> TrialResult:
    ledger = Ledger()
    tasks = [w for w in automata.source_tasks().values() if w.states <= config.most_states]
    worlds = [*tasks, *random_automata(config.seed, config.automata)]
    for done, world in enumerate(worlds):
        progress(done, len(worlds), "automata")
        count = int(np.clip(UNITS // (world.states**2 * max(config.lengths)), 8, config.strings))
        for length in config.lengths:
            theorem = theory.theorem_10(world, length)
            found = theorem.certify(count=count, seed=config.seed, all_up_to=16 * count)
            ledger.add(found, world=world.name)
            ledger.add(theory.theorem_10_sizes(world, length), world=world.name, length=length)
    _readout(ledger, config)
    _sharpness(ledger, config, progress)
    _one_layer(ledger, config)
    _depths(ledger, config, progress)
    return ledger.result()


def random_automata(seed: int, count: int) -> list[Semiautomaton]:
    """Tables of 1 to 6 states and 1 to 4 symbols, every transition uniform, any start."""
    drawn = []
    for i in range(count):
        rng = np.random.default_rng([seed, 1, i])
        states, symbols = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        table = rng.integers(0, states, (symbols, states))
        drawn.append(Semiautomaton(table, int(rng.integers(states)), name=f"random {i}"))
    return drawn


def _readout(ledger: Ledger, config: Shortcuts) -> None:
    """Permutation automata, where coordinates keep apart what they say."""
    for i in range(config.automata):
        rng = np.random.default_rng([config.seed, 2, i])
        states = int(rng.integers(2, 7))
        world = Semiautomaton([rng.permutation(states) for _ in range(2)])
        length = int(rng.choice([2, 4, 8, 16]))
        ledger.add(theory.theorem_10_readout_as_printed(world, length, count=50, seed=config.seed))


def _sharpness(ledger: Ledger, config: Shortcuts, progress: Progress) -> None:
    for i, length in enumerate(SHARPNESS):
        progress(i, len(SHARPNESS), "sharpness")
        if length > 4 * max(config.lengths):
            continue
        rng = np.random.default_rng([config.seed, 3, length])
        world = Semiautomaton([rng.permutation(5) for _ in range(3)])
        for hats in (True, False):
            found = theory.theorem_10_sharpness(
                world, length, hats=hats, count=50, seed=config.seed
            )
            ledger.add(found, hats=hats)


def _one_layer(ledger: Ledger, config: Shortcuts) -> None:
    """Lemmas 15 and 16 from every start."""
    for n in range(1, min(8, config.most_states) + 1):
        for start in range(n):
            counter = Semiautomaton(automata.cyclic(n).delta, start)
            memory = Semiautomaton(automata.memory(n).delta, start)
            for length in config.lengths:
                count = config.strings // 4
                strings = {"count": count, "seed": config.seed, "all_up_to": 16 * count}
                ledger.add(theory.lemma_15(counter, length).certify(**strings), states=n)
                ledger.add(theory.lemma_15_sizes(counter, length), states=n, length=length)
                ledger.add(theory.lemma_16(memory, length).certify(**strings), states=n)
                ledger.add(theory.lemma_16_sizes(memory, length), states=n, length=length)


# -- Definition 3 ---------------------------------------------------------------------------------

Construction = tuple[Callable[[Semiautomaton, int], Theorem], Callable[[int], int], int]


def constructions(world: Semiautomaton) -> dict[str, Construction]:
    """By name: theorem, the depth that it states at length T, and the longest strings that are run. What is
    stated of the cascade is that its depth is the same at every length."""
    cascade = len(theory.theorem_11(world, 1).construction.layers)
    return {
        "one step a layer": (theory.recurrence, lambda T: T, 256),
        "Theorem 10": (theory.theorem_10, lambda T: ceil(log2(T)), 1024),
        "Theorem 11": (theory.theorem_11, lambda T: cascade, 1024),
        "Theorem 12": (theory.theorem_12, lambda T: 2, 1024),
    }


def _depths(ledger: Ledger, config: Shortcuts, progress: Progress) -> None:
    """Every construction on a gridworld of four places at lengths 1, 2, 4, ...: its depth, and whether it is
    right."""
    world = automata.gridworld(4)
    built_by = constructions(world)
    lengths = [2**i for i in range(int(log2(config.longest)) + 1)]
    for done, length in enumerate(lengths):
        progress(done, len(lengths), "depths")
        for name, (theorem, depth, longest) in built_by.items():
            built = theorem(world, length)
            error = abs(len(built.construction.layers) - depth(length))
            details = {"depth": len(built.construction.layers), "length": length}
            stated = Theorem.identity("Definition 3, depth", error, within=0, details=details)
            ledger.add(stated, construction=name)
            if length <= longest:
                found = built.certify(count=20, seed=config.seed, all_up_to=256)
                ledger.add(found, "Definition 3, states", construction=name)
    network = theory.theorem_10(world, len(WORD)).construction
    word = np.array(["LR".index(letter) for letter in WORD])
    streams = [network.hidden(word, level) for level in range(len(network.layers) + 1)]
    functions = np.stack([x[-len(WORD) :, world.states : 2 * world.states] for x in streams])
    ledger.picture(scan=np.rint(functions).astype(int) - 1, word=word)
