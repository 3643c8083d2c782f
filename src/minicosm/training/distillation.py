"""Knowledge distillation: a student follows labels, one teacher, or a teacher's checkpoints in turn.

With teacher logits `f(x)` and temperature tau the student minimises

    KL(softmax(f(x) / tau) || p_S(x)),

the teacher first and the student at temperature 1; with labels the same with a point mass in the place of
the softmax. Temperatures of at most `COLD` are point masses at the likeliest class, the first of equal ones.

`Distilled` is a loss for `fit` and `fit_ensemble`. It draws inputs and asks the teacher for many steps
together (`prepare`), so that training with batches of one costs what the student costs. Which checkpoint
is followed may change every `block` steps. Teachers, curricula and temperatures are arrays: arms of an
experiment are members of one ensemble.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from minicosm.models.checks import check_key, shown
from minicosm.worlds.arrays import (
    AnyArray,
    check_count,
    check_kind,
    check_number,
    check_reals,
    check_size,
    check_whole_numbers,
    is_concrete,
)
from minicosm.worlds.parity.sparse import signs_of

from .curricula import LABELS, Curriculum
from .trajectory import Trajectory, check_models, pick

COLD = 1e-3
"""Temperatures up to this one are those of the likeliest class."""


@runtime_checkable
class Task(Protocol):
    """What students and teachers are asked: how a batch is drawn, what models say of it, what is true."""

    def draw(self, key: PRNGKeyArray) -> Any:
        """The inputs of one step."""
        ...

    def logits(self, model: Any, batch: Any) -> Float[Array, "n K"]:
        """Unnormalised log laws of all answers in the batch."""
        ...

    def labels(self, batch: Any) -> Int[Array, " n"]:
        """The true answers."""
        ...

    def weights(self, batch: Any) -> Float[Array, " n"]:
        """How much each answer counts; 0 where there is none."""
        ...


class SignVectors(eqx.Module):
    """The classes of sign vectors, for models that map one vector to logits (`eqx.nn.MLP`).

    The world has `sample`, whose draws have `signs` and `label`.
    """

    world: Any
    batch: int = eqx.field(static=True, default=1, kw_only=True)

    def __check_init__(self) -> None:
        if isinstance(self.world, type) or not hasattr(self.world, "classes"):
            raise TypeError(f"world is {shown(self.world)}; it must be a world of parities")
        check_size(f"batch = {self.batch} vectors", check_count("batch", self.batch), 2**20)

    def draw(self, key: PRNGKeyArray) -> Any:
        check_key("key", key)
        return jax.vmap(self.world.sample)(jax.random.split(key, self.batch))

    def logits(self, model: Any, batch: Any) -> Float[Array, "n K"]:
        if isinstance(model, type) or not callable(model):
            raise TypeError(f"model is {shown(model)}; it must map a sign vector to logits")
        if not hasattr(batch, "tokens"):
            raise TypeError(f"batch is {shown(batch)}; it must be what draw returns")
        return jax.vmap(model)(signs_of(batch.tokens))

    def labels(self, batch: Any) -> Int[Array, " n"]:
        if not hasattr(batch, "label"):
            raise TypeError(f"batch is {shown(batch)}; it must be what draw returns")
        return batch.label

    def weights(self, batch: Any) -> Float[Array, " n"]:
        return jnp.ones(self.labels(batch).shape)


def soft_targets(
    logits: Float[AnyArray, "*n K"], temperature: Float[AnyArray, ""] | float
) -> Float[Array, "*n K"]:
    """`softmax(logits / temperature)`; a point mass at the first of the largest up to `COLD`."""
    logits = jnp.asarray(check_logits("logits", logits))
    tau = check_temperature("temperature", temperature)
    if tau.ndim:
        raise ValueError(f"temperature is {shown(temperature)}; it must be one number")
    hard = jax.nn.one_hot(jnp.argmax(logits, axis=-1), logits.shape[-1], dtype=logits.dtype)
    soft = jax.nn.softmax(logits / jnp.maximum(tau, COLD), axis=-1)
    return jnp.where(tau <= COLD, hard, soft)


def check_logits(name: str, logits: Any) -> AnyArray:
    """Finite numbers with a last axis of classes."""
    found = check_reals(name, logits)
    if found.ndim == 0 or found.shape[-1] == 0:
        raise ValueError(f"{name} has shape {found.shape}; its last axis must be that of classes")
    if 0 in found.shape:
        raise ValueError(f"{name} has shape {found.shape}; it must have at least one row")
    return found


def check_temperature(name: str, value: Any) -> Float[Array, "*stack"]:
    """A temperature of at least 0, or one for each member."""
    if is_concrete(value):
        if not isinstance(value, AnyArray):
            check_number(name, value, 0.0)
        known = np.asarray(value)
        if known.dtype.kind not in "iuf" or not np.isfinite(known).all() or (known < 0).any():
            raise ValueError(f"{name} is {shown(value)}; it must be a finite number of at least 0")
    if np.ndim(value) > 1 or np.size(value) == 0:
        raise ValueError(f"{name} is {shown(value)}; it must be a number, or one for each member")
    return jnp.asarray(value, jnp.result_type(float))


class Distilled(eqx.Module):
    """The loss of a student under a curriculum of teachers; see the module.

    `teachers` are models stacked along their first axis, which the curriculum numbers, or None where it
    has labels only. Metrics: "accuracy", the share of true answers among the student's likeliest ones.
    """

    task: Task
    curriculum: Curriculum
    teachers: Any = None
    temperature: Float[AnyArray, "*stack"] | float = 0.0
    block: int = eqx.field(static=True, default=1, kw_only=True)
    """Steps that are prepared together; the curriculum changes at multiples of it only."""

    def __check_init__(self) -> None:
        check_kind("task", self.task, Task, "a task, with draw, logits, labels and weights")
        check_kind("curriculum", self.curriculum, Curriculum, "a Curriculum")
        if check_count("block", self.block) >= 2**31:
            raise ValueError(f"block is {self.block}; it must be less than 2^31")
        check_temperature("temperature", self.temperature)
        which, until = self.curriculum.which, self.curriculum.until
        if not is_concrete(which, until):
            return
        ends = np.asarray(until)[..., :-1]
        off = ends[(ends % self.block != 0) & (ends != 2**31 - 1)]
        if off.size:
            raise ValueError(
                f"the curriculum changes at step {off[0]}, which is no multiple of block, {self.block}"
            )
        if self.teachers is None:
            if (np.asarray(which) != LABELS).any():
                raise ValueError("teachers is None; then the curriculum must have labels only")
            return
        check_models("teachers", self.teachers)
        leaves = jax.tree.leaves(eqx.filter(self.teachers, eqx.is_array))
        axis = np.ndim(which) - 1  # of an ensemble the members come first
        count = min((np.shape(leaf)[axis] for leaf in leaves if np.ndim(leaf) > axis), default=0)
        if int(np.max(np.asarray(which))) >= count:
            raise ValueError(
                f"the curriculum follows the checkpoint {int(np.max(np.asarray(which)))}; teachers has "
                f"{count} of them"
            )

    @classmethod
    def of(
        cls,
        task: Task,
        trajectory: Trajectory,
        curriculum: Curriculum,
        temperature: float = 0.0,
        *,
        block: int = 1,
    ) -> "Distilled":
        """The loss of a student of one teacher, with the checkpoints that are followed and no others."""
        check_kind("trajectory", trajectory, Trajectory, "a Trajectory")
        check_kind("curriculum", curriculum, Curriculum, "a Curriculum")
        used = curriculum.used
        numbered = curriculum.among(used, len(curriculum.which))
        models = trajectory.take(np.array(used)) if used else None
        return cls(task, numbered, models, temperature, block=block)

    def prepare(self, key: PRNGKeyArray, steps: Int[Array, " n"]) -> Any:
        """Inputs, labels, weights and targets of these steps, of each step in a row."""
        check_key("key", key)
        known = check_whole_numbers("steps", steps, 0, 2**31 - 2, (None,))
        if not len(known) or len(known) % self.block:
            raise ValueError(
                f"steps has {len(known)} entries; there must be a multiple of {self.block}"
            )
        blocks = jnp.reshape(jnp.asarray(known), (-1, self.block))
        return jax.tree.map(
            lambda rows: rows.reshape(-1, *rows.shape[2:]),
            jax.lax.map(lambda block: self._block(key, block), blocks),
        )

    def _block(self, key: PRNGKeyArray, steps: Int[Array, " block"]) -> Any:
        """The rows of steps that follow one checkpoint; step i draws with `fold_in(key, i)`, as in `fit`."""
        keys = jax.vmap(lambda step: jax.random.fold_in(key, step))(steps)
        return self._rows(keys, self.curriculum.at(steps[0]))

    def _rows(self, keys: Key[Array, " block"], number: Int[Array, ""]) -> Any:
        task = self.task
        batches = jax.vmap(task.draw)(keys)
        labels = jax.vmap(task.labels)(batches)
        if self.teachers is None:
            return batches, labels, None
        teacher = pick(self.teachers, jnp.maximum(number, 0))
        answers = jax.vmap(lambda batch: task.logits(teacher, batch))(batches)
        truth = jax.nn.one_hot(labels, answers.shape[-1], dtype=answers.dtype)
        targets = soft_targets(answers, self.temperature)
        return batches, labels, jnp.where(number == LABELS, truth, targets)

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int, row: Any = None
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        check_key("key", key)
        if row is None:  # one step alone
            number = self.curriculum.at(jnp.asarray(step))
            row = jax.tree.map(lambda leaf: leaf[0], self._rows(key[None], number))
        batch, labels, targets = row
        logits = self.task.logits(model, batch)
        laws = jax.nn.log_softmax(logits, axis=-1)
        if targets is None:
            losses = -jnp.take_along_axis(laws, labels[..., None], axis=-1)[..., 0]
        else:
            self._check_vocabulary(laws.shape[-1], targets.shape[-1])
            losses = jnp.sum(xlogy(targets, targets) - targets * laws, axis=-1)
        weights = self.task.weights(batch)
        total = jnp.maximum(jnp.sum(weights), 1e-9)
        right = jnp.argmax(logits, axis=-1) == labels
        metrics = {"accuracy": jnp.sum(weights * right) / total}
        return jnp.sum(weights * losses) / total, jax.lax.stop_gradient(metrics)

    def _check_vocabulary(self, student: int, teacher: int) -> None:
        if student != teacher:
            raise ValueError(
                f"the teacher answers with {teacher} classes and the student with {student}; they must "
                "have the same"
            )
