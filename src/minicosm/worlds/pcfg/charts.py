"""Inside, outside and prefix probabilities of layered grammars, in bands.

For evidence rows `v_1..v_n` over the terminals let `M_A[i, j]` be the weight of all ways in which A
derives the positions i+1..j. Of a terminal w it has `v_{i+1}[w]` next to the diagonal, and of a symbol above

    M_A = sum over rules A -> B C ... of  p  M_B M_C ...

Symbols of one height derive few lengths, so a chart keeps of each height the band `[A, l, i] =
M_A[i, i + shortest + l]`, and of the root the row `M[0, :]`. Outside probabilities are derivatives of the
root's entry n. For prefixes let `r_A[j]` be the probability that what stands before position j+1 is seen and
A starts there: from the root down `r_B += p r_A`, `r_C += p r_A M_B`, and so on. Of a terminal it is
`P[x_1..x_j, next = w]`.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .grammar import Grammar, Layer

Chart = list[Float[Array, "*_"]]
"""Bands of the heights 1, 2, ... below the root, and the root's row."""
UNROLLED = 8
"""Wider bands are multiplied by a compiled loop."""


def scales(grammar: Grammar, rows: Float[Array, "T V"]) -> Float[Array, " T"]:
    """Factors by which rows may be multiplied so that products over whole sentences stay near one: for a
    row with one entry the exponential of the entropy per token, for a row of ones 1."""
    vocab = rows.shape[1]
    rate = grammar.entropy / grammar.mean_length / max(np.log(vocab), 1e-9)
    mean = jnp.mean(rows, axis=1)
    return jax.lax.stop_gradient(jnp.where(mean > 0, jnp.where(mean > 0, mean, 1.0) ** -rate, 1.0))


def inside(grammar: Grammar, rows: Float[Array, "n V"], weights: Chart | None = None) -> Chart:
    """The chart of these rows, from the terminals up; `weights` multiply its entries."""
    chart = [jnp.pad(rows.T, ((0, 0), (0, 1)))[:, None, :]]
    for h, layer in enumerate(grammar.layers):
        if weights is not None:
            chart[-1] = chart[-1] * weights[h]
        root = h + 1 == len(grammar.layers)
        chart.append((_row if root else _above)(grammar, h, layer, chart[-1]))
    if weights is not None:
        chart[-1] = chart[-1] * weights[-1]
    return chart


