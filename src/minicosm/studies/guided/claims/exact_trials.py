"""How large each profile is for the exact half, and what its claims share."""

from collections.abc import Mapping, Sequence
from typing import Any

from minicosm.lab import Outcome, ProfileName, Table, Trial

from ...common.checks import Results

PAPER = "Botta et al. 2025"
VGB = "Rohatgi et al. 2025, as told in Li's thesis, Section 3.3"
DERIVED = "added to Algorithm 2"
TOLERANCE = 1e-9
IDENTITY = f"The largest error over all worlds is at most {TOLERANCE:g}."
BOUND = f"No world is below the bound by more than {TOLERANCE:g}."


def constraints(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.constraints import Constraints, run

    sizes = {"smoke": (20, 500), "laptop": (200, 20_000), "paper": (1000, 100_000)}
    return {"suite": Trial(run, Constraints(seed, *sizes[profile]))}


def trees(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.trees import Trees, run

    config = {
        "smoke": Trees(seed, draws=2, nodes=130, steps=200),
        "laptop": Trees(seed, draws=20, nodes=1200),
        "paper": Trees(seed, draws=50, nodes=4000),
    }[profile]
    return {"suite": Trial(run, config)}


def sandbox(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites.sandbox_law import SandboxLaw, run

    return {
        "suite": Trial(run, SandboxLaw(longest={"smoke": 6, "laptop": 10, "paper": 14}[profile]))
    }


def rows(results: Results, statement: str) -> Any:
    """The columns that the suite kept for a statement."""
    return results["suite"].numbers[statement]


def verdict(holds: bool, **numbers: Any) -> Outcome:
    """An outcome with underscores in the names of numbers read as spaces."""
    named = {name.replace("_", " "): value for name, value in numbers.items()}
    return Outcome("holds" if holds else "fails", named)


def at_least(statement: str, column: str = "slack", slack: float = TOLERANCE) -> Any:
    """A bound: the smallest slack over all worlds is not below zero."""

    def check(results: Results) -> Outcome:
        values = rows(results, statement)[column]
        least = min(values)
        return Outcome(
            "holds" if least >= -slack else "fails",
            {"smallest slack": least, "largest slack": max(values), "worlds": len(values)},
        )

    return check


def table(title: str, columns: Mapping[str, Sequence[Any]], note: str = "") -> Table:
    """A table whose columns are lists of the same length."""
    return Table(title, tuple(columns), tuple(zip(*columns.values(), strict=True)), note)
