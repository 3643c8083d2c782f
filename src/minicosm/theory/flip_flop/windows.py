"""What the last n tokens tell: the best n-gram model, in closed form and over all strings."""

from itertools import product

import numpy as np
from jaxtyping import Int

from minicosm.worlds import FlipFlop
from minicosm.worlds.flip_flop.language import IGNORE, READ, SYMBOL, WRITE

from ..checks import kind, whole
from ..signatures import checked
from ..theorem import Theorem

MOST = 12
"""Tokens of strings that are enumerated."""


@checked(length=whole(4, MOST))
def all_strings(length: int) -> Int[np.ndarray, "strings length"]:
    """Every string of the language over two symbols: `2 5^(P-2)` for P = length / 2."""
    if length % 2:
        raise ValueError(f"length is {length}; a string has pairs, so it must be an even number")
    choices = [(ins, bit) for ins in (WRITE, IGNORE) for bit in (0, 1)] + [(READ, None)]
    rows = []
    for first in (0, 1):
        for inner in product(choices, repeat=length // 2 - 2):
            memory, row = first, [WRITE, SYMBOL + first]
            for instruction, bit in inner:
                said = memory if bit is None else bit
                memory = said if instruction == WRITE else memory
                row += [instruction, SYMBOL + said]
            rows.append([*row, READ, SYMBOL + memory])
    return np.array(rows)


def _applies(name: str, world: FlipFlop, given: object) -> FlipFlop:
    if not isinstance(world, FlipFlop) or world.symbols != 2 or world.select != "last":
        raise ValueError(f"{name} must be a FlipFlop with two symbols and select='last'")
    return world


@checked(world=_applies, window=whole(1, 2**30))
def enumerated_error(world: FlipFlop, window: int) -> float:
    """The share of reads that the best guess from the position and the last `window` tokens gets wrong,
    over all strings."""
    strings = all_strings(world.length)
    p = np.asarray(world.p, float)
    inner = strings[:, 2:-2:2]
    free = (strings[:, ::2] != READ).sum(axis=1)
    weights = np.prod(p[inner], axis=1) * 0.5**free
    seen: dict[tuple[int, ...], np.ndarray] = {}
    for string, weight in zip(strings.tolist(), weights, strict=True):
        for at in range(2, world.length, 2):
            if string[at] == READ:
                context = (at, *string[max(0, at + 1 - window) : at + 1])
                law = seen.setdefault(context, np.zeros(2))
                law[string[at + 1] - SYMBOL] += weight
    laws = np.array(list(seen.values()))
    return float((laws.sum() - laws.max(axis=1).sum()) / laws.sum())


@checked(world=_applies, window=whole(1, 2**30))
def n_gram_error(world: FlipFlop, window: int) -> Theorem:
    """`FlipFlop.window_error` is the least error of a predictor that sees `window` tokens."""
    error = abs(world.window_error(window) - enumerated_error(world, window))
    return Theorem.identity("n-gram error", error, within=1e-12)


@checked(world=kind(FlipFlop))
def n_gram_guesses(world: FlipFlop) -> Theorem:
    """A predictor that sees `.1 / (1 - p_i)` tokens errs on at least .45 of the reads, one that sees
    `5 / (1 - p_i)` can err on less than .1."""
    rate = 1 - float(np.asarray(world.p)[IGNORE])
    if rate <= 0:
        raise ValueError(
            "world ignores every pair, p_i = 1; writes or reads must have a probability"
        )
    few, many = max(1, int(0.1 / rate + 1e-9)), int(np.ceil(5 / rate - 1e-9))
    low, high = world.window_error(few), world.window_error(many)
    return Theorem.inequality(
        "n-gram guesses",
        min(low - 0.45, 0.1 - high),
        within=0,
        details={"few": few, "error of few": low, "many": many, "error of many": high},
    )
