"""The transformation semigroup of an automaton: all maps of its states that words make."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from minicosm.adaptation.checks import check_whole
from minicosm.worlds import Semiautomaton
from minicosm.worlds.arrays import check_whole_numbers

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition

MOST_MAPS = 2**16
"""How many maps of states are listed."""


@dataclass(frozen=True, eq=False)
class Semigroup:
    """`T(A)`: the distinct maps `delta(., s_{1:t})`, t >= 1, in the order of their shortest words."""

    maps: Int[np.ndarray, "n states"]
    before: Int[np.ndarray, " n"]
    """The map whose word is one symbol shorter; -1 for the maps of single symbols."""
    symbols: Int[np.ndarray, " n"]
    """The last symbol of the shortest word."""
    _numbers: dict[bytes, int] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.maps)

    def __repr__(self) -> str:
        return f"<{len(self)} maps of {self.maps.shape[1]} states>"

    def word(self, number: int) -> tuple[int, ...]:
        """A shortest word that makes the map with this number."""
        number = check_whole("number", number, 0, len(self) - 1)
        found: list[int] = []
        while number >= 0:
            found.append(int(self.symbols[number]))
            number = int(self.before[number])
        return tuple(reversed(found))

    def number(self, mapped: Int[np.ndarray, " states"]) -> int:
        """The number of a map; -1 if no word makes it."""
        row = listed_row("mapped", mapped, self.maps.shape[1])
        return self._numbers.get(row.tobytes(), -1)

    def products(self) -> Int[np.ndarray, "n n"]:
        """`[i, j]`: the number of the map that does map i and then map j."""
        if len(self) > 2**11:
            raise ValueError(
                f"the semigroup has {len(self)} maps; a table is made of at most {2**11}"
            )
        both = self.maps[:, self.maps]  # [j, i, q]: map j after map i
        return np.array([[self.number(row) for row in rows] for rows in both]).T

    def permutations(self) -> Bool[np.ndarray, " n"]:
        """Which maps are bijections."""
        return (np.sort(self.maps, axis=1) == np.arange(self.maps.shape[1])).all(axis=1)

    def idempotents(self) -> Bool[np.ndarray, " n"]:
        """Which maps are the same once and twice."""
        return np.array([(row[row] == row).all() for row in self.maps])

    def is_group(self) -> bool:
        """Whether all maps are bijections; a finite set of these that is closed is a group."""
        return bool(self.permutations().all())

    def is_aperiodic(self) -> bool:
        """Whether `f^n = f^(n+1)` from some n on for every map f: there is no group inside but those of
        one element."""
        for row in self.maps:
            power = row
            for _ in range(self.maps.shape[1]):  # longer than any tail
                power = row[power]
            if (row[power] != power).any():
                return False
        return True


@checked(most=whole(1, 2**20))
def semigroup(world: Semiautomaton, most: int = MOST_MAPS) -> Semigroup:
    """`T(A) = {delta(., s_{1:t}) : t >= 1}`, by breadth-first search; at most `most` maps."""
    delta = np.asarray(world.delta, np.int32)
    numbers: dict[bytes, int] = {}
    maps: list[np.ndarray] = []
    before: list[int] = []
    symbols: list[int] = []

    def meet(row: np.ndarray, parent: int, symbol: int) -> None:
        if (key := row.tobytes()) in numbers:
            return
        if len(maps) == most:
            raise ValueError(
                f"the semigroup of {named(world)} has more than {most} maps; at most {most} are listed"
            )
        numbers[key] = len(maps)
        maps.append(row)
        before.append(parent)
        symbols.append(symbol)

    for s, row in enumerate(delta):
        meet(row, -1, s)
    at = 0
    while at < len(maps):
        for s, row in enumerate(delta):
            meet(row[maps[at]], at, s)
        at += 1
    return Semigroup(np.array(maps), np.array(before), np.array(symbols), numbers)


def listed_row(name: str, row: Any, size: int) -> Int[np.ndarray, " size"]:
    """A map of `size` points as maps are listed."""
    if not isinstance(row, np.ndarray) or row.dtype.kind not in "iu" or row.shape != (size,):
        row = check_whole_numbers(name, row, -(2**31), 2**31 - 1, (size,))
    return np.asarray(row, np.int32)


def named(world: Semiautomaton) -> str:
    """What sentences call an automaton."""
    return world.name or f"an automaton of {world.states} states and {world.vocab} symbols"


def kinds(world: Semiautomaton) -> list[str]:
    """Of every symbol whether it is a "permutation", a "reset" or neither ("")."""
    delta = np.asarray(world.delta)
    around = np.arange(world.states)
    return [
        "permutation"
        if (np.sort(row) == around).all()
        else "reset"
        if (row == row[0]).all()
        else ""
        for row in delta
    ]


@checked()
def permutation_reset(world: Semiautomaton) -> Condition:
    """Every symbol is a bijection or a constant (Definition 7)."""
    others = [s for s, kind in enumerate(kinds(world)) if not kind]
    reason = ""
    if others:
        image = len(set(np.asarray(world.delta)[others[0]].tolist()))
        symbol = world.symbols[others[0]] if world.symbols else others[0]
        reason = (
            f"symbol {symbol} of {named(world)} is neither a bijection nor constant: it maps "
            f"{world.states} states to {image}"
        )
    numbers = {"symbols": world.vocab, "others": len(others)}
    return Condition("permutation-reset automaton", not others, numbers, reason)
