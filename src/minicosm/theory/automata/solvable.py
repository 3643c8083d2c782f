"""Networks that simulate groups in constant depth: Lemmas 17, 18 and 19, and Theorem 16.

A group element is a vector of whole numbers, its code, and the identity is 0. A `Simulation` turns the
codes of `g_1, ..., g_T` into those of the prefix products `g_t ... g_1`. It works on `rep_dim` dimensions of
codes and two that all parts share: the mark of the pad at position 0 and the countdown `ln(2T - t)` of
Lemma 15.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array

from .counters import countdown, counter_layer
from .gadgets import lookup
from .groups import Group, composition_series
from .layers import MLP, Layer, beside
from .network import Decoder, Network


@dataclass(frozen=True, eq=False)
class Simulation:
    """Layers that compute prefix products of a group, at most `length` of them."""

    name: str
    length: int
    rep_dim: int
    rep_size: int
    """One more than the largest entry of a code."""
    layers: tuple[Layer, ...]
    """On `rep_dim` dimensions, then the pad's and the countdown's."""
    codes: Int[np.ndarray, "elements rep_dim"]
    """Of the elements that are simulated, the identity first: all of the group or some of a larger one."""

    @property
    def depth(self) -> int:
        return len(self.layers)

    def network(self, symbols: Any = None) -> Network:
        """The network that reads symbols, the numbers of elements (default: every element is a symbol), and
        decodes the number of the product."""
        numbers = np.arange(len(self.codes)) if symbols is None else np.asarray(symbols)
        r, T = self.rep_dim, self.length
        encoder = np.zeros((len(numbers), r + 2))
        encoder[:, :r] = self.codes[numbers]
        pads = np.zeros((1, r + 2))
        pads[0, r] = 1
        positions = np.zeros((T + 1, r + 2))
        positions[:, r + 1] = countdown(T)
        labels = np.arange(len(self.codes))
        decoder = Decoder(np.arange(r), self.codes, labels, len(labels))
        return Network(encoder, pads, positions, self.layers, decoder)

    def placed(self, dims: Any, width: int, pad: int, clock: int) -> tuple[Layer, ...]:
        """The layers on these dimensions of a larger workspace, with its pad and countdown."""
        where = np.array([*dims, pad, clock])
        return tuple(layer.placed(where, width) for layer in self.layers)


def simulate_cyclic(n: int, length: int) -> Simulation:
    """`C_n` by one layer (Lemma 15)."""
    codes = np.arange(n)[:, None]
    return Simulation(f"C_{n}", length, 1, n, (counter_layer(n, length),), codes)


def simulate_product(*parts: Simulation) -> Simulation:
    """Lemma 17: groups side by side; depth is the largest, dimensions add up. Elements are numbered with
    the last group's running fastest."""
    r = sum(part.rep_dim for part in parts)
    starts = np.cumsum([0, *(part.rep_dim for part in parts)])
    depth = max(part.depth for part in parts)
    layers = []
    for level in range(depth):
        alive = [(part, at) for part, at in zip(parts, starts, strict=False) if level < part.depth]
        layers.append(
            beside(
                [part.layers[level] for part, _ in alive],
                [np.array([*range(at, at + part.rep_dim), r, r + 1]) for part, at in alive],
                r + 2,
            )
        )
    grids = np.meshgrid(*(np.arange(len(part.codes)) for part in parts), indexing="ij")
    codes = [part.codes[grid.ravel()] for part, grid in zip(parts, grids, strict=True)]
    return Simulation(
        " x ".join(part.name for part in parts),
        parts[0].length,
        r,
        max(part.rep_size for part in parts),
        tuple(layers),
        np.concatenate(codes, axis=1),
    )


def simulate_semidirect(N: Simulation, H: Simulation, phi: Int[np.ndarray, "h n"]) -> Simulation:
    """Lemma 18: `(g, h)(g', h') = (g phi_h(g'), h h')`, with `phi[h, g]` the number of `phi_h(g)`.

    (i) prefix products of H, (ii) g_t to `phi^-1_{h_1..t}(g_t)`, (iii) prefix products of N, (iv) back, for
    `phi^-1_{h <= t}(g_{<= t})` is the product of these over all positions. Element (g, h) is number
    `g |H| + h`; its code is that of g, then that of h.
    """
    r, s = N.rep_dim, H.rep_dim
    width = r + s + 2
    g, h = np.divmod(np.arange(len(N.codes) * len(H.codes)), len(H.codes))
    codes = np.concatenate([N.codes[g], H.codes[h]], axis=1)
    inverse = np.argsort(phi, axis=1)

    def change(table: Int[np.ndarray, "h n"]) -> Layer:
        values = N.codes[table[h, g]].astype(float)
        mlp = lookup(codes.astype(float), values, range(r + s), range(r), gap=1.0)
        return _pointwise(mlp, width)

    layers = (
        *H.placed(range(r, r + s), width, r + s, r + s + 1),
        change(inverse),
        *N.placed(range(r), width, r + s, r + s + 1),
        change(phi),
    )
    size = max(N.rep_size, H.rep_size)
    return Simulation(f"{N.name} x| {H.name}", N.length, r + s, size, layers, codes)


