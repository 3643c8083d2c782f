"""The array type of world parameters, and the checks that every world makes of what it is given."""

import contextlib
import math
import numbers
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

AnyArray = jax.Array | np.ndarray
Scalar = int | Int[AnyArray, ""]


def is_concrete(*arrays: Any) -> bool:
    """Whether the values are known now (False while JAX traces a program)."""
    return not any(isinstance(array, jax.core.Tracer) for array in arrays)


def parameter(name: str, value: Any, shape: Sequence[int | None]) -> AnyArray:
    """`value` as an array of the given shape (None: any positive size) with nonnegative finite entries.

    Known values are stored as NumPy arrays in the precision they came in, so that the same world
    computes in float32 by default and in float64 under `jax.enable_x64(True)`.
    """
    if is_concrete(value):
        try:
            value = np.asarray(value)
        except ValueError:
            raise ValueError(f"{name} is not a rectangular array of numbers") from None
        if value.dtype.kind not in "biuf":
            raise ValueError(f"{name} has dtype {value.dtype}; it must hold real numbers")
        if value.dtype not in (np.float32, np.float64):
            value = value.astype(np.float64)
    wanted = tuple(shape)
    fits = len(value.shape) == len(wanted) and all(
        size >= 1 and (want is None or size == want)
        for size, want in zip(value.shape, wanted, strict=True)
    )
    if not fits:
        text = ", ".join("any" if size is None else str(size) for size in wanted)
        raise ValueError(f"{name} has shape {value.shape}; it must have shape ({text})")
    if is_concrete(value):
        if not np.isfinite(value).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
            raise ValueError(f"{name}{list(where)} is {value[where]}; every entry must be finite")
        if (value < 0).any():
            where = tuple(int(i) for i in np.argwhere(value < 0)[0])
            raise ValueError(f"{name}{list(where)} is {value[where]:g}; no entry may be negative")
    return value


def check_distribution(name: str, value: AnyArray, *, columns: bool) -> None:
    """Raise unless `value` (each column of it, along axis 0) sums to one: to 1e-8, or to 1e-5 in
    float32. The sum is left as it is, so a law that is kept in float64 must be judged as it came."""
    if not is_concrete(value):
        return
    tolerance = 1e-5 if value.dtype == np.float32 else 1e-8
    sums = np.asarray(value, np.float64).sum(axis=0 if columns else None)
    off = np.abs(sums - 1) > tolerance
    if not off.any():
        return
    if columns:
        where = tuple(int(i) for i in np.argwhere(off)[0])
        index = ", ".join([":", *map(str, where)])
        raise ValueError(
            f"{name}[{index}] sums to {sum_text(sums[where])}; every column of {name} must sum to 1"
        )
    raise ValueError(f"{name} sums to {sum_text(sums)}; it must sum to 1")


def sum_text(total: Any) -> str:
    """A sum that is not 1, in six digits, or as its distance from 1 where these would hide it."""
    text, off = f"{float(total):.6g}", float(total) - 1
    return text if text != "1" else f"1 {'+' if off > 0 else '-'} {abs(off):.1e}"


