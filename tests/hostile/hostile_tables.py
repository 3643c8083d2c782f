"""All tables of hostile calls, and which public callables they are about."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hostile import Call

HERE = Path(__file__).parent
PACKAGES = (
    "",  # the package itself
    "worlds", "worlds.joint",
    "text", "models", "training", "decoding", "adaptation", "theory", "theory.tuning",
    "theory.dyck", "theory.guided", "theory.parallel", "theory.automata", "worlds.automata",
    "worlds.diffusions", "training.trajectory_contrast", "theory.contrastive",
    "theory.nce", "theory.identifiability", "theory.topics", "theory.flip_flop", "theory.distillation",
    "worlds.flip_flop", "lab",
)  # fmt: skip


def names() -> list[str]:
    """The modules that hold a table."""
    return sorted(path.stem for path in HERE.glob("test_hostile_*.py"))


def table(name: str) -> list[Call]:
    """The calls of one module."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return importlib.import_module(name).CALLS


def calls() -> list[Call]:
    """The calls of all modules."""
    return [call for name in names() for call in table(name)]


class Door(NamedTuple):
    """A public callable: its name, and what stands behind it."""

    name: str
    function: Any


def behind(function: Any) -> Any:
    """A function without what binds or wraps it; a class as it is."""
    function = getattr(function, "__func__", function)
    return function if inspect.isclass(function) else inspect.unwrap(function)


def takes_something(function: Callable) -> bool:
    """Whether there is an argument to get wrong."""
    parameters = list(inspect.signature(function).parameters)
    return parameters not in ([], ["self"], ["cls"])


def doors(package: str) -> Iterator[Door]:
    """Functions, classes and public methods that a package exports and that can be called wrongly.

    No doors are: what is no callable; tuples, which carry what a function found, protocols, exceptions and
    enumerations, which others make (but the methods of tuples are); abstract methods, which classes that can
    be made define; names of types; defaults of fields; and what takes no argument.
    """
    module = importlib.import_module(f"minicosm.{package}".rstrip("."))
    for exported in module.__all__:
        value, name = getattr(module, exported), f"{package}.{exported}".lstrip(".")
        if inspect.isclass(value):
            if getattr(value, "_is_protocol", False) or issubclass(value, BaseException | int):
                continue
            if not issubclass(value, tuple) and takes_something(value):
                yield Door(name, value)
            for method in dir(value):
                function = inspect.getattr_static(value, method)
                function = getattr(function, "__func__", function)
                field = method in getattr(value, "__dataclass_fields__", {})
                if method.startswith("_") or field or isinstance(function, property):
                    continue
                if getattr(function, "__isabstractmethod__", False):
                    continue
                if callable(function):
                    function = inspect.unwrap(function)
                    ours = str(getattr(function, "__module__", "")).startswith("minicosm")
                    if inspect.isfunction(function) and ours and takes_something(function):
                        yield Door(f"{name}.{method}", function)
        elif (inspect.isroutine(value) or hasattr(value, "__wrapped__")) and takes_something(value):
            yield Door(name, behind(value))
