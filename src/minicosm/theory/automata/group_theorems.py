"""Statements about groups: Lemmas 17, 18 and 19, Theorems 14 and 16, Example 7."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import factorial, log2

import numpy as np
from jaxtyping import Int

from minicosm.worlds import Semiautomaton, automata

from ..checks import whole
from ..signatures import checked
from ..theorem import IDENTITY, Condition, Theorem
from .groups import (
    Group,
    composition_factors,
    composition_series,
    derived_series,
    perfect_name,
    semidirect_product,
)
from .network import Network
from .simulation import check_network_length, constructed, sizes_within
from .solvable import (
    Simulation,
    simulate_cyclic,
    simulate_product,
    simulate_semidirect,
    simulate_solvable,
    simulate_wreath,
)

MOST_SYMBOLS = 256
"""Elements of a wreath product that a network is given as symbols."""


def canonical_world(G: Group) -> Semiautomaton:
    """The automaton of a group (Definition 9): `q -> s q`."""
    return Semiautomaton(G.table, name=G.name)


@checked()
def lemma_17(factors: Sequence[Group], length: int) -> Theorem:
    """The direct product of solvable groups, side by side: depth is the largest of theirs, and 1 for cyclic
    ones."""
    length = check_network_length(length)
    if not factors:
        raise ValueError("factors is empty; a product needs at least one group")
    conditions = tuple(_solvable(G) for G in factors)
    if not all(condition.holds for condition in conditions):
        return Theorem("Lemma 17", conditions)
    network = simulate_product(*(_simulated(G, length) for G in factors)).network()
    worlds = [canonical_world(G) for G in factors]
    shape = [world.states for world in worlds]
    at = np.indices(shape).reshape(len(shape), -1)
    both = [np.asarray(w.delta)[np.ix_(q, q)] for w, q in zip(worlds, at, strict=True)]
    table = np.ravel_multi_index(tuple(both), shape)
    name = " x ".join(G.name or "?" for G in factors)
    return constructed("Lemma 17", conditions, network, Semiautomaton(table, name=name))


@checked()
def lemma_17_sizes(factors: Sequence[Group], length: int) -> Theorem:
    """Depth and width of heads are the largest of the factors', all else is at most their sum."""
    network = lemma_17(factors, length).construction
    audits = [_simulated(G, length).network().audit() for G in factors]
    claimed = {name: max(getattr(a, name) for a in audits) for name in ("depth", "head_width")}
    claimed |= {
        name: sum(getattr(a, name) for a in audits) for name in ("width", "heads", "mlp_width")
    }
    claimed |= {"largest_weight": max(a.largest_weight for a in audits)}
    return sizes_within("Lemma 17, sizes", network, claimed)


def _simulated(G: Group, length: int) -> Simulation:
    """A cyclic group by one counter, another one by its composition series."""
    for number in range(G.order):
        powers = [0]
        while (after := int(G.table[number, powers[-1]])) != 0:
            powers.append(after)
        if len(powers) == G.order:
            codes = np.zeros((G.order, 1), int)
            codes[powers, 0] = np.arange(G.order)
            counter = simulate_cyclic(G.order, length)
            return Simulation(G.name, length, 1, G.order, counter.layers, codes)
    return simulate_solvable(G, length)


@checked()
def lemma_18(N: Group, H: Group, phi: Int[np.ndarray, "h n"], length: int) -> Theorem:
    """The semidirect product of solvable groups in `depth_N + depth_H + 2` layers; `phi[h, g]` is the number
    of `phi_h(g)`, and (g, h) is element `g |H| + h`."""
    length = check_network_length(length)
    conditions = (_solvable(N), _solvable(H))
    G = semidirect_product(N, H, phi)
    if not all(condition.holds for condition in conditions):
        return Theorem("Lemma 18", conditions)
    simulation = simulate_semidirect(_simulated(N, length), _simulated(H, length), np.asarray(phi))
    return constructed("Lemma 18", conditions, simulation.network(), canonical_world(G))


@checked()
def lemma_18_sizes(N: Group, H: Group, phi: Int[np.ndarray, "h n"], length: int) -> Theorem:
    """Depth `depth_N + depth_H + 2`, heads and MLPs no larger than those of N and H or `4|G|`."""
    length = check_network_length(length)
    first, second = (_simulated(G, length).network().audit() for G in (N, H))
    network = lemma_18(N, H, phi, length).construction
    return sizes_within(
        "Lemma 18, sizes",
        network,
        {
            "depth": first.depth + second.depth + 2,
            "width": first.width + second.width,
            "heads": max(first.heads, second.heads),
            "head_width": max(first.head_width, second.head_width),
            "mlp_width": max(first.mlp_width, second.mlp_width, 4 * N.order * H.order),
        },
    )


