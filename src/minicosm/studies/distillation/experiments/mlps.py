"""MLPs of one hidden layer as ensembles: how they start, are trained with batches of one, and are judged."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from minicosm.lab import Progress
from minicosm.training import (
    Curriculum,
    Distilled,
    SignVectors,
    Trajectory,
    fit_ensemble,
    keeping,
    labels_only,
    stacked,
)

BASE = 4_202_031
"""Keys are folded into this one: no other run of the sheet's recipe has drawn them."""

FEWEST = 3
"""Checkpoints that every student has room for, so that few programs are compiled."""

World = Any
sgd = cache(optax.sgd)


def key_of(seed: int, *words: Any) -> PRNGKeyArray:
    """A key of this seed and these words."""
    name = zlib.crc32(repr(words).encode())
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(BASE), seed), name)


def fresh(keys: Key[Array, " n"], world: World, width: int) -> eqx.nn.MLP:
    """MLPs `d -> width -> classes` with uniform weights, ±1/sqrt(fan-in), stacked."""
    make = eqx.filter_vmap(lambda key: eqx.nn.MLP(world.d, world.classes, width, 1, key=key))
    return make(keys)


class Held(NamedTuple):
    """Held-out inputs and their classes."""

    x: Float[np.ndarray, "n d"]
    labels: Int[np.ndarray, " n"]


def held_out(world: World, key: PRNGKeyArray, count: int) -> Held:
    signs = np.where(np.asarray(jax.random.bernoulli(key, 0.5, (count, world.d))), 1.0, -1.0)
    return Held(signs.astype(np.float32), np.asarray(world.labels(signs)))


@eqx.filter_jit
def probabilities(models: Any, x: Float[Array, "n d"]) -> Float[Array, "members n classes"]:
    """What each member says of each input."""
    say = eqx.filter_vmap(lambda model: jax.vmap(model)(x))
    return jax.nn.softmax(say(models), axis=-1)


def accuracy(models: Any, held: Held) -> Float[np.ndarray, " members"]:
    """The share of inputs whose class each member has right."""
    likeliest = np.asarray(jnp.argmax(probabilities(models, jnp.asarray(held.x)), axis=-1))
    return (likeliest == held.labels).mean(axis=1)


def train(
    losses: Distilled,
    models: Any,
    keys: Key[Array, " members"],
    rate: float,
    steps: int,
    chunk: int,
    held: Held,
    progress: Progress,
    note: str,
    checkpoint: Path,
    *,
    keep: bool = False,
) -> tuple[Any, dict[str, np.ndarray]]:
    """The members after `steps` steps of SGD, and the history with "test", their accuracy after every
    chunk."""

    def watch(params: Any, done: int) -> Mapping[str, Any]:
        return {"test": accuracy(params, held)}

    return fit_ensemble(
        losses,
        models,
        sgd(rate),
        steps,
        keys,
        chunk=chunk,
        watch=keeping(watch) if keep else watch,
        progress=lambda done, total, text="": progress(done, total, f"{note} {text}"),
        checkpoint=checkpoint,
    )


def teachers(
    world: World,
    seed: int,
    seeds: int,
    width: int,
    rate: float,
    steps: int,
    chunk: int,
    held: Held,
    progress: Progress,
    folder: Path,
) -> tuple[Trajectory, np.ndarray]:
    """The trajectories of teachers trained on labels, and their accuracy at every checkpoint `[step,
    seed]`."""
    start, data = jax.random.split(key_of(seed, "teachers"))
    loss = copies(Distilled(SignVectors(world), labels_only(), block=chunk), seeds)
    last, history = train(
        loss, fresh(jax.random.split(start, seeds), world, width), jax.random.split(data, seeds), rate,
        steps, chunk, held, progress, "teachers", folder / "teachers.npz", keep=True,
    )  # fmt: skip
    return Trajectory.of(history, last), history["test"]


