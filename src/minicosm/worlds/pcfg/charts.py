"""Inside, outside and prefix probabilities of layered grammars, as products of matrices.

For evidence rows `v_1..v_T` over the terminals let `M_A[i, j]` be the weight of all ways in which A
derives the positions i+1..j. Of a terminal w it has `v_{i+1}[w]` next to the diagonal, and of a symbol above

    M_A = sum over rules A -> B C ... of  p  M_B M_C ...

so that one batch of matrix products is one layer. Outside probabilities are derivatives of `M_root[0, n]`.
For prefixes let `r_A[j]` be the probability that what stands before position j+1 is seen and A starts there:
from the root down `r_B += p r_A`, `r_C += p r_A M_B`, and so on. Of a terminal it is `P[x_1..x_j, next = w]`.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .grammar import Grammar, Layer

Chart = list[Float[Array, "_ _ _"]]


def scales(grammar: Grammar, rows: Float[Array, "T V"]) -> Float[Array, " T"]:
    """Factors by which rows may be multiplied so that products over whole sentences stay near one: for a
    row with one entry the exponential of the entropy per token, for a row of ones 1."""
    vocab = rows.shape[1]
    rate = grammar.entropy / grammar.mean_length / max(np.log(vocab), 1e-9)
    mean = jnp.mean(rows, axis=1)
    return jax.lax.stop_gradient(jnp.where(mean > 0, jnp.where(mean > 0, mean, 1.0) ** -rate, 1.0))


def inside(grammar: Grammar, rows: Float[Array, "T V"], weights: Chart | None = None) -> Chart:
    """`M` of every height, from the terminals up; `weights` multiply the entries, one array a height."""
    length = rows.shape[0]
    place = jnp.arange(length)
    bottom = jnp.zeros((rows.shape[1], length + 1, length + 1), rows.dtype)
    chart = [bottom.at[:, place, place + 1].set(rows.T)]
    for h, layer in enumerate(grammar.layers):
        if weights is not None:
            chart[-1] = chart[-1] * weights[h]
        chart.append(_above(layer, chart[-1]))
    if weights is not None:
        chart[-1] = chart[-1] * weights[-1]
    return chart


def _above(layer: Layer, below: Float[Array, "s n n"]) -> Float[Array, "t n n"]:
    """One layer: products of the matrices of children, summed over the rules of each symbol."""
    size = below.shape[-1]
    known = jnp.concatenate([below, jnp.eye(size, dtype=below.dtype)[None]])
    children = _padded(layer, below.shape[0])
    product = known[children[:, 0]]
    for m in range(1, children.shape[1]):
        product = product @ known[children[:, m]]
    weighted = jnp.asarray(layer.probabilities, below.dtype)[:, None, None] * product
    return jax.ops.segment_sum(weighted, jnp.asarray(layer.parents), len(layer.symbols))


def _padded(layer: Layer, none: int) -> Int[np.ndarray, "rules most"]:
    """Children of all rules, filled up with the number `none`."""
    most = layer.most_children
    return np.array([[*c, *([none] * (most - len(c)))] for c in layer.children])


def total(chart: Chart, length: Any) -> Float[Array, ""]:
    """The weight of all derivations of the first `length` positions from the root."""
    return chart[-1][0, 0, length]


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


def prefix_weights(grammar: Grammar, chart: Chart) -> Float[Array, "_ V"]:
    """`[j, w] = P[x_1..x_j, next token w]` for j = 0..T, from a chart of one-hot rows."""
    size = chart[0].shape[-1]
    start = jnp.zeros((1, size), chart[0].dtype).at[0, 0].set(1)
    for layer, below in zip(reversed(grammar.layers), reversed(chart[:-1]), strict=True):
        known = jnp.concatenate([below, jnp.eye(size, dtype=below.dtype)[None]])
        children = _padded(layer, below.shape[0])
        chances = jnp.asarray(layer.probabilities, below.dtype)[:, None]
        reach = chances * start[jnp.asarray(layer.parents)]  # of each rule
        arrived = jnp.zeros((below.shape[0] + 1, size), below.dtype)
        for m in range(children.shape[1]):
            arrived = arrived.at[children[:, m]].add(reach)
            reach = jnp.einsum("ri,rij->rj", reach, known[children[:, m]])
        start = arrived[:-1]
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
    for layer, below in zip(grammar.layers, chart[:-1], strict=True):
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
