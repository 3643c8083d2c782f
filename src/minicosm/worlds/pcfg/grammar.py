"""Layered grammars: every symbol has a height, and every rule leads from one height to the next below it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..arrays import check_choice, check_count, check_size, short

MOST_TOKENS = 4096


@dataclass(frozen=True)
class Layer:
    """The symbols of one height and their rules; children are numbered within the height below."""

    symbols: tuple[int, ...]
    parents: tuple[int, ...]
    """Of each rule, the number of its symbol within `symbols`."""
    children: tuple[tuple[int, ...], ...]
    probabilities: tuple[float, ...]

    @property
    def most_children(self) -> int:
        return max(map(len, self.children))


@dataclass(frozen=True)
class Grammar:
    """Layers from the one above the terminals up to that of the root, and the terminals."""

    terminals: tuple[int, ...]
    layers: tuple[Layer, ...]

    @property
    def height(self) -> int:
        """Of the root; terminals have height 1."""
        return len(self.layers) + 1

    @cached_property
    def lengths(self) -> tuple[Float[np.ndarray, "symbols n"], ...]:
        """`[h - 1][A, n] = P[A of height h derives n tokens]`, by convolution, layer by layer."""
        found = [np.tile([0.0, 1.0], (len(self.terminals), 1))]
        for layer in self.layers:
            below = found[-1]
            most = layer.most_children * (below.shape[1] - 1)
            law = np.zeros((len(layer.symbols), most + 1))
            for parent, children, p in _rules(layer):
                total = np.ones(1)
                for child in children:
                    total = np.convolve(total, below[child])
                law[parent, : len(total)] += p * total
            longest = int(np.flatnonzero(law.any(axis=0))[-1])
            found.append(law[:, : longest + 1])
        return tuple(found)

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The fewest and the most tokens that a symbol of height 1, 2, ... derives."""
        found = []
        for law in self.lengths:
            possible = np.flatnonzero(law.any(axis=0))
            found.append((int(possible[0]), int(possible[-1])))
        return tuple(found)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The largest number of nodes of height 1, 2, ..., up to the root's 1."""
        most: dict[int, np.ndarray] = {}
        for target in range(1, self.height):
            # The most nodes of height `target` under each symbol, from below.
            size = np.full(
                self._width(target), 1, object
            )  # Python's integers, which do not overflow
            for layer in self.layers[target - 1 :]:
                above = np.full(len(layer.symbols), 0, object)
                for parent, children, _ in _rules(layer):
                    above[parent] = max(above[parent], int(size[list(children)].sum()))
                size = above
            most[target] = size
        found = [int(most[target][0]) for target in range(1, self.height)]
        return (*found, 1)

    def _width(self, height: int) -> int:
        return len(self.terminals if height == 1 else self.layers[height - 2].symbols)

    @cached_property
    def entropy(self) -> float:
        """Of a derivation, in nats."""
        below = np.zeros(len(self.terminals))
        for layer in self.layers:
            above = np.zeros(len(layer.symbols))
            for parent, children, p in _rules(layer):
                above[parent] += p * (below[list(children)].sum() - np.log(p))
            below = above
        return float(below[0])

    @cached_property
    def mean_length(self) -> float:
        law = self.lengths[-1][0]
        return float(law @ np.arange(len(law)))


def _rules(layer: Layer) -> Any:
    return zip(layer.parents, layer.children, layer.probabilities, strict=True)


def layered(
    rules: Mapping[int, Sequence[Sequence[int]]],
    root: int,
    probabilities: Mapping[int, Sequence[float]] | None = None,
) -> Grammar:
    """The grammar of these rules; rules of a symbol are equally likely unless probabilities are given.

    Raises one sentence where a symbol cannot be reached from the root, derives nothing, derives itself, or
    has rules that lead to symbols of different heights.
    """
    checked = _checked(rules, probabilities)
    heights = _heights(checked, _symbol("root", root, checked))
    unreachable = sorted(set(checked) - set(heights))
    if unreachable:
        raise ValueError(
            f"the symbol {unreachable[0]} cannot be reached from the root {root}; leave its rules out"
        )
    by_height: dict[int, list[int]] = {}
    for symbol, height in heights.items():
        by_height.setdefault(height, []).append(symbol)
    levels = [tuple(sorted(by_height[h])) for h in range(1, heights[root] + 1)]
    layers = []
    for below, symbols in pairwise(levels):
        rows = [
            (i, tuple(below.index(child) for child in children), p)
            for i, symbol in enumerate(symbols)
            for children, p in checked[symbol]
        ]
        parents, kids, chances = zip(*rows, strict=True)
        layers.append(Layer(symbols, parents, kids, chances))
    made = Grammar(levels[0], tuple(layers))
    check_size(f"a sentence of up to {made.counts[0]} tokens", made.counts[0], MOST_TOKENS)
    return made


