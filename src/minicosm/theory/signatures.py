"""A front door that checks its arguments by its own annotations.

    @checked(N=whole(1))
    def f(E: Float[np.ndarray, "inputs m"], M: Float[np.ndarray, "m m"], N: int) -> Theorem: ...

What the signature says is then asked of every call, in one sentence: arrays are of real or whole numbers,
finite, and of one size wherever one name stands; an argument of a class is of that class; words are among
those of their `Literal`. What an annotation cannot say is in the keywords, as a rule (see `checks`), which
takes its place. Rules come after annotations, in the order they are given; None passes where the
annotation has it. Values under a trace are trusted.
"""

import collections.abc
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import jax
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

from .checks import Rule

Sizes = dict[str, tuple[Any, str]]  # of every named axis its size, and the argument that has it
Door = TypeVar("Door", bound=Callable[..., Any])


def checked(*may_be_empty: str, **rules: Rule) -> Callable[[Door], Door]:
    """Check the arguments of a function, or the fields of a NamedTuple, before anything else happens.

    Axes have at least one entry, but for those named in `may_be_empty`. A NamedTuple whose fields have to fit
    together says so in a method `check`, which is called once it is made (`_replace` checks nothing).
    """

    def decorate(door: Door) -> Door:
        if not isinstance(door, type):
            return _guarded(door, rules, may_be_empty)
        make = _guarded(door.__new__, rules, may_be_empty)
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


def _guarded(function: Any, rules: dict[str, Rule], may_be_empty: tuple[str, ...]) -> Any:
    signature = inspect.signature(function)
    hints = {name: p.annotation for name, p in signature.parameters.items()}
    unknown = set(rules) - set(hints)
    if unknown:
        raise TypeError(f"{function.__qualname__} has no arguments {sorted(unknown)} to be checked")
    checks = {n: _check_of(hint, may_be_empty) for n, hint in hints.items() if n not in rules}
    optional = {name for name, hint in hints.items() if type(None) in get_args(hint)}

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is missing, or too much
        given = {name for name, value in bound.arguments.items()
                 if not (value is None and name in optional)}  # fmt: skip
        bound.apply_defaults()
        sizes: Sizes = {}
        values = bound.arguments
        for name, check in checks.items():
            if name in given:
                values[name] = check(name, values[name], sizes)
        for name, rule in rules.items():
            if name in given:
                values[name] = rule(name, values[name], values)
        return function(*bound.args, **bound.kwargs)

    return guarded


# -- checks from annotations ------------------------------------------------------------------


def _check_of(hint: Any, empty: tuple[str, ...]) -> Callable[[str, Any, Sizes], Any]:
    """What is asked of a value with this annotation: `(name, value, sizes) -> value`."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint == PRNGKeyArray:
        return lambda name, value, _: check_key(value, name)
    if origin in (Union, types.UnionType):
        kinds = [kind for kind in inside if kind is not type(None)]
        if len(kinds) == 1 or all(_is_array(kind) for kind in kinds):
            return _check_of(kinds[0], empty)
        raise TypeError(f"{hint} is no annotation that can be checked")
    if hint is bool:
        return lambda name, value, _: check_flag(name, value)
    if hint is int:
        return lambda name, value, _: check_whole(name, value, least=-(2**62), most=2**62)
    if hint is float:
        return lambda name, value, _: check_real(name, value)
    if origin is Literal:
        return lambda name, value, _: check_choice(name, value, inside)
    if origin is collections.abc.Sequence:
        return functools.partial(_sequence, _check_of(inside[0], empty))
    if origin is tuple:
        return functools.partial(_tuple, [_check_of(kind, empty) for kind in inside])
    if origin is collections.abc.Callable:
        return _callable
    if _is_array(hint):
        return functools.partial(_array, hint, hint.dim_str.split(), empty)
    if isinstance(hint, type) and hint not in (Any, inspect.Parameter.empty):
        return functools.partial(_of_class, hint)
    return lambda name, value, _: value


def _is_array(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def _of_class(kind: type, name: str, value: Any, _: Sizes) -> Any:
    check_kind(name, value, kind)
    return value


def _callable(name: str, value: Any, _: Sizes) -> Any:
    if not callable(value):
        raise TypeError(f"{name} is {brief(value)}; it must be a function")
    return value


def _sequence(check: Any, name: str, value: Any, sizes: Sizes) -> list[Any]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple | range):
        raise TypeError(f"{name} is {brief(value)}; it must be a list or tuple")
    return [check(f"{name}[{i}]", one, sizes) for i, one in enumerate(value)]


def _tuple(checks: list[Any], name: str, value: Any, sizes: Sizes) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) != len(checks):
        raise TypeError(f"{name} is {brief(value)}; it must be a tuple of {len(checks)}")
    each = enumerate(zip(checks, value, strict=True))
    return tuple(check(f"{name}[{i}]", one, sizes) for i, (check, one) in each)


def _array(
    hint: Any, axes: list[str], empty: tuple[str, ...], name: str, value: Any, sizes: Sizes
) -> Any:
    if "float64" in hint.dtypes:
        array = check_reals(name, value)
    else:
        array = as_numbers(name, value, "b" if "bool" in hint.dtypes else "iu")
    _shape(name, array.shape, axes, sizes, empty)
    if not is_concrete(array):
        return array
    if hint.array_type is np.ndarray or not isinstance(array, jax.Array):
        array = np.asarray(array)
        if "int64" in hint.dtypes and array.dtype not in (np.int32, np.int64):
            return array.astype(np.int64)
    if "float64" in hint.dtypes and array.dtype.kind in "iu":
        return array.astype(float)
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
