"""Where a row stands in its sequence: sinusoidal tables and rotations. Positions count from 0."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.worlds.arrays import AnyArray, is_concrete

from .checks import (
    check_count,
    check_finite,
    check_memory,
    check_number,
    check_positions,
    numbers_of,
)


def sinusoids(length: int, width: int, base: float = 10000.0) -> Float[np.ndarray, "T E"]:
    """`[t, 2i] = sin(t base^(-2i/E))` and `[t, 2i+1] = cos(t base^(-2i/E))`."""
    if check_count("width", width) % 2:
        raise ValueError(f"width is {width}; sinusoidal positions need an even width")
    angles = angle_table(length, width, base)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, width)


def rotate(
    rows: Float[Array, "n H D"],
    base: float,
    length: int | None = None,
    at: Int[AnyArray, " n"] | None = None,
) -> Float[Array, "n H D"]:
    """Rotary positions: the plane of coordinates (i, i + D/2) turns by `t base^(-2i/D)`.

    Products of rotated queries and keys depend on positions only through their difference. The rows
    stand at the positions 0, 1, ..., or `at` these of a sequence of `length`.
    """
    rows = jnp.asarray(numbers_of("rows", rows))
    if len(rows.shape) != 3 or 0 in rows.shape or rows.shape[-1] % 2:
        raise ValueError(
            f"rows has shape {rows.shape}; it must be (n, heads, width of a head), the last one even"
        )
    if is_concrete(rows):
        check_finite("rows", rows)
    if length is not None:
        check_count("length", length)
    if at is not None:
        at = check_positions("at", at, rows.shape[0] if length is None else length)
        if at.shape != rows.shape[:1]:
            raise ValueError(f"at has shape {at.shape}; there are {rows.shape[0]} rows")
    elif length is not None and length != rows.shape[0]:
        raise ValueError(f"length is {length}; there are {rows.shape[0]} rows, and no at")
    rows = jnp.asarray(rows, jnp.result_type(rows.dtype, jnp.bfloat16))
    angles = angle_table(length or rows.shape[0], rows.shape[-1], base)[:, None, :]
    cos, sin = jnp.asarray(np.cos(angles), rows.dtype), jnp.asarray(np.sin(angles), rows.dtype)
    if at is not None:
        cos, sin = cos[at], sin[at]
    first, second = jnp.split(rows, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def angle_table(length: int, width: int, base: float) -> Float[np.ndarray, "T half"]:
    """`[t, i] = t base^(-2i/width)`, in double precision."""
    check_count("length", length)
    check_count("width", width)
    check_number("base", base, above=0)
    check_memory(f"a table of length {length} and width {width}", length * width, 16)
    return np.arange(length)[:, None] * base ** (-np.arange(0, width, 2) / width)
