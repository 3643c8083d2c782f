"""How large each profile is, and what many claims share."""

from typing import Any

from minicosm.lab import Outcome, ProfileName, Trial

from ...common.checks import Results

PAPER = "Li et al. 2024"
EXACT = "The largest error over all worlds is at most"
WORLDS = {"smoke": 6, "laptop": 200, "paper": 1000}


def masking(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import masking
    from ..suites.worlds import Worlds

    return {"suite": Trial(masking.run, Worlds(seed, WORLDS[profile]))}


def rows(results: Results, statement: str) -> Any:
    """The columns that the suite kept for a statement."""
    return results["suite"].numbers[statement]


def verdict(holds: bool, **numbers: Any) -> Outcome:
    """An outcome with underscores in the names of numbers read as spaces."""
    named = {name.replace("_", " "): value for name, value in numbers.items()}
    return Outcome("holds" if holds else "fails", named)


def chains(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import chains
    from ..suites.worlds import Worlds

    return {"suite": Trial(chains.run, Worlds(seed, WORLDS[profile]))}


def modes(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import modes
    from ..suites.worlds import Worlds

    count = {"smoke": 20, "laptop": 1000, "paper": 2000}[profile]
    return {"suite": Trial(modes.run, Worlds(seed, count))}


def parallel(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import parallel
    from ..suites.worlds import Worlds

    return {"suite": Trial(parallel.run, Worlds(seed, WORLDS[profile]))}
