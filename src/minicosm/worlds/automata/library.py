"""The automata of the literature: counters, memories, gridworlds, groups, brackets.

States are numbered from 0, and so are symbols; `stay` adds a symbol that changes nothing, as the last one.
"""

from itertools import permutations as all_permutations
from itertools import product as pairs
from typing import Any

import numpy as np
from jaxtyping import Int

from ..arrays import check_flag, check_length, check_size, check_whole_numbers
from .combinators import product
from .semiautomaton import Semiautomaton

MOST_STATES = 2**14  # of an automaton of the library


def cyclic(n: int) -> Semiautomaton:
    """The counter `C_n`: `q + s mod n` for symbols 0..n-1 (Definition 4)."""
    check_length(n, 2**12, "n")
    table = (np.arange(n)[:, None] + np.arange(n)) % n
    return Semiautomaton(table, name=f"C_{n}")


def parity() -> Semiautomaton:
    """`C_2`: whether the number of ones is odd (Example 1)."""
    return cyclic(2)


def cyclic_power(n: int, copies: int) -> Semiautomaton:
    """`C_n` several times side by side; a symbol is one for each of them."""
    check_length(copies, 12, "copies")
    check_size(f"{copies} copies of C_{n}", check_length(n, 2**12, "n") ** (2 * copies), 2**24)
    world = cyclic(n)
    for _ in range(copies - 1):
        world = product(world, cyclic(n))
    return world._replaced(name=f"C_{n}^{copies}")


def memory(states: int) -> Semiautomaton:
    """The memory (Definition 5): symbol 0 keeps, symbol i sets the state i - 1."""
    check_length(states, 2**12, "states")
    sets = np.repeat(np.arange(states)[:, None], states, axis=1)
    table = np.vstack([np.arange(states), sets])
    names = ("keep", *(f"set {i}" for i in range(states)))
    return Semiautomaton(table, name=f"memory of {states}", symbols=names)


def flip_flop() -> Semiautomaton:
    """The memory of one bit (Example 2)."""
    return memory(2)._replaced(name="flip-flop")


def gridworld(n: int, *, stay: bool = False) -> Semiautomaton:
    """`Grid_n`, a line of n places with walls at its ends (Example 3, S = n - 1): left, right."""
    check_length(n, 2**12, "n")
    q = np.arange(n)
    rows = [np.maximum(q - 1, 0), np.minimum(q + 1, n - 1)]
    return Semiautomaton(*_stay(rows, stay), name=f"Grid_{n}", symbols=_names("LR", stay))


def gridworld_2d(n: int) -> Semiautomaton:
    """n x n places with walls around them (Example 5): left, right, down, up, stay."""
    check_length(n, 2**6, "n")
    x, y = np.divmod(np.arange(n * n), n)
    moves = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
    rows = [np.clip(x + a, 0, n - 1) * n + np.clip(y + b, 0, n - 1) for a, b in moves]
    return Semiautomaton(np.array(rows), name=f"Grid_{n}x{n}", symbols=tuple("LRDU⊥"))


def dihedral(n: int, *, stay: bool = False) -> Semiautomaton:
    """`D_2n`, a car on a circle of n places (Example 6): advance, reverse. State `2 s + b` is place s,
    direction +1 if b = 0 and -1 if b = 1."""
    check_length(n, 2**12, "n")
    place, direction = np.divmod(np.arange(2 * n), 2)
    ahead = (place + 1 - 2 * direction) % n
    rows = [2 * ahead + direction, 2 * place + 1 - direction]
    return Semiautomaton(
        *_stay(rows, stay),
        name=f"D_{2 * n}",
        symbols=_names("ar", stay),
        state_names=tuple(f"{s}{'+-'[b]}" for s, b in zip(place, direction, strict=True)),
    )


