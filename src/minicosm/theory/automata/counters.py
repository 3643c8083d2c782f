"""The two networks of one layer on which all others stand: a counter and a memory (Lemmas 15 and 16)."""

from math import log

import numpy as np
from jaxtyping import Float, Int

from minicosm.worlds import Semiautomaton

from ..theorem import Condition, Theorem
from .gadgets import Dims, lookup_1d
from .layers import Head, Layer
from .network import Decoder, Network
from .simulation import automaton, check_network_length, constructed, sizes_within

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
    head = Head(e[:, [COUNTDOWN]], e[:, [PAD]], e[:, [VALUE]], e[[VALUE]])
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


def countdown(length: int) -> Float[np.ndarray, " rows"]:
    """`ln(2T - t)` for t = 1..T, after 0 for the pad at position 0."""
    return np.concatenate([[0.0], np.log(2.0 * length - np.arange(1, length + 1))])


def counter_network(
    steps: Int[np.ndarray, " symbols"], modulus: int, start: int, length: int
) -> Network:
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


def memory_network(
    written: Int[np.ndarray, " symbols"], states: int, start: int, length: int
) -> Network:
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


# -- as statements about an automaton -----------------------------------------------------------


def counter_steps(world: Semiautomaton) -> tuple[Condition, Int[np.ndarray, " symbols"]]:
    """Whether every symbol adds one number to all states, modulo their number; and the numbers."""
    delta, _ = automaton(world)
    n = delta.shape[1]
    moved = (delta - np.arange(n)) % n
    wrong = np.argwhere(moved != moved[:, :1])
    reason = ""
    if len(wrong):
        s, q = wrong[0]
        reason = (
            f"symbol {s} adds {moved[s, 0]} to state 0 and {moved[s, q]} to state {q}; in a counter modulo "
            f"{n} a symbol adds the same number to every state"
        )
    return Condition("modular counter", not len(wrong), {"modulus": n}, reason), moved[:, 0]


def memory_writes(world: Semiautomaton) -> tuple[Condition, Int[np.ndarray, " symbols"]]:
    """Whether every symbol keeps the state or sets one; and the states set, -1 where it is kept."""
    delta, _ = automaton(world)
    states = np.arange(delta.shape[1])
    keeps = (delta == states).all(axis=1) & (len(states) > 1)
    wrong = np.flatnonzero(~keeps & (delta != delta[:, :1]).any(axis=1))
    reason = ""
    if len(wrong):
        s = wrong[0]
        q = int(np.argmax(delta[s] != delta[s, 0]))
        reason = (
            f"symbol {s} takes state 0 to {delta[s, 0]} and state {q} to {delta[s, q]}; in a memory a symbol "
            "keeps every state or takes all to one"
        )
    condition = Condition("memory", not len(wrong), {"states": len(states)}, reason)
    return condition, np.where(keeps, -1, delta[:, 0])


def lemma_15(world: Semiautomaton, length: int) -> Theorem:
    """A modular counter in one layer: one head of width 1 and an MLP of two layers, d = 3."""
    length = check_network_length(length)
    counter, steps = counter_steps(world)
    network = None
    if counter.holds:
        network = counter_network(steps, world.states, int(world.start), length)
    return constructed("Lemma 15", (counter,), network, world)


def lemma_15_sizes(world: Semiautomaton, length: int) -> Theorem:
    """`d = 3`, `H = k = 1`, depth 1, width `4nT`, norms at most `4nT + 2`."""
    theorem = lemma_15(world, length)
    network = theorem.construction
    if network is None:
        return Theorem("Lemma 15, sizes", theorem.conditions)
    n, T = world.states, length
    return sizes_within(
        "Lemma 15, sizes",
        network,
        {
            "depth": 1,
            "width": 3,
            "heads": 1,
            "head_width": 1,
            "mlp_layers": 2,
            "mlp_width": 4 * n * T,
            "largest_weight": 4 * n * T + 2,
        },
    )


def lemma_16(world: Semiautomaton, length: int) -> Theorem:
    """A memory in one layer: one head of width 2 and an MLP of two layers, d = 4."""
    length = check_network_length(length)
    memory, writes = memory_writes(world)
    network = None
    if memory.holds:
        network = memory_network(writes, world.states, int(world.start), length)
    return constructed("Lemma 16", (memory,), network, world)


def lemma_16_sizes(world: Semiautomaton, length: int) -> Theorem:
    """`d = 4`, `H = 1`, `k = 2`, depth 1, width `4m`, norms at most `2T ln(mT)` where `mT >= 16` and
    `2T ln(mT) >= 8m + 2`: the bound is one for large T."""
    theorem = lemma_16(world, length)
    network = theorem.construction
    if network is None:
        return Theorem("Lemma 16, sizes", theorem.conditions)
    m, T = world.states, length
    bound = 2 * T * log(m * T) if m * T > 1 else 0.0
    claimed: dict[str, float] = {
        "depth": 1,
        "width": 4,
        "heads": 1,
        "head_width": 2,
        "mlp_layers": 2,
        "mlp_width": 4 * m,
    }
    if m * T >= 16 and bound >= 8 * m + 2:
        claimed["largest_weight"] = bound
    return sizes_within("Lemma 16, sizes", network, claimed)
