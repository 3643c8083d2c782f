"""Theorem 10: any semiautomaton in ceil(log2 T) layers, by composing functions pairwise.

Position t holds a function from states to states, as the row of its values (codes 1..n). Layer l composes
it with that of position t - 2^(l-1), so that after it t holds the composition of the 2^l symbols up to t.
"""

from math import ceil, log, log2, pi

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array

from minicosm.adaptation.checks import check_flag, check_real, check_whole
from minicosm.worlds import Semiautomaton

from ..checks import whole
from ..signatures import checked
from ..theorem import Condition, Theorem
from .gadgets import circle, look_back, lookup, previous_position
from .layers import MLP, Layer
from .network import Decoder, Network
from .simulation import (
    MOST_STATES,
    MOST_STRINGS,
    automaton,
    check_network_length,
    constructed,
    exact_states,
    simulates,
    sizes_within,
    strings,
)


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
    """Theorem 10: depth ceil(log2 T), d = 2n + 2, two heads of width n, MLPs of 3 matrices and n^2 + n
    units.

    Positions -(T-1)..T lie on a circle of 2T points; the T that are not positive are pads that hold the
    function q -> start. Both heads have the scores `gamma <p_t, p_i>`, gamma = sharpness T^2 (ln n + ln T),
    the left one with p_i moved on by 2^(l-1) places. The state is read at the coordinate of `read`
    (default: start).

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
    """The recurrence itself as T equal layers: each reads the state of the position before and takes a
    step.

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


# -- as statements about an automaton -----------------------------------------------------------


@checked(states=whole(2, 64), count=whole(1, 2**20), seed=whole(0, None))
def lemma_14(states: int, *, hats: bool = True, count: int = 2**16, seed: int = 0) -> Theorem:
    """The composition gadget on all pairs of functions, or on `count` random ones if there are more."""
    n = states
    total = float(n) ** (2 * n)
    if total <= count:
        rows = np.indices((n,) * (2 * n)).reshape(2 * n, -1)
    else:
        rows = np.random.default_rng(seed).integers(0, n, (2 * n, count))
    g, f = rows[:n], rows[n:]
    composed = np.take_along_axis(f, g, axis=0) + 1
    error = float(np.abs(composition(n, hats=hats)(rows + 1.0) - composed).max())
    return Theorem.identity("Lemma 14", error, cases=rows.shape[1], details={"states": n})


@checked(states=whole(2, 64))
def lemma_14_sizes(states: int) -> Theorem:
    """`d_1 = n^2 + n`, `d_2 = n^2`, norms at most `4n + 2`; reached with hats."""
    n, built = states, composition(states)
    shares = {
        "d_1": built.widths[0] / (n * n + n),
        "d_2": built.widths[1] / (n * n),
        "norm": built.largest / (4 * n + 2),
    }
    tightest = max(shares, key=lambda key: shares[key])
    return Theorem.inequality(
        "Lemma 14, sizes", 1 - shares[tightest], cases=3, details={"tightest": tightest}
    )


def theorem_10(
    world: Semiautomaton, length: int, *, sharpness: float = 100.0, hats: bool = True
) -> Theorem:
    """Any semiautomaton in ceil(log2 T) layers; `certify` runs it. `sharpness` is the factor 100 of the
    attention scores, `hats` the choice of indicators in the MLP."""
    length = check_network_length(length)
    delta, start = automaton(world)
    check_whole("the number of states of world", world.states, 1, MOST_STATES)
    check_real("sharpness", sharpness, above=0)
    check_flag("hats", hats)
    network = scan_network(delta, start, length, sharpness=sharpness, hats=hats)
    return constructed("Theorem 10", (), network, world)


def theorem_10_sizes(world: Semiautomaton, length: int) -> Theorem:
    """Depth `ceil(log2 T)`, `d = 2n + 2`, two heads of width n, attention width `2n + 2`, MLPs of three
    layers and width `n^2 + n`, norms at most `max(4n + 2, 10 T sqrt(ln n + ln T))`; n is at least 2."""
    network, n, T = theorem_10(world, length).construction, max(2, world.states), length
    return sizes_within(
        "Theorem 10, sizes",
        network,
        {
            "depth": scan_depth(T),
            "width": 2 * n + 2,
            "heads": 2,
            "head_width": n,
            "attention_width": 2 * n + 2,
            "mlp_layers": 3,
            "mlp_width": n * n + n,
            "largest_weight": max(4 * n + 2, 10 * T * (log(n) + log(T)) ** 0.5),
        },
    )


def theorem_10_readout_as_printed(
    world: Semiautomaton, length: int, *, count: int = 200, seed: int = 0
) -> Theorem:
    """The state may be read from the coordinate `(q, R)` of an arbitrary q. The error counts states that
    some coordinate has wrong."""
    network = theorem_10(world, length).construction
    check_whole("count", count, 1, MOST_STRINGS)
    inputs = strings(world, length, count, seed, all_up_to=16 * count)
    exact = exact_states(world, inputs)
    places = network.width // 2 - 1 + np.arange(world.states)
    every = Decoder(
        places, np.zeros((1, len(places)), int), np.zeros(1, int), 1
    )  # to read, not to decode
    read = np.rint(network.then((), every).values(inputs)) - 1
    wrong = (read != exact[:, :, None]).any(axis=2)
    return Theorem.identity(
        "Theorem 10, readout as printed",
        int(wrong.sum()),
        within=0,
        cases=wrong.size,
        details={
            "length": length,
            "wrong before the last position": int(wrong[:, :-1].sum()),
            "wrong strings": int(wrong.any(axis=1).sum()),
        },
    )


def theorem_10_sharpness(
    world: Semiautomaton, length: int, *, hats: bool = True, count: int = 100, seed: int = 0
) -> Theorem:
    """How sharp attention has to be: the least factor g for which `gamma = g T^2 (ln n + ln T)` gives all
    states right is between 0.1 and 1, for an automaton that forgets nothing: every symbol permutes its
    states. The error counts the ends that are on the wrong side; the factor is found by bisection."""
    delta, start = automaton(world)
    check_network_length(length)
    check_flag("hats", hats)
    check_whole("count", count, 1, MOST_STRINGS)
    check_whole("seed", seed)
    merges = np.flatnonzero((np.sort(delta, axis=1) != np.arange(world.states)).any(axis=1))
    reason = f"symbol {merges[0]} takes two states to one" if len(merges) else ""
    forgets = Condition("permutation automaton", not len(merges), {}, reason)
    if not forgets.holds:
        return Theorem("Theorem 10, sharpness", (forgets,))
    inputs = strings(world, length, count, seed, all_up_to=16 * count)

    def run(factor: float) -> Theorem:
        network = scan_network(delta, start, length, sharpness=factor, hats=hats)
        return simulates("Theorem 10", network, world, inputs)

    def right(factor: float) -> bool:
        return run(factor).details["wrong"] == 0

    low, high = 0.1, 1.0
    outside = int(right(low)) + int(not right(high))
    for _ in range(0 if outside else 6):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if right(middle) else (middle, high)
    return Theorem.identity(
        "Theorem 10, sharpness",
        outside,
        within=0,
        cases=2,
        conditions=(forgets,),
        details={
            "length": length,
            "least factor": high,
            "deviation at 1": run(1.0).details["deviation"],
        },
    )


def recurrence(world: Semiautomaton, length: int) -> Theorem:
    """The step-by-step solution: T layers, each of which takes one step."""
    length = check_network_length(length)
    delta, start = automaton(world)
    check_whole("the number of states of world", world.states, 1, MOST_STATES)
    return constructed("Recurrence", (), step_network(delta, start, length), world)
