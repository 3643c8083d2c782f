"""Which ensembles the claims about trained generators need, and how their numbers are read."""

from collections.abc import Iterable
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from minicosm.lab import Estimate, ProfileName, Trial, Verdict

from ...common.checks import Results

PAPER = "Botta et al. 2025"


def sandbox(
    profile: ProfileName, seed: int, *, generators: int | None = None, steps: int | None = None
) -> dict[str, Trial]:
    """One ensemble of bracket generators with everything that is measured on it.

    At smoke it is one generator: there are no intervals, and nothing that needs one is decided.
    """
    from ..experiments.dyck import Sandbox, run
    from ..experiments.dyck_generator import Generators

    shapes: dict[str, dict[str, Any]] = {
        "smoke": {
            "length": 8, "shortest": 5, "layers": 1, "width": 16, "heads": 2, "mlp_width": 32,
            "rate": 5e-3, "steps": 3000, "chunk": 250, "kept_at": 0.02, "watched": 40,
            "members": 1,
        },
        "laptop": {"members": 4},
        "paper": {
            "layers": 6, "heads": 8, "width": 512, "mlp_width": 1024, "rate": 3e-4, "steps": 9375,
            "watched": 2000, "members": 5,
        },
    }  # fmt: skip
    shape = shapes[profile]
    profiles: dict[str, dict[str, Any]] = {
        # Wherever it can be, 40: every other number of strings is another program.
        "smoke": {
            "mistakes": 40, "asked": 12_000, "share": 0.5, "draws": 2, "unseen": 40, "diverse": 8,
            "diverse_draws": 5, "strings": 40, "repeats": 2, "chunk": 40, "rollouts": 40,
            "value_rows": 60, "modes": ("printed", "refill checked"), "blocks": (),
        },
        "laptop": {},
        "paper": {
            "mistakes": 441, "asked": 100_000, "share": 0.9, "repeats": 10, "unseen": 10_000,
            "unseen_repeats": 5,
        },
    }  # fmt: skip
    sizes = profiles[profile]
    _override(shape, generators, steps)
    return {"sandbox": Trial(run, Sandbox(Generators(seed=seed, **shape), **sizes))}


def test_cases(
    profile: ProfileName, seed: int, *, generators: int | None = None, steps: int | None = None
) -> dict[str, Trial]:
    """One ensemble of generators of test cases with every arm; at smoke it has hardly learned, and no
    claim is judged. `steps` are those of the second stage."""
    from ..experiments.case_generator import CaseGenerators
    from ..experiments.cases import Cases, run

    shapes: dict[str, dict[str, Any]] = {
        "smoke": {
            "lines": 1, "longest": 1, "names": 4, "misleading": 2, "room": 24, "layers": 1,
            "width": 16, "heads": 2, "mlp_width": 32, "batch_tokens": 384, "first_steps": 0,
            "steps": 200, "texts": 2048, "members": 2,
        },
        "laptop": {},
        "paper": {
            "lines": 8, "room": 256, "layers": 4, "width": 256, "mlp_width": 1024,
            "batch_tokens": 16_384, "first_steps": 5000, "steps": 5000, "texts": 65_536,
            "members": 5,
        },
    }  # fmt: skip
    shape = shapes[profile]
    profiles: dict[str, dict[str, Any]] = {
        "smoke": {
            "training_texts": 60, "examples": 20, "texts": 3, "tested_names": 2, "repetitions": 1,
            "layer": 1, "depths": (), "blocks": (), "grid": (),
        },
        "laptop": {},
        "paper": {
            "training_texts": 4000, "examples": 2000, "repetitions": 5, "layer": 3,
            "probe_width": 256,
            "grid": tuple(
                (p, t) for p in (1.0, 0.95, 0.9, 0.8, 0.7) for t in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
            ),
        },
    }  # fmt: skip
    sizes = profiles[profile]
    _override(shape, generators, steps)
    return {"cases": Trial(run, Cases(CaseGenerators(seed=seed, **shape), **sizes))}


def _override(shape: dict[str, Any], generators: int | None, steps: int | None) -> None:
    if generators is not None:
        if generators < 2:
            raise ValueError(f"generators is {generators}; an interval needs at least 2")
        shape["members"] = generators
    if steps is not None:
        if steps < 1:
            raise ValueError(f"steps is {steps}; it must be at least 1")
        shape["steps"] = steps


# -- reading ----------------------------------------------------------------------------------


def numbers(results: Results) -> Any:
    """What the one trial found."""
    return next(iter(results.values())).numbers


def column(results: Results, *path: Any) -> np.ndarray:
    """One number of every generator: `numbers[path[0]][generator][path[1]]...`."""
    found = []
    for value in numbers(results)[path[0]]:
        for step in path[1:]:
            value = value[step]
        found.append(value)
    return np.asarray(found, float)


def arm(results: Results, name: str, what: str = "accuracy") -> np.ndarray:
    """The mean over repetitions of an arm of the test cases, for every generator."""
    return np.asarray([np.mean(part[name][what]) for part in numbers(results)["arms"]])


def standard_error(samples: np.ndarray) -> float:
    return float(np.std(samples, ddof=1) / sqrt(len(samples)))


def rising(columns: Iterable[np.ndarray]) -> Verdict:
    """Whether means over generators rise from column to column.

    Fails if a fall has an interval below 0, holds if every mean rises, otherwise undecided.
    """
    columns = list(columns)
    steps = [Estimate.of(after - before) for before, after in pairwise(columns)]
    if any(step.high < 0 for step in steps):
        return "fails"
    return "holds" if all(step.value > 0 for step in steps) else "undecided"


def below(estimates: Iterable[Estimate]) -> Verdict:
    """Holds if every mean is below 0, fails if an interval lies above, otherwise undecided."""
    estimates = list(estimates)
    if any(e.low > 0 for e in estimates):
        return "fails"
    return "holds" if all(e.value < 0 for e in estimates) else "undecided"


def share(successes: int, count: int) -> Estimate:
    """A share with Wilson's 95% interval."""
    if count == 0:
        return Estimate(float("nan"), 0.0, 1.0, 0)
    z, p = 1.959964, successes / count
    middle = (p + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return Estimate(p, middle - half, middle + half, count)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Fails if one fails, holds if all hold, otherwise undecided."""
    verdicts = list(verdicts)
    if "fails" in verdicts:
        return "fails"
    return "holds" if all(v == "holds" for v in verdicts) else "undecided"
