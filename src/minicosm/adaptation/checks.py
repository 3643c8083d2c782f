"""What functions of heads, prompts and theorems make of their arguments: the value, or one sentence."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.models.checks import check_key as check_key
from minicosm.sentences import check_choice as check_choice
from minicosm.sentences import check_flag as check_flag
from minicosm.sentences import check_kind as check_kind
from minicosm.sentences import shown as brief
from minicosm.worlds.arrays import AnyArray, is_concrete


def check_answers(name: str, value: Any, *methods: str) -> None:
    """Raise a TypeError unless `value` is an object that has all these methods."""
    missing = [m for m in methods if isinstance(value, type) or not hasattr(value, m)]
    if missing:
        what = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise TypeError(f"{name} is {what}; it must have {', '.join(methods)}")


def check_real(
    name: str,
    value: Any,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    above: float = -np.inf,
    below: float = np.inf,
    infinite: bool = False,
) -> float:
    """`value` as a number in the given range, which is finite unless `infinite`."""
    if not is_concrete(value):
        return value
    array = np.asarray(value) if isinstance(value, int | float | np.generic | AnyArray) else None
    if (
        isinstance(value, bool | np.bool_)
        or array is None
        or array.ndim
        or array.dtype.kind not in "iuf"
    ):
        raise TypeError(f"{name} is {brief(value)}; it must be a number")
    number = float(array)
    fine = least <= number <= most and above < number < below
    if infinite and np.isinf(number) and (number > above and number >= least):
        return number
    if not fine or not np.isfinite(number):
        parts = [] if infinite else ["finite"]
        parts += [f"at least {least:g}"] if least > -np.inf else []
        parts += [f"more than {above:g}"] if above > -np.inf else []
        parts += [f"at most {most:g}"] if most < np.inf else []
        parts += [f"less than {below:g}"] if below < np.inf else []
        raise ValueError(f"{name} is {number:g}; it must be {' and '.join(parts)}")
    return number


def check_whole(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """`value` as a whole number in `least..most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {brief(value)}; it must be a whole number")
    if value < least or (most is not None and value > most):
        wanted = f"at least {least}" if most is None else f"in {least}..{most}"
        raise ValueError(f"{name} is {value}; it must be {wanted}")
    return int(value)


def check_reals(
    name: str,
    value: Any,
    shape: Sequence[int | None] | None = None,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    finite: bool = True,
) -> AnyArray:
    """`value` as an array of real numbers of the given shape (None: any size of at least one).

    Values under a trace, and JAX arrays, are left where they are.
    """
    array = as_numbers(name, value, "fiu")
    if shape is not None:
        fits = len(array.shape) == len(shape) and all(
            size >= 1 if want is None else size == want
            for size, want in zip(array.shape, shape, strict=True)
        )
        if not fits:
            text = ", ".join("any" if size is None else str(size) for size in shape)
            text += "," if len(shape) == 1 else ""
            raise ValueError(f"{name} has shape {array.shape}; it must have shape ({text})")
    if is_concrete(array):
        values = np.asarray(array, np.float64)
        bad = (values < least) | (values > most)
        bad = bad | (~np.isfinite(values) if finite else np.isnan(values))
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            wanted = ["finite"] if finite else ["a number"]
            wanted += [f"at least {least:g}"] if least > -np.inf else []
            wanted += [f"at most {most:g}"] if most < np.inf else []
            raise ValueError(
                f"{name}{list(where) or ''} is {values[where]:g}; "
                f"every entry must be {' and '.join(wanted)}"
            )
    return array


def check_indices(name: str, values: Any, below: int) -> tuple[int, ...]:
    """`values` as whole numbers in `0..below-1`, sorted and without repeats."""
    if isinstance(values, list | tuple | range) and not len(values):
        return ()
    array = as_numbers(name, list(values) if isinstance(values, range | set) else values, "iu")
    if not is_concrete(array) or array.ndim != 1:
        raise ValueError(f"{name} is {brief(values)}; it must be a list of whole numbers")
    found = sorted({int(value) for value in np.asarray(array)})
    if found and not (found[0] >= 0 and found[-1] < below):
        raise ValueError(f"{name} is {found}; its entries must lie in 0..{below - 1}")
    return tuple(found)


def check_labels(name: str, value: Any, count: int, classes: int | None = None) -> AnyArray:
    """`value` as `count` whole numbers, in `0..classes-1` if their values are known."""
    array = as_numbers(name, value, "iub")
    if array.shape != (count,):
        raise ValueError(
            f"{name} have shape {array.shape}; there are {count} examples, so it must be ({count},)"
        )
    if is_concrete(array) and count:
        known = np.asarray(array)
        if known.min() < 0 or (classes is not None and known.max() >= classes):
            last = "" if classes is None else classes - 1
            raise ValueError(f"{name} lie in {known.min()}..{known.max()}; need 0..{last}")
    return array


def check_token_rows(name: str, value: Any, vocab: int) -> AnyArray:
    """`value` as sequences of tokens, one in each row, all inside the vocabulary."""
    array = as_numbers(name, value, "iu")
    if len(array.shape) != 2 or 0 in array.shape:
        raise ValueError(f"{name} have shape {array.shape}; they must have shape (n, T)")
    if is_concrete(array):
        known = np.asarray(array)
        bad = (known < 0) | (known >= vocab)
        if bad.any():
            row, place = np.argwhere(bad)[0]
            raise ValueError(
                f"{name} hold the token {known[row, place]} at row {row}, index {place}; "
                f"it is outside the vocabulary 0..{vocab - 1}"
            )
    return array


def as_numbers(name: str, value: Any, kinds: str) -> AnyArray:
    """`value` as an array whose dtype is of these kinds (of NumPy) and in this machine's byte order."""
    if not is_concrete(value):
        return value
    wanted = {"b": "truth values"}.get(kinds, "real numbers" if "f" in kinds else "whole numbers")
    if value is None or isinstance(value, str | bytes | dict | set | type):
        raise TypeError(f"{name} is {brief(value)}; it must be an array of {wanted}")
    try:
        array = value if isinstance(value, AnyArray) else np.asarray(value)
        kind = array.dtype.kind
        real = kind in kinds or ("f" in kinds and jnp.issubdtype(array.dtype, jnp.floating))
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{name} is no rectangular array of {wanted}") from None
    if not real:
        # What is no array of anything is of the wrong kind; an array of other things has wrong values.
        fault = TypeError if kind == "O" and not array.ndim else ValueError
        shown = brief(value) if fault is TypeError else f"of dtype {array.dtype}"
        raise fault(f"{name} is {shown}; it must be an array of {wanted}")
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        raise ValueError(
            f"{name} is of dtype {array.dtype} in the other byte order; "
            f"give {name}.astype({array.dtype.newbyteorder('=')})"
        )
    return array


def unshared(tree: Any) -> Any:
    """`tree` with copies of its NumPy arrays, to be computed on in double precision.

    JAX remembers the arrays that a compiled function closed over in the precision they had there, and
    fails if the very same array is an argument under `jax.enable_x64(True)` later.
    """
    return jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree)