Rules = dict[int, list[tuple[tuple[int, ...], float]]]


def _symbol(name: str, value: Any, rules: Rules) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value not in rules:
        raise ValueError(f"{name} is {short(value)}; it must be a symbol that has rules")
    return int(value)


def _checked(rules: Any, probabilities: Any) -> Rules:
    if not isinstance(rules, Mapping) or not rules:
        raise ValueError(f"rules is {short(rules)}; it must map symbols to lists of children")
    if probabilities is not None and not isinstance(probabilities, Mapping):
        raise ValueError(
            f"probabilities is {short(probabilities)}; it must map symbols to lists of numbers"
        )
    found: Rules = {}
    for symbol, alternatives in rules.items():
        check_count("a symbol of rules", symbol, least=0)
        if not isinstance(alternatives, list | tuple) or not alternatives:
            raise ValueError(
                f"rules[{symbol}] is {short(alternatives)}; a symbol without rules derives nothing"
            )
        chances = [1 / len(alternatives)] * len(alternatives)
        if probabilities is not None and symbol in probabilities:
            chances = _law(symbol, probabilities[symbol], len(alternatives))
        rows = []
        for children, p in zip(alternatives, chances, strict=True):
            if not isinstance(children, list | tuple) or not children:
                raise ValueError(
                    f"rules[{symbol}] has {short(children)}; a rule must have at least one child"
                )
            for child in children:
                check_count(f"a child of {symbol} in rules", child, least=0)
            if p > 0:
                rows.append((tuple(int(child) for child in children), float(p)))
        found[int(symbol)] = rows
    if probabilities is not None and set(probabilities) - set(found):
        extra = sorted(set(probabilities) - set(found))[0]
        raise ValueError(f"probabilities has the symbol {extra}, which has no rules")
    return found


def _law(symbol: int, values: Any, count: int) -> list[float]:
    try:
        law = np.asarray(values, float)
    except (ValueError, TypeError):
        law = np.zeros(0)
    bad = law.shape != (count,) or not np.isfinite(law).all() or (law < 0).any()
    if bad or abs(law.sum() - 1) > 1e-8:
        raise ValueError(
            f"probabilities[{symbol}] is {short(values)}; it must be {count} probabilities that sum to 1"
        )
    return law.tolist()


def _heights(rules: Rules, root: int) -> dict[int, int]:
    """The height of every symbol that the root leads to."""
    heights: dict[int, int] = {}
    open_symbols: list[int] = []

    def visit(symbol: int) -> int:
        if symbol in heights:
            return heights[symbol]
        if symbol in open_symbols:
            raise ValueError(f"the symbol {symbol} derives itself; a layered grammar has no cycles")
        if symbol not in rules:
            heights[symbol] = 1
            return 1
        if len(open_symbols) > 64:
            raise ValueError("rules lead more than 64 layers down; there may be at most 64")
        open_symbols.append(symbol)
        below = {visit(child) for children, _ in rules[symbol] for child in children}
        open_symbols.pop()
        if len(below) != 1:
            raise ValueError(
                f"rules[{symbol}] lead to symbols of the heights {sorted(below)}; in a layered grammar "
                "all have the same"
            )
        heights[symbol] = below.pop() + 1
        return heights[symbol]

    visit(root)
    return heights


# -- the grammars of the source --------------------------------------------------------------------

