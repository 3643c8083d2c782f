"""Checks of what generators and verifiers are given between calls: a memory, a place in it, a token."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .checks import check_whole_numbers, is_concrete, short

ROUNDING = 1e-3  # by which a number of a memory may leave its bounds


def check_place(
    begin: Callable[[int], Any],
    memory: Any,
    n: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> Any:
    """`n` if `memory` is one of those that `begin(room)` makes and has an entry after n tokens.

    No number of the memory is NaN, and all lie in [low, high]. Under a trace of the memory, as in
    the compiled loop of a sampler, nothing is checked.
    """
    room = _room(begin, memory, low, high)
    return n if room is None else check_whole_numbers("n", n, 0, room, ())


def check_step(
    begin: Callable[[int], Any],
    memory: Any,
    n: Any,
    token: Any,
    vocab: int = 2**31,
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> tuple[Any, Any]:
    """`n` and `token`, as `check_place`, if there is room for a token after the first n."""
    room = _room(begin, memory, low, high)
    if room is None:
        return n, token
    n = check_whole_numbers("n", n, 0, room, ())
    if is_concrete(n) and int(n) == room:
        raise ValueError(f"n is {int(n)}; the memory has room for {room} tokens and is full")
    return n, check_whole_numbers("token", token, 0, vocab - 1, ())


def _room(begin: Callable[[int], Any], memory: Any, low: float, high: float) -> int | None:
    """For how many tokens there is room; None under a trace."""
    leaves = jax.tree.leaves(memory)
    if not is_concrete(*leaves):
        return None
    wrong = TypeError(f"memory is {short(memory)}; it must be what `begin` or `read` returned")
    smallest = jax.eval_shape(lambda: begin(0))
    if not _alike(memory, smallest):
        raise wrong
    fewest = jax.tree.leaves(smallest)
    if not all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves):
        raise wrong
    if any(len(leaf.shape) != len(small.shape) for leaf, small in zip(leaves, fewest, strict=True)):
        raise wrong
    sizes = [
        size - least
        for leaf, small in zip(leaves, fewest, strict=True)
        for size, least in zip(leaf.shape, small.shape, strict=True)
    ]
    room = max(sizes)
    wanted = jax.tree.leaves(jax.eval_shape(lambda: begin(room))) if room > 0 else fewest
    for leaf, want in zip(leaves, wanted, strict=True):
        if leaf.shape != want.shape or _kind(leaf.dtype) != _kind(want.dtype):
            raise wrong
        values = np.asarray(leaf)
        if not values.dtype.isnative:
            raise wrong
        if np.issubdtype(values.dtype, np.number):
            bad = np.isnan(values) | (values < low - ROUNDING) | (values > high + ROUNDING)
            if bad.any():
                entry = values[tuple(np.argwhere(bad)[0])]
                raise ValueError(
                    f"the memory holds the number {entry}, which no reading leaves there"
                )
    return room


def _kind(dtype: Any) -> str:
    kinds = {"float": jnp.floating, "whole": jnp.integer, "truth": jnp.bool_}
    return next((name for name, kind in kinds.items() if jnp.issubdtype(dtype, kind)), str(dtype))


def _alike(one: Any, other: Any) -> bool:
    structures: list[Any] = [jax.tree.structure(one), jax.tree.structure(other)]
    return bool(structures[0] == structures[1])