# -- wreath products ---------------------------------------------------------------------------------


@checked(n=whole(2, 64), p=whole(2, 64))
def lemma_19(n: int, p: int, length: int) -> Theorem:
    """`C_n wr C_p`, with a gadget whose bias is `max(p, n - 1)`.

    Symbols are all elements, or 256 of them; `certify(count, seed)` compares products of random words.
    """
    return _wreath("Lemma 19", n, p, length, None)


@checked(n=whole(2, 64), p=whole(2, 64))
def lemma_19_bias_as_printed(n: int, p: int, length: int) -> Theorem:
    """`C_n wr C_p`, with a gadget whose bias is p as printed."""
    return _wreath("Lemma 19, bias as printed", n, p, length, float(p))


@checked(n=whole(2, 64), p=whole(2, 64))
def lemma_19_sizes(n: int, p: int, length: int) -> Theorem:
    """Depth 4, `d = p 3 + 3` at most, heads p, MLP width at most `max(p 4nT, 4pT, 5 p^2 n)`."""
    network = lemma_19(n, p, length).construction
    return sizes_within(
        "Lemma 19, sizes",
        network,
        {
            "depth": 4,
            "width": 3 * p + 3,
            "heads": p,
            "head_width": 1,
            "mlp_width": max(p * 4 * n * length, 4 * p * length, 5 * p * p * n),
            "largest_weight": max(6 * n * length, 6 * p * length, 6 * p),
        },
    )


def _wreath(name: str, n: int, p: int, length: int, bias: float | None) -> Theorem:
    length = check_network_length(length)
    codes = _wreath_elements(n, p)
    network = simulate_wreath(simulate_cyclic(n, length), p, codes, bias=bias).network()
    return Theorem(name, construction=network, check=_wreath_check(name, network, codes, n, p))


def _wreath_elements(n: int, p: int) -> Int[np.ndarray, "elements r"]:
    """All codes of `C_n wr C_p`, or 256 of them, the identity first."""
    if p * log2(n) + log2(p) <= log2(MOST_SYMBOLS):
        listed = [(*f, h) for h in range(p) for f in product(range(n), repeat=p)]
        return np.array(listed)
    rng = np.random.default_rng([n, p])
    drawn = rng.integers(0, [n] * p + [p], (4 * MOST_SYMBOLS, p + 1))
    drawn[0] = 0
    _, first = np.unique(drawn, axis=0, return_index=True)
    return drawn[np.sort(first)[:MOST_SYMBOLS]]


def _wreath_check(
    name: str, network: Network, codes: Int[np.ndarray, "elements r"], n: int, p: int
) -> Callable[..., Theorem]:
    def check(*, count: int = 100, seed: int = 0) -> Theorem:
        rng = np.random.default_rng([seed, n, p])
        words = rng.integers(0, len(codes), (count, network.length))
        values = network.values(words)
        error = float(np.abs(values - wreath_products(codes[words], n, p)).max())
        return Theorem.identity(
            name,
            error,
            within=IDENTITY,
            cases=words.size,
            details={"strings": count, "length": network.length, "depth": len(network.layers)},
        )

    return check


def wreath_products(
    codes: Int[np.ndarray, "words T r"], n: int, p: int
) -> Int[np.ndarray, "words T r"]:
    """The codes of the prefix products `g_t ... g_1` in `C_n wr C_p`, by the rule of multiplication:
    `(f, h)(f', h') = (f + f'(. + h), h + h')`."""
    found = np.zeros_like(codes)
    now = np.zeros_like(codes[:, 0])
    places = np.arange(p)
    for t in range(codes.shape[1]):
        f, h = codes[:, t, :p], codes[:, t, p]
        moved = np.take_along_axis(now[:, :p], (places + h[:, None]) % p, axis=1)
        now = np.concatenate([(f + moved) % n, ((h + now[:, p]) % p)[:, None]], axis=1)
        found[:, t] = now
    return found


# -- composition series ------------------------------------------------------------------------------


