"""Claims, the trials that they need, and the verdicts that they come to.

A claim is one falsifiable sentence with its source, its criterion and a check that can come out
false. Its trials are the expensive part and are shared between claims; the check is cheap and
sees nothing but the results of the trials.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

Verdict = Literal["holds", "fails", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("holds", "fails", "undecided")

ProfileName = Literal["smoke", "laptop", "paper"]
PROFILES: tuple[ProfileName, ...] = ("smoke", "laptop", "paper")

Kind = Literal["theorem", "lemma", "figure", "experiment", "control", "relation"]


class LabError(Exception):
    """Bad input or an unusable store: one sentence for the user, never a traceback."""


@runtime_checkable
class Progress(Protocol):
    """What a trial calls, a few times per second at most, to say how far it is."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


def silent(done: int, total: int, note: str = "") -> None:
    """A `Progress` that says nothing."""


@dataclass(frozen=True)
class TrialResult:
    """What a trial found: JSON-able `numbers` (NaN and infinities included) and plain `arrays`."""

    numbers: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


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

    @property
    def takes_folder(self) -> bool:
        """Whether `run` has a third positional parameter."""
        try:
            parameters = inspect.signature(self.run).parameters.values()
        except (TypeError, ValueError):
            return False
        return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) > 2


@dataclass(frozen=True)
class Estimate:
    """A number with an interval, from `count` independent samples."""

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, samples: Any, level: float = 0.95) -> Estimate:
        """Mean of a 1-D sample with its Student-t interval: mean ± t_{n-1} s / sqrt(n).

        One sample says nothing about the spread: its interval is infinite.
        """
        import numpy as np

        sample = np.asarray(samples, dtype=np.float64)
        if sample.ndim != 1 or sample.size == 0:
            raise ValueError(f"samples has shape {sample.shape}; a non-empty 1-D sample is needed")
        if not 0 < level < 1:
            raise ValueError(f"level is {level}; it must lie strictly between 0 and 1")
        mean = float(sample.mean())
        if sample.size == 1:
            return cls(mean, -float("inf"), float("inf"), 1)
        from scipy.special import stdtrit

        n = sample.size
        half = float(stdtrit(n - 1, (1 + level) / 2) * sample.std(ddof=1) / np.sqrt(n))
        return cls(mean, mean - half, mean + half, n)


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
        if not 1 <= self.digits <= 17:
            raise ValueError(f"table {self.title!r} has digits {self.digits}; 1..17 can be printed")
        for i, row in enumerate(self.rows):
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
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict is {self.verdict!r}; it must be one of {VERDICTS}")


@dataclass(frozen=True)
class Claim:
    """One falsifiable sentence of the literature and everything needed to judge it.

    `trials(profile, seed)` names the trials; its keyword-only parameters, which have defaults, are
    the claim's options. `check` turns the results of the trials into an `Outcome`; `expected` is
    the registered verdict. A non-empty `erratum` says that the printed statement is
    wrong and why, and `corrected_by` is the id of the claim that states the corrected form.
    """

    id: str
    title: str
    source: str
    statement: str
    criterion: str
    trials: Callable[..., Mapping[str, Trial]]
    check: Callable[[Mapping[str, TrialResult]], Outcome]
    expected: Verdict = "holds"
    figure: Callable[[Mapping[str, TrialResult]], Figure] | None = None
    erratum: str = ""
    corrected_by: str = ""
    kind: Kind = "theorem"


class Study:
    """The claims of one line of work, in order.

    `file` is where the study was loaded from, if it is not one of the package's own.
    """

    def __init__(self, name: str, title: str, source: str, about: str) -> None:
        self.name = name
        self.title = title
        self.source = source
        self.about = about
        self.file = ""
        self._claims: dict[str, Claim] = {}

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(self._claims.values())

    def add(self, claim: Claim) -> Claim:
        """Register a claim; its id must be new."""
        if claim.id in self._claims:
            raise ValueError(f"study {self.name!r} already has a claim {claim.id!r}")
        self._claims[claim.id] = claim
        return claim

    def claim(
        self, **fields: Any
    ) -> Callable[
        [Callable[[Mapping[str, TrialResult]], Outcome]],
        Callable[[Mapping[str, TrialResult]], Outcome],
    ]:
        """Decorate a check function: `@study.claim(id=..., title=..., trials=..., ...)`."""

        def register(
            check: Callable[[Mapping[str, TrialResult]], Outcome],
        ) -> Callable[[Mapping[str, TrialResult]], Outcome]:
            self.add(Claim(check=check, **fields))
            return check

        return register
