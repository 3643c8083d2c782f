"""Fits of Gaussian worlds to exact predictors from random starts."""

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.identifiability import distance, recover_gaussian
from minicosm.theory.identifiability.students import GaussianStudent
from minicosm.training import least_squares
from minicosm.worlds import GaussianHMM, MaskedTask, gaussian_world, predictor

from ..suites.worlds import key_of
from ..trials import BlindSize

TASKS = ("x2|x1", "x2,x3|x1", "x1,x3|x2")
SOLVED = 1e-8
SAME = 1e-4  # distance below which two fits are one solution


def blind(config: BlindSize, progress: Progress) -> TrialResult:
    """Of every world and task: how many starts end with an exact fit, how many different worlds these are,
    the distance of the nearest to the truth, and how many solutions the predictor has by computing them."""
    found: dict[str, list] = {
        name: [] for name in ("task", "world", "exact", "solutions", "nearest", "computed")
    }
    d, k = config.dimension, config.hidden
    for number in range(config.each):
        world = gaussian_world(key_of(config, 70, d, k, number), hidden=k, dimension=d)
        point_key, start_key = jax.random.split(key_of(config, 71, d, k, number))
        for i, task in enumerate(TASKS):
            progress(number * len(TASKS) + i, config.each * len(TASKS), task)
            with jax.enable_x64(True):
                x = 1.5 * jax.random.normal(point_key, (config.points, d), jnp.float64)
                target = predictor(world, task)(np.asarray(x))
                student = GaussianStudent(jnp.asarray(target), x, MaskedTask.parse(task), k)
                starts = jax.random.normal(
                    jax.random.fold_in(start_key, i), (config.starts, student.size), jnp.float64
                )
                fitted = least_squares(student, starts, steps=config.steps)
                thetas = np.asarray(fitted.parameters)[np.asarray(fitted.residual) < SOLVED]
                worlds = [student.world(theta) for theta in thetas]
            different = _different(worlds)
            computed = recover_gaussian(predictor(world, task), task, hidden=k, dimension=d)
            row = {
                "task": task,
                "world": number,
                "exact": len(worlds),
                "solutions": len(different),
                "nearest": min((distance(world, w) for w in different), default=np.nan),
                "computed": len(computed),
            }
            for name, value in row.items():
                found[name].append(value)
    return TrialResult({"fits": found})


def _different(worlds: list[GaussianHMM]) -> list[GaussianHMM]:
    kept: list[GaussianHMM] = []
    for world in worlds:
        if all(distance(world, other) > SAME for other in kept):
            kept.append(world)
    return kept