def copies(tree: Any, members: int) -> Any:
    """The same arrays for every member."""
    return jax.tree.map(
        lambda leaf: np.broadcast_to(leaf, (members, *np.shape(leaf))) if _number(leaf) else leaf,
        tree,
    )


def _number(leaf: Any) -> bool:
    return eqx.is_array_like(leaf) and not isinstance(leaf, bool)


class Arm(NamedTuple):
    """How the students of one arm are taught: by which checkpoints of their own teachers, seed by seed."""

    curricula: list[Curriculum]
    temperature: float = 0.0
    edit: Callable[[int, Any], Any] | None = None
    """`edit(seed, models)` changes the checkpoints of a teacher, stacked, before they teach."""


def students(
    world: World,
    arms: Mapping[str, Arm],
    trajectory: Trajectory,
    seed: int,
    width: int,
    rate: float,
    steps: int,
    block: int,
    held: Held,
    progress: Progress,
    folder: Path,
) -> dict[str, np.ndarray]:
    """Accuracy of students after every block, `[step, seed]` for each arm. Arms whose curricula have
    equally many checkpoints train together. Under every arm a seed has the same start and the same inputs."""
    groups: dict[int, list[str]] = {}
    for name, arm in arms.items():
        slots = max(len(c.used) for c in arm.curricula)
        groups.setdefault(max(slots, FEWEST), []).append(name)
    found = {}
    for slots, names in groups.items():
        start, data = jax.random.split(key_of(seed, "students"))
        seeds = len(arms[names[0]].curricula)
        losses = [
            _loss(world, trajectory.member(i), arms[name], i, slots, block)
            for name in names
            for i in range(seeds)
        ]
        many = len(names)
        one = fresh(jax.random.split(start, seeds), world, width)
        models = jax.tree.map(
            lambda leaf: jnp.concatenate([leaf] * many) if eqx.is_array(leaf) else leaf,  # noqa: B023
            one,
        )
        keys = jnp.concatenate([jax.random.split(data, seeds)] * many)
        file = folder / f"students-{width}-{slots}.npz"
        note = f"students of width {width}, {len(losses)} of them"
        _, history = train(
            stacked(losses), models, keys, rate, steps, block, held, progress, note, file
        )
        for j, name in enumerate(names):
            found[name] = history["test"][:, j * seeds : (j + 1) * seeds]
    return found


def _loss(
    world: World, trajectory: Trajectory, arm: Arm, seed: int, slots: int, block: int
) -> Distilled:
    """The loss of one student: as many checkpoints as the others of its group have, the last repeated."""
    curriculum = arm.curricula[seed]
    used = list(curriculum.used) or [len(trajectory) - 1]
    padded = np.array(used + [used[-1]] * (slots - len(used)))
    models = trajectory.take(padded)
    if arm.edit is not None:
        models = arm.edit(seed, models)
    numbered = curriculum.among(used, slots + 1)
    tau = np.asarray(arm.temperature, np.float32)
    return Distilled(SignVectors(world), numbered, models, tau, block=block)


def same(curriculum: Curriculum, seeds: int) -> list[Curriculum]:
    """One curriculum for all seeds."""
    return [curriculum] * seeds


def nearest(steps: Int[np.ndarray, " n"], wanted: float) -> int:
    """The number of the checkpoint whose step is nearest."""
    return int(np.argmin(np.abs(np.asarray(steps) - wanted)))


def correlation_means(
    values: Float[np.ndarray, " n"],
    x: Float[np.ndarray, "n d"],
    groups: Sequence[Sequence[int]],
    degree: int,
) -> Float[np.ndarray, " g+1"]:
    """Mean `|E f prod x|` over the monomials of a degree inside each group of coordinates, and over
    those that are inside none."""
    from minicosm.theory.distillation.fourier import all_correlations, monomials, on_support

    found = np.abs(all_correlations(values, x, degree))
    sets = monomials(x.shape[1], degree)
    inside = [on_support(sets, group) for group in groups]
    rest = ~np.any(inside, axis=0)
    return np.array([found[mask].mean() for mask in (*inside, rest)])
