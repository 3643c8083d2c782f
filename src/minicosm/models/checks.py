"""Checks of what models and training are given: flags, numbers, keys, functions, files, sizes.

Every message is one sentence that begins with the name of the argument. A wrong value raises
`ValueError`, a thing of another kind `TypeError`.
"""

import inspect
import math
import os
import stat
from numbers import Real
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from minicosm.sentences import check_kind as check_kind
from minicosm.sentences import shown
from minicosm.worlds.arrays import AnyArray, check_tokens, is_concrete
from minicosm.worlds.arrays import check_count as worlds_check_count


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False; here this is a wrong value, as one of a setting."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}; it must be True or False")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """`value` as a whole number of at least `least`; an array is not shown in full."""
    if isinstance(value, AnyArray):
        raise ValueError(f"{name} is {shown(value)}; it must be a whole number of at least {least}")
    return worlds_check_count(name, value, least)


def check_number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """`value` as a finite number in the given range."""
    limits = [
        (least > -math.inf, f"at least {least:g}", lambda x: x >= least),
        (above is not None, f"greater than {above}", lambda x: x > above),
        (most < math.inf, f"at most {most:g}", lambda x: x <= most),
        (below is not None, f"less than {below}", lambda x: x < below),
    ]
    known = [(text, holds) for there, text, holds in limits if there]
    good = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not good or not math.isfinite(value) or not all(holds(value) for _, holds in known):
        texts = " and ".join(text for text, _ in known)
        needed = "a finite number" if not texts else f"finite and {texts}"
        if least > -math.inf:
            needed = texts if len(known) > 1 else f"a finite number of {texts}"
        text = str(value) if good else shown(value)
        raise ValueError(f"{name} is {text}; it must be {needed}")
    return float(value)


def check_callable(name: str, value: Any, *calls: str) -> None:
    """Raise unless `value` is a function that can be called in one of these ways: `"loss(params, key)"`."""
    good = callable(value) and not isinstance(value, type)
    if good:
        try:
            signature = inspect.signature(value)
            good = any(_takes(signature, call.count(",") + 1) for call in calls)
        except (ValueError, TypeError):  # a builtin without a signature
            pass
    if not good:
        raise TypeError(
            f"{name} is {shown(value)}; it must be a function, called as {' or '.join(calls)}"
        )


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def is_key(leaf: Any) -> bool:
    """Whether this is an array of JAX keys (of the new style)."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def check_key(name: str, key: Any) -> None:
    """Raise unless `key` is one JAX key."""
    new = is_key(key) and key.shape == ()
    old = isinstance(key, AnyArray) and key.shape == (2,) and key.dtype == np.uint32
    if not (new or old):
        raise TypeError(f"{name} is {shown(key)}; it must be one key, as jax.random.key(0) makes")


def check_keys(name: str, keys: Any) -> int:
    """The number of members of an array of JAX keys."""
    if not is_key(keys) or len(keys.shape) != 1 or keys.shape[0] == 0:
        raise TypeError(
            f"{name} is {shown(keys)}; it must be an array of keys, as jax.random.split makes"
        )
    return int(keys.shape[0])


def check_file(name: str, path: Any) -> Path:
    """`path` as one at which a file may be written: nothing is there, or a regular file."""
    path = check_path(name, path)
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError as error:
        raise ValueError(
            f"{name} is {str(path)!r}, which cannot be used: {error.strerror}"
        ) from None
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "no regular file"
        raise ValueError(f"{name} is {str(path)!r}, which is {what}; give the path of a file")
    return path


def check_path(name: str, path: Any) -> Path:
    """`path` as one that the system may know."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} is {shown(path)}; it must be a path")
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(f"{name} is {shown(text)}; it must be a path")
    return Path(text)


def check_memory(what: str, numbers: int, size: int = 4) -> None:
    """Raise, before anything is allocated, if so many numbers of `size` bytes cannot be held here."""
    try:
        here = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        here = 2**36
    if numbers * size > here:
        raise ValueError(
            f"{what} has {numbers:,} numbers and needs {numbers * size / 2**30:,.0f} GiB; "
            f"this machine has {here / 2**30:,.0f}"
        )


