"""Checks of the arguments of public functions: one sentence that names what was given.

`minicosm.worlds.arrays` hands all of them on, with the checks of world parameters and of tokens.
"""

import contextlib
import math
import numbers
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from minicosm.sentences import check_choice as check_choice
from minicosm.sentences import check_flag as check_flag
from minicosm.sentences import check_kind as check_kind
from minicosm.sentences import shown as short

AnyArray = jax.Array | np.ndarray
Scalar = int | Int[AnyArray, ""]


def is_concrete(*arrays: Any) -> bool:
    """Whether the values are known now (False while JAX traces a program)."""
    return not any(isinstance(array, jax.core.Tracer) for array in arrays)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """`value` as a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {short(value)}; it must be a whole number of at least {least}")
    return int(value)


def check_positive(name: str, value: Any) -> None:
    """Raise unless `value` is a positive finite number (values under a trace are trusted)."""
    if is_concrete(value) and not (_is_real(value) and np.isfinite(float(value)) and value > 0):
        raise ValueError(f"{name} is {short(value)}; it must be a positive number")
    if isinstance(value, int) and value > 2**53:
        raise ValueError(f"{name} is {value}; whole numbers beyond 2^53 are no exact floats")


def _is_real(value: Any) -> bool:
    """Whether `value` is one real number, in Python or in an array without axes."""
    if isinstance(value, AnyArray):
        return value.shape == () and (
            jnp.issubdtype(value.dtype, jnp.floating) or jnp.issubdtype(value.dtype, jnp.integer)
        )
    return isinstance(value, numbers.Real)


def native(name: str, value: Any) -> AnyArray:
    """`value` as an array in the machine's own byte order."""
    if isinstance(value, jax.Array):
        return value
    check_unmasked(name, value)
    try:
        value = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{name} are not a rectangular array of numbers") from None
    return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))


def check_unmasked(name: str, value: Any) -> None:
    """Raise if `value` is a masked array, of which NumPy would give the numbers without the mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, whose mask would be lost; it must be a plain array "
            "(tokens that are not seen are said by observed)"
        )


def check_key(key: Any, name: str = "key") -> PRNGKeyArray:
    """`key` if it is one JAX key, new (`jax.random.key`) or old (`jax.random.PRNGKey`)."""
    if isinstance(key, jax.Array | np.ndarray):
        new = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        if new and key.shape == ():
            return jnp.asarray(key)
        if not new and key.dtype == np.uint32 and key.ndim == 1:
            return jnp.asarray(key)
        what = f"an array of shape {key.shape} and dtype {key.dtype}"
    else:
        what = short(key)
    raise TypeError(f"{name} is {what}; it must be one JAX key, such as jax.random.key(0)")


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> float | Array:
    """`value` as a finite number in [least, most]; a value under a trace as it is."""
    if not is_concrete(value):
        return value
    number = math.nan
    if _is_real(value):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not (math.isfinite(number) and least <= number <= most):
        if least == -math.inf and most == math.inf:
            wanted = "a finite number"
        elif most == math.inf:
            wanted = f"a finite number of at least {least:g}"
        else:
            wanted = f"a number in [{least:g}, {most:g}]"
        raise ValueError(f"{name} is {short(value)}; it must be {wanted}")
    return number


def check_size(what: str, entries: int, most: int = 2**28) -> None:
    """Raise, before it is allocated, if an array would hold more than `most` numbers."""
    if entries > most:
        raise ValueError(f"{what} would take {entries:.3g} numbers; at most {most} are allowed")


def check_whole_numbers(
    name: str, value: Any, low: int, high: int, shape: Sequence[int | None] | None = None
) -> Int[AnyArray, "*shape"]:
    """`value` as an array of whole numbers in low..high (None in `shape`: any size)."""
    array = numeric(name, value)
    if isinstance(value, list | tuple) and array.size == 0:  # an empty list has no kind of its own
        array = np.zeros(array.shape, int)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(f"{name} has dtype {array.dtype}; it must hold whole numbers")
    check_shape(name, array, shape)
    if is_concrete(array):
        values = np.asarray(array)
        bad = (values < low) | (values > high)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            at = f"{name}{list(where)}" if where else name
            raise ValueError(f"{at} is {values[where]}; it must lie in {low}..{high}")
    return array


def check_reals(name: str, value: Any, shape: Sequence[int | None] | None = None) -> AnyArray:
    """`value` as an array of finite real numbers (None in `shape`: any size)."""
    array = numeric(name, value)
    check_shape(name, array, shape)
    if is_concrete(array):
        values = np.asarray(array)
        if not np.isfinite(values).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            at = f"{name}{list(where)}" if where else name
            raise ValueError(f"{at} is {values[where]}; every entry must be finite")
    return array


def numeric(name: str, value: Any) -> AnyArray:
    """`value` as an array of real numbers in the machine's own byte order."""
    if not is_concrete(value):
        return value
    check_unmasked(name, value)
    if not isinstance(value, AnyArray):
        try:
            value = np.asarray(value)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(f"{name} is not a rectangular array of numbers") from None
    kind = np.dtype(value.dtype).kind if isinstance(value, np.ndarray) else ""
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
        kind = "O"
    if (kind and kind not in "biuf") or jnp.issubdtype(value.dtype, jnp.complexfloating):
        what = short(value) if value.ndim == 0 else f"an array of dtype {value.dtype}"
        raise ValueError(f"{name} is {what}; it must hold real numbers")
    if isinstance(value, np.ndarray) and not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    return value


def check_shape(name: str, array: AnyArray, shape: Sequence[int | None] | None) -> None:
    """Raise unless the array has this shape (a None in it: any size; None: any shape)."""
    if shape is None:
        return
    fits = len(array.shape) == len(shape) and all(
        want is None or size == want for size, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        text = ", ".join("any" if size is None else str(size) for size in shape)
        text = f"({text},)" if len(shape) == 1 else f"({text})"
        raise ValueError(f"{name} has shape {array.shape}; it must have shape {text}")


def check_last_axes(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """`value` as a JAX array of real numbers whose last axes have this shape."""
    array = check_reals(name, value)
    if array.shape[-len(shape) :] != shape:
        raise ValueError(f"{name} has shape {array.shape}; its last axes must be {shape}")
    return jnp.asarray(array)


def check_length(length: Any, most: int = 2**26, name: str = "length") -> int:
    """`length` as a whole number from 1 to `most`, so that it is refused before memory is taken."""
    if check_count(name, length) > most:
        raise ValueError(f"{name} is {length}; it must be at most {most}")
    return int(length)


def check_positions(at: Any, length: int) -> Int[Array, "*n"] | None:
    """Positions of a sequence, 0..length-1, or None for all of them."""
    return None if at is None else jnp.asarray(check_whole_numbers("at", at, 0, length - 1))


def is_empty(name: str, tokens: Any) -> bool:
    """Whether a sequence has no tokens."""
    values = native(name, tokens)
    if len(values.shape) != 1:
        raise ValueError(f"{name} has shape {values.shape}; one sequence has shape (T,)")
    return values.shape[0] == 0


def check_worlds(worlds: Any, kind: type) -> None:
    """Raise unless `worlds` are at least one world of a class, all of one size."""
    if not isinstance(worlds, list | tuple) or not worlds:
        raise TypeError(f"worlds is {short(worlds)}; it must be a list of at least one world")
    for i, world in enumerate(worlds):
        check_kind(f"worlds[{i}]", world, kind, f"of the class {kind.__name__}")
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(world)] for world in worlds]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(f"worlds[{i}] has arrays of shapes {shape}; worlds[0] has {shapes[0]}")