def symmetric(n: int, tokens: int = 8, *, stay: bool = False) -> Semiautomaton:
    """`S_n` by multiplication from the left, states in lexicographic order. Symbols: the transposition
    (1 2), the n-cycle, then further permutations in lexicographic order without the identity; `tokens` of
    them, or all if there are fewer."""
    if check_length(n, 7, "n") < 2:
        raise ValueError(f"n is {n}; it must be a whole number of at least 2")
    check_length(tokens, 2**12, "tokens")
    elements = np.array(list(all_permutations(range(n))))
    swap, cycle = (1, 0, *range(2, n)), (*range(1, n), 0)
    listed = list(dict.fromkeys([swap, cycle, *map(tuple, elements[1:].tolist())]))[:tokens]
    if check_flag("stay", stay):
        listed.append(tuple(range(n)))
    return permutation_automaton(listed, elements, name=f"S_{n}")


def alternating(n: int, *, stay: bool = False) -> Semiautomaton:
    """`A_n` by multiplication from the left; symbols are the 3-cycles (1 2 i), i = 3..n."""
    if check_length(n, 7, "n") < 3:
        raise ValueError(f"n is {n}; it must be a whole number of at least 3")
    elements = np.array([p for p in all_permutations(range(n)) if _is_even(p)])
    cycles = []
    for i in range(2, n):
        cycle = list(range(n))
        cycle[0], cycle[1], cycle[i] = 1, i, 0
        cycles.append(cycle)
    if check_flag("stay", stay):
        cycles.append(list(range(n)))
    return permutation_automaton(cycles, elements, name=f"A_{n}")


def quaternion() -> Semiautomaton:
    """`Q_8` by multiplication from the left; symbols 1, i, j, k; states 1, -1, i, -i, j, -j, k, -k."""
    # The product of two of 1, i, j, k: which unit it is, and its sign.
    unit = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
    sign = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]])
    u, minus = np.divmod(np.arange(8), 2)
    rows = [2 * unit[s, u] + (sign[s, u] + minus) % 2 for s in range(4)]
    names = tuple(f"{'' if m == 0 else '-'}{'1ijk'[k]}" for k, m in zip(u, minus, strict=True))
    return Semiautomaton(np.array(rows), name="Q_8", symbols=tuple("1ijk"), state_names=names)


def dyck(types: int, depth: int) -> Semiautomaton:
    """Brackets of k types nested at most `depth` deep: states are stacks, the empty one first, then by
    length; the last state is dead, where brackets that do not fit lead. Symbol 2t opens type t, 2t + 1
    closes it. The law is uniform over the brackets that fit, as in `Dyck.uniform`."""
    check_length(types, 2**6, "types")
    check_length(depth, 12, "depth")
    count = sum(types**i for i in range(depth + 1))
    check_size(f"the stacks of {types} types and depth {depth}", count, MOST_STATES)
    stacks = [stack for size in range(depth + 1) for stack in pairs(range(types), repeat=size)]
    number = {stack: i for i, stack in enumerate(stacks)}
    table = np.full((2 * types, count + 1), count)
    for stack, q in number.items():
        for t in range(types):
            table[2 * t, q] = number.get((*stack, t), count)
        if stack:
            table[2 * stack[-1] + 1, q] = number[stack[:-1]]
    fits = (table < count).astype(float)
    fits[:, count] = 1
    opened = "([{<" if types <= 4 else None
    closed = ")]}>"
    if opened:
        symbols = tuple(s for t in range(types) for s in (opened[t], closed[t]))
    else:
        symbols = tuple(f"{side}{t}" for t in range(types) for side in "()")
    names = ("".join(opened[t] for t in stack) or "ε" for stack in stacks) if opened else ()
    return Semiautomaton(
        table,
        law=fits / fits.sum(axis=0),
        name=f"Dyck_{depth},{types}",
        symbols=symbols,
        state_names=(*names, "dead") if opened else (),
    )


def abab(*, noisy: bool = True) -> Semiautomaton:
    """`(abab)*`: states 0..3 go round while a and b alternate, 4 is the failure, from which nothing leads
    away. The start, 3, is the accepting state. With `noisy` a sequence is abab... with probability 1/2
    and of independent, equally likely symbols otherwise; without, it is always abab..."""
    check_flag("noisy", noisy)
    table = np.full((2, 5), 4)
    table[0, [3, 1]] = 0, 2
    table[1, [0, 2]] = 1, 3
    right = (table < 4).astype(float)
    right[:, 4] = 0.5
    laws = np.stack([right, np.full((2, 5), 0.5)]) if noisy else right[None]
    weights = [0.5, 0.5] if noisy else [1.0]
    return Semiautomaton(table, 3, laws, weights, name="(abab)*", symbols=("a", "b"))


