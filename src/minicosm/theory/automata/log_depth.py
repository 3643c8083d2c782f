"""Theorem 10: any semiautomaton in ceil(log2 T) layers, by composing functions pairwise.

Position t holds a function from states to states, as the row of its values (codes 1..n). Layer l composes
it with that of position t - 2^(l-1), so that after it t holds the composition of the 2^l symbols up to t.
"""

from math import ceil, log, log2, pi

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array

from .gadgets import circle, look_back, lookup, previous_position
from .layers import MLP, Layer
from .network import Decoder, Network


def composition(states: int, *, hats: bool = True) -> MLP:
    """Lemma 14: reads g in dimensions 0..n-1 and f in n..2n-1, as rows of codes 1..n, and writes f(g(q)) to
    dimension n + q.

    Hidden units are the indicators 1[g(q) = v] and the values f(v); then `relu(n 1[g(q) = v] + f(v) - n)`,
    summed over v. With hats, `1[x = v] = relu(x-v+1) - 2 relu(x-v) + relu(x-v-1)` on whole numbers up to n,
    which share the n units relu(x - w), w = 0..n-1: n^2 + n units in all. Without, the trapezoids of
    Lemma 10, which also bear a perturbation of g by 1/4: 4 n^2 + n units.
    """
    n = states
    q, v = (a.reshape(-1) for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    pair = np.arange(n * n)  # q n + v, where v stands for the code v + 1
    if hats:
        rows, dims, weights, bias = pair, q, np.ones(n * n), -v.astype(float)
        taken = [(pair, 0, 1.0), (pair, 1, -2.0), (pair, 2, 1.0)]
        indicator = [
            (pair[v + shift < n], (pair + shift)[v + shift < n], weight)
            for pair, shift, weight in taken
        ]
    else:
        rows, dims = np.arange(4 * n * n), np.repeat(q, 4)
        weights = np.full(4 * n * n, 4.0)
        bias = (-4.0 * (v[:, None] + 1) + np.array([2.0, 1.0, -1.0, -2.0])).reshape(-1)
        indicator = [(pair, 4 * pair + i, sign) for i, sign in enumerate((1.0, -1.0, -1.0, 1.0))]
    units = len(rows)
    up = csr_array(
        (
            np.concatenate([weights, np.ones(n)]),
            (
                np.concatenate([rows, units + np.arange(n)]),
                np.concatenate([dims, n + np.arange(n)]),
            ),
        ),
        (units + n, 2 * n),
    )
    select = csr_array(
        (
            np.concatenate([np.full(len(r), n * w) for r, _, w in indicator] + [np.ones(n * n)]),
            (
                np.concatenate([r for r, _, _ in indicator] + [pair]),
                np.concatenate([c for _, c, _ in indicator] + [units + v]),
            ),
        ),
        (n * n, units + n),
    )
    add = csr_array((np.ones(n * n), (q, pair)), (n, n * n))
    return MLP(
        (up, select, add),
        (np.concatenate([bias, np.zeros(n)]), np.full(n * n, -float(n)), np.zeros(n)),
        np.arange(2 * n),
        n + np.arange(n),
    )


def scan_network(
    delta: Int[np.ndarray, "symbols states"],
    start: int,
    length: int,
    *,
    sharpness: float = 100.0,
    hats: bool = True,
    read: int | None = None,
) -> Network:
    """Theorem 10: depth ceil(log2 T), d = 2n + 2, two heads of width n, MLPs of 3 matrices and n^2 + n units.

    Positions -(T-1)..T lie on a circle of 2T points; the T that are not positive are pads that hold the
    function q -> start. Both heads have the scores `gamma <p_t, p_i>`, gamma = sharpness T^2 (ln n + ln T),
    the left one with p_i moved on by 2^(l-1) places. The state is read at the coordinate of `read` (default:
    start).

    T need not be a power of two: positions that a look back would not find are pads, whose functions are
    all the same.
    """
    n, T = max(2, delta.shape[1]), length
    if delta.shape[1] < 2:  # a state that is never reached
        delta = np.concatenate([delta, np.ones_like(delta)], axis=1)
    d, L, R, P = 2 * n + 2, np.arange(n), n + np.arange(n), np.arange(2 * n, 2 * n + 2)
    encoder, pads = np.zeros((len(delta), d)), np.zeros((T, d))
    encoder[:, R] = delta + 1
    pads[:, R] = start + 1
    positions = np.zeros((2 * T, d))
    positions[:, P] = circle(2 * T, np.arange(1 - T, T + 1))
    gamma = sharpness * T**2 * (log(n) + log(T))
    keep = np.zeros(d, bool)
    keep[P] = True
    compose = composition(n, hats=hats)
    layers = [
        Layer(
            (
                look_back(d, P, pi * 2**level / T, gamma, R, L, k=n),
                look_back(d, P, 0.0, gamma, R, R, k=n),
            ),
            (compose,),
            keep,
            keep,
        )
        for level in range(scan_depth(T))
    ]
    at = n + (start if read is None else read)
    return Network(
        encoder, pads, positions, tuple(layers), Decoder.of_scalar(at, np.arange(1, n + 1))
    )


def scan_depth(length: int) -> int:
    """ceil(log2 T)."""
    return ceil(log2(length))


def step_network(delta: Int[np.ndarray, "symbols states"], start: int, length: int) -> Network:
    """The recurrence itself as T equal layers: each reads the state of the position before and takes a step.

    After l layers the states up to position l are right. A pad at position 0 holds the start and stays.
    """
    symbols, n = delta.shape
    STATE, BEFORE, SYMBOL = 0, 1, 2
    P, d = [3, 4], 5
    encoder = np.zeros((symbols, d))
    encoder[:, SYMBOL] = np.arange(symbols)
    pad = np.zeros((1, d))
    pad[0, [STATE, SYMBOL]] = start, symbols
    positions = np.zeros((length + 1, d))
    positions[:, P] = circle(length + 1, np.arange(length + 1))
    s, q = (a.reshape(-1) for a in np.indices((symbols + 1, n)))
    after = np.concatenate([delta, np.arange(n)[None]])[s, q]
    table = lookup(
        np.stack([q, s], axis=1).astype(float),
        after[:, None].astype(float),
        [BEFORE, SYMBOL],
        [STATE],
        1.0,
    )
    head = previous_position(d, length, n - 1, P, [STATE], [BEFORE])
    attention_keep, mlp_keep = np.ones(d, bool), np.ones(d, bool)
    attention_keep[BEFORE] = mlp_keep[BEFORE] = mlp_keep[STATE] = False
    layer = Layer((head,), (table,), attention_keep, mlp_keep)
    return Network(
        encoder, pad, positions, (layer,) * length, Decoder.of_scalar(STATE, np.arange(n))
    )