def _groups(layer: Layer) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rules of a layer by how many children they have: `[rule, child]`, and `[symbol, rule]`, their
    probabilities."""
    counts = np.array([len(children) for children in layer.children])
    for count in np.unique(counts):
        chosen = np.flatnonzero(counts == count)
        chances = np.zeros((len(layer.symbols), len(chosen)))
        for place, r in enumerate(chosen):
            chances[layer.parents[r], place] = layer.probabilities[r]
        yield np.array([layer.children[r] for r in chosen]), chances


def _above(
    grammar: Grammar, h: int, layer: Layer, below: Float[Array, "s l n"]
) -> Float[Array, "t k n"]:
    """The band of the next height: products of the bands of children, summed over the rules of each
    symbol."""
    size = below.shape[-1]
    first, (least, most) = grammar.spans[h][0], grammar.spans[h + 1]
    width = max(0, min(most, size - 1) - least + 1)
    total = jnp.zeros((len(layer.symbols), width, size), below.dtype)
    for children, chances in _groups(layer):
        count = children.shape[1]
        product = below[children[:, -1]]
        for m in range(count - 2, -1, -1):
            product = _product(below[children[:, m]], first, product, (count - 1 - m) * first)
        mixed = jnp.einsum("tr,rli->tli", jnp.asarray(chances, below.dtype), product)
        # Lengths that no symbol of this height derives have the weight 0.
        mixed = mixed[:, max(0, least - count * first) :]
        more = min(width, max(0, count * first - least))
        mixed = mixed[:, : width - more]
        total = total + jnp.pad(mixed, ((0, 0), (more, width - more - mixed.shape[1]), (0, 0)))
    return total


def _product(
    a: Float[Array, "r k n"], first: int, b: Float[Array, "r l n"], second: int
) -> Float[Array, "r m n"]:
    """The product of matrices in bands whose shortest lengths are `first` and `second`: `out[k + l, i] +=
    a[k, i] b[l, i + first + k]`."""
    size = a.shape[-1]
    width = max(0, min(a.shape[1] + b.shape[1] - 1, size - first - second))
    if not width or not b.shape[1]:
        return jnp.zeros((a.shape[0], width, size), a.dtype)
    wide = jnp.pad(b, ((0, 0), (0, 0), (0, first + a.shape[1])))
    room = jnp.zeros((a.shape[0], a.shape[1] + b.shape[1] - 1, size), a.dtype)

    def add(room: Array, k: Any) -> tuple[Array, None]:
        moved = jax.lax.dynamic_slice_in_dim(wide, first + k, size, axis=2)
        part = jax.lax.dynamic_index_in_dim(a, k, axis=1) * moved
        here = jax.lax.dynamic_slice_in_dim(room, k, b.shape[1], axis=1)
        return jax.lax.dynamic_update_slice_in_dim(room, here + part, k, axis=1), None

    if a.shape[1] <= UNROLLED:
        parts = [
            jnp.pad(
                a[:, k, None] * wide[:, :, first + k : first + k + size],
                ((0, 0), (k, a.shape[1] - 1 - k), (0, 0)),
            )
            for k in range(a.shape[1])
        ]
        return sum(parts[1:], parts[0])[:, :width]
    return jax.lax.scan(add, room, jnp.arange(a.shape[1]))[0][:, :width]


def _row(
    grammar: Grammar, h: int, layer: Layer, below: Float[Array, "s l n"]
) -> Float[Array, " n"]:
    """The row of the root: what it derives from the first position on."""
    first, size = grammar.spans[h][0], below.shape[-1]
    total = jnp.zeros(size, below.dtype)
    for children, chances in _groups(layer):
        start = jnp.zeros((len(children), size), below.dtype).at[:, 0].set(1)
        for m in range(children.shape[1]):
            start = _along(start, below[children[:, m]], first)
        total = total + jnp.asarray(chances[0], below.dtype) @ start
    return total


def _along(
    row: Float[Array, "r n"], band: Float[Array, "r l n"], first: int
) -> Float[Array, "r n"]:
    """A row times a matrix in a band: `out[i + first + l] += row[i] band[l, i]`."""
    count, width, size = band.shape
    if not width:
        return jnp.zeros_like(row)
    # Row l moves l places to the right if rows of one length are read as rows of one less.
    reach = size + width
    flat = jnp.pad(row[:, None] * band, ((0, 0), (0, 0), (0, width))).reshape(count, -1)
    moved = flat[:, : width * (reach - 1)].reshape(count, width, reach - 1)
    return jnp.pad(jnp.sum(moved, axis=1), ((0, 0), (first, 0)))[:, :size]


def total(chart: Chart, length: Any) -> Float[Array, ""]:
    """The weight of all derivations of the first `length` positions from the root."""
    return chart[-1][length]


def dense(grammar: Grammar, chart: Chart, h: int) -> Float[Array, "s n n"]:
    """The matrices of height h + 1, `[A, i, j]`."""
    part = chart[h]
    if h + 1 == len(chart):
        return jnp.zeros((1, len(part), len(part)), part.dtype).at[0, 0].set(part)
    width, size = part.shape[1:]
    start, stop = np.arange(size)[:, None], np.arange(size)
    length = stop - start - grammar.spans[h][0]
    known = (length >= 0) & (length < width)
    if not width:
        return jnp.zeros((part.shape[0], size, size), part.dtype)
    return jnp.where(known, part[:, np.clip(length, 0, width - 1), start], 0.0)


def token_derivatives(
    grammar: Grammar, rows: Float[Array, "T V"], length: Any
) -> Float[Array, "T V"]:
    """`d total / d rows`: of every position and token the weight of all derivations with this token
    there, over that of the row itself."""
    return jax.grad(lambda v: total(inside(grammar, v), length))(rows)


def node_weights(grammar: Grammar, rows: Float[Array, "T V"], length: Any) -> tuple[Chart, Any]:
    """Of every height, symbol and span the weight of all derivations with that node; and that of all."""
    ones = [jnp.ones_like(part) for part in inside(grammar, rows)]

    def weigh(weights: Chart) -> Float[Array, ""]:
        return total(inside(grammar, rows, weights), length)

    value, found = jax.value_and_grad(weigh)(ones)
    return found, value


def prefix_weights(grammar: Grammar, chart: Chart, height: int = 1) -> Float[Array, "_ V"]:
    """`[j, w] = P[x_1..x_j, next token w, a node of this height ends with it]` for j = 0..n, from a chart of
    one-hot rows: from this height down only last children are followed."""
    size = chart[0].shape[-1]
    start = jnp.zeros((1, size), chart[0].dtype).at[0, 0].set(1)
    for h in range(len(grammar.layers) - 1, -1, -1):
        below, first = chart[h], grammar.spans[h][0]
        arrived = jnp.zeros((below.shape[0], size), below.dtype)
        for children, chances in _groups(grammar.layers[h]):
            reach = jnp.asarray(chances.T, below.dtype) @ start  # of each rule
            for m in range(children.shape[1]):
                last = m + 1 == children.shape[1]
                if last or h + 2 > height:
                    arrived = arrived.at[children[:, m]].add(reach)
                if not last:
                    reach = _along(reach, below[children[:, m]], first)
        start = arrived
    return start.T


def expected_ngrams(grammar: Grammar, gram: Int[Array, " n"]) -> Float[Array, ""]:
    """The expected number of times that a string of tokens occurs in a sentence.

    With `pre_A[j] = P[A begins with gram_{j+1..n}]`, `suf_A[j] = P[A ends with gram_{1..j}]` an
    occurrence lies in one child, or it begins in one, covers those between, and ends in another.
    """
    n, vocab = gram.shape[0], len(grammar.terminals)
    rows = jax.nn.one_hot(gram, vocab)
    chart = inside(grammar, rows)
    pre = jnp.zeros((vocab, n + 1)).at[:, n - 1].set(rows[-1])
    suf = jnp.zeros((vocab, n + 1)).at[:, 1].set(rows[0])
    count = rows[0] if n == 1 else jnp.zeros(vocab)
    for h, layer in enumerate(grammar.layers):
        below = dense(grammar, chart, h)
        parts = [_rule_ngrams(children, below, pre, suf, count) for children in layer.children]
        chances = jnp.asarray(layer.probabilities)
        owner, symbols = jnp.asarray(layer.parents), len(layer.symbols)
        pre, suf = (
            jax.ops.segment_sum(
                chances[:, None] * jnp.stack([part[i] for part in parts]), owner, symbols
            )
            for i in (0, 1)
        )
        count = jax.ops.segment_sum(
            chances * jnp.stack([part[2] for part in parts]), owner, symbols
        )
    return count[0]


def _rule_ngrams(children: tuple[int, ...], below: Any, pre: Any, suf: Any, count: Any) -> Any:
    """Of one rule: how its string begins, ends, and how often the string occurs in it."""
    begins, ends = pre[children[0]], suf[children[-1]]
    seen = below[children[0]]
    for child in children[1:]:
        begins = begins + seen @ pre[child]
        seen = seen @ below[child]
    seen = below[children[-1]]
    for child in reversed(children[:-1]):
        ends = ends + suf[child] @ seen
        seen = below[child] @ seen
    occurs = sum((count[child] for child in children), jnp.zeros(()))
    for a in range(len(children)):
        reach = suf[children[a]]
        for b in range(a + 1, len(children)):
            occurs = occurs + reach @ pre[children[b]]
            reach = reach @ below[children[b]]
    return begins, ends, occurs
