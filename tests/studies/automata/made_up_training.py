"""Results of trained models as they would be if all went as the source says."""

from functools import lru_cache

import numpy as np

from minicosm.lab import TrialResult
from minicosm.studies.automata import STUDY
from minicosm.studies.automata import experiment_trials as trials
from minicosm.studies.automata.experiments import tasks
from minicosm.studies.automata.experiments.heads import telling
from minicosm.studies.automata.experiments.measures import expected_counts

CLAIMS = {claim.id.removeprefix("automata/"): claim for claim in STUDY.claims}
TABLE = {
    "C_2": (0.8, 0.98, 0.995),
    "Grid_4": (0.995, 0.999, 0.999),
    "D_6": (0.57, 0.7, 0.94),
    "D_8": (0.75, 0.9, 0.998),
    "Q_8": (0.5, 0.68, 0.9),
    "D_6 with a no-op": (0.5, 0.6, 0.9),
    "D_8 with a no-op": (0.6, 0.75, 0.97),
}
BEYOND = {  # accuracy after the length of training
    trials.PARITY: 0.5,
    trials.PARITY_PAD: 0.51,
    trials.GRID: 0.54,
    trials.GRID_LINEAR: 0.8,
    trials.DYCK: 0.7,
    trials.DYCK_SHIFT: 0.9,
    trials.DYCK_NONE: 0.85,
}
LENGTH_STEP = 1e-3


def near(value, members, spread=LENGTH_STEP, seed=0):
    """One number for each member, close to a value and at most 1."""
    draws = np.random.default_rng(seed).normal(size=members)
    return np.minimum(value + spread * draws, 1.0)


def level(arm, config):
    """The accuracy at the length of training."""
    if config.model != "transformer":
        return 1.0
    if arm == trials.cell(config.task, config.layers):
        row = TABLE.get(config.task, (0.6, 0.7, 0.8))
        return row[min(config.layers, 3) - 1]
    return 0.62 if config.reveal == 0.03 else 0.993


def result(arm, config, *, accuracy=None, beyond=None, chances=None, rare=0.2, **changed):
    """What an arm would come to; the keywords change it."""
    members, length = config.members, config.length
    spread = 0.0 if level(arm, config) == 1 else LENGTH_STEP
    within = near(level(arm, config), members, spread) if accuracy is None else np.array(accuracy)
    after = BEYOND.get(arm, 1.0 if level(arm, config) == 1 else 0.6) if beyond is None else beyond
    positions = np.repeat(within[:, None], 2 * length, axis=1)
    positions[:, length:] = near(after, members, 0 if after == 1 else 3e-3)[:, None]
    exact = tasks.automaton(config)
    numbers = {
        "accuracy": within.tolist(),
        "reach": [length] * members,
        "loss": [0.1] * members,
        **floors(config),
        "sequences": config.steps * config.batch,
    }
    arrays = {
        "positions": positions,
        "curve": within * np.linspace(0.6, 1, 20)[:, None],
    }
    if config.chances:
        low = 1.0 if level(arm, config) == 1 else 0.0
        far = chances or {0.05: 0.7 + 0.3 * low, 0.95: 0.8 + 0.2 * low}
        at = np.interp(config.chances, [0.05, 0.5, 0.95], [far[0.05], within[0], far[0.95]])
        noise = near(0, members, 0 if low else 2e-3)[:, None]
        numbers["chances"] = np.minimum(at + noise, 1).tolist()
    if config.counts:
        expected = expected_counts(config.steps * config.batch, length)
        m, t = np.arange(length + 1), np.arange(1, length + 1)[:, None]
        cells = np.where(expected >= 3, 1.0, rare) + near(0, members, 5e-3)[:, None, None]
        cells = np.where(m <= t, cells, np.nan)
        share = np.interp(m, [0, length / 2, length], [0.6, 1.0, 0.7])
        arrays |= {
            "cells": cells,
            "cells_seen": np.where(m <= t, 64, 0),
            "expected": expected,
            "by_ones": np.tile(share, (members, 1)),
        }
    if config.attention:
        arrays |= heads(config, exact)
    return TrialResult(numbers | changed.pop("numbers", {}), arrays | changed, config)


@lru_cache
def floors(config):
    """What is exact."""
    exact = tasks.automaton(config)
    window = [exact.window_accuracy(w, config.length) for w in config.windows]
    return {"position": exact.position_accuracy(config.length), "window": window}


def heads(config, exact):
    """One head that looks at wall 0 and nowhere before it, and one even head."""
    members, length, count = config.members, config.length, config.heads
    on = np.full((members, 2, count, 2), 0.1) + near(0, members)[:, None, None, None]
    before = np.full_like(on, 0.6)
    on[:, :, 1, 0], before[:, :, 1, 0] = 0.5 + near(0, members)[:, None], 0.02
    even = np.full((members, 2, count), 0.6)
    even[:, :, 0] = 0.98 + near(0, members)[:, None]
    rng = np.random.default_rng(3)
    symbols = rng.integers(0, 2, (50, length))
    states = np.stack([np.asarray(exact.run(row)) for row in symbols])
    shown = telling(states, (0, 3))
    path = states[shown]
    maps = rng.random((members, config.layers, count, length, length)) * np.tri(length)
    visits = np.maximum.accumulate(np.where(path == 0, np.arange(length), 0))
    maps[:, -1, 1] = 0
    maps[:, -1, 1, np.arange(1, length), visits[:-1]] = 1
    maps[:, -1, 1, 0, 0] = 1
    maps[:, 0, 0] = np.tri(length)
    return {
        "heads_on": on,
        "heads_control": np.full_like(on, 0.1) + near(0, members, seed=1)[:, None, None, None],
        "heads_before": before,
        "heads_before_even": np.full_like(on, 0.7),
        "heads_even": even,
        "maps": maps / maps.sum(axis=-1, keepdims=True),
        "string": symbols[shown],
        "path": path,
    }


def results_of(name, profile="laptop", every=None, options=None, **changes):
    """Made-up results of all arms of a claim; `changes` by the name of the arm, `every` for all."""
    made = {}
    for arm, trial in CLAIMS[name].trials(profile, 0, **(options or {})).items():
        made[arm] = result(arm, trial.config, **((every or {}) | changes.get(arm, {})))
    return made