@checked(count=whole(1), seed=whole())
def theorem_14(G: Group, count: int = 200, seed: int = 0) -> Theorem:
    """Composition series drawn at random have the same factors. The error counts series whose factors, by
    order and by being abelian, are not those of the first one; simple groups of one order below 20,160 are
    isomorphic."""

    def factors(series: tuple[Group, ...]) -> Counter:
        orders = composition_factors(series)
        abelian = [_abelian_quotient(a, b) for a, b in pairwise(series)]
        return Counter(zip(orders, abelian, strict=True))

    wanted = factors(composition_series(G))
    drawn = [composition_series(G, seed + i) for i in range(count)]
    wrong = sum(factors(series) != wanted for series in drawn)
    shapes = {tuple(H.order for H in series) for series in drawn}
    return Theorem.identity(
        "Theorem 14",
        wrong,
        within=0,
        cases=count,
        details={
            "group": G.name,
            "order": G.order,
            "length": wanted.total(),
            "chains of orders": len(shapes),
        },
    )


def _abelian_quotient(G: Group, N: Group) -> bool:
    """Whether all commutators of generators of G lie in its normal subgroup N."""
    gens = G.generators
    return all(N.number(a[b[np.argsort(a)[np.argsort(b)]]]) >= 0 for a in gens for b in gens)


def _solvable(G: Group) -> Condition:
    last = derived_series(G)[-1]
    reason = "" if last.order == 1 else f"{perfect_name(last.order)} is perfect"
    return Condition("solvable group", not reason, {"order": G.order}, reason)


@checked()
def theorem_16(G: Group, length: int) -> Theorem:
    """A solvable group in a depth that does not depend on T, by its composition series."""
    length = check_network_length(length)
    condition = _solvable(G)
    network = simulate_solvable(G, length).network() if condition.holds else None
    return constructed("Theorem 16", (condition,), network, canonical_world(G))


@checked()
def theorem_16_sizes(G: Group, length: int) -> Theorem:
    """Of a group of permutations of n points: depth at most `3 log2 |G|`, d and heads at most `2|G|`, heads
    of width 1, MLP width at most `20 n T |G|`, norms at most `6 n T`."""
    network = theorem_16(G, length).construction
    n, order = G.elements.shape[1], G.order
    return sizes_within(
        "Theorem 16, sizes",
        network,
        {
            "depth": 3 * log2(order),
            "width": 2 * order,
            "heads": 2 * order,
            "head_width": 1,
            "mlp_width": 20 * n * length * order,
            "largest_weight": 6 * n * length,
        },
    )


@checked()
def theorem_16_recursion(G: Group, length: int) -> Theorem:
    """Exactly: depth `3 l - 2` for a series of l steps, and `rep_dim <- p rep_dim + 1`, always below |G|."""
    simulation = simulate_solvable(G, check_network_length(length))
    factors = composition_factors(composition_series(G))
    rep_dim = 0
    for p in reversed(factors):
        rep_dim = p * rep_dim + 1
    off = (
        abs(simulation.depth - (3 * len(factors) - 2))
        + abs(simulation.rep_dim - rep_dim)
        + max(0, rep_dim - G.order + 1)
    )
    details = {"depth": simulation.depth, "rep_dim": simulation.rep_dim, "order": G.order}
    return Theorem.identity("Theorem 16, recursion", off, within=0, cases=1, details=details)


# -- Rubik's cube ------------------------------------------------------------------------------------

CORNERS, EDGES = 8, 12


def example_7() -> Theorem:
    """The group of the cube lies in `(C_3 wr S_8) x (C_2 wr S_12)` with index 12. Its order is SymPy's:
    without it nothing is decided."""
    turns = np.asarray(automata.rubik().delta)
    inside = all(
        _keeps_blocks(turn[: 3 * CORNERS], 3)
        and _keeps_blocks(turn[3 * CORNERS :] - 3 * CORNERS, 2)
        for turn in turns
    )
    order = _order_by_sympy(turns)
    whole = 3**CORNERS * factorial(CORNERS) * 2**EDGES * factorial(EDGES)
    if order is None:
        return Theorem(
            "Example 7", details={"warning": "SymPy is not installed: pip install sympy"}
        )
    return Theorem.identity(
        "Example 7",
        abs(whole / order - 12) + (not inside),
        within=0,
        cases=len(turns),
        details={"order": str(order), "index": whole / order, "inside the wreath products": inside},
    )


def _keeps_blocks(turn: Int[np.ndarray, " stickers"], size: int) -> bool:
    """Whether blocks of this size go to blocks, and their stickers round in a cycle: `C_size wr S_n`."""
    blocks, at = np.divmod(turn.reshape(-1, size), size)
    steps = (at - at[:, :1]) % size
    return bool((blocks == blocks[:, :1]).all() and (steps == np.arange(size)).all())


def _order_by_sympy(turns: Int[np.ndarray, "n points"]) -> int | None:
    try:
        from sympy.combinatorics import Permutation, PermutationGroup
    except ImportError:
        return None
    return int(PermutationGroup([Permutation(row.tolist()) for row in turns]).order())