def check_count(name: str, value: Any, least: int = 1) -> int:
    """`value` as a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def check_positive(name: str, value: float) -> None:
    """Raise unless `value` is a positive finite number (values under a trace are trusted)."""
    if is_concrete(value) and not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}; it must be a positive number")


def check_tokens(
    tokens: Any, observed: Any, vocab: int
) -> tuple[Int[AnyArray, " T"], Bool[AnyArray, " T"] | None]:
    """Tokens and mask of one sequence, with every fault that can be seen now reported.

    While JAX traces, values cannot be inspected; there a token outside the vocabulary has
    probability zero in every state.
    """
    tokens = tokens if hasattr(tokens, "dtype") else np.asarray(tokens)
    if len(tokens.shape) != 1:
        raise ValueError(
            f"tokens have shape {tokens.shape}; one sequence has shape (T,), use jax.vmap for batches"
        )
    if tokens.shape[0] == 0:
        raise ValueError("the sequence is empty; it must have at least one token")
    if not jnp.issubdtype(tokens.dtype, jnp.integer):
        raise ValueError(f"tokens have dtype {tokens.dtype}; they must be integers")
    if observed is not None:
        observed = observed if hasattr(observed, "dtype") else np.asarray(observed)
        if observed.shape != tokens.shape or observed.dtype != bool:
            raise ValueError(
                f"observed has shape {observed.shape} and dtype {observed.dtype}; "
                f"it must be boolean of shape {tokens.shape}"
            )
    if is_concrete(tokens, observed):
        values = np.asarray(tokens)
        bad = (values < 0) | (values >= vocab)
        if observed is not None:
            bad = bad & np.asarray(observed)
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(
                f"token {values[at]} at index {at} is outside the vocabulary 0..{vocab - 1}"
            )
    return tokens, observed


def embed_rows(
    rows: Float[Array, "vocab *E"],
    tokens: Int[AnyArray, " T"],
    observed: Bool[AnyArray, " T"] | None,
) -> Float[Array, "T *E"]:
    """`rows[token]`; zero for a token outside the vocabulary, ones where it is not observed."""
    tokens = jnp.asarray(tokens)
    extra = (1,) * (rows.ndim - 1)
    known = ((tokens >= 0) & (tokens < rows.shape[0])).reshape(-1, *extra)
    embedded = jnp.where(known, rows[jnp.clip(tokens, 0, rows.shape[0] - 1)], 0)
    if observed is not None:
        embedded = jnp.where(jnp.asarray(observed).reshape(-1, *extra), embedded, 1)
    return embedded


def check_embeddings(embeddings: Any, width: int) -> Float[Array, "T E"]:
    """Embeddings of one sequence: nonnegative rows of the given width."""
    if len(embeddings.shape) != 2 or embeddings.shape[0] == 0 or embeddings.shape[1] != width:
        raise ValueError(
            f"embeddings have shape {embeddings.shape}; they must have shape (T, {width}) with T >= 1"
        )
    if is_concrete(embeddings):
        values = np.asarray(embeddings)
        bad = ~np.isfinite(values) | (values < 0)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"embeddings{list(where)} is {values[where]:g}; "
                "every entry must be finite and nonnegative"
            )
    return jnp.asarray(embeddings)


# -- the other arguments of public functions ---------------------------------------------------


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


def check_flag(name: str, value: Any) -> bool:
    """`value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {short(value)}; it must be True or False")
    return bool(value)


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> float | Array:
    """`value` as a finite number in [least, most]; a value under a trace as it is."""
    if not is_concrete(value):
        return value
    scalar = np.shape(value) == () if isinstance(value, AnyArray) else True
    real = isinstance(value, numbers.Real) or (
        isinstance(value, AnyArray) and np.dtype(value.dtype).kind in "iuf"
    )
    number = math.nan
    if real and scalar:
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


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """`value` if it is one of the words `choices`."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(map(repr, choices[:-1]))
        wanted = f"{words} or {choices[-1]!r}" if words else repr(choices[-1])
        raise ValueError(f"{name} is {short(value)}; it must be {wanted}")
    return value


def check_kind(name: str, value: Any, kind: type | tuple[type, ...], wanted: str) -> Any:
    """`value` if it is of the class `kind`; `wanted` says which that is ("an HMM")."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {short(value)}; it must be {wanted}")
    return value


def check_size(what: str, entries: int, most: int = 2**28) -> None:
    """Raise, before it is allocated, if an array would hold more than `most` numbers."""
    if entries > most:
        raise ValueError(f"{what} would take {entries:.3g} numbers; at most {most} are allowed")


def check_whole_numbers(
    name: str, value: Any, low: int, high: int, shape: Sequence[int | None] | None = None
) -> Int[AnyArray, "*shape"]:
    """`value` as an array of whole numbers in low..high (None in `shape`: any size)."""
    array = numeric(name, value)
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


def check_reals(
    name: str, value: Any, shape: Sequence[int | None] | None = None
) -> Float[AnyArray, "*shape"]:
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


def short(value: Any, most: int = 60) -> str:
    """`repr` in one line of at most `most` characters."""
    if isinstance(value, AnyArray) and np.ndim(value) > 0:
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
