"""What is seen of a state: arrays for `Semiautomaton.observe`."""

from itertools import product as pairs

import numpy as np
from jaxtyping import Int

from ..arrays import check_kind, check_length, check_whole_numbers
from .library import dyck, symmetric
from .semiautomaton import Semiautomaton


def is_boundary(n: int) -> Int[np.ndarray, " n"]:
    """Of `Grid_n`: 1 at both walls."""
    check_length(n, 2**12, "n")
    return np.isin(np.arange(n), (0, n - 1)).astype(np.int32)


def is_state(world: Semiautomaton, state: int = 0) -> Int[np.ndarray, " states"]:
    """1 in one state: `0 mod n` of a counter, the accepting state 3 of `(abab)*`."""
    check_kind("world", world, Semiautomaton, "a Semiautomaton")
    check_whole_numbers("state", state, 0, world.states - 1, ())
    return (np.arange(world.states) == state).astype(np.int32)


def places(n: int) -> Int[np.ndarray, " states"]:
    """Of `D_2n`: the place without the direction."""
    check_length(n, 2**12, "n")
    return (np.arange(2 * n) // 2).astype(np.int32)


def first_values(n: int) -> Int[np.ndarray, " states"]:
    """Of `S_n`: where the permutation takes the first point."""
    size = symmetric(n).states
    return (np.arange(size) // (size // n)).astype(np.int32)


def stack_tops(types: int, depth: int) -> Int[np.ndarray, " states"]:
    """Of `dyck(types, depth)`: the type of the last open bracket; `types` if there is none or the state is
    dead."""
    size = dyck(types, depth).states
    stacks = [stack for n in range(depth + 1) for stack in pairs(range(types), repeat=n)]
    tops = np.full(size, types, np.int32)
    tops[: len(stacks)] = [stack[-1] if stack else types for stack in stacks]
    return tops
