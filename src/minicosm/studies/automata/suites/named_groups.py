"""The groups that suites run on, as permutations of few points."""

from typing import NamedTuple

import numpy as np

from minicosm.theory.automata import Group, direct_product, group
from minicosm.worlds import automata


def cyclic(n: int) -> Group:
    """`C_n` on n points."""
    return group([np.roll(np.arange(n), -1)], name=f"C_{n}")


def dihedral(n: int) -> Group:
    """`D_2n` on n points, n >= 3."""
    around = np.arange(n)
    return group([np.roll(around, -1), -around % n], name=f"D_{2 * n}")


def symmetric(n: int) -> Group:
    """`S_n` on n points."""
    return group([[1, 0, *range(2, n)], np.roll(np.arange(n), -1)], name=f"S_{n}")


def alternating(n: int) -> Group:
    """`A_n` on n points."""
    cycles = []
    for i in range(2, n):
        row = list(range(n))
        row[0], row[1], row[i] = 1, i, 0
        cycles.append(row)
    return group(cycles, name=f"A_{n}")


def frobenius() -> Group:
    """`C_7 x| C_3`: x -> x + 1 and x -> 2 x modulo 7."""
    x = np.arange(7)
    return group([(x + 1) % 7, 2 * x % 7], name="C_7 ⋊ C_3")


def quaternion() -> Group:
    """`Q_8` on its eight elements."""
    return group(automata.quaternion().delta, name="Q_8")


def abelian(*orders: int) -> Group:
    """A product of cyclic groups."""
    made = direct_product([cyclic(n) for n in orders])
    return group(made.generators, name=" × ".join(f"C_{n}" for n in orders))


def solvable_groups() -> list[Group]:
    """Solvable groups of up to 24 elements, and one of 36."""
    return [
        *(cyclic(n) for n in (2, 3, 4, 5, 6, 7, 8)),
        abelian(2, 2),
        abelian(2, 2, 2),
        symmetric(3),
        dihedral(4),
        dihedral(5),
        quaternion(),
        alternating(4),
        frobenius(),
        symmetric(4),
        direct_product([symmetric(3), symmetric(3)]),
    ]


def other_groups() -> list[Group]:
    """Groups that are not solvable."""
    return [alternating(5), symmetric(5), direct_product([alternating(5), cyclic(2)])]


def abelian_orders(most: int = 16) -> list[tuple[int, ...]]:
    """Orders of cyclic factors of every abelian group of at most `most` elements, each once: prime powers."""
    found = []
    for order in range(2, most + 1):
        choices: list[tuple[int, ...]] = [()]
        rest = order
        for p in (2, 3, 5, 7, 11, 13):
            exponent = 0
            while rest % p == 0:
                rest, exponent = rest // p, exponent + 1
            splits = [[p**e for e in parts] for parts in partitions(exponent)]
            choices = [(*one, *split) for one in choices for split in splits]
        found += choices
    return found


def partitions(n: int, largest: int | None = None) -> list[list[int]]:
    """The ways to write n as a sum of positive whole numbers, the largest first."""
    if n == 0:
        return [[]]
    top = n if largest is None else min(n, largest)
    return [[i, *rest] for i in range(top, 0, -1) for rest in partitions(n - i, i)]


class Split(NamedTuple):
    """A group as a semidirect product: `phi[h, g]` is the number of `h g h^-1`."""

    name: str
    N: Group
    H: Group
    phi: np.ndarray


def split(name: str, normal: list, complement: list) -> Split:
    """By generators of the normal subgroup and of one that meets it in the identity."""
    N, H = group(normal), group(complement)
    phi = [[N.number(h[g[np.argsort(h)]]) for g in N.elements] for h in H.elements]
    return Split(name, N, H, np.array(phi))


def splits() -> list[Split]:
    """The semidirect products that Lemma 18 names, and some more."""
    x, four = np.arange(7), [[1, 0, 3, 2], [2, 3, 0, 1]]
    found = []
    for n in range(3, 9):
        around = np.arange(n)
        name = "S_3" if n == 3 else f"D_{2 * n}"
        found.append(split(name, [np.roll(around, -1)], [-around % n]))
    found.append(split("A_4", four, [[0, 2, 3, 1]]))
    found.append(split("S_4", four, [[0, 2, 3, 1], [0, 1, 3, 2]]))
    found.append(split("C_7 ⋊ C_3", [(x + 1) % 7], [2 * x % 7]))
    return found
