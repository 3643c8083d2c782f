"""Claims, the trials that they need, and the verdicts that they come to.

A claim is one falsifiable sentence with its source, its criterion and a check that can come out
false. Its trials are the expensive part and are shared between claims; the check is cheap and
sees nothing but the results of the trials.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from minicosm.lab.checking import (
    check_choice,
    check_count,
    check_function,
    check_kind,
    check_mapping,
    check_text,
    check_texts,
    shown,
)
from minicosm.lab.estimates import Estimate

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

Verdict = Literal["holds", "fails", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("holds", "fails", "undecided")

ProfileName = Literal["smoke", "laptop", "paper"]
PROFILES: tuple[ProfileName, ...] = ("smoke", "laptop", "paper")

Kind = Literal["theorem", "lemma", "figure", "experiment", "control", "relation"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class LabError(Exception):
    """Bad input or an unusable store: one sentence for the user, never a traceback."""


@runtime_checkable
class Progress(Protocol):
    """What a trial calls, a few times per second at most, to say how far it is."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


def silent(done: int, total: int, note: str = "") -> None:
    """A `Progress` that says nothing, whatever it is told."""


@dataclass(frozen=True)
class TrialResult:
    """What a trial found: JSON-able `numbers` (NaN and infinities included) and plain `arrays`.

    Checks and figures also see the `config` that the trial was run with; a trial leaves it empty.
    """

    numbers: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    config: Any = None

    def __post_init__(self) -> None:
        check_mapping("numbers", self.numbers)
        check_mapping("arrays", self.arrays)
        for name, array in self.arrays.items():
            if not hasattr(array, "shape") or not hasattr(array, "dtype"):
                raise TypeError(f"arrays has {shown(array)} as {name!r}; it must be an array")


@dataclass(frozen=True)
class Trial:
    """The expensive unit: a module-level function and the frozen dataclass that it is given.

    A `run` with a third positional parameter is given a folder of its own for checkpoints. The
    folder exists when the trial starts, survives a kill, a failure and Ctrl-C, and is removed
    once the result is stored. Two processes may run the same trial at once and then share it, so
    checkpoints are written under a name of their own and appear by atomic rename.
    """

    run: Callable[[Any, Progress], TrialResult] | Callable[[Any, Progress, Path], TrialResult]
    config: Any

    def __post_init__(self) -> None:
        check_function("run", self.run)

    @property
    def takes_folder(self) -> bool:
        """Whether `run` has a third positional parameter."""
        try:
            parameters = inspect.signature(self.run).parameters.values()
        except (TypeError, ValueError):
            return False
        return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) > 2


Cell = str | int | float | Estimate | None

DIGITS = 4  # significant digits of a number that is printed


