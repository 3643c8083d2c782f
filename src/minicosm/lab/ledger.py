"""What a suite writes down and a claim reads: one row for every world that a statement was run on.

A suite is a trial that runs statements on many worlds. It writes each result of a theorem's function
by `Ledger.add`, and a claim reads all rows of a statement by `holds("Theorem 3.3")`, or by `refuted(...)`
where the printed form is expected to fail. Numbers that are no statements are rows of `Ledger.measure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from minicosm.lab.checking import check_kind, check_mapping, check_text, check_texts, shown
from minicosm.lab.claims import Outcome, Results, Table, TrialResult
from minicosm.lab.verdicts import all_of, least, worst

if TYPE_CHECKING:
    import numpy as np

SUITE = "suite"


@runtime_checkable
class Statement(Protocol):
    """What a theorem's function returns (`minicosm.theory.Theorem`)."""

    @property
    def name(self) -> str: ...
    @property
    def applies(self) -> bool: ...
    @property
    def holds(self) -> bool | None: ...
    @property
    def error(self) -> float | None: ...
    @property
    def slack(self) -> float | None: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def details(self) -> Mapping[str, Any]: ...


class Ledger:
    """Rows of numbers by statement, and arrays for figures."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._arrays: dict[str, np.ndarray] = {}

    def add(self, statement: Statement, name: str = "", **more: Any) -> None:
        """Write down what a theorem came to on one world, under its name or another one."""
        check_kind("statement", statement, Statement, "what a theorem's function returns")
        check_text("name", name)
        row: dict[str, Any] = {"applies": statement.applies, "holds": statement.holds}
        row |= {n: v for n in ("error", "slack") if (v := getattr(statement, n)) is not None}
        row["tolerance"] = statement.tolerance
        row |= {key: value for key, value in statement.details.items() if _plain(value)}
        self.measure(name or statement.name, **{**row, **more})

    def measure(self, what: str, /, **numbers: Any) -> None:
        """Write down numbers that are no statement: one row under the name of what was measured."""
        check_text("what", what)
        self._rows.setdefault(what, []).append(numbers)

    def picture(self, **arrays: np.ndarray) -> None:
        """Arrays for figures."""
        for name, array in arrays.items():
            if not hasattr(array, "shape") or not hasattr(array, "dtype"):
                raise TypeError(f"{name} is {shown(array)}; a picture is made of arrays")
        self._arrays |= arrays

    def result(self) -> TrialResult:
        """Columns of every name; where a row has no number the column has None."""
        numbers = {}
        for name, rows in self._rows.items():
            columns = dict.fromkeys(column for row in rows for column in row)
            numbers[name] = {column: [row.get(column) for row in rows] for column in columns}
        return TrialResult(numbers, self._arrays)


def _plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, bool | int | float | str)
        or getattr(value, "ndim", 1) == 0
    )


class Rows(Mapping[str, list[Any]]):
    """The columns of one name; a column that is not there is an error that lists those that are."""

    def __init__(self, name: str, columns: Mapping[str, list[Any]]) -> None:
        check_text("name", name)
        check_mapping("columns", columns)
        for column in columns.values():
            check_kind("one of the columns", column, (list, tuple), "a list")
        self.name = name
        self._columns = columns

    def __getitem__(self, column: str) -> list[Any]:
        check_text("column", column)
        if column not in self._columns:
            known = ", ".join(self._columns)
            raise LookupError(f"{self.name!r} has no column {column!r}; it has {known}")
        return self._columns[column]

    def __contains__(self, column: object) -> bool:
        return column in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._columns.values()), []))


def rows(results: Results, name: str, trial: str = SUITE) -> Rows:
    """What a suite wrote down under a name; an unknown one is an error that lists the known."""
    check_mapping("results", results)
    check_text("name", name)
    check_text("trial", trial)
    if trial not in results:
        raise LookupError(f"there is no trial {trial!r}; the results have {', '.join(results)}")
    known = results[trial].numbers
    if name not in known:
        raise LookupError(
            f"the trial {trial!r} wrote nothing down as {name!r}; it has {', '.join(known)}"
        )
    return Rows(name, known[name])


def holds(*names: str, trial: str = SUITE) -> Callable[[Results], Outcome]:
    """A check: holds iff every named statement holds on every world that meets its conditions.

    A world where a statement's number is NaN counts as one where it fails; if there is no world on which a
    statement applies and has a case, the claim is undecided. The numbers are the largest error and the least
    slack, in how many worlds, and the sums of the columns that count (cases, labels); of several
    statements a table has them one by one.
    """
    check_texts("names", names)
    check_text("trial", trial)
    if not names:
        raise ValueError("no names are given; a check needs the name of a statement")

    def check(results: Results) -> Outcome:
        parts = {name: _judged(rows(results, name, trial)) for name in names}
        if len(parts) == 1:
            return next(iter(parts.values()))
        verdict = all_of(*parts.values())
        columns = dict.fromkeys(column for part in parts.values() for column in part.numbers)
        lines = [(name, *(part.numbers.get(c) for c in columns)) for name, part in parts.items()]
        reduced: dict[str, Any] = {}
        for column, reduce in (("largest error", worst), ("least slack", least)):
            if column in columns:
                shown = [part.numbers[column] for part in parts.values() if column in part.numbers]
                reduced[column] = reduce(shown)
        reduced["statements"] = len(parts)
        table = Table("Every statement", ("statement", *columns), tuple(lines))
        return Outcome(verdict.verdict, reduced, (table,), verdict.remark)

    return check


def refuted(name: str, trial: str = SUITE) -> Callable[[Results], Outcome]:
    """A check of a printed statement: fails iff there is a world that meets its conditions, where it does
    not hold by a number that is not NaN. Otherwise it holds, or NaN leaves it undecided."""
    check_text("name", name)
    check_text("trial", trial)

    def check(results: Results) -> Outcome:
        found = rows(results, name, trial)
        outcome = _judged(found)
        if outcome.verdict != "fails":
            return outcome
        proper = [
            row["holds"] is False and not any(_is_nan(row.get(n)) for n in ("error", "slack"))
            for row in _applied(found)
        ]
        numbers = {"counterexamples": sum(proper), **outcome.numbers}
        return Outcome("fails" if any(proper) else "undecided", numbers)

    return check


COUNTS = {"cases": "cases", "compared": "labels compared", "disagreements": "labels that differ"}


def _applied(found: Rows) -> list[dict[str, Any]]:
    """The rows of a statement where its conditions are met and there was something to decide."""
    applies, decided = found["applies"], found["holds"]
    return [
        {column: found[column][i] for column in found}
        for i in range(found.count)
        if applies[i] is not False and decided[i] is not None
    ]


def _judged(found: Rows) -> Outcome:
    applied = _applied(found)
    numbers: dict[str, Any] = {}
    for column, label, reduce in (
        ("error", "largest error", worst),
        ("slack", "least slack", least),
    ):
        if column in found:
            numbers[label] = reduce([row[column] for row in applied])
    numbers["worlds"] = len(applied)
    if len(applied) < found.count:
        numbers["worlds left out"] = found.count - len(applied)
    for column, label in COUNTS.items():
        if column in found:
            counted = [row[column] for row in applied]
            numbers[label] = sum(value for value in counted if value is not None)
    if not applied:
        return Outcome(
            "undecided", numbers, remark=f"No world meets the conditions of {found.name}."
        )
    return Outcome("holds" if all(map(_right, applied)) else "fails", numbers)


def _right(row: Mapping[str, Any]) -> bool:
    """Whether a row says that its statement holds, and its numbers say so too."""
    error, slack, tolerance = (row.get(name) for name in ("error", "slack", "tolerance"))
    if row["holds"] is not True or tolerance is None:
        return row["holds"] is True and not _is_nan(error) and not _is_nan(slack)
    return (error is None or error <= tolerance) and (slack is None or slack >= -tolerance)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)
