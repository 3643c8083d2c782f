"""Finite groups of permutations: series, solvability, and how groups are put together.

A product `a b` is "b first, then a", as in `q_t = s_t ... s_1`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from minicosm.worlds.arrays import check_whole_numbers

from ..checks import whole
from ..signatures import checked
from .semigroups import listed_row

MOST_ELEMENTS = 2**16
"""How many elements of a group are listed."""
MOST_IN_TABLE = 2**11
PERFECT = {60: "A_5", 120: "SL(2,5)", 168: "PSL(2,7)", 360: "A_6", 2520: "A_7"}
"""Orders for which there is one perfect group only."""


@dataclass(frozen=True, eq=False)
class Group:
    """A group as the permutations of points that it is: `elements[i, q]` is where element i takes q, the
    identity first."""

    elements: Int[np.ndarray, "order points"]
    generators: Int[np.ndarray, "n points"]
    name: str = ""
    _numbers: dict[bytes, int] = field(repr=False, default_factory=dict)
    _parts: dict[bytes, "Group"] = field(repr=False, default_factory=dict)

    @property
    def order(self) -> int:
        return len(self.elements)

    def __len__(self) -> int:
        return len(self.elements)

    def __repr__(self) -> str:
        return f"<{self.name or 'group'} of order {self.order} on {self.elements.shape[1]} points>"

    def number(self, element: Int[np.ndarray, " points"]) -> int:
        """The number of an element; -1 if it is none."""
        row = listed_row("element", element, self.elements.shape[1])
        return self._numbers.get(row.tobytes(), -1)

    @cached_property
    def table(self) -> Int[np.ndarray, "order order"]:
        """`[i, j]`: the number of `i j`."""
        if self.order > MOST_IN_TABLE:
            raise ValueError(
                f"the group has {self.order} elements; a multiplication table is made of at most "
                f"{MOST_IN_TABLE}"
            )
        return np.array([[self.number(row) for row in one[self.elements]] for one in self.elements])

    @cached_property
    def inverses(self) -> Int[np.ndarray, " order"]:
        return np.array([self.number(np.argsort(element)) for element in self.elements])

    @cached_property
    def is_abelian(self) -> bool:
        gens = self.generators
        return all((a[b] == b[a]).all() for a in gens for b in gens)

    @cached_property
    def conjugate_closures(self) -> tuple[Bool[np.ndarray, " order"], ...]:
        """The distinct normal subgroups that single elements generate, as masks: by the products of all
        conjugates of an element."""
        numbers = np.arange(self.order)
        conjugates = self.table[self.table, self.inverses[:, None]]  # [g, x] = g x g^-1
        found: dict[bytes, np.ndarray] = {}
        seen = np.zeros(self.order, bool)
        for x in numbers[1:]:
            if not seen[x]:
                seen[conjugates[:, x]] = True
                inside = self._closed(np.unique(conjugates[:, x]))
                found.setdefault(inside.tobytes(), inside)
        return tuple(found.values())

    def _closed(self, numbers: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " order"]:
        """The subgroup that these elements generate: closed under products, and finite."""
        inside = np.zeros(self.order, bool)
        inside[0] = True
        frontier = np.zeros(1, int)
        while len(frontier):
            products = np.unique(self.table[np.ix_(numbers, frontier)])
            frontier = products[~inside[products]]
            inside[frontier] = True
        return inside

    def _restricted(self, inside: Bool[np.ndarray, " order"]) -> "Group":
        """The subgroup of these elements, on the same points."""
        key = inside.tobytes()
        if key not in self._parts:
            self._parts[key] = group(self.elements[inside], most=self.order)
        return self._parts[key]


@checked(most=whole(1, 2**20))
def group(generators: Any, *, name: str = "", most: int = MOST_ELEMENTS) -> Group:
    """The group that permutations generate, by breadth-first search; at most `most` elements."""
    rows = np.asarray(
        check_whole_numbers("generators", generators, 0, 2**31 - 1, (None, None)), np.int32
    )
    points = rows.shape[1]
    wrong = (np.sort(rows, axis=1) != np.arange(points)).any(axis=1) if points else np.ones(1, bool)
    if wrong.any():
        raise ValueError(
            f"generators[{int(np.argmax(wrong))}] is no permutation; every row must hold "
            f"0..{max(points - 1, 0)} once"
        )
    identity = np.arange(points, dtype=np.int32)
    elements, numbers = [identity], {identity.tobytes(): 0}
    kept: list[np.ndarray] = []
    for row in rows:  # those that the ones before do not make
        if row.tobytes() in numbers:
            continue
        kept.append(row)
        at = 0
        while at < len(elements):
            for g in kept:
                new = g[elements[at]]
                if (key := new.tobytes()) not in numbers:
                    if len(elements) >= most:
                        raise ValueError(
                            f"the group has more than {most} elements; at most {most} are listed"
                        )
                    numbers[key] = len(elements)
                    elements.append(new)
            at += 1
    gens = np.array(kept, np.int32).reshape(-1, points)
    return Group(np.array(elements), gens, name, numbers)


def derived_subgroup(G: Group) -> Group:
    """`[G, G]`: the smallest normal subgroup with all commutators `a b a^-1 b^-1` of generators."""
    gens = list(G.generators)
    inverse = [np.argsort(g).astype(np.int32) for g in gens]
    found = [
        a[b[A[B]]]
        for i, (a, A) in enumerate(zip(gens, inverse, strict=True))
        for b, B in list(zip(gens, inverse, strict=True))[:i]
    ]
    identity = np.arange(G.elements.shape[1], dtype=np.int32)
    D = group([*found, identity], most=G.order)
    while True:
        moved = [
            row
            for d in D.generators
            for g, inv in zip(gens, inverse, strict=True)
            if D.number(row := g[d[inv]]) < 0
        ]
        if not moved:
            return D
        D = group([*D.generators, *moved], most=G.order)


@checked()
def derived_series(G: Group) -> tuple[Group, ...]:
    """`G, [G, G], ...` down to the group that is its own derived one: trivial iff G is solvable."""
    series = [G]
    while True:
        D = derived_subgroup(series[-1])
        if D.order == series[-1].order:
            return tuple(series)
        series.append(D)


@checked()
def is_solvable_group(G: Group) -> bool:
    """Whether the derived series reaches the group of one element."""
    return derived_series(G)[-1].order == 1


def perfect_name(order: int) -> str:
    """What to call the perfect group at which a derived series stops."""
    return f"{PERFECT[order]} (order {order})" if order in PERFECT else f"a group of order {order}"


@checked(seed=whole())
def composition_series(G: Group, seed: int | None = None) -> tuple[Group, ...]:
    """`G = H_n > H_{n-1} > ... > H_0 = 1`, each a maximal normal subgroup of the one before: normal
    subgroups that single elements generate are joined as long as what they make is a proper one. With a
    `seed` they are taken in a random order, and another series may come out."""
    rng = None if seed is None else np.random.default_rng(seed)
    series = [G]
    while series[-1].order > 1:
        now = series[-1]
        parts = now.conjugate_closures
        inside = np.arange(now.order) == 0
        for i in range(len(parts)) if rng is None else rng.permutation(len(parts)):
            products = now.table[np.ix_(np.flatnonzero(inside), np.flatnonzero(parts[i]))]
            joined = np.zeros(now.order, bool)
            joined[products] = True  # a product of normal subgroups is one
            if not joined.all():
                inside = joined
        series.append(now._restricted(inside))
    return tuple(series)


def composition_factors(series: Iterable[Group]) -> list[int]:
    """The orders of the quotients, from the largest group down."""
    orders = [G.order for G in series]
    return [a // b for a, b in pairwise(orders)]


# -- groups from groups ------------------------------------------------------------------------------


@checked()
def group_of_table(table: Any, *, name: str = "") -> Group:
    """The group with the products `table[i, j] = i j`, element 0 the identity, acting on itself from the
    left."""
    rows = np.asarray(check_whole_numbers("table", table, 0, 2**31 - 1, (None, None)), np.int32)
    if len(rows) > MOST_IN_TABLE:
        raise ValueError(f"the table has {len(rows)} rows; at most {MOST_IN_TABLE} are read")
    around = np.arange(len(rows))
    if rows.shape[0] != rows.shape[1] or (rows[0] != around).any() or (rows[:, 0] != around).any():
        raise ValueError(
            f"the table of shape {rows.shape} must be square, and element 0 the identity"
        )
    if (np.sort(rows, axis=1) != around).any() or (np.sort(rows, axis=0) != around[:, None]).any():
        raise ValueError("a row or column of the table lacks an element; a group's has all of them")
    if any((rows[row] != row[rows]).any() for row in rows):
        raise ValueError("the table is not associative; a group's is")
    made = group(rows, name=name, most=len(rows))
    numbers = {row.tobytes(): i for i, row in enumerate(rows)}
    return Group(rows, made.generators, name, numbers)


@checked()
def direct_product(factors: Sequence[Group]) -> Group:
    """The groups side by side, on the points of all of them."""
    if not factors:
        raise ValueError("factors is empty; a product needs at least one group")
    sizes = [G.elements.shape[1] for G in factors]
    total, offset, gens = sum(sizes), 0, []
    for G, size in zip(factors, sizes, strict=True):
        for g in G.generators:
            row = np.arange(total)
            row[offset : offset + size] = g + offset
            gens.append(row)
        offset += size
    name = " x ".join(G.name or "?" for G in factors)
    return group([np.arange(total), *gens], name=name)


@checked()
def semidirect_product(N: Group, H: Group, phi: Int[np.ndarray, "h n"], *, name: str = "") -> Group:
    """`(g, h)(g', h') = (g phi_h(g'), h h')` with `phi[h, g]` the number of `phi_h(g)`; element (g, h) has
    the number `g |H| + h`."""
    phi = np.asarray(check_whole_numbers("phi", phi, 0, N.order - 1, (H.order, N.order)))
    if (phi[H.table] != phi[:, phi]).any():
        raise ValueError("phi is no homomorphism: phi of a product must be the composition")
    if (phi[:, N.table] != N.table[phi[:, :, None], phi[:, None, :]]).any():
        raise ValueError("a phi_h is no automorphism: it must keep products")
    g, h = np.divmod(np.arange(N.order * H.order), H.order)
    table = N.table[g[:, None], phi[h[:, None], g]] * H.order + H.table[h[:, None], h]
    return group_of_table(table, name=name or f"{N.name} x| {H.name}")
