"""Numbers out of results: one per world, by size; what claims judge and figures draw.

The worlds of an exact trial are lists in one result. A trained trial is one world with several tasks,
which are not independent, so every number is averaged over the tasks of its world first: intervals and
counts are over worlds.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minicosm.lab import Cell, Estimate, Results, Table, TrialResult, paired, percent

from .extension_trials import HarderMemory
from .trials import STATES, TOKENS, Simulation, TrainedTuning

# Test accuracies in per cent, read from the published figure.
PRINTED_PROMPT = {4: 99.7, 8: 97.0, 10: 93.0, 15: 87.0, 25: 74.8, 30: 75.1}
PRINTED_HEAD = {4: 94.0, 8: 84.0, 10: 79.7, 15: 74.6, 25: 66.2, 30: 66.2}

LEAST_LEAD = 8.0
"""Points by which worlds with memory are to be easier than vanilla ones of the same size."""


def least_accuracy(memory: int) -> float:
    """The accuracy, in per cent, that an attention head is to reach with so many memory values."""
    return 97.0 if memory <= 5 else 95.0


Column = dict[int, list[float]]
"""One number per world, by size."""


def _memory_of(config: Any) -> int:
    return int(getattr(config, "memory", 0))


def _collected(results: Iterable[TrialResult], name: str, memory: bool) -> Column:
    found: Column = {}
    for result in results:
        config: Simulation | TrainedTuning = result.config
        if bool(_memory_of(config)) == memory:
            values = result.numbers[name]
            if isinstance(config, TrainedTuning):
                values = [float(np.mean(values))]
            size = _memory_of(config) if memory else config.hidden  # type: ignore[union-attr]
            found.setdefault(size, []).extend(values)
    return dict(sorted(found.items()))


def vanilla(results: Results, name: str) -> Column:
    """A number of the worlds without memory, by |H|."""
    return _collected(results.values(), name, memory=False)


def with_memory(results: Results, name: str) -> Column:
    """A number of the worlds with memory, by |M|."""
    return _collected(results.values(), name, memory=True)


def same_size(results: Results, name: str) -> Column:
    """A number of the worlds without memory that have as many states in total, by |M|."""
    return {size // STATES: values for size, values in vanilla(results, name).items()}


def differences(
    results: Results, better: str, worse: str, least: int = TOKENS + 1
) -> dict[str, Estimate]:
    """Paired differences in points at every |H| of at least `least`, largest first."""
    first, second = vanilla(results, better), vanilla(results, worse)
    return {
        f"$|H| = {size}$": paired(first[size], second[size])
        for size in reversed(first)
        if size >= least
    }


def pooled(column: Column, least: int = TOKENS + 1, most: float = np.inf) -> list[float]:
    """The numbers of all worlds with at least, and at most, that many states."""
    return [v for size, values in column.items() if least <= size <= most for v in values]


def accuracy_table(
    title: str,
    by: str,
    accuracies: Mapping[str, Column],
    others: Mapping[str, Column] | None = None,
    note: str = "",
) -> Table:
    """A row per size: accuracies in per cent, then other numbers as they are."""
    sizes = next(iter(accuracies.values()))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            size,
            *(percent(column[size]) for column in accuracies.values()),
            *(Estimate.of(column[size]) for column in (others or {}).values()),
        )
        for size in sizes
    )
    return Table(title, (by, *accuracies, *(others or {})), rows, note)


# -- harder memory worlds ---------------------------------------------------------------------

HARDER = {
    "majority": "majority",
    "attention": "attention",
    "token_attention": "token values",
    "mean_output": "mean output + LR",
    "first_output": "first output + LR",
    "histogram": "counts, no model",
    "posterior": "exact posterior + LR",
}


def harder(results: Results, name: str) -> dict[str, list[float]]:
    """A number of every world by family and length, averaged over the temperatures it was run at."""
    found = {}
    for result in results.values():
        config: HarderMemory = result.config
        groups = result.numbers[name]
        found[f"{config.family}, $T = {config.length}$"] = [
            sum(world) / len(groups) for world in zip(*groups, strict=True)
        ]
    return found


def harder_table(results: Results) -> Table:
    """A row for every family, length and temperature."""
    rows: list[tuple[Cell, ...]] = []
    for result in results.values():
        config: HarderMemory = result.config
        for g, group in enumerate(result.numbers["groups"]):
            label = f"{config.family}, $T = {config.length}$"
            label += "" if group == "gated" else f", $t = {group}$"
            rows.append((label, *(percent(result.numbers[column][g]) for column in HARDER)))
    return Table("Test accuracy, per cent", ("worlds", *HARDER.values()), tuple(rows))
