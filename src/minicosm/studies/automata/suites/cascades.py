"""Automata as cascades: Lemmas 20 and 21, Theorems 11 and 15, Definition 8."""

from itertools import product
from typing import Any

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import Theorem
from minicosm.theory import automata as theory
from minicosm.worlds import Semiautomaton, automata

from ..trials import Cascades

LONG = 128  # symbols of the long words
WORDS = 60  # of one automaton


def run(config: Cascades, progress: Progress) -> TrialResult:
    ledger = Ledger()
    parts = (_resets, _decompositions, _wirings, _compiled, _solvable, _long, _depths, _pictures)
    for done, part in enumerate(parts):
        progress(done, len(parts), part.__name__.strip("_"))
        part(ledger, config, np.random.default_rng([config.seed, done]))
    return ledger.result()


def random_automaton(rng: np.random.Generator, most: int) -> Semiautomaton:
    """At most so many states and three symbols; every second symbol's map is a permutation or a reset more
    often than chance has it."""
    n, symbols = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
    rows = []
    for _ in range(symbols):
        kind = rng.random()
        if kind < 0.25:
            rows.append(rng.permutation(n))
        elif kind < 0.4:
            rows.append(np.full(n, rng.integers(n)))
        else:
            rows.append(rng.integers(0, n, n))
    return Semiautomaton(np.array(rows), int(rng.integers(n)))


def random_reset_automaton(rng: np.random.Generator) -> Semiautomaton:
    """Two to four states, one or two permutations, none to two resets."""
    n = int(rng.integers(2, 5))
    rows = [rng.permutation(n) for _ in range(rng.integers(1, 3))]
    rows += [np.full(n, rng.integers(n)) for _ in range(rng.integers(0, 3))]
    return Semiautomaton(np.array(rows), int(rng.integers(n)))


