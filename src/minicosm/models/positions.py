"""Where a row stands in its sequence: sinusoidal tables, rotations, recency. Positions count from 0."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Int

from minicosm.worlds.arrays import AnyArray, is_concrete

from .checks import (
    check_count,
    check_finite,
    check_inside,
    check_kind,
    check_memory,
    check_number,
    check_positions,
    check_whole,
    numbers_of,
)


class Placement(eqx.Module):
    """What a Transformer is told about positions beyond its config: data, so that models with and without
    share a compiled program.

    `slopes[h] |t - t'|` is taken from the attention logit of head h at t for position t', in every layer
    (ALiBi; zero: no recency). The positions of a sequence are `offset, offset + 1, ...` (rotary ones and
    `slopes` know differences only). `rows[t]` takes the place of row t of the sinusoidal table (zeros:
    no positions).
    """

    slopes: Float[AnyArray, "*stack H"] | None = None
    offset: Int[AnyArray, "*stack"] | int | None = None
    rows: Float[AnyArray, "*stack n E"] | None = None

    def __check_init__(self) -> None:
        for name in ("slopes", "rows"):
            value = getattr(self, name)
            if value is not None and is_concrete(numbers_of(name, value)):
                check_finite(name, numbers_of(name, value))
        if self.offset is not None:
            offset = numbers_of("offset", self.offset, "whole numbers")
            if not jnp.issubdtype(offset.dtype, jnp.integer):
                raise ValueError(f"offset has dtype {offset.dtype}; it must hold whole numbers")
            check_inside("offset", offset, 0, 2**30)


def recency_slopes(heads: int) -> Float[np.ndarray, " H"]:
    """ALiBi's slopes `2^(-8 h / H)` for h = 1..H."""
    check_memory(f"a list of heads = {heads} slopes", 2 * check_count("heads", heads), 8)
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


def check_placement(
    placement: Any, *, heads: int, width: int, kind: str, room: int, most: int
) -> Placement:
    """`placement` if it fits a model of so many heads, this width and this kind of positions, and `room`
    positions from its offset on; `most` is the number of learned ones. None is an empty one."""
    if placement is None:
        return Placement()
    check_kind("placement", placement, Placement, "a Placement, or None")
    slopes, offset, rows = placement.slopes, placement.offset, placement.rows
    if slopes is not None and np.shape(slopes) != (heads,):
        raise ValueError(
            f"placement.slopes has shape {np.shape(slopes)}; this model has {heads} heads"
        )
    first = 0
    if offset is not None:
        offset = check_whole("placement.offset", offset, ())
        first = int(offset) if is_concrete(offset) else 0
        if kind == "learned" and first + room > most:
            raise ValueError(
                f"placement.offset is {first}; with {room} positions after it, this model of {most} "
                "learned positions is too short"
            )
    if rows is not None:
        shape = np.shape(rows)
        if kind != "sinusoidal":
            raise ValueError(
                f"placement.rows takes the place of sinusoidal positions; this model's are {kind!r}"
            )
        if len(shape) != 2 or shape[1] != width or shape[0] < first + room:
            raise ValueError(
                f"placement.rows has shape {shape}; it must be (n, {width}) with n >= {first + room}"
            )
    return placement


def wave_rows(
    placement: Placement, first: Any, count: int, width: int, length: int, dtype: DTypeLike
) -> Float[Array, "count E"]:
    """Rows `first, ..., first + count - 1` after the offset of what `placement` has in the place of the
    sinusoidal table, or of that of a sequence of `length`."""
    begin = after_offset(placement, first)
    if placement.rows is not None:
        return rows_from(jnp.asarray(placement.rows).astype(dtype), begin, count)
    if placement.offset is None:
        return rows_from(jnp.asarray(sinusoids(length, width), dtype), begin, count)
    frequencies = jnp.asarray(angle_table(2, width, 10000.0)[1], dtype)
    angles = (begin + jnp.arange(count))[:, None].astype(dtype) * frequencies
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(count, width)


def after_offset(placement: Placement, first: Any) -> Any:
    """`first + offset`; where there is no offset, `first` itself, which may be known to the compiler."""
    return first if placement.offset is None else first + jnp.asarray(placement.offset)


def rows_from(table: Float[Array, "n E"], begin: Any, count: int) -> Float[Array, "count E"]:
    """`table[begin : begin + count]`, also where `begin` is traced."""
    if isinstance(begin, int):
        return table[begin : begin + count]
    return jax.lax.dynamic_slice_in_dim(table, begin, count)


def recency(
    slopes: Float[AnyArray, " H"], at: Int[AnyArray, " n"], length: int, dtype: DTypeLike
) -> Float[Array, "H n T"]:
    """`-slopes[h] |at[i] - t|`, what is added to the attention logits."""
    distance = jnp.abs(jnp.asarray(at)[:, None] - jnp.arange(length)).astype(dtype)
    return -jnp.asarray(slopes).astype(dtype)[:, None, None] * distance


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
