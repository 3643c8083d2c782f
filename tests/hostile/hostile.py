"""Hostile calls: a valid call with one argument replaced by something that it cannot mean.

A table of valid calls says for every argument of which kind it is:

    Call(HMM.random, key=key(), hidden=count(3), emission_temperature=positive(1.0))
    Call(world.log_prob, tokens=tokens([0, 1, 1]))

`sweep(call)` replaces one argument at a time by every value of `VALUES`, and an array by spoiled copies
of itself (`SPOILED`), and says of each call what came of it:

- "sentence": a ValueError or TypeError (of the lab also a LabError, and a LookupError where a name is
  not known) that our code raises, in one line that names the argument;
- "accepted": an answer, the same as that of the valid call where only the layout of an array is odd;
- "nan": an answer that holds NaN although the valid call's has none;
- "accident": a ValueError or TypeError that does not name the argument, or that nobody wrote for it;
- "inside": an exception of any kind from inside JAX, NumPy or another library;
- "foreign": any other exception;
- "hang": no answer after `SECONDS` of processor time.

`faults(call)` keeps what must be mended: all but sentences, and but answers to values that the kind of
the argument allows. Tests of this kind want `pytest.mark.usefixtures("unchecked_types")`.
"""

import contextlib
import dataclasses
import functools
import inspect
import linecache
import resource
import signal
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

from minicosm.lab import LabError

SECONDS = 10.0  # of processor time, so that a busy machine is no hang
BLOCKED = 12  # times as long by the clock: who waits for something uses no processor
MEMORY = 8 * 2**30  # what one call may ask for beyond what the process holds, in bytes of addresses

# What no argument can mean, by name. Kinds of arguments say which of them are allowed after all.
VALUES: dict[str, Any] = {
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "-1": -1,
    "0": 0,
    "2.5": 2.5,
    "2**40": 2**40,
    "2**70": 2**70,
    "True": True,
    "1j": 1j,
    "'abc'": "abc",
    "b''": b"",
    "[]": [],
    "[[]]": [[]],
    "ragged": [[1], [2, 3]],
    "{}": {},
    "object": object(),
    "a class": int,
    "a function": len,
    "array of strings": np.array(["a", "b"]),
    "array of objects": np.array([None, 1], object),
    "array of nan": np.full(3, np.nan),
    "array of complex": np.full((2, 2), 1j),
    "array of dates": np.array(["2020-01-01"], "datetime64[D]"),
    "array without entries": np.zeros((0, 3)),
    "array of four axes": np.zeros((2, 1, 1, 2)),
    "tokens far outside": np.array([0, 10**6]),
    "tokens below zero": np.array([-1, 0]),
}

# Spoiled copies of an array of numbers. Those in SAME differ in layout only.
SPOILED: dict[str, Callable[[np.ndarray], Any]] = {
    "one axis more": lambda x: x[None],
    "one entry less": lambda x: x[:-1] if x.ndim and len(x) > 1 else x[None],
    "entry -1": lambda x: _with_entry(x, -1),
    "entry 10**6": lambda x: _with_entry(x, 10**6),
    "entry nan": lambda x: _with_entry(x.astype(float), np.nan),
    "entry inf": lambda x: _with_entry(x.astype(float), np.inf),
    "plus .5": lambda x: x.astype(float) + 0.5,
    "as strings": lambda x: x.astype(str),
    "as complex": lambda x: x + 1j,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "read backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1] if x.ndim else x,
}
SAME = ("big-endian", "read backwards")


def _with_entry(x: np.ndarray, entry: float) -> np.ndarray:
    x = np.array(x, np.float64 if x.dtype == bool else None)
    x[(0,) * x.ndim] = entry
    return x


# -- arguments and calls ----------------------------------------------------------------------


class Argument(NamedTuple):
    """A valid value, the values that may be accepted in its place, and the words that name it."""

    value: Any
    allows: frozenset[str]
    names: tuple[str, ...] = ()
    array: bool = False
    nan: frozenset[str] = frozenset()
    """Values to which NaN is the defined answer."""


def _argument(value: Any, kind: Iterable[str], allows: Any, names: Any, array: bool = False) -> Any:
    """`allows` adds to the kind; `names` are words of which one has to be in the message."""
    allowed = frozenset(kind) | frozenset([allows] if isinstance(allows, str) else allows)
    unknown = allowed - set(VALUES) - set(SPOILED)
    assert not unknown, f"no hostile values are called {sorted(unknown)}"
    return Argument(value, allowed, (names,) if isinstance(names, str) else tuple(names), array)


_Words = str | Iterable[str]
_LARGE = ("2**40", "2**70")