def words(world: Semiautomaton, length: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform words, and words with each symbol rare: resets come often, seldom and not at all."""
    rare = rng.integers(0, world.vocab, (WORDS, 1))
    uniform = rng.integers(0, world.vocab, (WORDS, length))
    often = rng.integers(0, world.vocab, (WORDS, length))
    kept = (often != rare) | (rng.random((WORDS, length)) < 0.1)
    others = (rare + 1 + rng.integers(0, max(world.vocab - 1, 1), (WORDS, length))) % world.vocab
    return np.concatenate([uniform, np.where(kept, often, others)])


def _resets(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """Permutation-reset automata: S_4 on its points, and random ones."""
    T = config.lengths[0] * 2
    four = [[1, 0, 2, 3], [1, 2, 3, 0], [2, 2, 2, 2]]
    circle = [[1, 2, 3, 0], [0, 3, 2, 1], [1, 1, 1, 1]]
    worlds = [Semiautomaton(rows, 1) for rows in (four, circle)]
    worlds += [random_reset_automaton(rng) for _ in range(max(1, config.automata // 4))]
    for world in worlds:
        found = theory.lemma_20(world, T)
        ledger.add(found.certify(inputs=words(world, T, rng)), states=world.states)
        ledger.add(theory.lemma_20_sizes(world, T), states=world.states)
        ledger.add(theory.lemma_20_size_as_printed(world, T), states=world.states)


def _decompositions(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """The holonomy decomposition of the library and of random automata of up to five states."""
    listed = list(library().values())
    for world in listed if config.automata >= 50 else listed[:3]:
        ledger.add(theory.theorem_15(world), automaton=world.name)
    for _ in range(config.automata):
        ledger.add(theory.theorem_15(random_automaton(rng, 5)), automaton="")


def library() -> dict[str, Semiautomaton]:
    """Every automaton of the library, at the sizes of the source."""
    more = (
        automata.flip_flop(),
        automata.memory(4),
        automata.gridworld_2d(3),
        automata.abab(),
        automata.permutation_automaton([[1, 2, 0, 3, 4], [0, 1, 3, 4, 2]], name="A_5 on 5 points"),
    )
    return automata.source_tasks() | {world.name: world for world in more}


def _wirings(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """Cascades with the wiring at the position before, and as printed at the same one."""
    T = config.lengths[0] * 2
    # A counter that advances if the stored bit is 1.
    by_hand = theory.cascade_of(
        [automata.memory(2), automata.cyclic(2)], [np.array([[0, 0, 0], [1, 1, 1]])]
    )
    drawn = [random_automaton(rng, 4) for _ in range(max(2, config.automata // 2))]
    cascades = [by_hand, *map(theory.krohn_rhodes, [automata.gridworld(3), *drawn])]
    for cascade in cascades:
        inputs = words(cascade.world, T, rng)
        deep = max(cascade.levels, default=0) > 1
        levels: dict[str, Any] = {"states": cascade.world.states, "several levels": deep}
        ledger.add(theory.lemma_21(cascade, T).certify(inputs=inputs), **levels)
        ledger.add(theory.lemma_21_sizes(cascade, T), **levels)
        if deep:
            ledger.add(theory.lemma_21_as_printed(cascade, T).certify(inputs=inputs), **levels)


def _compiled(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """Theorem 11 at several lengths: exact, and the depth does not grow."""
    drawn = [random_automaton(rng, 4) for _ in range(max(2, config.automata // 10))]
    named = [automata.gridworld(4), automata.flip_flop(), automata.dihedral(4)]
    for world in [*named, *drawn]:
        depths = []
        for T in config.lengths:
            found = theory.theorem_11(world, T)
            ledger.add(found.certify(inputs=strings_of(world, T, config)), automaton=world.name)
            depths.append(found.construction.audit().depth)
        growth = float(np.ptp(depths))
        ledger.add(
            Theorem.identity("Theorem 11, depth at all T", growth, within=0, cases=len(depths)),
            automaton=world.name,
            depth=depths[0],
        )
        ledger.add(theory.theorem_11_depth(world, config.lengths[-1]), automaton=world.name)
    for world in (automata.alternating(5), automata.symmetric(5)):
        ledger.add(theory.refused(world, 60), automaton=world.name)


def strings_of(world: Semiautomaton, length: int, config: Cascades) -> np.ndarray:
    """All strings where they are few, else some of every kind."""
    found = theory.strings(world, length, 2 * WORDS, config.seed)
    return found if len(found) <= 2**12 else found[:: len(found) // 2**12]


def _solvable(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """All automata of two symbols with at most three states, random ones with four; A_5 on five points."""
    sizes = (1, 2, 3) if config.automata >= 50 else (1, 2)
    for n in sizes:
        maps = list(product(range(n), repeat=n))
        for rows in product(maps, repeat=2):
            ledger.add(theory.definition_8(Semiautomaton(rows)), states=n)
    for _ in range(config.automata * 5 // 2):
        table = rng.integers(0, 4, (int(rng.integers(2, 4)), 4))
        ledger.add(theory.definition_8(Semiautomaton(table)), states=4)
    points = library()["A_5 on 5 points"]
    ledger.add(theory.refused(points, 60), "A_5 on five points", states=points.states)


def _long(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """One automaton for each construction on many words of 128 symbols."""
    resets = Semiautomaton([[1, 0, 2], [1, 2, 0], [1, 1, 1]], 0)
    found = [
        (theory.theorem_11(automata.gridworld(4), LONG), "Grid_4"),
        (theory.lemma_20(resets, LONG), "S_3 with a reset"),
    ]
    for theorem, name in found:
        inputs = rng.integers(0, theorem.construction.symbols, (config.long, LONG))
        ledger.add(theorem.certify(inputs=inputs), automaton=name)


# -- for figures -------------------------------------------------------------------------------------

CONSTRUCTIONS = {
    "one step a layer": theory.recurrence,
    "Theorem 10": theory.theorem_10,
    "Lemma 15": theory.lemma_15,
    "Lemma 16": theory.lemma_16,
    "Theorem 12": theory.theorem_12,
    "Theorem 11": theory.theorem_11,
}


def _depths(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """The depth of every construction for every automaton, each run on some strings; or which condition
    fails."""
    T = config.lengths[-1]
    listed = library()
    shown = (
        "C_2", "C_6", "flip-flop", "Grid_4", "Grid_9", "(abab)*", "Dyck_4,2", "D_8", "Q_8", "A_4", "S_4",
        "A_5", "S_5",
    )  # fmt: skip
    for name in shown if config.automata >= 50 else shown[:4]:
        world = listed[name]
        inputs = rng.integers(0, world.vocab, (12, T))
        for construction, theorem in CONSTRUCTIONS.items():
            found = theorem(world, T)
            row = {"automaton": name, "construction": construction, "length": T}
            if found.applies:
                run = found.certify(inputs=inputs)
                depth = found.construction.audit().depth
                ledger.measure("depths", **row, depth=depth, exact=run.holds, reason="")
            else:
                reason = found.failed()[0].reason
                ledger.measure("depths", **row, depth=None, exact=None, reason=reason)


def _pictures(ledger: Ledger, config: Cascades, rng: np.random.Generator) -> None:
    """Image sets and tiles of two automata, and where a word takes every state of three."""
    for name, world in (("grid", automata.gridworld(4)), ("abab", automata.abab())):
        found = theory.holonomy(world)
        big = np.flatnonzero(found.sets.sizes > 1)
        edges = [(P, tile) for P in big for tile in found.tiles_of(int(P))]
        ledger.picture(
            **{
                f"{name} members": found.sets.members,
                f"{name} classes": found.sets.classes,
                f"{name} heights": found.sets.heights,
                f"{name} edges": np.array(edges),
            }
        )
        for part in found.components:
            ledger.measure(
                f"{name} components",
                level=part.level,
                tiles=len(part.tiles),
                order=part.group.order,
                representative=list(part.representative),
            )
    for name, world in (
        ("gridworld", automata.gridworld(6)),
        ("dihedral", automata.dihedral(3)),
        ("memory", automata.memory(4)),
    ):
        inputs = np.asarray(world.sample(jax.random.key(config.seed), 14).tokens)
        before = np.arange(world.states)[None]
        flow = np.concatenate([before, np.asarray(world.maps(inputs))])
        ledger.picture(**{f"flow {name}": flow, f"word {name}": inputs})
