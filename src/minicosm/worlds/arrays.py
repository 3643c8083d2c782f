"""The array type of world parameters, and the checks that every world makes of what it is given."""

import contextlib
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .checks import (
    AnyArray,
    Scalar,
    check_choice,
    check_count,
    check_flag,
    check_key,
    check_kind,
    check_length,
    check_number,
    check_positions,
    check_positive,
    check_reals,
    check_shape,
    check_size,
    check_unmasked,
    check_whole_numbers,
    check_worlds,
    is_concrete,
    is_empty,
    native,
    numeric,
    short,
)

__all__ = [
    "AnyArray",
    "Scalar",
    "check_choice",
    "check_count",
    "check_distribution",
    "check_embeddings",
    "check_flag",
    "check_key",
    "check_kind",
    "check_length",
    "check_number",
    "check_positions",
    "check_positive",
    "check_reals",
    "check_shape",
    "check_size",
    "check_tokens",
    "check_unmasked",
    "check_whole_numbers",
    "check_worlds",
    "embed_rows",
    "is_concrete",
    "is_empty",
    "native",
    "numeric",
    "parameter",
    "short",
    "stochastic",
    "sum_text",
]


def parameter(name: str, value: Any, shape: Sequence[int | None]) -> AnyArray:
    """`value` as an array of the given shape (None: any positive size) with nonnegative finite entries.

    Known values are stored as NumPy arrays in the precision they came in, so that the same world
    computes in float32 by default and in float64 under `jax.enable_x64(True)`.
    """
    if is_concrete(value):
        check_unmasked(name, value)
        try:
            value = np.asarray(value)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(f"{name} is not a rectangular array of numbers") from None
        if value.dtype.kind not in "biuf":
            raise ValueError(f"{name} has dtype {value.dtype}; it must hold real numbers")
        if value.dtype not in (np.float32, np.float64) or not value.dtype.isnative:
            value = value.astype(np.float32 if value.dtype == np.dtype(">f4") else np.float64)
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


def check_tokens(
    tokens: Any, observed: Any, vocab: int
) -> tuple[Int[AnyArray, " T"], Bool[AnyArray, " T"] | None]:
    """Tokens and mask of one sequence, with every fault that can be seen now reported.

    While JAX traces, values cannot be inspected; there a token outside the vocabulary has
    probability zero in every state.
    """
    tokens = native("tokens", tokens)
    if len(tokens.shape) != 1:
        raise ValueError(
            f"tokens have shape {tokens.shape}; one sequence has shape (T,), use jax.vmap for batches"
        )
    if tokens.shape[0] == 0:
        raise ValueError("the sequence is empty; it must have at least one token")
    if not jnp.issubdtype(tokens.dtype, jnp.integer):
        raise ValueError(f"tokens have dtype {tokens.dtype}; they must be integers")
    if observed is not None:
        observed = native("observed", observed)
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
    embeddings = numeric("embeddings", embeddings)
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


def stochastic(
    name: str, value: Any, shape: Sequence[int | None], turned: str = "pass the transpose, {}.T"
) -> AnyArray:
    """A `parameter` whose columns (along axis 0) sum to one. If its rows do (along the last axis), as
    other libraries have it, the message says what to pass: `turned`, with the name for its {}."""
    try:
        array = parameter(name, value, shape)
        check_distribution(name, array, columns=True)
    except ValueError as error:
        if not _rows_sum_to_one(value):
            raise
        hint = turned.format(name)
        raise ValueError(f"{error}; the rows of {name} sum to 1: {hint}") from None
    return array


def _rows_sum_to_one(value: Any) -> bool:
    if not is_concrete(value):
        return False
    with contextlib.suppress(ValueError, TypeError):
        array = np.asarray(value)
        if array.ndim >= 2 and array.size and array.dtype.kind in "biuf":
            rows = array.sum(axis=-1, dtype=np.float64)
            return bool((array >= 0).all() and (np.abs(rows - 1) < 1e-5).all())
    return False
