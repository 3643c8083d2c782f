"""The flip-flop as an automaton: the monoid's, with a law of its inputs, and those that read the language."""

import numpy as np

from ..arrays import check_number
from ..automata import Semiautomaton
from .language import IGNORE, READ, SYMBOL, WRITE

KEEP = 0
PROBE_A = (2, 0, 1, 0, 0, 1, 2, 0)
"""A string to look at; at each of its positions the latest write is at `PROBE_A_WRITES`, counted from 1."""
PROBE_A_WRITES = (1, 1, 3, 3, 3, 6, 7, 7)
PROBE_B = (2,) + (0,) * 800
PROBE_C = (1,) + (0,) * 32 + (2,) + (0,) * 800
"""One write, and two, before 800 symbols that keep."""


def register(p_keep: float) -> Semiautomaton:
    """The simulation world: a memory of one bit that reads 0 (keep), 1 or 2 (set it) and tells its state.

    The first symbol sets; every other keeps with probability `p_keep`, and both settings share the rest.
    Labels are 0 before the first symbol, then the last setting, 1 or 2.
    """
    check_number("p_keep", p_keep, least=0, most=1)
    table = np.array([[0, 1, 2], [1, 1, 1], [2, 2, 2]])
    law = np.array([[0, p_keep, p_keep]] + 2 * [[0.5, (1 - p_keep) / 2, (1 - p_keep) / 2]])
    return Semiautomaton(table, 0, law, name="flip-flop", symbols=("keep", "set 1", "set 2"))


def tracker() -> Semiautomaton:
    """Reads the tokens of the language and remembers its bit: states bit 0, bit 1, and a write begun, in
    which the old bit no longer matters."""
    zero, one, begun = 0, 1, 2
    table = np.tile(np.arange(3), (5, 1))
    table[WRITE] = begun
    table[SYMBOL], table[SYMBOL + 1] = (zero, one, zero), (zero, one, one)
    names = ("bit 0", "bit 1", "write begun")
    return Semiautomaton(table, zero, symbols=tuple("wri01"), state_names=names, name="tracker")


def acceptor() -> Semiautomaton:
    """Tells the prefixes of valid strings from all others: besides the bit, whether an instruction or
    a symbol is due, which symbols may follow, and a state that is never left. Start 0, reject 8."""
    names = (
        "start", "write begun", "bit 0", "bit 1", "read of 0", "read of 1", "ignored, bit 0",
        "ignored, bit 1", "reject",
    )  # fmt: skip
    table = np.full((5, len(names)), 8)
    table[WRITE, [0, 2, 3]] = 1
    for bit in (0, 1):
        rests, reads, ignores = 2 + bit, 4 + bit, 6 + bit
        table[SYMBOL + bit, [1, reads]] = rests
        table[READ, rests], table[IGNORE, rests] = reads, ignores
        table[[SYMBOL, SYMBOL + 1], ignores] = rests
    return Semiautomaton(table, 0, symbols=tuple("wri01"), state_names=names, name="acceptor")
