"""What is known of a wrong read: how far its write is, and which naive rule would say the same."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from minicosm.worlds.flip_flop.language import READ, SYMBOL, WRITE

RULES = ("previous bit", "first write", "majority of writes", "majority of bits")


class Reads(NamedTuple):
    """Of every pair: whether it is a read, how many pairs before it its write is, and the last pair that
    shows the bit, and what the naive rules say (-1: undecided)."""

    reads: Bool[np.ndarray, "n P"]
    to_write: Int[np.ndarray, "n P"]
    to_informative: Int[np.ndarray, "n P"]
    rules: Int[np.ndarray, "4 n P"]


def reads_of(tokens: Int[np.ndarray, "n T"]) -> Reads:
    """All of it, from the strings alone."""
    instructions, bits = tokens[:, ::2], tokens[:, 1::2] - SYMBOL
    place = np.arange(instructions.shape[1])
    writes, reads = instructions == WRITE, instructions == READ

    def latest_before(marked: np.ndarray) -> np.ndarray:
        latest = np.maximum.accumulate(np.where(marked, place, -1), axis=1)
        return np.pad(latest, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]

    def majority(counted: np.ndarray) -> np.ndarray:
        """The bit that more of the counted pairs before this one have."""
        votes = np.cumsum(np.where(counted, 2 * bits - 1, 0), axis=1)
        before = np.pad(votes, ((0, 0), (1, 0)))[:, :-1]
        return np.where(before > 0, 1, np.where(before < 0, 0, -1))

    previous = np.pad(bits, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
    first = np.broadcast_to(bits[:, :1], bits.shape)
    rules = np.stack([previous, first, majority(writes), majority(np.ones_like(writes))])
    return Reads(reads, place - latest_before(writes), place - latest_before(writes | reads), rules)


def record(
    found: Reads, wrong: Bool[np.ndarray, "members n P"], tokens: Int[np.ndarray, "n T"]
) -> dict[str, Int[np.ndarray, "..."]]:
    """`distances[m, 0]`: wrong reads by their distance 1, 2, ... to the write, `distances[m, 1]`
    to the last pair that shows the bit; `all_distances`: the same of all reads; `rules[m]`: wrong reads on
    which each naive rule is wrong in the same way."""
    pairs = found.reads.shape[1]
    both = np.stack([found.to_write, found.to_informative])

    def counted(where: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(d[where], minlength=pairs)[1:pairs] for d in both])

    said = 1 - (tokens[:, 1::2] - SYMBOL)  # what a wrong read of two bits says, or no bit at all
    return {
        "distances": np.stack([counted(one) for one in wrong]),
        "all_distances": counted(found.reads),
        "rules": np.stack([((found.rules == said) & one).sum(axis=(1, 2)) for one in wrong]),
    }
