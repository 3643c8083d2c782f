"""Students of the right form, fitted to exact predictors from many starts: which world has a student with
zero loss?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.identifiability import ATLAS, distance, four_tokens, gauge
from minicosm.theory.identifiability.students import DiscreteStudent
from minicosm.training import least_squares
from minicosm.worlds import HMM, MaskedTask, doubly_stochastic_world, predictor

from ..suites.worlds import key_of
from ..trials import Students

SOLVED = 1e-9  # largest residual of a fit that counts as one of zero loss
LEAST = 0.1  # least singular value of chain and emissions of a random world


def run(config: Students, progress: Progress) -> TrialResult:
    """Of every task and start: the residual, the distance from the world, and for tasks on pairs how well the
    student is joined to the world by a matrix whose rows and columns sum to one."""
    world = _world(config)
    numbers: dict[str, Any] = {}
    for i, name in enumerate(config.tasks):
        progress(i, len(config.tasks), name)
        tasks = tuple(MaskedTask.parse(task) for task in ATLAS[name].tasks)
        target = np.concatenate([predictor(world, task).ravel() for task in tasks])
        with jax.enable_x64(True):
            student = DiscreteStudent(jnp.asarray(target), tasks, config.vocab, config.hidden)
            key = key_of(config, 40, config.number, i)
            starts = jax.random.normal(key, (config.starts, student.size), jnp.float64)
            fitted = least_squares(student, starts, steps=config.steps)
            found = [student.world(theta) for theta in np.asarray(fitted.parameters)]
        residuals = np.asarray(fitted.residual)
        numbers[name] = {
            "residual": residuals.tolist(),
            "distance": [distance(world, other) for other in found],
            "gauge": _joined(world, found, residuals) if name in PAIRED else None,
        }
    return TrialResult(numbers)


PAIRED = {"x2|x1": False, "pairs on 3": True, "pairs on 8": True}
"""Tasks whose students are joined to the world, and whether by an orthogonal matrix."""


def _world(config: Students) -> HMM:
    if config.number == 0:
        return four_tokens()
    key = key_of(config, 41, config.number, config.hidden)
    return doubly_stochastic_world(key, hidden=config.hidden, vocab=config.vocab, least=LEAST)


def _joined(world: HMM, found: list[HMM], residuals: np.ndarray) -> dict[str, list[float]]:
    """Of the students with zero loss."""
    joins = [gauge(world, other) for other, r in zip(found, residuals, strict=True) if r < SOLVED]
    return {
        "error": [max(g.emissions, g.chain, g.sums) for g in joins],
        "orthogonality": [g.orthogonality for g in joins],
    }
