"""Parallel text as arrays: encoded once, and padded to few shapes."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from minicosm.worlds import Translation
from minicosm.worlds.arrays import (
    check_count,
    check_flag,
    check_kind,
    check_size,
    check_whole_numbers,
    short,
)

from .parallel_text import ParallelText, batched
from .subwords import Subwords

WIDTHS = (16, 32, 64, 128)


class Ragged(NamedTuple):
    """Rows of different lengths, one after the other: row i is `tokens[starts[i] : starts[i + 1]]`."""

    tokens: Int[np.ndarray, " total"]
    starts: Int[np.ndarray, " rows_and_one"]

    @classmethod
    def of(cls, tokens: Any, lengths: Any) -> "Ragged":
        """Rows of these lengths cut from one sequence."""
        tokens = np.asarray(check_whole_numbers("tokens", tokens, -(2**31), 2**31 - 1, (None,)))
        sizes = np.asarray(
            check_whole_numbers("lengths", lengths, 0, len(tokens), (None,)), np.int64
        )
        if sizes.sum() != len(tokens):
            raise ValueError(f"lengths add up to {sizes.sum()}; there are {len(tokens)} tokens")
        return cls(np.array(tokens, np.int32), np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def lengths(self) -> Int[np.ndarray, " rows"]:
        return np.diff(self.starts).astype(np.int32)

    def padded(self, rows: Int[np.ndarray, " n"], width: int, pad: int) -> Int[np.ndarray, "n w"]:
        """These rows, `width` wide, with `pad` after their ends."""
        rows = np.asarray(check_whole_numbers("rows", rows, 0, len(self.starts) - 2, (None,)))
        check_size(f"{len(rows)} rows of width {width}", len(rows) * check_count("width", width))
        pad = int(check_whole_numbers("pad", pad, -(2**31), 2**31 - 1, ()))
        place = np.arange(width)
        inside = place < self.lengths[rows][:, None]
        at = np.where(inside, self.starts[rows][:, None] + place, 0)
        return np.where(inside, self.tokens[at] if self.tokens.size else 0, pad).astype(np.int32)


@dataclass(frozen=True)
class TokenPairs:
    """Encoded pairs in the order of the files, and what happened to the others."""

    source: Ragged
    target: Ragged
    vocab: int
    longer: int  # pairs with more tokens than `longest`: skipped, or cut
    empty: int  # pairs with a side that has no token at all: skipped
    references: tuple[str, ...]  # the targets as text, to test

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            check_kind(name, getattr(self, name), Ragged, "rows of tokens, as Ragged.of makes")
        if len(self.source.starts) != len(self.target.starts):
            raise ValueError("source and target have different numbers of rows; pairs are needed")
        check_count("vocab", self.vocab)
        check_count("longer", self.longer, least=0)
        check_count("empty", self.empty, least=0)
        check_kind("references", self.references, tuple, "a tuple of texts")

    def __len__(self) -> int:
        return len(self.source.starts) - 1


def encode(
    text: ParallelText, subwords: Subwords, longest: int = WIDTHS[-1], *, test: bool = False
) -> TokenPairs:
    """Tokens of every pair that the text keeps.

    To train, pairs with more than `longest` tokens on a side are skipped. To `test`, all stay, as a
    score over fewer sentences is another score: long ones are cut, and the references kept as text.
    """
    check_kind("text", text, ParallelText, "a ParallelText")
    if isinstance(subwords, type) or not isinstance(subwords, Subwords):
        raise TypeError(f"subwords is {short(subwords)}; it must have vocab, encode and decode")
    check_count("longest", longest)
    check_flag("test", test)
    flat, lengths = (array("i"), array("i")), (array("i"), array("i"))
    longer, empty, references = 0, 0, []
    for sources, targets in batched(text.pairs()):
        encoded = zip(subwords.encode(sources), subwords.encode(targets), targets, strict=True)
        for *pair, reference in encoded:
            fits = max(map(len, pair)) <= longest
            longer, empty = longer + (not fits), empty + (not all(pair))
            if not all(pair) or not (fits or test):
                continue
            for side, tokens in enumerate(pair):
                flat[side].extend(tokens[:longest])
                lengths[side].append(min(len(tokens), longest))
            if test:
                references.append(reference)
    if not lengths[0]:
        raise ValueError(
            f"no pair of {text.source} and {text.target} has at most {longest} tokens on both sides"
        )
    source, target = (Ragged.of(flat[side], lengths[side]) for side in (0, 1))
    return TokenPairs(source, target, subwords.vocab, longer, empty, tuple(references))


class Bucket(NamedTuple):
    """Pairs of one shape, padded with `vocab`, the first number that is no token; `rows` says which."""

    pairs: Translation  # its arrays have a leading axis of pairs
    rows: Int[np.ndarray, " n"]


def buckets(pairs: TokenPairs, widths: Sequence[int] = WIDTHS) -> tuple[Bucket, ...]:
    """Every pair in the narrowest shape that holds both its sides.

    Shapes without pairs are left out. One shape is one compiled program.
    """
    check_kind("pairs", pairs, TokenPairs, "a TokenPairs")
    widths = np.unique(check_whole_numbers("widths", widths, 1, 2**20, (None,))).tolist()
    size = np.maximum(pairs.source.lengths, pairs.target.lengths)
    if not widths or size.max(initial=0) > widths[-1]:
        raise ValueError(
            f"a pair has {size.max(initial=0)} tokens; the widest of the widths {widths} must hold it"
        )
    which = np.searchsorted(widths, size)
    found = []
    for number, width in enumerate(widths):
        rows = np.flatnonzero(which == number)
        if rows.size:
            arrays: list[Any] = []
            for side in (pairs.source, pairs.target):
                arrays += [side.padded(rows, width, pairs.vocab), side.lengths[rows]]
            found.append(Bucket(Translation(*arrays), rows))
    return tuple(found)
