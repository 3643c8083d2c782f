"""Models trained to simulate automata, all members of an arm at once, and what they have learned.

The numbers of a trial, each a list over members:

- `accuracy`: on strings of the length of training; `reach`: the largest t with at least 95% at every
  position up to t; `loss`: of training, at the end;
- `chances`: accuracy at the length of training for every chance of a one;
- `position`: what the position alone tells, exactly; `window`: what the last w symbols tell; `sequences`: how
  many strings were drawn in training.

Arrays: `positions` `[member, t]`, accuracy at every position of strings of twice the length; `curve`
`[chunk, member]`, accuracy in training; `cells`, `cells_seen`, `expected`: accuracy by position and number of
ones, on how many strings, and in how many of training; `by_ones`: accuracy by the number of ones in the whole
string; `heads_...`: see `heads.look`; `maps`, `string`, `path`: attention of all members on one string, that
string, and its states.
"""

import zlib
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from minicosm.lab import Progress, TrialResult
from minicosm.training import LabelObjective, adamw, fit_ensemble
from minicosm.worlds import Semiautomaton

from ..experiment_trials import Training
from . import heads, measures
from .models import fresh, placement, shift
from .tasks import Simulation, automaton, padded

BASE = 7_180_339
"""Keys are folded into this one: no other run of the sheet's recipe has drawn them."""
REACH = 0.95


def run(config: Training, progress: Progress, folder: Path) -> TrialResult:
    """Train all members together, then measure; see the module."""
    exact = automaton(config)
    world = padded(config, exact)
    models, history = train(config, world, progress, folder)
    judge = partial(
        measures.predictions,
        models,
        placement(config),
        states=world.states if config.model == "scratchpad" else None,
    )
    symbols, wanted = _strings(config, world, config.task)
    positions = measures.by_position(judge(symbols), wanted)
    within = positions[:, : config.length]
    numbers: dict[str, Any] = {
        "accuracy": within.mean(axis=1).tolist(),
        "reach": [int(np.argmin([*(row >= REACH), False])) for row in within],
        "loss": history["loss"][-1].tolist(),
        "position": exact.position_accuracy(config.length),
        "window": [exact.window_accuracy(w, config.length) for w in config.windows],
        "sequences": config.steps * config.batch,
    }
    arrays = {"positions": positions, "curve": history["accuracy"]}
    if config.chances:
        numbers["chances"] = np.transpose(
            [
                measures.by_position(judge(s), w)[:, : config.length].mean(axis=1)
                for s, w in (_strings(config, _law(config, p), f"{p}") for p in config.chances)
            ]
        ).tolist()
    if config.counts:
        arrays |= _counts(config, world, judge)
    if config.attention:
        arrays |= _heads(config, models, symbols, world)
    return TrialResult(numbers, arrays)


def train(
    config: Training, world: Semiautomaton, progress: Progress, folder: Path
) -> tuple[Any, dict[str, np.ndarray]]:
    """The trained members, stacked, and their history."""
    weights_key, strings_key = jax.random.split(_key(config))
    models = fresh(config, world, jax.random.split(weights_key, config.members))
    scratchpad = config.model == "scratchpad"
    objective = LabelObjective(
        Simulation(world, np.asarray(config.reveal, np.float32), scratchpad),
        placement(config),
        None if config.model == "lstm" else shift(config),
        length=config.length,
        batch=config.batch,
        at=tuple(range(0, 2 * config.length - 1, 2)) if scratchpad else None,
    )
    stacked = jax.tree.map(
        lambda leaf: np.broadcast_to(leaf, (config.members, *np.shape(leaf))), objective
    )
    return fit_ensemble(
        stacked,
        models,
        optimiser(config),
        config.steps,
        jax.random.split(strings_key, config.members),
        chunk=max(1, config.steps // 20),
        progress=lambda done, total, note="": progress(done, total, f"{config.task} {note}"),
        checkpoint=folder / "training.npz",
    )


def optimiser(config: Training) -> optax.GradientTransformation:
    """AdamW: 100 steps of warm-up, then along a half cosine to 0."""
    if config.model == "lstm":
        return adamw(config.lstm_rate, config.steps, 100, weight_decay=1e-9)
    return adamw(config.rate, config.steps, 100, weight_decay=1e-4)


def _key(config: Training) -> PRNGKeyArray:
    """A key of the arm: other arms, and what others tried with small seeds, have other ones."""
    words = (config.task, config.model, config.positions, config.reveal, config.layers)
    name = zlib.crc32(repr(words).encode())
    key = jax.random.fold_in(jax.random.key(BASE), config.seed)
    return jax.random.fold_in(key, name)


def _strings(config: Training, world: Semiautomaton, name: str) -> Any:
    """The test strings of a law, the same for all arms and seeds, and their labels."""
    key = jax.random.fold_in(jax.random.key(BASE + 1), zlib.crc32(name.encode()))
    return measures.draw(world, key, config.tests, 2 * config.length)


def _law(config: Training, chance: float) -> Semiautomaton:
    """Parity whose symbols are ones with this chance."""
    return padded(config, automaton(config).with_law(np.array([1 - chance, chance])))


def _counts(config: Training, world: Semiautomaton, judge: Any) -> dict[str, np.ndarray]:
    """Accuracy by position and number of ones."""
    length, size = config.length, config.tests
    symbols = measures.with_ones(np.random.default_rng(BASE), length, config.counts)
    wide = np.pad(symbols, ((0, -len(symbols) % size), (0, length)))
    right = np.concatenate(
        [
            np.asarray(judge(part)) == np.asarray(measures.labels(world, part))
            for part in jnp.split(jnp.asarray(wide), len(wide) // size)
        ],
        axis=1,
    )[:, : len(symbols), :length]
    cells, seen = measures.by_count(right, symbols)
    by_ones = right.reshape(len(right), length + 1, -1).mean(axis=2)
    expected = measures.expected_counts(config.steps * config.batch, length)
    return {"cells": cells, "cells_seen": seen, "expected": expected, "by_ones": by_ones}


def _heads(
    config: Training, models: Any, symbols: Any, world: Semiautomaton
) -> dict[str, np.ndarray]:
    """Where the heads of every member look, and all maps of one string."""
    symbols = np.asarray(symbols)[:, : config.length]
    states = np.asarray(measures.labels(world, symbols))
    walls = (0, automaton(config).states - 1)
    shown = heads.telling(states, walls)
    found, maps = [], []
    for i in range(config.members):
        model = jax.tree.map(lambda leaf, i=i: leaf[i], models)
        read = np.asarray(heads.attention(model, placement(config), symbols))
        found.append(heads.look(read, states, walls))
        maps.append(read[shown])
    arrays = {f"heads_{name}": np.stack([one[name] for one in found]) for name in found[0]}
    shown_string = {"string": symbols[shown], "path": states[shown]}
    return arrays | shown_string | {"maps": np.stack(maps)}