@dataclass(frozen=True)
class Table:
    """A table of the lab book; every row has one cell per column.

    `digits` is how many significant digits its numbers are printed with.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = DIGITS

    def __post_init__(self) -> None:
        check_text("title", self.title)
        check_text("note", self.note)
        check_texts("columns", self.columns)
        check_count("digits", self.digits)
        if not 1 <= self.digits <= 17:
            raise ValueError(f"table {self.title!r} has digits {self.digits}; 1..17 can be printed")
        check_kind("rows", self.rows, (tuple, list), "a tuple of tuples")
        for i, row in enumerate(self.rows):
            check_kind(f"row {i} of the rows", row, (tuple, list), "a tuple of cells")
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {i} of table {self.title!r} has {len(row)} cells; "
                    f"it must have {len(self.columns)}, one per column"
                )


@dataclass(frozen=True)
class Outcome:
    """What a check found: the verdict, its headline numbers in order, tables and a remark."""

    verdict: Verdict
    numbers: Mapping[str, int | float | str | bool | Estimate]
    tables: tuple[Table, ...] = ()
    remark: str = ""

    def __post_init__(self) -> None:
        check_choice("verdict", self.verdict, VERDICTS)
        check_mapping("numbers", self.numbers)
        check_tables(self.tables)
        check_text("remark", self.remark)


def check_tables(tables: Any) -> tuple[Table, ...]:
    """`tables` as a tuple, if they are."""
    check_kind("tables", tables, (tuple, list), "a tuple of Tables")
    for table in tables:
        check_kind("one of the tables", table, Table, "a Table")
    return tuple(tables)


Results = Mapping[str, TrialResult]
Check = Callable[[Results], Outcome]

ErratumClass = Literal["gap", "missing hypothesis", "constant"]
ERRATUM_CLASSES: tuple[ErratumClass, ...] = ("gap", "missing hypothesis", "constant")


@dataclass(frozen=True)
class Erratum:
    """What is wrong with a printed statement, how serious it is, and which claim states it right.

    `gap`: statement or proof fails, with a counterexample; `missing hypothesis`: true under a
    condition that is not printed; `constant`: true up to a constant or an index. A misprint is no
    erratum but a line in `Study.misprints`.
    """

    kind: ErratumClass
    text: str
    corrected_by: str

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in ERRATUM_CLASSES:
            raise ValueError(
                f"the kind of an erratum is {shown(self.kind)}; it must be {ERRATUM_CLASSES}"
            )
        check_text("text", self.text)
        check_text("corrected_by", self.corrected_by)


@dataclass(frozen=True)
class Claim:
    """One falsifiable sentence of the literature and everything needed to judge it.

    `trials(profile, seed)` names the trials; its keyword-only parameters, which have defaults, are
    the claim's options. `check` turns the results of the trials into an `Outcome`; `expected` is
    the registered verdict: what the source says. A printed statement that is wrong has an `erratum`.
    `section` is the heading that it stands under; `uses` are the ids of the claims that it stands on,
    as a theorem on its lemmas. Text may hold LaTeX between dollars.
    """

    id: str
    title: str
    source: str
    statement: str
    criterion: str
    trials: Callable[..., Mapping[str, Trial]]
    check: Check
    expected: Verdict = "holds"
    figure: Callable[[Results], Figure] | None = None
    erratum: Erratum | None = None
    kind: Kind = "theorem"
    section: str = ""
    uses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("id", "title", "source", "statement", "criterion"):
            check_text(name, getattr(self, name))
        check_function("trials", self.trials)
        check_function("check", self.check)
        check_choice("expected", self.expected, VERDICTS)
        if self.figure is not None:
            check_function("figure", self.figure)
        object.__setattr__(self, "uses", check_texts("uses", self.uses))
        if self.erratum is not None:
            check_kind("erratum", self.erratum, Erratum, "an Erratum, or None")
        check_choice("kind", self.kind, KINDS)


class Study:
    """The claims of one line of work, in order; the id of each is `<study>/<claim>`.

    `headlines` are the ids of its main findings, `live` those among them that a few seconds of sampling or
    training decide, `misprints` one line for each slip of the source
    that its context puts right, `aliases` other names on the command line, and `file` is where
    the study was loaded from, if it is not one of the package's own.
    """

    def __init__(
        self,
        name: str,
        title: str,
        source: str,
        about: str,
        *,
        headlines: Sequence[str] = (),
        live: Sequence[str] = (),
        misprints: Sequence[str] = (),
        aliases: Sequence[str] = (),
    ) -> None:
        for what, text in (("name", name), ("title", title), ("source", source), ("about", about)):
            check_text(what, text)
        self.name = name
        self.title = title
        self.source = source
        self.about = about
        self.headlines = check_texts("headlines", headlines)
        self.live = check_texts("live", live)
        self.misprints = check_texts("misprints", misprints)
        self.aliases = check_texts("aliases", aliases)
        self.file = ""
        self._claims: dict[str, Claim] = {}

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(self._claims.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)

    def section(self, text: str | None) -> Callable[..., Callable[[Check], Check]]:
        """`claim` for the claims under one heading: the first sentence of `text`, which may be the
        docstring of the module that holds them: `claim = STUDY.section(__doc__)`."""
        if text is not None:
            check_text("text", text)
        first = " ".join((text or "").split("\n\n")[0].split())
        return partial(self.claim, section=first.partition(". ")[0].rstrip("."))

    def add(self, claim: Claim) -> Claim:
        """Register a claim; its id must be new and start with the study's name."""
        check_kind("claim", claim, Claim, "a Claim")
        if not claim.id.startswith(f"{self.name}/"):
            raise ValueError(
                f"the claim {claim.id!r} must have an id that begins {self.name + '/'!r}"
            )
        if claim.id in self._claims:
            raise ValueError(f"study {self.name!r} already has a claim {claim.id!r}")
        self._claims[claim.id] = claim
        return claim

    def claim(
        self,
        *,
        id: str,
        title: str,
        source: str,
        statement: str,
        criterion: str,
        trials: Callable[..., Mapping[str, Trial]],
        check: Check | None = None,
        expected: Verdict = "holds",
        figure: Callable[[Results], Figure] | None = None,
        erratum: Erratum | None = None,
        kind: Kind = "theorem",
        section: str = "",
        uses: Sequence[str] = (),
    ) -> Callable[[Check], Check]:
        """Register a claim with its `check`, or without one decorate the function that checks it."""

        if check is not None:
            check_function("check", check)

        def register(function: Check) -> Check:
            self.add(
                Claim(
                    id=id,
                    title=title,
                    source=source,
                    statement=statement,
                    criterion=criterion,
                    trials=trials,
                    check=function,
                    expected=expected,
                    figure=figure,
                    erratum=erratum,
                    kind=kind,
                    section=section,
                    uses=tuple(uses),
                )
            )
            return function

        if check is not None:
            register(check)
        return register
