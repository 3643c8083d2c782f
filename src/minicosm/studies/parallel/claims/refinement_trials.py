"""Which translators the claims need, and how their numbers are read.

A trial trains all seeds of one configuration. Seed i of every arm starts from the same key and is
measured on the same sources, so arms of one data are compared in pairs.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, ProfileName, Table, Trial

from ...common.checks import Results
from ..readings import DATA, PASSES, after, of_seeds

CAUSAL = ", token by token"
KEPT = "distilled, 85% kept"
PLAIN = "undistilled, no positional attention"
ONE_STAGE = "undistilled, one stage"
EXACT = "exact, {}"
BLIND = "exact, {}, input ignored"

ARMS: dict[str, dict[str, Any]] = {
    **{data: {"data": data} for data in DATA},
    **{f"{data}{CAUSAL}": {"data": data, "causal": True} for data in DATA},
    KEPT: {"keep": 0.85},
    ONE_STAGE: {"data": "undistilled", "stages": 1},
    PLAIN: {"data": "undistilled", "positional": False},
}
# Compiling is nearly all that the smallest profile costs: its arms are two programs.
SMOKE: dict[str, Any] = {
    "steps": 30, "batch": 8, "tests": 30, "seeds": 2, "width": 16, "heads": 2, "mlp_width": 32,
    "layers": 1, "warmup": 5, "rejecters": (), "candidates": 1, "stages": 1, "positional": False,
}  # fmt: skip
FULL: dict[str, Any] = {
    "steps": 500_000, "batch": 2048, "tests": 3000, "width": 512, "heads": 8, "mlp_width": 2048,
    "layers": 6, "warmup": 10_000, "dropout": 0.1, "factored": True,
}  # fmt: skip

MARGIN = 5.0  # points of valid targets
NOISE = 1.0  # points by which a mean may fall
LEARNED = (
    0.25  # share of tokens that a decoder has right in its first pass if it has learned anything
)
UNLEARNED = (
    " Undecided in any case if a decoder of these data that was trained on 15% of the tokens has less "
    "than a quarter of the tokens right in its first pass with the true length given."
)
EXACT_WORLDS = ("peaked", "undistilled")

Trials = Callable[..., dict[str, Trial]]


def translators(*names: str, exact: Iterable[str] = ()) -> Trials:
    """The trials of these arms, and the exact decoders of the worlds of these data."""
    exact = tuple(exact)

    def trials(
        profile: ProfileName, seed: int, *, seeds: int | None = None, steps: int | None = None
    ) -> dict[str, Trial]:
        from ..experiments import exact as references
        from ..experiments.training import Refining, run

        chosen = {"seeds": seeds, "steps": steps}
        for option, value in chosen.items():
            if value is not None and value < 2:
                raise ValueError(f"{option} is {value}; it must be at least 2")
        profiles: dict[str, dict[str, Any]] = {"smoke": SMOKE, "laptop": {}, "paper": FULL}
        given = profiles[profile] | {name: v for name, v in chosen.items() if v is not None}
        found = {name: Trial(run, Refining(**(ARMS[name] | given), seed=seed)) for name in names}
        sizes = {name: given[name] for name in ("tests", "seeds", "candidates") if name in given}
        for data in exact:
            for label, keep in ((EXACT, 0.15), (BLIND, 0.0)):
                config = references.Exact(data, keep, seed=seed, **sizes)  # type: ignore[arg-type]
                found[label.format(data)] = Trial(references.run, config)
        return found

    return trials


EVERY = translators(*DATA, *(f"{data}{CAUSAL}" for data in DATA), exact=EXACT_WORLDS)
"""All three data, refined and token by token, and the exact decoders."""


# -- reading ----------------------------------------------------------------------------------


def points(first: np.ndarray, second: np.ndarray) -> Estimate:
    """The mean difference of shares, seed by seed, in points, with its 95% interval."""
    return Estimate.of(100 * (first - second))


def share(values: np.ndarray) -> Estimate:
    return Estimate.of(100 * np.asarray(values))


def searched(results: Results, data: str, name: str = "valid") -> np.ndarray:
    return of_seeds(results, f"{data}{CAUSAL}", "beam", name)


def if_learned(check: Callable[[Results], Outcome]) -> Callable[[Results], Outcome]:
    """The check, undecided where a decoder has not learned: what `UNLEARNED` says."""

    @wraps(check)
    def checked(results: Results) -> Outcome:
        outcome = check(results)
        right = [
            after(results, data, 1, "told_accuracy").mean() for data in DATA if data in results
        ]
        if min(right) >= LEARNED:
            return outcome
        remark = f"A decoder has {min(right):.0%} of the tokens right: it has not learned."
        return replace(outcome, verdict="undecided", remark=remark)

    return checked


def passes_table(results: Results) -> Table:
    lines = tuple(
        (
            arm, n, share(after(results, arm, n, "told_accuracy")),
            share(after(results, arm, n, "told_valid")),
            Estimate.of(after(results, arm, n, "executed")),
            Estimate.of(after(results, arm, n, "until_fixed")),
        )
        for arm in results
        if "passes" in results[arm].numbers["seeds"][0]
        for n in PASSES
    )  # fmt: skip
    columns = (
        "decoder", "passes allowed", "tokens right, true length given (per cent)",
        "valid, true length given (per cent)", "passes run", "passes of the best hypothesis",
    )  # fmt: skip
    return Table("passes until nothing changes", columns, lines)
