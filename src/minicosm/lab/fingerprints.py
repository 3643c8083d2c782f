"""Which source files a function stands on, and a hash of them: its code version.

They are found by reading import statements, wherever they stand in a file, without importing
anything. Followed are imports of this package, of the function's own package, and of files in the
folder that holds it. A name that a package merely hands on (`from minicosm.worlds import HMM`) leads
to the module that defines it, so that a new module changes nothing for those who do not use it. Modules
of the lab do not count: they run trials, and have no part in their numbers. Of the module that holds a
trial's configuration, such as a study's `trials.py`, only the classes that are imported count, as long as
they have no methods: sizes of other profiles and other trials stand there as well. Docstrings, lines of
comment and empty lines change nothing.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from minicosm.lab.claims import Claim, LabError, Trial

HOME, LAB = "minicosm", "minicosm.lab"


@dataclass(frozen=True)
class Module:
    """A source file with the module's name."""

    name: str
    path: Path
    source: bytes = field(repr=False)
    code: bytes = field(repr=False)
    """The source without what only readers see."""
    imports: tuple[tuple[str, str, str], ...] = field(repr=False)
    """(module, name in it or "" or "*", name here) of every import."""

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def plain_classes(self, name: str) -> dict[str, bytes]:
        """The source of a class and of its bases here; none if it is no class or one with methods,
        which may call anything, other than `__post_init__`, which only refuses."""
        tree = ast.parse(self.source)
        here = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        found: dict[str, bytes] = {}
        waiting = [name]
        while waiting:
            node = here.get(waiting.pop())
            if node is None:
                return {}
            methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            if set(methods) - {"__post_init__"}:
                return {}
            source = ast.get_source_segment(self.source.decode(), node) or ""
            found[node.name] = _code(source.encode(), ast.parse(source))
            waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
        return found

    @classmethod
    def read(cls, name: str, path: Path) -> Module:
        source = path.read_bytes()
        tree = ast.parse(source)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        return cls(name, path, source, _code(source, tree), tuple(_imports(tree, package)))


def _code(source: bytes, tree: ast.Module) -> bytes:
    """The lines of a source but for docstrings, comments on lines of their own and empty lines."""
    lines = source.splitlines()
    seen, quoted = set(), set()  # lines of docstrings; lines on which another string goes on
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr | ast.Constant | ast.JoinedStr):
            continue
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        if not isinstance(node, ast.Expr):
            quoted |= set(range(first + 1, last))
        elif isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            around = lines[first][: node.col_offset] + lines[last - 1][node.end_col_offset :]
            seen |= set() if around.strip() else set(range(first, last))
    kept = (
        line
        for number, line in enumerate(lines)
        if number not in seen
        and (number in quoted or (line.strip() and not line.lstrip().startswith(b"#")))
    )
    return b"\n".join(kept)


def _imports(tree: ast.Module, package: str) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            yield from ((base, alias.name, alias.asname or alias.name) for alias in node.names)


class Fingerprints:
    """The source files as they are now, each read once."""

    def __init__(self) -> None:
        self._modules: dict[str, Module | None] = {}
        self._versions: dict[Any, str] = {}

    def of_trial(self, trial: Trial) -> str:
        """The code version of a trial: of its function and of its config's class."""
        name = _module_of(trial.run)
        if self._module(name) is None:
            raise LabError(
                f"the source file of the module {name!r} is not found; trials must stand in files, so that "
                "results of other code are not taken for theirs."
            )
        classes = _classes(trial.config)
        held = {_module_of(each) for each in classes} - {name}
        return self.version(trial.run, *classes, configurations=frozenset(held))

    def of_claim(self, claim: Claim) -> str:
        """The code version of a claim: of its trials, its check and its figure."""
        parts = (claim.trials, claim.check, claim.figure)
        return self.version(*(part for part in parts if part is not None))

    def version(
        self, *functions: Callable[..., Any], configurations: frozenset[str] = frozenset()
    ) -> str:
        """A short hash of the sources of all modules that the functions stand on; of the modules
        `configurations` only the plain classes count."""
        starts = frozenset(
            (_module_of(f), f.__name__ if isinstance(f, type) else "") for f in functions
        )
        key = (starts, configurations)
        if key not in self._versions:
            digest = hashlib.sha256()
            for name, source in self.sources(starts, configurations).items():
                digest.update(f"{name}\0{len(source)}\0".encode())
                digest.update(source)
            self._versions[key] = digest.hexdigest()[:16]
        return self._versions[key]

    def modules(self, *starts: str) -> list[Module]:
        """These modules and those that they import, directly or not, by name."""
        names = self.sources(frozenset((name, "") for name in starts), frozenset())
        return [module for name in names if (module := self._module(name)) is not None]

    def sources(
        self, starts: frozenset[tuple[str, str]], configurations: frozenset[str]
    ) -> dict[str, bytes]:
        """The sources of modules, or of `MODULE:CLASS`, that (module, name in it) stand on, sorted."""
        tops = {HOME, *(name.partition(".")[0] for name, _ in starts)}
        folders = {module.path.parent for name, _ in starts if (module := self._module(name))}
        found: dict[str, bytes] = {}
        waiting = sorted(starts)
        while waiting:
            name, inner = waiting.pop()
            module = self._module(name)
            if module is None or name in found or name == LAB or name.startswith(f"{LAB}."):
                continue
            if name.partition(".")[0] not in tops and module.path.parent not in folders:
                continue
            if name in configurations and (classes := module.plain_classes(inner)):
                found |= {f"{name}:{each}": source for each, source in classes.items()}
                continue
            found[name] = module.code
            for base, wanted, _ in module.imports:
                waiting += [(into, wanted) for into in self._resolve(base, wanted)]
        return dict(sorted(found.items()))

    def _resolve(self, base: str, inner: str, seen: tuple[str, ...] = ()) -> list[str]:
        """Modules that `from base import inner` needs; only `import base` if `inner` is empty."""
        if inner and self._module(f"{base}.{inner}") is not None:
            return [f"{base}.{inner}"]
        module = self._module(base)
        if module is None or not inner or not module.is_package or base in seen:
            return [base]
        for source, name, here in module.imports:
            if here == inner and name:
                return self._resolve(source, name, (*seen, base))
        return [base]

    def _module(self, name: str) -> Module | None:
        """None if there is no source file of this name."""
        if name not in self._modules:
            path = _locate(name)
            self._modules[name] = None if path is None else Module.read(name, path)
        return self._modules[name]


def _module_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(function.__module__)


def _classes(config: Any) -> list[type]:
    """The class of a configuration, its bases, and those of the configurations that it holds."""
    found = [kind for kind in type(config).__mro__ if kind.__module__ != "builtins"]
    if is_dataclass(config):
        for each in fields(config):
            value = getattr(config, each.name)
            if is_dataclass(value) and not isinstance(value, type):
                found += _classes(value)
    return found or [type(config)]


def _locate(name: str) -> Path | None:
    """The file of a module, not importing the packages that hold it."""
    top, *parts = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module without a spec: the script that is being run
        origin = getattr(sys.modules.get(top), "__file__", None)
    else:
        origin = spec.origin if spec is not None and spec.has_location else None
    if origin is None or not origin.endswith(".py"):
        return None
    path = Path(origin)
    for part in parts:
        if path.is_file() and path.name != "__init__.py":
            return None
        folder = path.parent if path.is_file() else path
        candidates = (folder / part / "__init__.py", folder / f"{part}.py")
        existing = [candidate for candidate in candidates if candidate.is_file()]
        # A folder without an __init__.py is a package too.
        path = existing[0] if existing else folder / part
    return path if path.is_file() else None
