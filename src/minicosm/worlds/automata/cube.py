"""Rubik's cube by geometry: stickers are places and normals, turns rotate a layer of them (Example 7)."""

from functools import cache
from itertools import product

import numpy as np
from jaxtyping import Int

from .library import permutation_automaton
from .semiautomaton import Semiautomaton

Vector = tuple[int, ...]
FACES = "LRDUBF"
"""The faces x = -1, 1, y = -1, 1, z = -1, 1."""


@cache
def stickers() -> tuple[tuple[Vector, Vector], ...]:
    """The 48 stickers that move, as (place of the cubie, normal): 24 on corners, then 24 on edges. The three
    of a corner stand together, in right-handed order of their normals; so do the two of an edge."""
    found = []
    for zeros in (0, 1):
        for place in product((-1, 0, 1), repeat=3):
            if place.count(0) != zeros:
                continue
            normals = [
                tuple(place[a] if b == a else 0 for b in range(3)) for a in range(3) if place[a]
            ]
            if zeros == 0 and np.linalg.det(np.array(normals)) < 0:
                normals[1], normals[2] = normals[2], normals[1]
            found += [(place, normal) for normal in normals]
    return tuple(found)


def _turned(vector: Vector, axis: int, side: int) -> Vector:
    """The vector after a quarter turn about an axis, clockwise as seen from its side."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    new = list(vector)
    new[a], new[b] = side * vector[b], -side * vector[a]
    return tuple(new)


@cache
def _turns() -> tuple[tuple[int, ...], ...]:
    numbers = {sticker: i for i, sticker in enumerate(stickers())}
    rows = []
    for axis, side in ((i // 2, (-1, 1)[i % 2]) for i in range(6)):
        rows.append(
            tuple(
                numbers[_turned(place, axis, side), _turned(normal, axis, side)]
                if place[axis] == side
                else number
                for (place, normal), number in numbers.items()
            )
        )
    return tuple(rows)


def rubik() -> Semiautomaton:
    """Where one of the 48 stickers that move is after turns of the faces L, R, D, U, B, F, a quarter each,
    clockwise. The permutations of all stickers are the rows of `delta`; they generate the cube's group."""
    turns: Int[np.ndarray, "6 48"] = np.array(_turns())
    return permutation_automaton(turns, name="Rubik's cube", symbols=tuple(FACES))
