"""Do words of one topic have larger entries? Statistics of a matrix over words, and of attention."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..arrays import (
    check_count,
    check_flag,
    check_reals,
    check_size,
    check_whole_numbers,
    numeric,
)

RELABELLINGS = 500


class BlockStatistics(NamedTuple):
    """Means of a matrix over pairs of words."""

    diagonal: float
    same: float
    """Of one topic, two different words; NaN if topics have one word each."""
    block: float
    """Of one topic, the diagonal included."""
    different: float
    """Of two topics."""
    contrast: float
    """block - different."""
    off_diagonal: float
    """same - different."""
    z: float
    """contrast over its deviation when the topics of the rows are permuted at random."""
    off_diagonal_z: float
    """The same of `off_diagonal`, with every diagonal entry replaced by the mean of its row."""


def membership(labels: Int[np.ndarray, " V"] | Bool[np.ndarray, "V K"]) -> Bool[np.ndarray, "V K"]:
    """Which topics each word belongs to, from a topic for each word (-1: none) or from a table."""
    given = np.asarray(numeric("labels", labels))
    if given.dtype == bool and given.ndim == 2 and given.size:
        return given
    topics = np.asarray(check_whole_numbers("labels", labels, -1, 2**31, (None,)))
    if not len(topics) or topics.max() < 0:
        raise ValueError("labels give no word a topic; at least one word needs one")
    return topics[:, None] == np.unique(topics[topics >= 0])


class Relation(NamedTuple):
    """Pairs of different words."""

    same: Bool[np.ndarray, "V V"]
    """They share a topic."""
    different: Bool[np.ndarray, "V V"]
    """Both have a topic, and none in common."""


def topic_pairs(labels: Int[np.ndarray, " V"] | Bool[np.ndarray, "V K"]) -> Relation:
    """Pairs of words of one topic and of different topics; words in no topic are in neither."""
    table = membership(labels)
    shared = (table.astype(np.int64) @ table.T.astype(np.int64)) > 0
    known = np.asarray(table.any(axis=1))
    other = ~np.eye(len(table), dtype=bool)
    both = known[:, None] & known & other
    return Relation(shared & both, ~shared & both)


def block_statistics(
    matrix: Float[np.ndarray, "V V"], labels: Int[np.ndarray, " V"], seed: int = 0
) -> BlockStatistics:
    """Statistics of a value matrix or a Gram matrix over words; `labels[i]` is the topic of word i."""
    X = np.asarray(check_reals("matrix", matrix), np.float64)
    topic = np.asarray(check_whole_numbers("labels", labels, -1, 2**24, (None,)))
    if X.ndim != 2 or X.shape != (len(topic), len(topic)) or not len(topic):
        raise ValueError(
            f"matrix has shape {X.shape} and there are {len(topic)} labels; it must have a row and a "
            "column for every label"
        )
    if (topic < 0).any():
        word = int(np.argmax(topic < 0))
        raise ValueError(
            f"labels[{word}] is {topic[word]}: the word is in no topic; each needs one"
        )
    check_count("seed", seed, least=0)
    n = len(topic)
    equal, own = topic[:, None] == topic, np.eye(n, dtype=bool)
    if equal.all():
        raise ValueError("labels are all of one topic; at least two topics are needed")
    without = X.copy()
    np.fill_diagonal(without, np.where(own, 0, X).sum(axis=1) / (n - 1))
    same = float(X[equal & ~own].mean()) if (equal & ~own).any() else float("nan")
    block, different = float(X[equal].mean()), float(X[~equal].mean())
    orders = np.random.default_rng(seed).permuted(np.tile(topic, (RELABELLINGS, 1)), axis=1)
    return BlockStatistics(
        float(np.diag(X).mean()), same, block, different, block - different, same - different,
        _z(X, topic, orders, block - different),
        _z(without, topic, orders, same - different),
    )  # fmt: skip


def _z(X: np.ndarray, topic: np.ndarray, orders: np.ndarray, value: float) -> float:
    """The value over the deviation of `mean(same) - mean(different)` under permuted labels of rows."""
    names, columns = np.unique(topic, return_inverse=True)
    sums = np.stack([X[:, columns == t].sum(axis=1) for t in range(len(names))], axis=1)
    sizes = np.bincount(columns)
    rows = np.searchsorted(names, orders)
    inside = np.take_along_axis(sums[None], rows[..., None], axis=2)[..., 0].sum(axis=1)
    pairs = sizes[rows].sum(axis=1)
    values = inside / pairs - (X.sum() - inside) / (X.size - pairs)
    spread = float(values.std())
    return value / spread if spread > 0 else float("nan")


# -- attention --------------------------------------------------------------------------------


class PairAttention(NamedTuple):
    """Attention between words, summed over documents: `sums / counts` is the mean weight of a pair of
    positions with these words."""

    sums: Float[np.ndarray, "V V"]
    """[query, key]."""
    counts: Int[np.ndarray, "V V"]

    def mean(self, relation: Bool[np.ndarray, "V V"]) -> float:
        """The mean weight over all pairs of positions whose words are so related; NaN without any."""
        given = np.asarray(numeric("relation", relation))
        if given.dtype != bool or given.shape != self.counts.shape:
            raise ValueError(
                f"relation has shape {given.shape} and dtype {given.dtype}; it must be boolean of shape "
                f"{self.counts.shape}"
            )
        pairs = int(self.counts[given].sum())
        return float(self.sums[given].sum() / pairs) if pairs else float("nan")


def pair_attention(
    attention: Any, documents: Any, vocab: int, *, debias: bool = True
) -> PairAttention:
    """Add up the attention of documents: `attention[d][i, j]` is how much position i of document d reads
    position j, `documents[d]` its words. With `debias` weights are multiplied by the length over 100, so that
    the mean of every document is 1/100: long documents have smaller weights and more topics."""
    check_size(f"a table of vocab = {vocab} squared", check_count("vocab", vocab) ** 2)
    check_flag("debias", debias)
    if not isinstance(documents, list | tuple) or not isinstance(attention, list | tuple):
        raise TypeError("attention and documents must be lists, one entry for each document")
    if len(attention) != len(documents):
        raise ValueError(
            f"attention has {len(attention)} entries and documents has {len(documents)}; "
            "each document needs its weights"
        )
    sums, counts = np.zeros(vocab * vocab), np.zeros(vocab * vocab, np.int64)
    for d, (weights, tokens) in enumerate(zip(attention, documents, strict=True)):
        words = np.asarray(check_whole_numbers(f"documents[{d}]", tokens, 0, vocab - 1, (None,)))
        read = np.asarray(
            check_reals(f"attention[{d}]", weights, (len(words), len(words))), np.float64
        )
        at = (words[:, None] * vocab + words).ravel()
        scale = len(words) / 100 if debias else 1.0
        sums += np.bincount(at, (read * scale).ravel(), vocab * vocab)
        counts += np.bincount(at, minlength=vocab * vocab)
    return PairAttention(sums.reshape(vocab, vocab), counts.reshape(vocab, vocab))


def cosines(embedding: Float[np.ndarray, "V E"]) -> Float[np.ndarray, "V V"]:
    """Cosines of all pairs of rows; zero for a row of zeros."""
    rows = np.asarray(check_reals("embedding", embedding, (None, None)), np.float64)
    if not rows.size:
        raise ValueError(f"embedding has shape {rows.shape}; it must have at least one entry")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit @ unit.T