NAMED = {
    "cfg3b": """22:21 20|20 19 21:18 16|16 18 17 20:17 16 18|16 17 19:16 17 18|17 18 16
        18:15 14 13|14 13 17:14 13 15|15 13 14 16:15 13|13 15 14
        15:12 11 10|11 12 10 14:11 10 12|10 11 12 13:11 12|12 11
        12:8 9 7|9 7 8 11:8 7 9|7 8 9 10:7 9 8|9 8 7 9:3 2 1|2 1 8:3 2|3 1 2 7:3 1|1 2 3""",
    "cfg3i": """22:19 19 20|21 20 19 21:16 16 18|18 17 20:17 16 17|18 18 19:18 16 18|16 16
        18:14 15 13|14 15 17:15 15|15 14 16:13 13|14 14
        15:11 11 10|11 10 12 14:10 10 10|10 10 13:12 11|10 12 11
        12:7 9 9|8 7 11:7 7 7|7 7 8 10:8 7 7|9 9 9:1 1 3|1 2 8:1 1|2 2 7:3 1 2|2 3 1""",
    "cfg3h": """22:20 20 21|19 21 21:17 17 18|17 18 17 20:18 16|17 16 19:16 17|18 17
        18:15 13 13|15 14 14|14 15 15 17:13 14|15 13 15 16:14 13|15 13
        15:10 12|11 11 10 14:10 12 12|10 10|12 12 10 13:12 11|11 10
        12:7 9|8 7|9 8 11:8 7 7|7 7|7 9 9 10:8 7 9|9 7|8 8
        9:2 1 3|1 3 3 8:1 2|3 3 1|1 3 7:2 3 2|1 2 3|1 3 1""",
    "cfg3g": """22:19 20|20 20 19|20 19 21 21:16 16|16 16 18|18 16 20:16 17|18 18|16 17 17
        19:17 17 16|18 17 16|18 16 17 18:15 13|15 15|14 13 15 17:14 13 14|14 15 13|15 14
        16:14 13 13|13 14|13 13 15:10 11|12 10 10|12 11 14:11 12|10 11 10|10 10
        13:10 12|11 11 11|11 11 12:7 9|7 8|9 9 9 11:8 8 9|9 7|8 9 7 10:8 8 8|7 7 7|7 7
        9:2 3 3|2 3|2 1 8:1 3 2|1 3|3 3 1 7:2 3 1|1 1|2 2""",
    "cfg3f": """22:20 21|20 19 21|21 19 19|20 20 21:18 17|17 16|16 17 18|16 18 20:16 16|16 17|17 16 18
        19:18 16 18|17 18|18 18 18:14 15 13|15 13 13|13 15 17:15 14 13|14 15|15 14
        16:15 15|13 15 13|14 13|14 14 15:10 11 11|11 11 10|10 10|12 12 11
        14:10 12|12 10 12|12 11|10 12 12 13:11 12|12 11 12|10 12 11
        12:7 9 7|9 8|8 8 9 11:8 8|9 7|9 7 7 10:8 9 9|9 7 9|7 9 9
        9:1 2 1|3 3|1 1 8:3 1 1|1 2|3 3 1 7:2 2 1|3 2 2|3 1 2|3 2""",
}
"""Rules of the five grammars of the source (its Figure 4.23), `symbol:children|children`; 1, 2, 3 are
tokens."""
NAMED["cfg3b_released"] = NAMED["cfg3b"].replace("9:3 2 1|2 1", "9:3 2 1")
"""As in the authors' code release, which lacks one rule of the symbol 9; its sentences are longer than those
whose lengths the source prints."""


def named_rules(name: str, below: int = 22) -> dict[int, list[list[int]]]:
    """The rules of a grammar of the source, of those symbols that can be reached from `below`."""
    check_choice("name", name, tuple(NAMED))
    rules: dict[int, list[list[int]]] = {}
    symbol = 0
    for word in NAMED[name].split():
        head, _, rest = word.rpartition(":")
        if head:
            symbol = int(head)
            rules[symbol] = [[]]
        first, *others = rest.split("|")
        rules[symbol][-1].append(int(first))
        rules[symbol] += [[int(other)] for other in others]
    return reached(rules, below)


def reached(rules: dict[int, list[list[int]]], below: int) -> dict[int, list[list[int]]]:
    """The rules of those symbols that can be reached from one."""
    if isinstance(below, bool) or not isinstance(below, int | np.integer) or below not in rules:
        raise ValueError(f"below is {short(below)}; it must be a symbol in {min(rules)}..22")
    found, todo = set(), [int(below)]
    while todo:
        symbol = todo.pop()
        if symbol in rules and symbol not in found:
            found.add(symbol)
            todo += [child for children in rules[symbol] for child in children]
    return {symbol: rules[symbol] for symbol in sorted(found)}


def quantiles(law: Float[np.ndarray, " n"], levels: Sequence[float]) -> Int[np.ndarray, " q"]:
    """The least n with at least such a share of the law up to it."""
    return np.searchsorted(np.cumsum(law), np.asarray(levels) - 1e-12)
