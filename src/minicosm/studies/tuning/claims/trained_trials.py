"""Which trials the claims about pretrained models need, and how their numbers are read.

A trial is one world with its pretrained model and several tasks. Tasks of one world are not
independent, so every number is averaged over the tasks of its world first: intervals and counts are
over worlds. Trials are listed world by world, not size by size: programs of one size are compiled
once, by the first of them, and kept in the store.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from minicosm.lab import ProfileName, Trial

from ...common.checks import Results

SIZES = {"smoke": (28,), "laptop": (4, 8, 10, 15, 25, 30), "paper": (4, 8, 10, 15, 25, 30)}
MEMORY = {"smoke": (7,), "laptop": (2, 3, 5, 7), "paper": (2, 3, 5, 7)}
PRETRAININGS = {"smoke": 1, "laptop": 5, "paper": 20}
TASKS = {"smoke": 1, "laptop": 3, "paper": 1}
STATES = 4  # of a world with memory
EARLY = (15, 25)  # sizes at which prompts are also tuned on early checkpoints


def left_trials(
    profile: ProfileName,
    seed: int,
    *,
    sizes: tuple[int, ...] | None = None,
    pretrainings: int | None = None,
    tasks: int | None = None,
    steps: int | None = None,
) -> dict[str, Trial]:
    """Vanilla worlds of every size: `pretrainings` worlds each. `steps` are those of pretraining."""
    sizes = SIZES[profile] if sizes is None else _positive("sizes", sizes)
    return {
        f"|H|={hidden} #{member + 1}": _trial(
            profile, seed, tasks, steps, hidden=hidden, member=member
        )
        for member in range(_count(profile, pretrainings))
        for hidden in sizes
    }


def right_trials(
    profile: ProfileName,
    seed: int,
    *,
    memory: tuple[int, ...] | None = None,
    pretrainings: int | None = None,
    tasks: int | None = None,
    steps: int | None = None,
) -> dict[str, Trial]:
    """Worlds with memory, and vanilla worlds with as many states in total."""
    values = MEMORY[profile] if memory is None else _positive("memory", memory)
    found = {}
    for member in range(_count(profile, pretrainings)):
        for value in values:
            found[f"|M|={value} #{member + 1}"] = _trial(
                profile, seed, tasks, steps, hidden=STATES, memory=value, member=member
            )
            hidden = STATES * value
            found[f"|H|={hidden} #{member + 1}"] = _trial(
                profile, seed, tasks, steps, hidden=hidden, member=member,
                prompts=hidden in SIZES[profile],
            )  # fmt: skip
    return found


def _positive(name: str, values: tuple[int, ...]) -> tuple[int, ...]:
    if not values or min(values) < 2 or len(set(values)) < len(values):
        given = ",".join(map(str, values))
        raise ValueError(f"{name} is {given}; it must be different whole numbers of at least 2")
    return values


def _count(profile: ProfileName, given: int | None) -> int:
    if given is not None and given < 1:
        raise ValueError(f"pretrainings is {given}; it must be at least 1")
    return PRETRAININGS[profile] if given is None else given


def _trial(
    profile: ProfileName, seed: int, tasks: int | None, steps: int | None, **which: Any
) -> Trial:
    from dataclasses import replace

    from ..experiments.pretraining import PAPER, Pretraining
    from ..experiments.trained import run
    from ..experiments.trained_tasks import TrainedTuning, Tuning

    for name, given in (("tasks", tasks), ("steps", steps)):
        if given is not None and given < 1:
            raise ValueError(f"{name} is {given}; it must be at least 1")
    recipe, tuning = Pretraining(), Tuning()
    if profile == "smoke":
        recipe = Pretraining(width=16, heads=4, steps=60, checkpoints=3, batch=16, length=32)
        tuning = Tuning(
            length=33, train=500, validation=50, test=200, head_steps=200, head_warmup=20,
            prompt_steps=30, prompt_warmup=5, prompt_batch=32, fine_steps=10,
        )  # fmt: skip
    elif profile == "paper":
        recipe, tuning = PAPER, Tuning(prompt_steps=4000, prompt_warmup=500, prompt_batch=128)
    if steps is not None:
        recipe = replace(recipe, steps=steps, checkpoints=min(recipe.checkpoints, steps))
    early = which["hidden"] in EARLY and profile == "laptop" and not which.get("memory")
    config = TrainedTuning(
        seed=seed,
        tasks=TASKS[profile] if tasks is None else tasks,
        pretraining=recipe,
        tuning=tuning,
        early_prompts=(1, 2) if early else (),
        **which,
    )
    return Trial(run, config)


# -- reading ----------------------------------------------------------------------------------


def over_worlds(results: Results, kind: str) -> dict[int, dict[str, list[float]]]:
    """`{size: {number: [one per world]}}` of the trials whose names start with `kind` ("|H|" or
    "|M|"): means over the tasks of each world."""
    found: dict[int, dict[str, list[float]]] = {}
    for name, result in results.items():
        if not name.startswith(kind):
            continue
        numbers = result.numbers
        size = int(numbers["memory"] if kind == "|M|" else numbers["hidden"])
        columns = found.setdefault(size, {})
        for column, value in numbers.items():
            if column not in ("hidden", "memory"):
                columns.setdefault(column, []).append(float(np.mean(value)))
    return found


def by_size(results: Results) -> dict[int, dict[str, list[float]]]:
    """Numbers of the vanilla worlds."""
    return over_worlds(results, "|H|")


def by_memory(results: Results) -> dict[int, tuple[dict, dict]]:
    """Numbers of each memory size, and of the vanilla worlds with as many states in total."""
    vanilla = by_size(results)
    return {m: (n, vanilla[STATES * m]) for m, n in over_worlds(results, "|M|").items()}


def pooled(sizes: dict[int, dict[str, list[float]]], name: str) -> Iterable[float]:
    """One number of all worlds of these sizes."""
    return [value for numbers in sizes.values() for value in numbers[name]]
