"""The shape of an executed theorem: conditions, a construction, a certificate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any


@dataclass(frozen=True)
class Condition:
    """A named predicate with the numbers it was decided on and, if there is one, its witness."""

    name: str
    holds: bool
    numbers: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    witness: Any = None


@dataclass(frozen=True)
class Certificate:
    """What running a construction against the exact labels showed.

    `largest_error` is the worst deviation from the score identity the theorem states, relative to
    the scale of the head's weights; labels are compared only where the exact margin is above
    `margin_floor`.
    """

    sequences: int  # sequences tested
    exhaustive: bool  # whether these are all sequences of their length
    skipped: int  # impossible, or outside the theorem's scope
    compared: int  # sequences whose margin is above the floor, so that the labels are compared
    disagreements: int
    largest_error: float
    smallest_margin: float  # smallest |exact score| among the compared
    margin_floor: float = 1e-9
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def agreement(self) -> float:
        return 1.0 if self.compared == 0 else 1 - self.disagreements / self.compared

    def __str__(self) -> str:
        which = f"all {self.sequences}" if self.exhaustive else f"{self.sequences} sampled"
        return (
            f"{which} sequences, {self.skipped} impossible or out of scope: "
            f"{self.disagreements} of {self.compared} labels differ, largest identity error "
            f"{self.largest_error:.1e}, smallest margin {self.smallest_margin:.1e}"
        )


@dataclass(frozen=True)
class Relation:
    """A theorem that states an inequality or an identity, applied to one world.

    `holds` is None where a condition fails: then the theorem says nothing. `slack` is how far the two
    sides are apart, negative (beyond rounding) where the statement is false.
    """

    name: str
    conditions: tuple[Condition, ...]
    holds: bool | None = None
    slack: float = nan
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def applies(self) -> bool:
        return all(condition.holds for condition in self.conditions)

    def failed(self) -> tuple[Condition, ...]:
        return tuple(condition for condition in self.conditions if not condition.holds)

    def __str__(self) -> str:
        if not self.applies:
            return f"{self.name} does not apply: {'; '.join(c.reason for c in self.failed())}"
        shown = ", ".join(f"{name} {value:.6g}" for name, value in self.numbers.items())
        return f"{self.name} {'holds' if self.holds else 'fails'}, slack {self.slack:.3g} ({shown})"


@dataclass(frozen=True)
class Theorem:
    """A theorem applied to one world and task.

    `construction` is the object the proof writes down, or None when a condition fails (then
    `conditions` says which, with its numbers). `check` runs the construction against the exact
    labels; call it through `certify`.
    """

    name: str
    conditions: tuple[Condition, ...]
    construction: Any = None
    check: Callable[..., Certificate] | None = field(default=None, repr=False)

    @property
    def applies(self) -> bool:
        return all(condition.holds for condition in self.conditions)

    def failed(self) -> tuple[Condition, ...]:
        return tuple(condition for condition in self.conditions if not condition.holds)

    def certify(self, **sequences: Any) -> Certificate:
        """Run the construction on sequences; the arguments are those of `theory.certify`."""
        if self.check is None:
            reasons = "; ".join(f"{c.name}: {c.reason}" for c in self.failed())
            raise ValueError(f"{self.name} constructs nothing here ({reasons})")
        return self.check(**sequences)
