"""The checkpoints of a training run, kept in its history, and the phases of its learning curve."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from minicosm.models.checks import (
    check_callable,
    check_kind,
    check_number,
    check_whole,
    numbers_of,
    shown,
)
from minicosm.worlds.arrays import AnyArray, check_count

from .settings import Watch

KEPT = "kept"


def keeping(watch: Watch | None = None) -> Watch:
    """What `fit` may be told to watch so that it keeps the parameters at the end of every chunk, beside
    what `watch` measures; `Trajectory.of` reads them from the history."""
    if watch is not None:
        check_callable("watch", watch, "watch(params, done)")

    def see(params: Any, done: int) -> dict[str, Any]:
        leaves = jax.tree.leaves(eqx.filter(params, eqx.is_array))
        kept = {f"{KEPT} {i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        return kept | dict({} if watch is None else watch(params, done))

    return see


class Trajectory(eqx.Module):
    """Models as they were at some steps of their training, stacked along the first axis; with an ensemble
    its members are the second."""

    models: Any
    steps: Int[np.ndarray, " checkpoints"]

    def __init__(self, models: Any, steps: Any):
        self.steps = np.asarray(check_whole("steps", steps)).astype(np.int64)
        check_models("models", models)
        leaves = jax.tree.leaves(eqx.filter(models, eqx.is_array))
        if self.steps.ndim != 1 or (np.diff(self.steps) <= 0).any():
            raise ValueError(f"steps is {shown(steps)}; steps must be increasing")
        for leaf in leaves:
            if np.shape(leaf)[:1] != self.steps.shape:
                raise ValueError(
                    f"models has an array of shape {np.shape(leaf)}; its first axis must be that of "
                    f"{len(self.steps)} checkpoints"
                )
        self.models = models

    @classmethod
    def of(cls, history: dict[str, np.ndarray], params: Any) -> "Trajectory":
        """The checkpoints that a run with `watch=keeping(...)` has kept; `params` are what it returned."""
        check_kind("history", history, dict, "the history of a run")
        check_models("params", params)
        arrays, rest = eqx.partition(params, eqx.is_array)
        leaves, tree = jax.tree.flatten(arrays)
        names = [f"{KEPT} {i}" for i in range(len(leaves))]
        missing = [name for name in names if name not in history]
        if missing or not leaves:
            raise ValueError(
                "the history has no checkpoints of these params; run fit with watch=keeping(...)"
            )
        kept = jax.tree.unflatten(tree, [history[name] for name in names])
        return cls(eqx.combine(kept, rest), history["step"])

    def __len__(self) -> int:
        return len(self.steps)

    def index(self, step: int) -> int:
        """The number of the checkpoint kept at a step."""
        check_count("step", step, least=0)
        found = np.flatnonzero(self.steps == step)
        if not len(found):
            raise ValueError(
                f"step is {step}; checkpoints were kept at {self.steps[0]}, ..., {self.steps[-1]}"
            )
        return int(found[0])

    def at(self, step: int) -> Any:
        """The model (or the ensemble) as it was at a step."""
        return self.take(self.index(step))

    def take(self, which: int | Int[AnyArray, " n"]) -> Any:
        """Checkpoints by their numbers: one model, or a stack of them."""
        most = len(self.steps) - 1
        known = np.asarray(numbers_of("which", which, "whole numbers"))
        if known.dtype.kind not in "iu" or known.ndim > 1 or known.size == 0:
            raise ValueError(f"which is {shown(which)}; it must be whole numbers in 0..{most}")
        if ((known < 0) | (known > most)).any():
            raise ValueError(f"which is {shown(which)}; checkpoints are numbered 0..{most}")
        return pick(self.models, known)

    def member(self, i: int) -> "Trajectory":
        """The trajectory of one member of an ensemble."""
        check_count("i", i, least=0)
        leaves = jax.tree.leaves(eqx.filter(self.models, eqx.is_array))
        for leaf in leaves:
            if np.ndim(leaf) < 2 or i >= np.shape(leaf)[1]:
                raise ValueError(
                    f"i is {i}; there is no such member, an array has {np.shape(leaf)}"
                )
        return Trajectory(
            jax.tree.map(lambda leaf: leaf[:, i] if eqx.is_array(leaf) else leaf, self.models),
            self.steps,
        )


def check_models(name: str, models: Any) -> None:
    """Raise unless this is a model, or many in one: a tree with arrays of numbers, and no bare array."""
    arrays = jax.tree.leaves(eqx.filter(models, eqx.is_array))
    if isinstance(models, AnyArray) or not any(
        jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in arrays
    ):
        raise ValueError(f"{name} is {shown(models)}; it must be a model, a tree with arrays")


def pick(models: Any, which: Any) -> Any:
    """Rows of the first axis of every array; under a trace too."""
    return jax.tree.map(lambda leaf: leaf[which] if eqx.is_array(leaf) else leaf, models)


class Transition(NamedTuple):
    """When accuracy first exceeds three levels; None where it never does."""

    start: int | None
    middle: int | None
    end: int | None


def transition(
    steps: Int[AnyArray, " n"],
    accuracy: Float[AnyArray, " n"],
    levels: tuple[float, float, float] = (0.55, 0.75, 0.97),
) -> Transition:
    """The phase transition of a learning curve: the first steps with accuracy above each level."""
    known = np.asarray(check_whole("steps", steps))
    curve = np.asarray(numbers_of("accuracy", accuracy), float)
    if curve.shape != known.shape or known.ndim != 1:
        raise ValueError(f"accuracy has shape {curve.shape}; it must have shape {known.shape}")
    marks = np.asarray(numbers_of("levels", levels), float)
    if marks.shape != (3,) or not np.isfinite(marks).all():
        raise ValueError(f"levels is {shown(levels)}; it must be three numbers")
    found = [known[curve > level][:1].tolist() for level in marks]
    return Transition(*(hits[0] if hits else None for hits in found))


def steps_to(
    steps: Int[AnyArray, " n"], accuracy: Float[AnyArray, " n *members"], level: float
) -> Float[np.ndarray, "*members"]:
    """The first step with at least this accuracy, for every member; infinite where there is none."""
    known = np.asarray(check_whole("steps", steps))
    curve = np.asarray(numbers_of("accuracy", accuracy), float)
    if known.ndim != 1 or curve.shape[:1] != known.shape:
        raise ValueError(f"accuracy has shape {curve.shape}; its first axis must be {len(known)}")
    mark = check_number("level", level)
    reached = curve >= mark
    when = known.astype(float)[np.argmax(reached, axis=0)]
    return np.where(
        np.isnan(curve).any(axis=0), np.nan, np.where(reached.any(axis=0), when, np.inf)
    )


def stacked(models: list[Any]) -> Any:
    """Models of one shape as one, along a new first axis."""
    if not isinstance(models, list | tuple) or not models:
        raise ValueError(f"models is {shown(models)}; it must be a list of at least one model")
    for model in models:
        check_models("one of the models", model)
    shapes = [jax.tree.map(np.shape, eqx.filter(model, eqx.is_array)) for model in models]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("models have arrays of different shapes; they must be of one shape")
    arrays, rest = zip(*(eqx.partition(model, eqx.is_array) for model in models), strict=True)
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), rest[0])
