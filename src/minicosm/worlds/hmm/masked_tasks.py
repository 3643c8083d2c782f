"""Masked prediction of some tokens from others, and its optimum: the conditional expectation.

A task is written `"x2,x3|x1"`: predict the tensor product of tokens 2 and 3, one-hot in a discrete world,
from token 1. Under squared loss the best predictor is `E[x_2 ⊗ x_3 | x_1]` (Liu's thesis, Equation 2.35): of
an `HMM` a table of conditional probabilities, of a `GaussianHMM` a function of what is given.
"""

import re
from itertools import pairwise
from typing import Any, NamedTuple, Self, overload

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..arrays import check_kind, check_reals, check_size, short
from .gaussian import GaussianHMM
from .hmm import HMM

LAST = 2000  # the last position that a task may name
MOST = 6  # tokens that a task may name
_TASK = re.compile(r"x\d{1,4}(,x\d{1,4})*\|x\d{1,4}(,x\d{1,4})*")


class MaskedTask(NamedTuple):
    """Which tokens are predicted from which; positions count from 1."""

    targets: tuple[int, ...]
    given: tuple[int, ...]

    @classmethod
    def parse(cls, task: "str | MaskedTask") -> Self:
        """The task that is written `"x2,x3|x1"`."""
        text = str(task) if isinstance(task, MaskedTask) else task
        if not isinstance(text, str) or not _TASK.fullmatch(text):
            raise ValueError(f'task is {short(task)}; it must be written as "x2,x3|x1"')
        targets, given = (
            tuple(int(token[1:]) for token in side.split(",")) for side in text.split("|")
        )
        named = targets + given
        if len(set(named)) < len(named):
            raise ValueError(f"task is {text!r}; it must name every token once")
        if not all(1 <= position <= LAST for position in named):
            raise ValueError(f"task is {text!r}; positions must lie in 1..{LAST}")
        if len(named) > MOST:
            raise ValueError(f"task is {text!r}; it must name at most {MOST} tokens")
        return cls(targets, given)

    def __str__(self) -> str:
        sides = (",".join(f"x{i}" for i in side) for side in (self.targets, self.given))
        return "|".join(sides)

    @property
    def positions(self) -> tuple[int, ...]:
        """All positions that it names, in their order in the sequence."""
        return tuple(sorted(self.targets + self.given))


class GaussianPredictor(eqx.Module):
    """`E[⊗ targets | given]` of a Gaussian world, as a function of the vectors that are given."""

    world: GaussianHMM
    task: MaskedTask = eqx.field(static=True)

    def __init__(self, world: GaussianHMM, task: str | MaskedTask):
        self.world = check_kind("world", world, GaussianHMM, "a GaussianHMM")
        self.task = MaskedTask.parse(task)

    def __call__(self, *points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n *targets"]:
        """For n points, an array for each token that is given: of each the expected tensor product of
        the targets, `d` entries for each of them."""
        world, task = self.world, self.task
        if len(points) != len(task.given):
            raise ValueError(
                f"{len(points)} arrays of points are given; the task {task} needs {len(task.given)}"
            )
        d = world.dimension
        found = [np.asarray(check_reals("points", each), np.float64) for each in points]
        for each in found:
            if each.ndim != 2 or each.shape[1] != d or len(each) != len(found[0]):
                raise ValueError(
                    f"points have shape {each.shape}; they must have shape (n, {d}), with the same n"
                )
        n = len(found[0])
        check_size(f"the predictions of {n} points", n * d ** len(task.targets))
        A, M, p0 = (np.asarray(a, np.float64) for a in (world.A, world.M, world.p0))
        return gaussian_expectation(A, M, p0, task, found)


@overload
def predictor(world: HMM, task: str | MaskedTask) -> Float[np.ndarray, "*given_and_targets"]: ...
@overload
def predictor(world: GaussianHMM, task: str | MaskedTask) -> GaussianPredictor: ...


def predictor(
    world: HMM | GaussianHMM, task: str | MaskedTask
) -> Float[np.ndarray, "*given_and_targets"] | GaussianPredictor:
    """The optimal predictor of a masked task.

    Of an `HMM`: the table `P[targets | given]` with an axis for each token that is given, then one for each
    target, in the order they are named; zero where what is given is impossible. Of a `GaussianHMM`: a
    function of as many arrays of points as tokens are given.
    """
    task = MaskedTask.parse(task)
    check_kind("world", world, (HMM, GaussianHMM), "an HMM or a GaussianHMM")
    if isinstance(world, GaussianHMM):
        return GaussianPredictor(world, task)
    if np.ndim(world.p0) > 1:
        raise ValueError("world is a stack of worlds; it must be one world")
    check_size(f"the table of {task}", world.vocab ** len(task.positions))
    A, W, p0 = (np.asarray(a, np.float64) for a in (world.A, world.W, world.p0))
    return conditional_table(A, W, p0, task)


# -- the formulas, for arrays of NumPy and of JAX, real or complex ----------------------------------


def hidden_law(A: Any, p0: Any, positions: tuple[int, ...]) -> Any:
    """`P[H_{t_1}, ..., H_{t_m}]` for increasing positions, an axis for each."""
    xp = A.__array_namespace__()
    law = xp.linalg.matrix_power(A, positions[0]) @ p0
    for before, after in pairwise(positions):
        law = law[..., None] * xp.linalg.matrix_power(A, after - before).T
    return law


def conditional_table(A: Any, W: Any, p0: Any, task: MaskedTask) -> Any:
    """`P[targets | given]`, the axes of what is given first."""
    xp = A.__array_namespace__()
    positions, m = task.positions, len(task.positions)
    operands: list[Any] = [hidden_law(A, p0, positions), list(range(m))]
    for i in range(m):
        operands += [W, [m + i, i]]
    order = [m + positions.index(t) for t in task.given + task.targets]
    joint = xp.einsum(*operands, order)
    given = joint.sum(axis=tuple(range(len(task.given), m)), keepdims=True)
    return joint / xp.where(given == 0, 1, given)


def gaussian_expectation(A: Any, M: Any, p0: Any, task: MaskedTask, points: Any) -> Any:
    """`E[⊗ targets | given]` at n points of each token that is given."""
    xp = A.__array_namespace__()
    positions, m = task.positions, len(task.positions)
    operands: list[Any] = [hidden_law(A, p0, positions), list(range(m))]
    for t, x in zip(task.given, points, strict=True):
        logits = x @ M - xp.sum(M * M, axis=0) / 2  # |x|^2 / 2 is the same for all states
        top = xp.max(logits.real, axis=1, keepdims=True)
        operands += [xp.exp(logits - top), [m, positions.index(t)]]
    kept = [positions.index(t) for t in task.targets]
    states = xp.einsum(*operands, [m, *kept])
    states = states / states.sum(axis=tuple(range(1, states.ndim)), keepdims=True)
    r = len(kept)
    contracted: list[Any] = [states, list(range(r + 1))]
    for i in range(r):
        contracted += [M, [r + 1 + i, 1 + i]]
    return xp.einsum(*contracted, [0, *range(r + 1, 2 * r + 1)])
