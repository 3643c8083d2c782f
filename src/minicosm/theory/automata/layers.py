"""The parts of the Transformers that the proofs write down, in float64 and for many sequences at once.

A layer acts on rows x of a workspace of d dimensions. With `keep` entries 0 or 1, one for each dimension,

    z  = attention_keep * x + sum over heads of CausalSoftmax(x W_Q W_K^T x^T) x W_V W_C
    x' = mlp_keep * z + sum over maps of f(z[reads]) added to the dimensions `writes`

There is no factor 1/sqrt(k) and no norm. Several maps are one MLP whose matrices are block diagonal; matrices
are stored sparse, as most of their entries are zero (for 120 states dense ones would take gigabytes).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from ..signatures import checked

Rows = Float[np.ndarray, "n T d"]
Pads = Float[np.ndarray, "1 p d"]
"""Rows of the pads, which stand before the strings and are the same for all of them."""


@checked()
class Head(NamedTuple):
    """One attention head: scores `(x_t W_Q) . (x_i W_K)`, values `x W_V W_C`."""

    W_Q: Float[np.ndarray, "d k"]
    W_K: Float[np.ndarray, "d k"]
    W_V: Float[np.ndarray, "d v"]
    W_C: Float[np.ndarray, "v d"]
    hard: bool = False
    """All weight on the highest score (on the latest of equal ones), in place of softmax."""

    def placed(self, dims: Int[np.ndarray, " d"], width: int) -> "Head":
        """The same head on these dimensions of a workspace of `width`."""
        into = np.zeros((width, len(dims)))
        into[np.asarray(dims), np.arange(len(dims))] = 1
        read = (into @ self.W_Q, into @ self.W_K, into @ self.W_V)
        return Head(*read, self.W_C @ into.T, self.hard)

    def weights(self, x: Rows, before: Pads | None = None) -> Float[np.ndarray, "m T places"]:
        """Causal attention weights.

        `before` are rows of the pads, one for all sequences, which stand in front. m is 1 where the weights
        are the same for all n sequences: heads that look at positions only are common.
        """
        used = self.W_Q.any(axis=1) | self.W_K.any(axis=1)
        rows = x[:, :, used]
        if len(x) > 1 and (rows == rows[:1]).all():
            rows = rows[:1]
        keys = with_pads(None if before is None else before[:, :, used], rows) @ self.W_K[used]
        scores = (rows @ self.W_Q[used]) @ keys.swapaxes(1, 2)
        length, places = scores.shape[1:]
        later = np.triu(np.ones((length, places), bool), places - length + 1)
        scores[:, later] = -np.inf
        if self.hard:
            latest = places - 1 - scores[:, :, ::-1].argmax(axis=2)
            return np.asarray(latest[:, :, None] == np.arange(places), np.float64)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        return scores

    def __call__(self, x: Rows, before: Pads | None = None) -> Rows:
        """What the head adds to the rows x."""
        weights = self.weights(x, before)
        values = with_pads(None if before is None else before @ self.W_V, x @ self.W_V)
        if len(weights) == len(x):
            return weights @ values @ self.W_C
        n, places, v = values.shape
        flat = np.ascontiguousarray(values.swapaxes(0, 1)).reshape(places, n * v)
        mixed = (weights[0] @ flat).reshape(-1, n, v).swapaxes(0, 1)
        return mixed @ self.W_C


class MLP(NamedTuple):
    """`W_L relu(... relu(W_1 x[reads] + b_1) ...) + b_L`, added to the dimensions `writes`.

    An MLP "of L layers" has L matrices, of shapes (outputs, inputs).
    """

    weights: tuple[csr_array, ...]
    biases: tuple[Float[np.ndarray, " _"], ...]
    reads: Int[np.ndarray, " i"]
    writes: Int[np.ndarray, " o"]

    @property
    def widths(self) -> tuple[int, ...]:
        """Hidden units, layer by layer."""
        return tuple(w.shape[0] for w in self.weights[:-1])

    @property
    def largest(self) -> float:
        """The largest absolute weight or bias."""
        return max(_largest(w) for w in (*self.weights, *self.biases))

    def placed(self, dims: Int[np.ndarray, " d"], width: int) -> "MLP":
        """The same map on these dimensions of a larger workspace."""
        return self._replace(
            reads=np.asarray(dims)[self.reads], writes=np.asarray(dims)[self.writes]
        )

    def __call__(self, z: Float[np.ndarray, "d m"]) -> Float[np.ndarray, "o m"]:
        """Of columns z of a whole workspace."""
        h = np.ascontiguousarray(z[self.reads])
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i:
                np.maximum(h, 0, out=h)
            h = w @ h
            h += b[:, None]
        return h


class Table(NamedTuple):
    """What the MLP of Lemma 11 computes, looked up directly: `values[i]` where `x[reads]`, rounded to whole
    numbers, is `keys[i]`, and 0 where it is no key. For tables whose MLP would be too large."""

    keys: Int[np.ndarray, "rows i"]
    values: Float[np.ndarray, "rows o"]
    reads: Int[np.ndarray, " i"]
    writes: Int[np.ndarray, " o"]

    def placed(self, dims: Int[np.ndarray, " d"], width: int) -> "Table":
        """The same map on these dimensions of a larger workspace."""
        return self._replace(
            reads=np.asarray(dims)[self.reads], writes=np.asarray(dims)[self.writes]
        )

    def __call__(self, z: Float[np.ndarray, "d m"]) -> Float[np.ndarray, "o m"]:
        """Of columns z of a whole workspace."""
        found = find_rows(self.keys, np.rint(z[self.reads]).astype(np.int64).T)
        return np.where(found >= 0, self.values[found].T, 0.0)

    def as_mlp(self) -> MLP:
        """The MLP of Lemma 11 that computes the table."""
        from .gadgets import lookup

        return lookup(self.keys, self.values, self.reads.tolist(), self.writes.tolist(), gap=1.0)


class Layer(NamedTuple):
    """Heads, then maps; which dimensions keep their value through each."""

    heads: tuple[Head, ...]
    maps: tuple[MLP | Table, ...]
    attention_keep: Bool[np.ndarray, " d"]
    mlp_keep: Bool[np.ndarray, " d"]

    @property
    def width(self) -> int:
        return len(self.attention_keep)

    @property
    def changed(self) -> Bool[np.ndarray, " d"]:
        """Dimensions that may come out otherwise than they went in."""
        changed = ~(self.attention_keep & self.mlp_keep)
        for head in self.heads:
            changed = changed | head.W_C.any(axis=0)
        for m in self.maps:
            changed[m.writes] = True
        return changed

    @property
    def mlp_widths(self) -> tuple[int, ...]:
        """Hidden units of all maps together; a shorter MLP is carried through the layers it lacks."""
        mlps = [m.widths for m in self.maps if isinstance(m, MLP)]
        deepest = max(map(len, mlps), default=0)
        return tuple(sum(w[min(i, len(w) - 1)] if w else 0 for w in mlps) for i in range(deepest))

    @property
    def largest(self) -> float:
        """The largest absolute weight."""
        heads = [_largest(matrix) for head in self.heads for matrix in head[:4]]
        return max([*heads, *(m.largest for m in self.maps if isinstance(m, MLP)), 0.0])

    def placed(self, dims: Sequence[int] | Int[np.ndarray, " d"], width: int) -> "Layer":
        """The same layer on these dimensions of a workspace of `width`, whose other dimensions stay."""
        dims = np.asarray(dims)
        keeps = np.ones((2, width), bool)
        keeps[0, dims], keeps[1, dims] = self.attention_keep, self.mlp_keep
        return Layer(
            tuple(head.placed(dims, width) for head in self.heads),
            tuple(m.placed(dims, width) for m in self.maps),
            *keeps,
        )

    def __call__(self, x: Rows, before: Pads | None = None) -> Rows:
        """The rows after the layer; `before` are rows of the pads before it, which x may read."""
        z = np.where(self.attention_keep, x, 0.0)
        for head in self.heads:
            z += head(x, before)
        columns = np.ascontiguousarray(z.reshape(-1, self.width).T)
        after = np.where(self.mlp_keep[:, None], columns, 0.0)
        for m in self.maps:
            after[m.writes] += m(columns)
        return np.ascontiguousarray(after.T).reshape(x.shape)


def identity_layer(width: int) -> Layer:
    """A layer that leaves every row as it is."""
    return Layer((), (), np.ones(width, bool), np.ones(width, bool))


def beside(layers: Sequence[Layer], places: Sequence[Int[np.ndarray, " _"]], width: int) -> Layer:
    """One layer that does what each of these does on the dimensions `places[i]`; all others stay.

    Layers may share dimensions that none of them changes, as positions. What one changes no other may change
    or look at after attention.
    """
    placed = [layer.placed(dims, width) for layer, dims in zip(layers, places, strict=True)]
    changed = np.stack([layer.changed for layer in placed])
    seen = np.zeros_like(changed)
    for i, layer in enumerate(placed):
        for m in layer.maps:
            seen[i, m.reads] = True
    clash = np.flatnonzero(
        (changed.sum(axis=0) > 1) | (changed & (seen.sum(axis=0) - seen > 0)).any(axis=0)
    )
    if len(clash):
        raise ValueError(
            f"places overlap in dimension {clash[0]}, which one of the layers changes; side by side each "
            "needs dimensions of its own"
        )
    return Layer(
        tuple(head for layer in placed for head in layer.heads),
        tuple(m for layer in placed for m in layer.maps),
        np.logical_and.reduce([layer.attention_keep for layer in placed]),
        np.logical_and.reduce([layer.mlp_keep for layer in placed]),
    )


def find_rows(
    keys: Int[np.ndarray, "rows i"], asked: Int[np.ndarray, "m i"]
) -> Int[np.ndarray, " m"]:
    """Which row of `keys` each row of `asked` is, -1 where it is none.

    Rows are compared by a hash (a product with fixed odd numbers, modulo 2^64) and then entry by entry, so
    the answer is exact; keys that collide are refused.
    """
    if not keys.shape[1]:
        return np.zeros(len(asked), np.int64)
    factors = np.random.default_rng(0).integers(1, 2**62, keys.shape[1]) * 2 + 1
    hashes = np.asarray(keys, np.int64) @ factors
    order = np.argsort(hashes)
    if (np.diff(hashes[order]) == 0).any():
        raise ValueError("two rows of the keys are the same; every key must stand in one row")
    where = np.searchsorted(hashes, asked @ factors, sorter=order)
    found = order[np.minimum(where, len(keys) - 1)]
    return np.where((keys[found] == asked).all(axis=1), found, -1)


def with_pads(before: Pads | None, rows: Rows) -> Float[np.ndarray, "n places d"]:
    """Rows with those of the pads in front."""
    if before is None:
        return rows
    return np.concatenate([np.broadcast_to(before, (len(rows), *before.shape[1:])), rows], axis=1)


def _largest(matrix: csr_array | np.ndarray) -> float:
    values = matrix.data if isinstance(matrix, csr_array) else matrix
    return float(np.abs(values).max(initial=0.0))
