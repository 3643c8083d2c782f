"""Topics of words, recovered from a matrix over pairs of words, and how well two labellings agree."""

from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float, Int

from ..arrays import check_count, check_reals, check_whole_numbers


class Recovery(NamedTuple):
    """How well labels agree, with topics matched one to one."""

    share: float
    """Share of words whose topics match."""
    rand: float
    """The adjusted Rand index: 1 if the partitions are equal, about 0 for independent ones."""


def recover_topics(matrix: Float[np.ndarray, "V V"], topics: int) -> Int[np.ndarray, " V"]:
    """Group words by their rows in a Gram matrix or a value matrix: entries off the diagonal, centred by
    column, compared by cosine, joined by average linkage until `topics` groups are left."""
    given = np.asarray(check_reals("matrix", matrix), np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or len(given) < 2:
        raise ValueError(f"matrix has shape {given.shape}; it must have shape (V, V) with V >= 2")
    if check_count("topics", topics) > len(given):
        raise ValueError(
            f"topics is {topics}; there are {len(given)} words, it must be at most as many"
        )
    both = (given + given.T) / 2
    own = ~np.eye(len(both), dtype=bool)
    # The diagonal says nothing of other words: it becomes the largest other entry of its row.
    np.fill_diagonal(both, np.where(own, both, -np.inf).max(axis=1))
    rows = both - both.mean(axis=0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    tree = scipy.cluster.hierarchy.linkage(rows, "average")
    return scipy.cluster.hierarchy.fcluster(tree, topics, "maxclust").astype(np.int64) - 1


def topic_agreement(found: Int[np.ndarray, " V"], true: Int[np.ndarray, " V"]) -> Recovery:
    """Compare two labellings of the same words; the names of topics do not matter."""
    first = np.asarray(check_whole_numbers("found", found, 0, 2**31 - 1, (None,)))
    second = np.asarray(check_whole_numbers("true", true, 0, 2**31 - 1, (None,)))
    if len(first) != len(second) or not len(first):
        raise ValueError(
            f"found has {len(first)} labels and true has {len(second)}; both need one for every word"
        )
    rows, columns = (np.unique(labels, return_inverse=True)[1] for labels in (first, second))
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    matched = table[scipy.optimize.linear_sum_assignment(-table)].sum() / len(first)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    together, n = pairs(table), len(first)
    by_row, by_column = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = by_row * by_column / (n * (n - 1) / 2) if n > 1 else 0.0
    most = (by_row + by_column) / 2
    rand = 1.0 if most == expected else (together - expected) / (most - expected)
    return Recovery(float(matched), float(rand))
