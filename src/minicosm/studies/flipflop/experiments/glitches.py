"""What is known of a wrong read: how far its write is, and which naive rule would say the same."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from minicosm.worlds.flip_flop.language import READ, SYMBOL, WRITE

RULES = ("previous bit", "first write", "majority of writes", "majority of bits")


class Reads(NamedTuple):
    """Of every pair: whether it is a read, how many pairs before it its write is, and the last pair that
    shows the bit, how many writes are before it, how many pairs between its write and it have the other bit,
    and what the naive rules say (-1: undecided)."""

    reads: Bool[np.ndarray, "n P"]
    to_write: Int[np.ndarray, "n P"]
    to_informative: Int[np.ndarray, "n P"]
    writes: Int[np.ndarray, "n P"]
    opposite: Int[np.ndarray, "n P"]
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
    write = latest_before(writes)
    ones = np.pad(np.cumsum(bits, axis=1), ((0, 0), (1, 0)))  # [k]: in the pairs before k
    since = ones[:, :-1] - np.take_along_axis(ones, write + 1, axis=1)
    memory = np.take_along_axis(bits, np.maximum(write, 0), axis=1)
    opposite = np.where(memory == 1, place - write - 1 - since, since)
    so_far = np.pad(np.cumsum(writes, axis=1), ((0, 0), (1, 0)))[:, :-1]
    return Reads(
        reads, place - write, place - latest_before(writes | reads), so_far, opposite, rules
    )


def record(
    found: Reads, wrong: Bool[np.ndarray, "members n P"], tokens: Int[np.ndarray, "n T"]
) -> dict[str, Int[np.ndarray, "..."]]:
    """`distances[m, 0]`: wrong reads by their distance 1, 2, ... to the write, `distances[m, 1]`
    to the last pair that shows the bit; `distractors[m, 0]` by the number 0, 1, ... of writes before them,
    `distractors[m, 1]` of pairs since their write with the other bit; `all_distances`, `all_distractors`: the
    same of all reads; `rules[m]`: wrong reads on which each naive rule is wrong in the same way."""
    pairs = found.reads.shape[1]

    def counted(where: np.ndarray, *kinds: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(d[where], minlength=pairs)[:pairs] for d in kinds])

    def far(where: np.ndarray) -> np.ndarray:
        return counted(where, found.to_write, found.to_informative)[:, 1:]

    def many(where: np.ndarray) -> np.ndarray:
        return counted(where, found.writes, found.opposite)

    said = 1 - (tokens[:, 1::2] - SYMBOL)  # what a wrong read of two bits says, or no bit at all
    return {
        "distances": np.stack([far(one) for one in wrong]),
        "all_distances": far(found.reads),
        "distractors": np.stack([many(one) for one in wrong]),
        "all_distractors": many(found.reads),
        "rules": np.stack([((found.rules == said) & one).sum(axis=(1, 2)) for one in wrong]),
    }
