"""Few shapes for sequences of any length, so that few programs are compiled and kept.

JAX compiles a program for every shape and keeps it: a process that asks about sequences of hundreds of
lengths would hold gigabytes. Outside a trace, worlds therefore pad sequences to the next power of two
where what stands after the end cannot change the answer, and cut the answer.
"""

from typing import Any

import jax
import numpy as np

from .checks import is_concrete

SHORTEST = 16


def padded_length(length: int) -> int:
    """The next power of two, at least 16."""
    return max(SHORTEST, 1 << (length - 1).bit_length())


def pad(values: Any, fill: int | bool) -> np.ndarray:
    """One sequence, in NumPy, padded to `padded_length`."""
    values = np.asarray(values)
    return np.pad(values, (0, padded_length(len(values)) - len(values)), constant_values=fill)


def cut(answer: Any, length: int) -> Any:
    """The first rows of every array of an answer; known ones are cut without a program."""

    def one(rows: Any) -> jax.Array:
        known = is_concrete(rows)
        # Not `jnp.asarray`: it compiles a program for every shape that it is given.
        return jax.device_put(np.asarray(rows)[:length]) if known else rows[:length]

    return jax.tree.map(one, answer)


def pad_tokens(tokens: Any, observed: Any) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and which of them are observed, padded: nothing is observed after the end."""
    observed = np.ones(len(tokens), bool) if observed is None else observed
    return pad(tokens, 0), pad(observed, False)


def known(*trees: Any) -> bool:
    """Whether nothing in the trees is under a trace."""
    return is_concrete(*jax.tree.leaves(trees))
