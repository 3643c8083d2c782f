"""A study for runs that are killed: trials take random times, and each result depends on its seed alone."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minicosm.lab import Outcome, Study, Trial, TrialResult

STUDY = Study("storm", "Trials in a storm", "nobody", "Trials of random lengths.")


@dataclass(frozen=True)
class Walk:
    """A random walk of so many steps, each of which takes `pause` seconds."""

    seed: int
    steps: int
    pause: float


def result(config: Walk, place: np.ndarray) -> TrialResult:
    return TrialResult({"sum": float(place.sum()), "seed": config.seed}, {"place": place})


def step(config: Walk, i: int, place: np.ndarray) -> np.ndarray:
    time.sleep(config.pause)
    return place + np.random.default_rng([config.seed, i]).normal(size=place.shape)


def silent(config: Walk, progress) -> TrialResult:
    """Never says how far it is."""
    place = np.zeros(1000)
    for i in range(config.steps):
        place = step(config, i, place)
    return result(config, place)


def talking(config: Walk, progress) -> TrialResult:
    place = np.zeros(1000)
    for i in range(config.steps):
        progress(i, config.steps, "walking")
        place = step(config, i, place)
    return result(config, place)


def resuming(config: Walk, progress, folder: Path) -> TrialResult:
    """Keeps its place in the folder after every step and goes on from there."""
    file, place, first = folder / "place.npy", np.zeros(1000), 0
    if file.exists():
        kept = np.load(file)
        first, place = int(kept[0]), kept[1:]
    for i in range(first, config.steps):
        place = step(config, i, place)
        new = folder / f"new-{os.getpid()}.npy"
        np.save(new, np.concatenate([[i + 1.0], place]))
        os.replace(new, file)
        progress(i, config.steps)
    return result(config, place)


def trials(profile: str, seed: int) -> dict[str, Trial]:
    """Six of each kind; times between 0 and 0.4 seconds."""
    draw = np.random.default_rng(seed)
    return {
        f"{run.__name__}-{i}": Trial(
            run, Walk(100 * seed + i, int(draw.integers(1, 9)), float(draw.uniform(0, 0.05)))
        )
        for i in range(6)
        for run in (silent, talking, resuming)
    }


@STUDY.claim(
    id="storm/all",
    title="All trials end",
    source="",
    statement="",
    criterion="",
    trials=trials,
)
def check(results) -> Outcome:
    return Outcome("holds", {name: result.numbers["sum"] for name, result in results.items()})