def simulate_wreath(
    N: Simulation,
    p: int,
    codes: Int[np.ndarray, "elements rep_dim"],
    *,
    name: str = "",
    bias: float | None = None,
) -> Simulation:
    """Lemma 19: `N wr C_p`, p copies of N that `C_p` shifts: `(f, h)(f', h') = (f phi_h(f'), h + h')` with
    `phi_h(f)(i) = f(i + h)`.

    A code has those of f(0), ..., f(p-1), then h. `codes` are the elements wanted: all of them are
    `|N|^p p`, too many to list. The gadget that shifts copies has the bias `max(p, rep_size - 1)` unless
    another is given; the printed one is p.
    """
    r = N.rep_dim
    width, h = p * r + 3, p * r
    B = max(p, N.rep_size - 1) if bias is None else bias
    copies = [np.array([*range(i * r, (i + 1) * r), h + 1, h + 2]) for i in range(p)]
    layers = (
        counter_layer(p, N.length).placed(np.array([h, h + 1, h + 2]), width),
        _pointwise(shift_copies(p, r, B, back=True), width),
        *(beside([layer] * p, copies, width) for layer in N.layers),
        _pointwise(shift_copies(p, r, B), width),
    )
    size = max(N.rep_size, p)
    return Simulation(name or f"{N.name} wr C_{p}", N.length, p * r + 1, size, layers, codes)


def shift_copies(p: int, rep_dim: int, bias: float, *, back: bool = False) -> MLP:
    """The MLP of Lemma 19: reads p codes and h, writes the code of copy `i + h` (`i - h` if `back`) to i.

    With the indicators 1[h = v] of Lemma 10, `sum_v relu(B 1[h = v] + f_{i + v} - B)`: right if no entry of a
    code is larger than B.
    """
    r, h = rep_dim, p * rep_dim
    units = 4 * p  # of the indicators, then one for each entry of each copy
    up = np.zeros((units + h, h + 1))
    up[:units, h] = 4
    up[units:, :h] = np.eye(h)
    first = np.zeros(units + h)
    first[:units] = (-4 * np.arange(p)[:, None] + np.array([2, 1, -1, -2])).ravel()
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    adds: list[int] = []
    for i in range(p):
        for v in range(p):
            source = (i - v if back else i + v) % p
            for c in range(r):
                row = len(adds)
                rows += [row] * 5
                columns += [*range(4 * v, 4 * v + 4), units + source * r + c]
                weights += [bias, -bias, -bias, bias, 1]
                adds.append(i * r + c)
    select = csr_array((weights, (rows, columns)), (len(adds), units + h))
    add = csr_array((np.ones(len(adds)), (adds, np.arange(len(adds)))), (h, len(adds)))
    return MLP(
        (csr_array(up), select, add),
        (first, np.full(len(adds), -float(bias)), np.zeros(h)),
        np.arange(h + 1),
        np.arange(h),
    )


def simulate_solvable(G: Group, length: int) -> Simulation:
    """Theorem 16: a solvable group by its composition series, codes in the order of its elements.

    A step `G / N = C_p` puts G into `N wr C_p` (Krasner and Kaloujnine): with x outside N and `s(j) = x^j`,
    the element `y` in `N s(k)` is `(f_y, k)`, `f_y(j) = s(j) y s(j + k mod p)^-1`, and `y = f_y(0) s(k)`.
    """
    series = composition_series(G)
    now = series[-1]  # of one element: simulated by nothing
    found = Simulation("1", length, 0, 1, (), np.zeros((1, 0), int))
    for larger in reversed(series[:-1]):
        p = larger.order // now.order
        codes = _extension_codes(larger, now, found.codes, p)
        if now.order == 1:
            found = Simulation(f"C_{p}", length, 1, p, (counter_layer(p, length),), codes)
        else:
            found = simulate_wreath(found, p, codes, name=larger.name)
        now = larger
    # The largest group of the series is G itself, whose elements have its numbers.
    return found


def _extension_codes(
    G: Group, N: Group, inner: Int[np.ndarray, "n r"], p: int
) -> Int[np.ndarray, "g r_new"]:
    """The codes of G's elements in `N wr C_p`; in C_p alone where N has one element."""
    inside = np.array([N.number(element) >= 0 for element in G.elements])
    x = G.elements[int(np.argmin(inside))]
    powers = [np.arange(len(x), dtype=np.int32)]
    for _ in range(p - 1):
        powers.append(x[powers[-1]])
    backs = [np.argsort(power) for power in powers]
    rows = []
    for y in G.elements:
        k = next(j for j in range(p) if N.number(y[backs[j]]) >= 0)  # y s(k)^-1 lies in N
        if N.order == 1:
            rows.append([k])
            continue
        f = [N.number(powers[j][y[backs[(j + k) % p]]]) for j in range(p)]
        rows.append([*(entry for number in f for entry in inner[number]), k])
    return np.array(rows)


def wreath_product(
    first: Int[np.ndarray, " r"], second: Int[np.ndarray, " r"], n: int, p: int
) -> Int[np.ndarray, " r"]:
    """The product of two codes of `C_n wr C_p`: `(f, h)(f', h') = (f + f'(. + h) mod n, h + h' mod p)`."""
    h = int(first[-1])
    moved = np.roll(second[:-1], -h)
    return np.append((first[:-1] + moved) % n, (h + second[-1]) % p)


def _pointwise(mlp: MLP, width: int) -> Layer:
    """A layer without heads whose MLP writes anew what it writes."""
    keep = np.ones(width, bool)
    keep[mlp.writes] = False
    return Layer((), (mlp,), np.ones(width, bool), keep)