def permutation_automaton(
    tokens: Any, elements: Any = None, *, name: str = "", symbols: tuple[str, ...] = ()
) -> Semiautomaton:
    """Permutations as symbols. Without `elements` they act on points, `q -> token[q]`; with the rows of
    `elements`, a set that is closed, on these by multiplication from the left, `q -> token o q`, from the
    identity."""
    tokens = _permutations("tokens", tokens)
    if elements is None:
        return Semiautomaton(tokens, name=name, symbols=symbols)
    elements = _permutations("elements", elements)
    if elements.shape[1] != tokens.shape[1]:
        raise ValueError(
            f"elements move {elements.shape[1]} points; they must move those of the tokens, "
            f"{tokens.shape[1]}"
        )
    number = {tuple(element): i for i, element in enumerate(elements.tolist())}
    try:
        moved = [[number[tuple(row)] for row in token[elements].tolist()] for token in tokens]
        start = number[tuple(range(elements.shape[1]))]
    except KeyError as error:
        raise ValueError(
            f"{list(error.args[0])} is a product of the permutations and not among the elements; "
            "these must be a group that holds the tokens"
        ) from None
    return Semiautomaton(moved, start, name=name, symbols=symbols)


def canonical(table: Any, *, name: str = "") -> Semiautomaton:
    """The automaton of a group (Definition 9): states and symbols are its elements, `q -> s q`. Row s of
    the multiplication table has the products `s q`; element 0 is the identity."""
    table = np.asarray(check_whole_numbers("table", table, 0, 2**31 - 1, (None, None)))
    if table.shape[0] != table.shape[1] or not table.size:
        raise ValueError(f"table has shape {table.shape}; a multiplication table is square")
    around = np.arange(len(table))
    if (table[0] != around).any() or (table[:, 0] != around).any():
        raise ValueError(
            "row 0 or column 0 of the table is not 0, 1, 2, ...: element 0 must be the identity"
        )
    if (np.sort(table, axis=1) != around).any() or (
        np.sort(table, axis=0) != around[:, None]
    ).any():
        raise ValueError("a row or column of the table lacks an element; a group's has all of them")
    return Semiautomaton(table, name=name)


def source_tasks() -> dict[str, Semiautomaton]:
    """The 19 automata that the source trains on."""
    worlds = [
        dyck(2, 4),
        gridworld(4),
        gridworld(9),
        *(cyclic(n) for n in range(2, 9)),
        cyclic_power(2, 2),
        cyclic_power(2, 3),
        dihedral(3),
        dihedral(4),
        quaternion(),
        alternating(4),
        alternating(5),
        symmetric(4),
        symmetric(5),
    ]
    return {world.name: world for world in worlds}


def _stay(rows: list[np.ndarray], stay: Any) -> tuple[Int[np.ndarray, "vocab states"]]:
    return (np.array([*rows, np.arange(len(rows[0]))] if check_flag("stay", stay) else rows),)


def _names(letters: str, stay: bool) -> tuple[str, ...]:
    return (*letters, "⊥") if stay else tuple(letters)


def _is_even(permutation: Any) -> bool:
    """Whether the number of pairs in the wrong order is even."""
    p = list(permutation)
    return sum(p[i] > p[j] for i in range(len(p)) for j in range(i + 1, len(p))) % 2 == 0


def _permutations(name: str, value: Any) -> Int[np.ndarray, "n points"]:
    rows = np.asarray(check_whole_numbers(name, value, 0, 2**31 - 1, (None, None)))
    wrong = (np.sort(rows, axis=1) != np.arange(rows.shape[1])).any(axis=1)
    if not rows.size or wrong.any():
        what = (
            f"{name}[{int(np.argmax(wrong))}] is no permutation"
            if rows.size
            else f"{name} is empty"
        )
        raise ValueError(f"{what}; every row must hold 0..{max(rows.shape[1] - 1, 0)} once")
    return rows