def count(value: int, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """A whole number of at least one that says how much memory or time is needed."""
    return _argument(value, (), allows, names)


def whole(value: int, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """A whole number of at least zero, however large."""
    return _argument(value, ("0", *_LARGE), allows, names)


def number(value: float, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """Any finite number."""
    return _argument(value, ("-1", "0", "2.5", *_LARGE, "True"), allows, names)


def positive(value: float, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """A positive finite number."""
    return _argument(value, ("2.5", *_LARGE, "True"), allows, names)


def probability(value: float, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """A number in [0, 1]."""
    return _argument(value, ("0", "True"), allows, names)


def flag(value: bool, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """True or False."""
    return _argument(value, ("True",), allows, names)


def key(seed: int = 0, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """A JAX key."""
    return _argument(jax.random.key(seed), (), allows, names)


def tokens(value: Any, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """Whole numbers of a vocabulary that is smaller than a million."""
    names = ("token", "sequence", *_tuple(names))
    return _argument(np.asarray(value), (*SAME, "one entry less"), allows, names, array=True)


def array(value: Any, *, allows: _Words = (), names: _Words = ()) -> Argument:
    """An array of numbers, of a shape and of values that are prescribed."""
    return _argument(np.asarray(value), SAME, allows, names, array=True)


def thing(
    value: Any, *, allows: _Words = (), names: _Words = (), nan: Iterable[str] = ()
) -> Argument:
    """Anything else: a world, a model, a word among several, a function."""
    return _argument(value, (), allows, names)._replace(nan=frozenset(nan))


def _tuple(words: _Words) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


class Later(NamedTuple):
    """A value that costs time, made when it is needed first."""

    make: Callable[[], Any]


def later(make: Callable[[], Any]) -> Later:
    return Later(functools.cache(make))


class Call:
    """A valid call by keywords: `Call(function, name=argument, ...)`.

    `Call.of(target, function, ...)` is for a target that takes arguments by their places: `function` takes
    them by keywords and hands them on.
    """

    def __init__(self, function: Callable, /, **arguments: Argument):
        self.function, self.arguments, self.target = function, arguments, function
        self.name = getattr(function, "__qualname__", type(function).__name__)
        owner = getattr(function, "__self__", None)
        if owner is not None and not isinstance(owner, type):  # a method of an object of a subclass
            self.name = f"{type(owner).__name__}.{function.__name__}"

    @classmethod
    def of(cls, target: Callable, function: Callable, /, **arguments: Argument) -> "Call":
        call = cls(target, **arguments)
        call.function = function
        return call

    def __repr__(self) -> str:
        return self.name

    def values(self, **changed: Any) -> Any:
        """The answer, with some arguments changed."""
        valid = {name: argument.value for name, argument in self.arguments.items()} | changed
        made = {n: v.make() if isinstance(v, Later) else v for n, v in valid.items()}
        return self.function(**made)


class Finding(NamedTuple):
    call: str
    argument: str
    value: str
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.call}({self.argument}={self.value}): {self.what}: {self.text}"


# -- running ----------------------------------------------------------------------------------


class TimeUp(BaseException):
    """The time of one call is over."""


@contextlib.contextmanager
def limits(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Interrupt after so many seconds of work; refuse memory beyond what there is and `memory` more."""

    def stop(*_: Any) -> None:
        raise TimeUp

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    timers = {
        signal.ITIMER_PROF: (signal.SIGPROF, seconds),
        signal.ITIMER_REAL: (signal.SIGALRM, BLOCKED * seconds),
    }
    before = {number: signal.signal(number, stop) for number, _ in timers.values()}
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, hard))
    for timer, (_, most) in timers.items():
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def attempt(call: Call, argument: str, value: Any, names: Iterable[str] = ()) -> tuple[str, str]:
    """What comes of the call with `argument` replaced: its class, and the message or the answer."""
    try:
        with limits(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = jax.block_until_ready(call.values(**{argument: value}))
    except TimeUp:
        return "hang", f"no answer after {SECONDS:g} s"
    except Exception as error:
        return _judge(error, (argument, *names))
    return ("nan" if has_nan(answer) else "accepted"), _short(repr(answer))


def _judge(error: Exception, names: Iterable[str]) -> tuple[str, str]:
    message = str(error)
    text = _short(f"{type(error).__name__}: {message}")
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    ours = "minicosm" in last.filename
    if not ours:
        where = last.filename.split("site-packages/")[-1]
        return "inside", f"{text} [{where}:{last.lineno}]"
    text += f" [{last.filename.rpartition('minicosm/')[2]}:{last.lineno}]"
    if type(error) not in (ValueError, TypeError, LookupError, LabError):
        return "foreign", text
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    written = line.startswith("raise")
    lower = message.lower()
    named = any(name.lower() in lower or name.replace("_", " ").lower() in lower for name in names)
    one = bool(message.strip()) and "\n" not in message
    return ("sentence" if written and named and one else "accident"), text


def _leaves(answer: Any) -> list[Any]:
    """The leaves of an answer; a dataclass, as a `Theorem`, holds those of its fields."""
    leaves = []
    for leaf in jax.tree.leaves(answer):
        if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            leaves += _leaves([getattr(leaf, field.name) for field in dataclasses.fields(leaf)])
        else:
            leaves.append(leaf)
    return leaves


def has_nan(answer: Any) -> bool:
    """Whether a number or array anywhere in the answer is NaN."""
    for leaf in _leaves(answer):
        if isinstance(leaf, float | complex | np.ndarray | np.generic | jax.Array):
            if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(
                leaf.dtype, jax.dtypes.extended
            ):
                continue
            values = np.asarray(leaf)
            if values.dtype.kind in "fc" and np.isnan(values).any():
                return True
    return False


def _same(one: Any, other: Any) -> bool:
    left, right = _leaves(one), _leaves(other)
    if len(left) != len(right):
        return False
    for a, b in zip(left, right, strict=True):
        if isinstance(a, np.ndarray | np.generic | jax.Array | float | int):
            if isinstance(a, jax.Array) and jax.dtypes.issubdtype(a.dtype, jax.dtypes.extended):
                continue
            if np.shape(a) != np.shape(b):
                return False
            if not np.allclose(np.asarray(a), np.asarray(b), equal_nan=True):
                return False
    return True


def _short(text: str, length: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."


def sweep(call: Call, only: Iterable[str] | None = None) -> list[Finding]:
    """What comes of every hostile value in place of every argument (or of those in `only`)."""
    valid = call.values()
    nan_is_valid = has_nan(valid)
    found = []
    for name, argument in call.arguments.items():
        if only is not None and name not in only:
            continue
        hostile = dict(VALUES)
        if argument.array:
            good = np.asarray(argument.value)
            hostile |= {spoiled: spoil(good) for spoiled, spoil in SPOILED.items()}
        for text, value in hostile.items():
            what, message = attempt(call, name, value, argument.names)
            if what == "nan" and nan_is_valid:
                what = "accepted"
            if what == "accepted" and text in SAME:
                other = call.values(**{name: value})
                if not _same(valid, other):
                    what, message = "nan", "another answer than for the same numbers"
            found.append(Finding(call.name, name, text, what, message))
    return found


def faults(call: Call, only: Iterable[str] | None = None) -> list[Finding]:
    """What must be mended."""
    return [
        finding
        for finding in sweep(call, only)
        if finding.what != "sentence" and not is_meant(finding, call.arguments[finding.argument])
    ]


def is_meant(finding: Finding, argument: Argument) -> bool:
    """Whether the answer is one that the value has by definition."""
    return finding.value in {"accepted": argument.allows, "nan": argument.nan}.get(finding.what, ())


def report(findings: list[Finding], most: int = 40) -> str:
    """The findings as lines, for a failing test."""
    lines = [str(finding) for finding in findings[:most]]
    return "\n".join([f"{len(findings)} hostile calls:", *lines])


# -- front doors --------------------------------------------------------------------------------


def front_doors(module: ModuleType) -> dict[str, Callable]:
    """What a user may call with arguments, by name: functions, classes and their public methods, of
    `__all__` or, in a module without it, what is defined there. Tuples that functions return are left out.
    """
    names = getattr(module, "__all__", None)
    if names is None:
        inside = {n: f for n, f in vars(module).items() if not n.startswith("_")}
        names = [n for n, f in inside.items() if getattr(f, "__module__", "") == module.__name__]
    doors: dict[str, Callable] = {}
    for name in names:
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            doors |= {f"{name}.{inner}": door for inner, door in front_doors(value).items()}
        elif isinstance(value, type) and not issubclass(value, tuple):
            doors[name] = value
            methods = {n: f for n, f in vars(value).items() if inspect.isfunction(f)}
            doors |= {f"{name}.{n}": f for n, f in methods.items() if not n.startswith("_")}
        elif inspect.isfunction(value):
            doors[name] = value
    return {name: door for name, door in doors.items() if _takes_arguments(door)}


def _takes_arguments(door: Callable) -> bool:
    return any(name != "self" for name in inspect.signature(door).parameters)


def not_called(module: ModuleType, calls: Iterable[Call]) -> list[str]:
    """The front doors of a module that no call of the table goes through."""
    called = [getattr(call.function, "__func__", call.function) for call in calls]
    return [name for name, door in front_doors(module).items() if door not in called]


def tally(findings: Iterable[Finding], calls: Iterable[Call]) -> dict[str, int]:
    """How many calls came back how; "accepted" are answers that are allowed, "silent" those that are not."""
    allows = {(repr(call), name): a.allows for call in calls for name, a in call.arguments.items()}
    counts: dict[str, int] = {}
    for finding in findings:
        silent = (
            finding.what == "accepted"
            and finding.value not in allows[finding.call, finding.argument]
        )
        what = "silent" if silent else finding.what
        counts[what] = counts.get(what, 0) + 1
    return counts
