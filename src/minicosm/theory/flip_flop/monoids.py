"""The smallest monoids, by writing down every table of products."""

from itertools import permutations, product

import numpy as np
from jaxtyping import Int

from ..checks import whole
from ..signatures import checked
from ..theorem import Theorem

FLIP_FLOP = np.array([[0, 1, 2], [1, 1, 1], [2, 2, 2]])
"""`a b` is "a after b": the identity, set 0 and set 1. Whatever was before, a setting sets."""


@checked(order=whole(1, 3))
def monoids(order: int) -> Int[np.ndarray, "count order order"]:
    """All tables `[a, b] = a b` on 0..order-1 that are associative and have an identity: labelled, so that
    isomorphic ones are counted apart."""
    cells = order * order
    tables = np.array(list(product(range(order), repeat=cells)), np.int8)
    tables = tables.reshape(-1, order, order)
    every = np.arange(order)
    rows = np.arange(len(tables))[:, None, None, None]
    a, b, c = every[:, None, None], every[None, :, None], every[None, None, :]
    left = tables[rows, tables[:, a, b], c[None]]
    right = tables[rows, a[None], tables[:, b, c]]
    associative = (left == right).all(axis=(1, 2, 3))
    identity = ((tables == every).all(axis=2) & (tables.swapaxes(1, 2) == every).all(axis=2)).any(
        axis=1
    )
    return tables[associative & identity].astype(np.int64)


@checked()
def is_isomorphic(first: Int[np.ndarray, "n n"], second: Int[np.ndarray, "n n"]) -> bool:
    """Whether renaming elements turns one table into the other."""
    n = len(first)
    for name, table in (("first", first), ("second", second)):
        if table.min() < 0 or table.max() >= n:
            raise ValueError(
                f"{name} has the entry {table.max() if table.max() >= n else table.min()}; products are in "
                f"0..{n - 1}"
            )
    for names in permutations(range(n)):
        renamed = np.array(names)
        if (renamed[first] == second[np.ix_(renamed, renamed)]).all():
            return True
    return False


def smallest_monoid() -> Theorem:
    """No monoid of order 1 or 2 is non-commutative; those of order 3 are the flip-flop and its opposite, and
    none is a group. The error counts tables that say otherwise."""
    wrong, cases, details = 0, 0, {}
    for order in (1, 2, 3):
        tables = monoids(order)
        mixed = [table for table in tables if (table != table.T).any()]
        cases += len(tables)
        details[f"order {order}"] = len(tables)
        details[f"order {order}, non-commutative"] = len(mixed)
        for table in mixed:
            group = all(len(set(row)) == order for row in [*table, *table.T])
            known = order == 3 and any(is_isomorphic(table, t) for t in (FLIP_FLOP, FLIP_FLOP.T))
            wrong += group or not known
    both = all(
        any(is_isomorphic(table, t) for table in monoids(3)) for t in (FLIP_FLOP, FLIP_FLOP.T)
    )
    return Theorem.identity(
        "Smallest monoid", wrong + (not both), within=0, cases=cases, details=details
    )
