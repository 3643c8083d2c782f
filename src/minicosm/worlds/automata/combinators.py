"""Automata made of others: side by side, or in a cascade."""

from collections.abc import Sequence
from itertools import product as pairs
from typing import Any

import numpy as np

from ..arrays import check_kind, check_size, check_whole_numbers, short
from .semiautomaton import Semiautomaton

MOST_ENTRIES = 2**24  # of a table


def with_identity(world: Semiautomaton) -> Semiautomaton:
    """The automaton with a symbol that changes nothing as its last one; itself if it has one already."""
    check_kind("world", world, Semiautomaton, "a Semiautomaton")
    around = np.arange(world.states)
    if (np.asarray(world.delta) == around).all(axis=1).any():
        return world
    symbols = (*world.symbols, "⊥") if world.symbols else ()
    return Semiautomaton(
        np.vstack([world.delta, around]),
        world.start,
        name=world.name,
        symbols=symbols,
        state_names=world.state_names,
    )


def product(first: Semiautomaton, second: Semiautomaton) -> Semiautomaton:
    """Side by side (Definition 10): states and symbols are pairs, `(q, q') -> (q s, q' s')`. An automaton
    without a symbol that changes nothing gets one, and symbols are uniform. State (q, q') is the number
    `q |Q'| + q'`, and symbols likewise."""
    check_kind("first", first, Semiautomaton, "a Semiautomaton")
    check_kind("second", second, Semiautomaton, "a Semiautomaton")
    first, second = with_identity(first), with_identity(second)
    entries = first.vocab * second.vocab * first.states * second.states
    check_size("the table of the product", entries, MOST_ENTRIES)
    left, right = np.asarray(first.delta), np.asarray(second.delta)
    table = left[:, None, :, None] * second.states + right[None, :, None, :]
    return Semiautomaton(
        table.reshape(first.vocab * second.vocab, -1),
        int(first.start) * second.states + int(second.start),
        name=f"{first.name} x {second.name}" if first.name and second.name else "",
        symbols=_pairs(first.symbols, second.symbols),
        state_names=_pairs(first.state_names, second.state_names),
    )


def cascade(parts: Sequence[Semiautomaton], wiring: Sequence[Any]) -> Semiautomaton:
    """The cascade product (Definition 6). The first automaton reads the symbol s; automaton i reads
    `wiring[i - 2][q1, ..., q_{i-1}, s]`, a symbol of its own, which depends on the states before the
    step. States are numbered with the last automaton's running fastest."""
    if not isinstance(parts, list | tuple) or not parts:
        raise TypeError(f"parts is {short(parts)}; it must be a list of at least one Semiautomaton")
    for i, part in enumerate(parts):
        check_kind(f"parts[{i}]", part, Semiautomaton, "a Semiautomaton")
    if not isinstance(wiring, list | tuple) or len(wiring) != len(parts) - 1:
        raise ValueError(
            f"wiring is {short(wiring)}; it must be a list of {len(parts) - 1} arrays, one for each "
            "automaton but the first"
        )
    sizes = [part.states for part in parts]
    vocab = parts[0].vocab
    total = int(np.prod([float(size) for size in sizes]))
    check_size("the table of the cascade", vocab * total, MOST_ENTRIES)
    states = np.array(list(pairs(*map(range, sizes))), dtype=int).reshape(total, len(parts)).T
    symbols = np.arange(vocab)[:, None]
    moved = [np.asarray(parts[0].delta)[symbols, states[0]]]
    for i, (part, wires) in enumerate(zip(parts[1:], wiring, strict=True), 1):
        shape = (*sizes[:i], vocab)
        wires = check_whole_numbers(f"wiring[{i - 1}]", wires, 0, part.vocab - 1, shape)
        read = np.asarray(wires)[(*(row[None] for row in states[:i]), symbols)]
        moved.append(np.asarray(part.delta)[read, states[i]])
    table = np.ravel_multi_index(tuple(moved), tuple(sizes))
    start = np.ravel_multi_index(tuple(int(part.start) for part in parts), tuple(sizes))
    return Semiautomaton(table, int(start), symbols=parts[0].symbols)


def _pairs(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{a},{b}" for a in first for b in second) if first and second else ()
