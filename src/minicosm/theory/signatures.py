"""A front door that checks its arguments by its own annotations.

    @checked(N=partial(check_whole, least=1))
    def f(E: Float[np.ndarray, "inputs m"], M: Float[np.ndarray, "m m"], N: int) -> Theorem: ...

What the signature says is then asked of every call, in one sentence: arrays are of real or whole numbers,
finite, and of one size wherever one name stands; an argument of a class is of that class; words are among
those of their `Literal`. What an annotation cannot say is in the keywords, as checks `(name, value) ->
value`, which come after it. Values under a trace are trusted.
"""

import collections.abc
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import AbstractArray, PRNGKeyArray

from minicosm.adaptation.checks import (
    as_numbers,
    brief,
    check_choice,
    check_flag,
    check_kind,
    check_real,
    check_reals,
    check_whole,
)
from minicosm.worlds.arrays import check_key, is_concrete

Check = Callable[[str, Any], Any]
Sizes = dict[str, tuple[Any, str]]  # of every named axis its size, and the argument that has it
Door = TypeVar("Door", bound=Callable[..., Any])

COUNT: Check = functools.partial(check_whole, least=1)
POSITIVE: Check = functools.partial(check_real, above=0)
NOT_NEGATIVE: Check = functools.partial(check_real, least=0)
INSIDE: Check = functools.partial(check_real, above=0, below=1)


def checked(*may_be_empty: str, **own: Check) -> Callable[[Door], Door]:
    """Check the arguments of a function, or the fields of a NamedTuple, before anything else happens.

    Axes have at least one entry, but for those named in `may_be_empty`. A NamedTuple whose fields have to fit
    together says so in a method `check`, which is called once it is made (`_replace` checks nothing).
    """

    def decorate(door: Door) -> Door:
        if not isinstance(door, type):
            return _guarded(door, own, may_be_empty)
        make = _guarded(door.__new__, own, may_be_empty)
        if not hasattr(door, "check"):
            door.__new__ = make  # type: ignore[method-assign]
            return door

        @functools.wraps(make)
        def new(*args: Any, **kwargs: Any) -> Any:
            made = make(*args, **kwargs)
            made.check()
            return made

        door.__new__ = new  # type: ignore[method-assign]
        return door

    return decorate


def _guarded(function: Any, own: dict[str, Check], may_be_empty: tuple[str, ...]) -> Any:
    signature = inspect.signature(function)
    unknown = set(own) - set(signature.parameters)
    if unknown:
        raise TypeError(f"{function.__qualname__} has no arguments {sorted(unknown)} to be checked")
    hints = {name: p.annotation for name, p in signature.parameters.items()}

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is missing, or too much
        sizes: Sizes = {}
        for name, value in bound.arguments.items():
            if value is None and type(None) in get_args(hints[name]):
                continue
            value = _check(name, value, hints[name], sizes, may_be_empty)
            bound.arguments[name] = own[name](name, value) if name in own else value
        return function(*bound.args, **bound.kwargs)

    return guarded


def _check(name: str, value: Any, hint: Any, sizes: Sizes, empty: tuple[str, ...]) -> Any:
    """`value` if it is what the annotation says."""
    if hint == PRNGKeyArray:
        return check_key(value, name)
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        arrays = all(isinstance(kind, type) and issubclass(kind, AbstractArray) for kind in kinds)
        if len(kinds) == 1 or arrays:
            return _check(name, value, kinds[0], sizes, empty)
        return value
    if hint is bool:
        return check_flag(name, value)
    elif hint is int:
        return check_whole(name, value, least=-(2**62), most=2**62)
    elif hint is float:
        return check_real(name, value)
    elif get_origin(hint) is Literal:
        return check_choice(name, value, get_args(hint))
    elif get_origin(hint) is collections.abc.Sequence:
        return _sequence(name, value, get_args(hint)[0], sizes, empty)
    elif get_origin(hint) is tuple and ... not in get_args(hint):
        return _tuple(name, value, get_args(hint), sizes, empty)
    elif get_origin(hint) is collections.abc.Callable:
        if not callable(value):
            raise TypeError(f"{name} is {brief(value)}; it must be a function")
    elif isinstance(hint, type) and issubclass(hint, AbstractArray):
        return _array(name, value, hint, sizes, empty)
    elif isinstance(hint, type) and hint not in (Any, inspect.Parameter.empty):
        check_kind(name, value, hint)
    return value


def _sequence(name: str, value: Any, kind: Any, sizes: Sizes, empty: tuple[str, ...]) -> Any:
    if kind is int and isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple | range):
        raise TypeError(f"{name} is {brief(value)}; it must be a list or tuple")
    return [_check(f"{name}[{i}]", one, kind, sizes, empty) for i, one in enumerate(value)]


def _tuple(
    name: str, value: Any, kinds: tuple[Any, ...], sizes: Sizes, empty: tuple[str, ...]
) -> Any:
    if not isinstance(value, list | tuple) or len(value) != len(kinds):
        raise TypeError(f"{name} is {brief(value)}; it must be a tuple of {len(kinds)}")
    each = zip(value, kinds, strict=True)
    return tuple(
        _check(f"{name}[{i}]", one, kind, sizes, empty) for i, (one, kind) in enumerate(each)
    )


def _array(
    name: str, value: Any, hint: type[AbstractArray], sizes: Sizes, empty: tuple[str, ...]
) -> Any:
    kinds = {"bool": "b", "int32": "iu", "int64": "iu"}
    wanted = next((kinds[dtype] for dtype in hint.dtypes if dtype in kinds), "f")
    array = check_reals(name, value) if wanted == "f" else as_numbers(name, value, wanted)
    _shape(name, array.shape, hint.dim_str.split(), sizes, empty)
    if not is_concrete(array):
        return array
    if hint.array_type is np.ndarray or not isinstance(array, jax.Array):
        array = np.asarray(array)
        if wanted == "iu" and array.dtype not in (np.int32, np.int64):
            array = array.astype(np.int64)
    if wanted == "f" and not jnp.issubdtype(array.dtype, jnp.floating):
        array = array.astype(np.float64 if isinstance(array, np.ndarray) else float)
    return array


def _shape(
    name: str, shape: tuple[int, ...], axes: list[str], sizes: Sizes, empty: tuple[str, ...]
) -> None:
    """Raise unless the shape is that of the annotation, and note the sizes of its axes."""
    many = [i for i, axis in enumerate(axes) if axis.startswith("*") or axis == "..."]
    parts: list[Any] = list(shape)
    if many and len(shape) >= len(axes) - 1:
        start = many[0]
        stop = len(shape) - (len(axes) - 1 - start)
        parts = [*shape[:start], tuple(shape[start:stop]), *shape[stop:]]
    fits = len(parts) == len(axes)
    known = {}
    for axis, size in zip(axes, parts, strict=False):
        if axis == "...":
            continue
        want = (int(axis), "") if axis.isdigit() else sizes.setdefault(axis, (size, name))
        if want[1] not in ("", name):
            known[axis] = want
        least = all(size) if isinstance(size, tuple) else size >= 1 or axis in empty
        fits = fits and size == want[0] and least
    if not fits:
        text = ", ".join(axes) + ("," if len(axes) == 1 else "")
        where = " and ".join(f"{axis} is {size} as in {of}" for axis, (size, of) in known.items())
        raise ValueError(
            f"{name} has shape {shape}; it must have shape ({text})"
            + (f", where {where}" if where else "")
        )
