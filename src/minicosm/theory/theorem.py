"""What a theorem's function returns: conditions, what came out, and the object that a proof constructs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from minicosm.adaptation.checks import brief, check_flag, check_kind, check_real, check_whole

IDENTITY = 1e-9
"""How far the two sides of an identity may be apart in double precision, unless a theorem says more."""


@dataclass(frozen=True)
class Condition:
    """A named predicate with the numbers it was decided on and, if there is one, its witness."""

    name: str
    holds: bool
    numbers: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    witness: Any = None

    def __post_init__(self) -> None:
        check_kind("name", self.name, str)
        check_flag("holds", self.holds)
        check_kind("numbers", self.numbers, Mapping)
        check_kind("reason", self.reason, str)

    def __str__(self) -> str:
        return f"{self.name} holds" if self.holds else f"{self.name} fails: {self.reason}"


@dataclass(frozen=True, repr=False)
class Theorem:
    """A theorem, lemma or claim, applied to one world.

    `holds` is None where nothing was decided: a condition fails (`failed` says which, with its numbers),
    nothing was compared, or a construction was not yet run (`certify` runs it). An identity has an `error`,
    its largest deviation; an inequality has a `slack`, by how much it is true, negative where it is false;
    `tolerance` is how large an error, or how negative a slack, rounding may leave. `construction` is the
    object that the proof writes down.

    `print(theorem)` says in one line what came out and by which numbers, or why it does not apply;
    `theorem.conditions` has a line for each assumption.
    """

    name: str
    conditions: tuple[Condition, ...] = ()
    holds: bool | None = None
    error: float | None = None
    slack: float | None = None
    tolerance: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    construction: Any = None
    check: Callable[..., "Theorem"] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_kind("name", self.name, str)
        _check_conditions(self.conditions)
        if self.holds is not None:
            check_flag("holds", self.holds)
        for side in ("error", "slack"):
            _check_side(side, getattr(self, side))
        check_real("tolerance", self.tolerance, least=0)
        check_kind("details", self.details, Mapping)
        if self.check is not None and (isinstance(self.check, type) or not callable(self.check)):
            raise TypeError(f"check is {brief(self.check)}; it must be a function")

    @classmethod
    def identity(
        cls,
        name: str,
        error: float,
        *,
        within: float = IDENTITY,
        cases: int | None = None,
        conditions: tuple[Condition, ...] = (),
        details: Mapping[str, Any] | None = None,
    ) -> Self:
        """Two sides that are equal: holds iff the error is at most `within`. For statements about sets
        the error counts violations and `within` is 0. `cases` is how many there were; none decide nothing."""
        _check_result("error", error, within, cases, conditions, details)
        decided = cases != 0 and all(condition.holds for condition in conditions)
        counted = {} if cases is None else {"cases": cases}
        return cls(
            name,
            conditions,
            bool(error <= within) if decided else None,
            error=float(error) if decided else None,
            tolerance=within,
            details={**counted, **(details or {})},
        )

    @classmethod
    def inequality(
        cls,
        name: str,
        slack: float,
        *,
        within: float = IDENTITY,
        cases: int | None = None,
        conditions: tuple[Condition, ...] = (),
        details: Mapping[str, Any] | None = None,
    ) -> Self:
        """A bound: holds iff the slack, right side less left, is at least `-within`."""
        _check_result("slack", slack, within, cases, conditions, details)
        decided = cases != 0 and all(condition.holds for condition in conditions)
        counted = {} if cases is None else {"cases": cases}
        return cls(
            name,
            conditions,
            bool(slack >= -within) if decided else None,
            slack=float(slack) if decided else None,
            tolerance=within,
            details={**counted, **(details or {})},
        )

    @property
    def applies(self) -> bool:
        return all(condition.holds for condition in self.conditions)

    def failed(self) -> tuple[Condition, ...]:
        return tuple(condition for condition in self.conditions if not condition.holds)

    def certify(self, **sequences: Any) -> "Theorem":
        """Run the construction against the exact labels; the arguments are those of `theory.certify`."""
        if self.check is None:
            reasons = "; ".join(f"{c.name}: {c.reason}" for c in self.failed())
            raise ValueError(f"{self.name} constructs nothing here ({reasons})")
        return replace(
            self.check(**sequences),
            name=self.name,
            conditions=self.conditions,
            construction=self.construction,
            check=self.check,
        )

    def __str__(self) -> str:
        if not self.applies:
            return f"{self.name} does not apply: {'; '.join(c.reason for c in self.failed())}"
        if "warning" in self.details:
            return f"{self.name} {self._state}: {self.details['warning']}"
        state = self._state
        numbers = {"error": self.error, "slack": self.slack, **self.details}
        shown = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in numbers.items()
            if isinstance(value, bool | int | float | str)
        )
        if self.holds is None and self.details.get("cases") == 0:
            return f"{self.name} {state}: NOTHING WAS COMPARED, no case is in its scope ({shown})"
        return f"{self.name} {state}" + (f": {shown}" if shown else "")

    def __repr__(self) -> str:
        """Name, state and what can be asked next; the whole result is in the fields."""
        parts = [
            f"{name} {getattr(self, name):.3g}"
            for name in ("error", "slack")
            if getattr(self, name) is not None
        ]
        if self.construction is not None:
            parts.append(f"constructs a {type(self.construction).__name__}")
        if self.check is not None and self.holds is None:
            parts.append("run it with .certify(...)")
        conditions = "".join(f"; {condition}" for condition in self.conditions)
        return f"<{self.name} {self._state}{''.join(f', {part}' for part in parts)}{conditions}>"

    @property
    def _state(self) -> str:
        if not self.applies:
            return "does not apply"
        if self.holds is None:
            return "is not run yet" if self.check and not self.details else "is not decided"
        return "holds" if self.holds else "fails"


# -- what a result may consist of -----------------------------------------------------------------


def _check_conditions(conditions: Any) -> None:
    if not isinstance(conditions, tuple | list):
        raise TypeError(f"conditions are {brief(conditions)}; they must be a tuple of Conditions")
    for condition in conditions:
        check_kind("one of the conditions", condition, Condition)


def _check_side(name: str, value: Any) -> None:
    """Raise unless it is a number or None. It may be infinite, or NaN, which never holds."""
    known = value is None or (isinstance(value, float | np.floating) and not np.isfinite(value))
    if not known or (name == "error" and value == -np.inf):
        check_real(name, value, least=0 if name == "error" else -np.inf)


def _check_result(
    side: str, value: Any, within: Any, cases: Any, conditions: Any, details: Any
) -> None:
    if value is None:
        raise TypeError(f"{side} is None; it must be a number")
    _check_side(side, value)
    check_real("within", within, least=0)
    if cases is not None:
        check_whole("cases", cases)
    _check_conditions(conditions)
    if details is not None:
        check_kind("details", details, Mapping)
