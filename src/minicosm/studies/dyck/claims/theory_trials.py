"""How large each profile is, and sentences that many claims share."""

from typing import Any

from minicosm.lab import Outcome, ProfileName, Trial

from ...common.checks import Results

PAPER = "Wen et al. 2023"
ROUNDING = 1e-6
EXACT = f"No next-token probability is off by more than {ROUNDING:g} behind any prefix of the drawn strings."
SIZES: dict[str, dict[str, Any]] = {
    "smoke": {"draws": 2, "strings": 2, "longest": 100, "all_sizes": False},
    "laptop": {"draws": 10, "strings": 12, "longest": 3000},
    "paper": {"draws": 40, "strings": 40, "longest": 3000},
}


def suite(module: str, function: str = "run") -> Any:
    """The trials of one suite: `suites.<module>.<function>` at the profile's size."""

    def trials(profile: ProfileName, seed: int) -> dict[str, Trial]:
        from ..suites import balance, constructions, lemmas, necessity
        from ..suites.theory_size import TheorySize

        modules = {
            m.__name__.rpartition(".")[2]: m for m in (balance, constructions, lemmas, necessity)
        }
        config = TheorySize(seed, **SIZES[profile])
        return {"suite": Trial(getattr(modules[module], function), config)}

    return trials


def rows(results: Results, statement: str) -> Any:
    """The columns that the suite kept for a statement."""
    return results["suite"].numbers[statement]


def verdict(holds: bool, **numbers: Any) -> Outcome:
    """An outcome with underscores in the names of numbers read as spaces."""
    named = {name.replace("_", " "): value for name, value in numbers.items()}
    return Outcome("holds" if holds else "fails", named)
