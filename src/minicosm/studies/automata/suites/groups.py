"""Groups in constant depth: Lemmas 17 to 19, Theorems 14 and 16, Example 7, and Barrington's theorem."""

from itertools import product
from typing import Any

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import automata as theory

from ..trials import Groups
from . import named_groups as named

LONG = 128  # symbols of the long words


def run(config: Groups, progress: Progress) -> TrialResult:
    ledger = Ledger()
    parts = (_products, _wreath, _series, _long, _formulas)
    for done, part in enumerate(parts):
        progress(done, len(parts), part.__name__.strip("_"))
        part(ledger, config)
    ledger.add(theory.example_7())
    return ledger.result()


def _few(config: Groups, things: list) -> list:
    """All of them, or three."""
    return things if config.words >= 50 else things[:3]


def _products(ledger: Ledger, config: Groups) -> None:
    """Direct and semidirect products."""
    T = config.length
    for orders in _few(config, named.abelian_orders()):
        factors = [named.cyclic(n) for n in orders]
        name = " × ".join(f"C_{n}" for n in orders)
        found = theory.lemma_17(factors, T)
        ledger.add(found.certify(count=config.words, seed=config.seed), group=name)
        ledger.add(theory.lemma_17_sizes(factors, T), group=name)
    for split in _few(config, named.splits()):
        found = theory.lemma_18(split.N, split.H, split.phi, T)
        ledger.add(found.certify(count=config.words, seed=config.seed), group=split.name)
        ledger.add(theory.lemma_18_sizes(split.N, split.H, split.phi, T), group=split.name)


def _wreath(ledger: Ledger, config: Groups) -> None:
    T = config.length
    pairs = [(5, 2), (3, 5), *product(range(2, 8), repeat=2)]
    for n, p in _few(config, pairs):
        for lemma in (theory.lemma_19, theory.lemma_19_bias_as_printed):
            found = lemma(n, p, T).certify(count=config.words, seed=config.seed)
            ledger.add(found, n=n, p=p)
        ledger.add(theory.lemma_19_sizes(n, p, T), n=n, p=p)


def _series(ledger: Ledger, config: Groups) -> None:
    """Composition series, and what is compiled of them."""
    solvable = named.solvable_groups()
    for G in _few(config, [*solvable, *named.other_groups()]):
        ledger.add(theory.theorem_14(G, config.series, config.seed))
    for G in _few(config, solvable):
        found = theory.theorem_16(G, config.length)
        ledger.add(found.certify(count=config.words, seed=config.seed), group=G.name)
        ledger.add(theory.theorem_16_sizes(G, config.length), group=G.name)
        ledger.add(theory.theorem_16_recursion(G, config.length), group=G.name)


def _long(ledger: Ledger, config: Groups) -> None:
    """One group for each lemma on many words of 128 symbols."""
    rng = np.random.default_rng([config.seed, LONG])
    D_8 = next(split for split in named.splits() if split.name == "D_8")
    found = [
        (theory.lemma_17([named.cyclic(2), named.cyclic(3)], LONG), "C_2 × C_3"),
        (theory.lemma_18(D_8.N, D_8.H, D_8.phi, LONG), D_8.name),
        (theory.theorem_16(named.symmetric(3), LONG), "S_3"),
    ]
    for theorem, name in found:
        words = rng.integers(0, theorem.construction.symbols, (config.long, LONG))
        ledger.add(theorem.certify(inputs=words), group=name)
    wreath = theory.lemma_19(3, 2, LONG).certify(count=config.long, seed=config.seed)
    ledger.add(wreath, n=3, p=2)


# -- formulas ------------------------------------------------------------------------------------


def _formulas(ledger: Ledger, config: Groups) -> None:
    """All formulas of three inputs with conjunctions two deep, and random ones three deep; of some of them
    the words are also run through the network of Theorem 10."""
    rng = np.random.default_rng([config.seed, 5])
    two_deep = _few(config, formulas(2))
    compiled = theory.theorem_10(theory.five_points(), 16).construction
    through = set(rng.permutation(len(two_deep))[: config.words].tolist())
    for i, formula in enumerate(two_deep):
        ledger.add(theory.barrington_theorem(formula, compiled if i in through else None))
    longer = theory.theorem_10(theory.five_points(), 64).construction
    for _ in range(len(_few(config, [None] * 100))):
        ledger.add(theory.barrington_theorem(random_formula(rng, 3), longer))


def formulas(depth: int, inputs: int = 3) -> list[Any]:
    """Formulas with conjunctions nested at most so deep, one of every pair of equal halves: literals, and
    conjunctions of two of a lower depth, each also negated."""
    found: list[Any] = [f for i in range(inputs) for f in (i, ("not", i))]
    for _ in range(depth):
        halves = [(f, g) for at, f in enumerate(found) for g in found[at:]]
        both = [("and", f, g) for f, g in halves]
        found = list(dict.fromkeys([*found, *both, *(("not", f) for f in both)]))
    return found


def random_formula(rng: np.random.Generator, depth: int, inputs: int = 3) -> Any:
    """Conjunctions nested exactly so deep; a half is a shallower formula with probability 1/4."""
    if depth == 0:
        formula: Any = int(rng.integers(inputs))
    else:
        other = depth - 1 if rng.random() < 0.75 else int(rng.integers(depth))
        halves = [random_formula(rng, depth - 1, inputs), random_formula(rng, other, inputs)]
        formula = ("and", *(halves if rng.random() < 0.5 else reversed(halves)))
    return ("not", formula) if rng.random() < 0.5 else formula
