"""The two networks of one layer on which all others stand: a counter and a memory (Lemmas 15 and 16)."""

import numpy as np

from .gadgets import Dims, lookup_1d
from .layers import Head, Layer
from .network import Decoder, Network

# Workspaces of the two layers
VALUE, PAD, COUNTDOWN = range(3)  # of a counter
BLANK, PLACE, ONE = range(1, 4)  # of a memory, after its value


def counter_layer(modulus: int, length: int, start: int = 0) -> Layer:
    """A layer on the dimensions (value, pad, countdown) that puts `(start + sum of values up to t) mod
    modulus` in the place of the value; values are 0..modulus-1.

    A pad at position 0 with pad = 1 and countdown = 0 takes up the weight that makes the sum one over 2T at
    every t: its score is `countdown_t = ln(2T - t)`, so the weights are `1 / (e^countdown_t + t) = 1/2T`.
    """
    T = length
    e = np.eye(3)
    head = Head(*(e[:, [i]] for i in (COUNTDOWN, PAD, VALUE)), e[[VALUE]])
    sums = np.arange((modulus - 1) * T + 1)
    table = lookup_1d(
        sums / (2 * T),
        ((start + sums) % modulus).astype(float)[:, None],
        VALUE,
        [VALUE],
        gap=1 / (2 * T) if len(sums) > 1 else None,
    )
    keep = np.arange(3) != VALUE
    return Layer((head,), (table,), keep, keep)


def countdown(length: int) -> np.ndarray:
    """`ln(2T - t)` for t = 1..T, after 0 for the pad at position 0."""
    return np.concatenate([[0.0], np.log(2.0 * length - np.arange(1, length + 1))])


def counter_network(steps: np.ndarray, modulus: int, start: int, length: int) -> Network:
    """Lemma 15: symbol s advances by `steps[s]`; d = 3, one head of width 1, one pad."""
    encoder = np.zeros((len(steps), 3))
    encoder[:, VALUE] = steps
    positions = np.zeros((length + 1, 3))
    positions[:, COUNTDOWN] = countdown(length)
    return Network(
        encoder,
        np.eye(3)[[PAD]],
        positions,
        (counter_layer(modulus, length, start),),
        Decoder.of_scalar(VALUE, np.arange(modulus)),
    )


def latest_write(
    width: int,
    length: int,
    largest: float,
    reads: Dims,
    writes: Dims,
    *,
    blank: int,
    place: int,
    one: int,
    positions: int | None = None,
) -> Head:
    """A head that copies `reads` of the latest position that is not blank to `writes`.

    Dimension `blank` is 1 at positions that write nothing, `place` holds t/T, `one` is 1 everywhere. The
    score of position j is `c (j/T - 2 blank_j)` with `c = T ln(16 K N)` for N positions (T unless said)
    and copied numbers up to K = `largest`, so that what is copied is within 1/8.
    """
    count = length if positions is None else positions
    c = length * np.log(16 * max(largest, 1) * count)
    reads, writes = np.asarray(reads), np.asarray(writes)
    k = max(2, len(reads))
    W_Q, W_K, W_V = np.zeros((width, k)), np.zeros((width, k)), np.zeros((width, k))
    W_C = np.zeros((k, width))
    W_Q[one, :2] = -2, 1
    W_K[blank, 0], W_K[place, 1] = c, c
    W_V[reads, np.arange(len(reads))] = 1
    W_C[np.arange(len(writes)), writes] = 1
    return Head(W_Q, W_K, W_V, W_C)


def memory_network(written: np.ndarray, states: int, start: int, length: int) -> Network:
    """Lemma 16: symbol s writes the state `written[s]`, or nothing where that is -1; d = 4, one head of
    width 2. States have codes 1..states; a symbol that writes nothing holds the code of the start, which
    is what remains if there is no other."""
    blank = written < 0
    encoder = np.zeros((len(written), 4))
    encoder[:, VALUE] = np.where(blank, start, written) + 1
    encoder[:, BLANK] = blank
    encoder[:, ONE] = 1
    positions = np.zeros((length, 4))
    positions[:, PLACE] = np.arange(1, length + 1) / length
    head = latest_write(4, length, states, [VALUE], [VALUE], blank=BLANK, place=PLACE, one=ONE)
    codes = np.arange(1.0, states + 1)
    rounding = lookup_1d(codes, codes[:, None], VALUE, [VALUE], gap=0.5)
    keep = np.arange(4) != VALUE
    return Network(
        encoder,
        np.zeros((0, 4)),
        positions,
        (Layer((head,), (rounding,), keep, keep),),
        Decoder.of_scalar(VALUE, np.arange(1, states + 1)),
    )