def check_positions(name: str, at: Any, length: int) -> AnyArray:
    """Positions of a sequence of `length`: whole numbers from 0 on, as an array of shape (n,).

    While JAX traces, values cannot be inspected.
    """
    at = numbers_of(name, at, "positions")
    if len(at.shape) != 1 or at.shape[0] == 0 or not jnp.issubdtype(at.dtype, jnp.integer):
        raise ValueError(
            f"{name} has shape {at.shape} and dtype {at.dtype}; it must be an array of positions, "
            "whole numbers, of shape (n,) with n >= 1"
        )
    if is_concrete(at):
        values = np.asarray(at)
        bad = (values < 0) | (values >= length)
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"{name}[{i}] is {values[i]}; the sequence has the positions 0..{length - 1}"
            )
    return at


def check_rows(name: str, rows: Any, width: int) -> AnyArray:
    """Rows of one sequence: finite numbers of shape (T, width) with T >= 1."""
    rows = numbers_of(name, rows, "numbers")
    if len(rows.shape) != 2 or rows.shape[0] == 0 or rows.shape[1] != width:
        raise ValueError(
            f"{name} have shape {rows.shape}; they must have shape (T, {width}) with T >= 1"
        )
    if is_concrete(rows):
        check_finite(name, rows)
    return rows


def check_finite(name: str, values: AnyArray) -> None:
    """Raise, naming the entry, unless all values are finite."""
    bad = ~np.isfinite(np.asarray(values).astype(np.float64))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name}{list(where)} is {np.asarray(values)[where]}; every entry must be finite"
        )


def numbers_of(name: str, value: Any, what: str = "numbers") -> AnyArray:
    """`value` as an array of numbers in the order of bytes of this machine, whatever its shape."""
    if not isinstance(value, AnyArray):
        try:
            value = np.asarray(value)
        except (ValueError, TypeError):
            raise ValueError(f"{name} is not a rectangular array of {what}") from None
    real = value.dtype == bool or any(
        jnp.issubdtype(value.dtype, kind) for kind in (jnp.integer, jnp.floating)
    )
    if not real:
        raise ValueError(f"{name} has dtype {value.dtype}; it must be an array of {what}")
    if isinstance(value, np.ndarray) and not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def check_ids(
    name: str, tokens: Any, vocab: int, observed: Any = None, mask: str = "observed"
) -> tuple[Int[AnyArray, " T"], Bool[AnyArray, " T"] | None]:
    """Tokens of one sequence and its mask, as `check_tokens`, with the arguments called by their names."""
    tokens = numbers_of(name, tokens, "tokens")
    if observed is not None:
        observed = check_mask(mask, observed, tokens.shape, name)
    if jnp.issubdtype(tokens.dtype, jnp.unsignedinteger) and is_concrete(tokens):
        tokens = np.asarray(tokens).astype(np.int64)  # no negative numbers, which would wrap
    return check_tokens(tokens, observed, vocab)


def check_mask(name: str, mask: Any, shape: tuple[int, ...], other: str) -> Bool[AnyArray, "..."]:
    """A mask of the shape that another argument has."""
    mask = numbers_of(name, mask, "True and False")
    if mask.shape != shape or mask.dtype != bool:
        raise ValueError(
            f"{name} has shape {mask.shape} and dtype {mask.dtype}; "
            f"it must be boolean of shape {shape}, as {other}"
        )
    return mask


def check_whole(
    name: str, values: Any, shape: tuple[int, ...] | None = None, other: str = ""
) -> AnyArray:
    """An array of whole numbers, of a shape if one is given (that of `other`), with at least one axis."""
    values = numbers_of(name, values, "whole numbers")
    fits = (values.ndim >= 1 and values.size > 0) if shape is None else values.shape == shape
    if not fits or not jnp.issubdtype(values.dtype, jnp.integer):
        needed = "" if shape is None else f" of shape {shape}" + (f", as {other}" if other else "")
        raise ValueError(
            f"{name} has shape {values.shape} and dtype {values.dtype}; it must be an array of whole "
            f"numbers{needed}"
        )
    return values


def check_inside(name: str, values: AnyArray, least: int, most: int) -> Array:
    """The values as a JAX array, if all are in `least..most`; traced ones are trusted."""
    if not is_concrete(values):
        return jnp.asarray(values)
    known = np.asarray(values)
    bad = ~((known >= least) & (known <= most))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        index = list(where) if where else ""
        raise ValueError(f"{name}{index} is {known[where]}; it must be in {least}..{most}")
    return jnp.asarray(values)


def check_dtype(name: str, dtype: Any) -> Any:
    """`dtype` as one of floating-point numbers; None: the default of JAX."""
    if dtype is None:
        return jnp.result_type(float)
    try:
        good = jnp.issubdtype(jnp.dtype(dtype), jnp.floating)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"{name} is {shown(dtype)}; it must be a floating-point dtype, or None")
    return dtype
