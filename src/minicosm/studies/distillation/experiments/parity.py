"""Students of one sparse parity: from labels, from the final teacher, from its checkpoints.

Numbers, lists over seeds: `teacher`: accuracy of the teacher at the end; `start`, `middle`, `end`: the first
steps with accuracy above .55, .75 and .97 (None: never). Arrays: `steps`; `teacher_curve` and `curve_<arm>`
`[step, seed]`, accuracy on held-out inputs; `on`, `off` `[step, seed, degree - 1]`, mean correlation of the
teacher's probability of class 1 with monomials on and off the support; `label` `[step, seed]`, that with the
product of the whole support; `variables` `[step, coordinate]`, the first teacher's with every variable.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.lab import Progress, TrialResult
from minicosm.training import LABELS, labels_only, one_shot, progressive, transition, two_shot
from minicosm.worlds import SparseParity
from minicosm.worlds.arrays import AnyArray

from ..trials import Parity
from .mlps import (
    Arm,
    correlation_means,
    held_out,
    key_of,
    nearest,
    probabilities,
    same,
    students,
    teachers,
)

BEFORE = 0.6
"""Of the step at which the transition starts: the early checkpoint."""
FOURIER = 2**16
"""Inputs from which the Fourier coefficients of a checkpoint on the support are estimated."""


class Edited(eqx.Module):
    """A teacher of two classes whose low-degree part on the support is taught alone, or is taken away.

    With g = 2 p_1 - 1 of the model and its Fourier coefficients on proper subsets of the support as
    `low`, the teacher says the sign of `keep g + part * low(x)`; with part = 0 it is the model itself.
    """

    model: Any
    coefficients: Float[AnyArray, "*stack subsets"]
    keep: Float[AnyArray, "*stack"]
    part: Float[AnyArray, "*stack"]
    support: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " 2"]:
        logits = self.model(x)
        half = (logits[0] - logits[1]) / 2
        low = jnp.asarray(self.coefficients) @ subset_products(x[jnp.asarray(self.support)])
        side = jnp.where(self.part == 0, half, self.keep * jnp.tanh(half) + self.part * low)
        return jnp.stack([side, -side])


def subset_products(x: Float[Array, " k"]) -> Float[Array, " subsets"]:
    """`prod_{j in U} x_j` for all U, at the number whose bits are U."""
    found = jnp.ones(1)
    for j in range(x.shape[0]):
        found = jnp.concatenate([found, found * x[j]])
    return found


def run(config: Parity, progress: Progress, folder: Path) -> TrialResult:
    world = SparseParity(config.d, config.k)
    held = held_out(world, key_of(config.seed, "held out"), config.tests)
    trajectory, curve = teachers(
        world, config.seed, config.seeds, config.teacher, config.rate, config.steps, config.chunk, held,
        progress, folder,
    )  # fmt: skip
    steps = trajectory.steps
    phases = [transition(steps, curve[:, i]) for i in range(config.seeds)]
    arrays = _correlations(config, world, trajectory)
    found = students(
        world, _arms(config, world, trajectory, phases), trajectory, config.seed, config.student,
        config.rate, config.steps, config.chunk, held, progress, folder,
    )  # fmt: skip
    wide = students(
        world, {"labels, wide": Arm(same(labels_only(), config.seeds))}, trajectory, config.seed,
        config.wide, config.rate, config.steps, config.chunk, held, progress, folder,
    )  # fmt: skip
    numbers = {
        "teacher": curve[-1].tolist(),
        "start": [phase.start for phase in phases],
        "middle": [phase.middle for phase in phases],
        "end": [phase.end for phase in phases],
    }
    curves = {f"curve_{name}": found_curve for name, found_curve in (found | wide).items()}
    return TrialResult(numbers, {"steps": steps, "teacher_curve": curve, **arrays, **curves})


def _arms(config: Parity, world: SparseParity, trajectory: Any, phases: list) -> dict[str, Arm]:
    """Who follows what. A seed whose teacher has no transition follows the final checkpoint; no claim
    counts it."""
    steps, seeds, last = trajectory.steps, config.seeds, len(trajectory.steps) - 1

    def shots(wanted: list[float | None], final: int = last) -> list:
        return [
            two_shot(last if step is None else nearest(steps, step), config.shot, final)
            for step in wanted
        ]

    starts = [phase.start for phase in phases]
    before = [None if s is None else max(BEFORE * s, float(steps[0])) for s in starts]
    after = [None if p.end is None else p.end + config.later for p in phases]
    middle = [phase.middle for phase in phases]
    every = [nearest(steps, s) for s in range(config.every, config.steps + 1, config.every)]
    edits = _edits(world, trajectory, middle, config.seed)
    return {
        "labels": Arm(same(labels_only(), seeds), edit=edits[0.0]),
        "one-shot, warm": Arm(same(one_shot(last + 1), seeds), 1.0, edits[0.0]),
        "one-shot": Arm(same(one_shot(last + 1), seeds), 0.0, edits[0.0]),
        "progressive": Arm(same(progressive(every, config.every), seeds)),
        "before": Arm(shots(before), edit=edits[0.0]),
        "start": Arm(shots(starts), edit=edits[0.0]),
        "middle": Arm(shots(middle), edit=edits[0.0]),
        "end": Arm(shots([phase.end for phase in phases]), edit=edits[0.0]),
        "after": Arm(shots(after), edit=edits[0.0]),
        "middle, tau .01": Arm(shots(middle), 1e-2, edits[0.0]),
        "middle, tau 1": Arm(shots(middle), 1.0, edits[0.0]),
        "low degree alone": Arm(shots(middle, LABELS), edit=edits[1.0]),
        "low degree removed": Arm(shots(middle, LABELS), edit=edits[-1.0]),
    }


def _edits(world: SparseParity, trajectory: Any, middle: list, seed: int) -> dict[float, Any]:
    """For part = 0, 1, -1 the function that makes `Edited` teachers of a seed's checkpoints, each with the
    coefficients of that seed's checkpoint in the middle of its transition."""
    x = np.where(
        np.asarray(jax.random.bernoulli(key_of(seed, "Fourier"), 0.5, (FOURIER, world.d))), 1.0, -1.0
    ).astype(np.float32)  # fmt: skip
    products = np.asarray(jax.vmap(subset_products)(jnp.asarray(x[:, list(world.support)])))
    known = []
    for i, step in enumerate(middle):
        number = len(trajectory.steps) - 1 if step is None else trajectory.index(int(step))
        model = trajectory.member(i).take(np.array([number]))
        values = 2 * np.asarray(probabilities(model, jnp.asarray(x)))[0, :, 0] - 1
        coefficients = values @ products / len(x)
        coefficients[-1] = 0.0  # the product of the whole support is no low-degree part
        known.append(coefficients.astype(np.float32))

    def editor(part: float) -> Any:
        def edit(i: int, models: Any) -> Edited:
            count = np.shape(jax.tree.leaves(eqx.filter(models, eqx.is_array))[0])[0]
            return Edited(
                models,
                np.tile(known[i], (count, 1)),
                np.full(count, 0.0 if part == 1 else 1.0, np.float32),
                np.full(count, part, np.float32),
                world.support,
            )

        return edit

    return {part: editor(part) for part in (0.0, 1.0, -1.0)}


def _correlations(config: Parity, world: SparseParity, trajectory: Any) -> dict[str, np.ndarray]:
    probes = held_out(world, key_of(config.seed, "probes"), config.probes)
    degrees = range(1, min(config.k, 4))
    shape = (len(trajectory), config.seeds, len(degrees))
    on, off, label = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    variables = np.zeros((len(trajectory), world.d))
    truth = 1.0 - 2.0 * probes.labels
    for t in range(len(trajectory)):
        said = np.asarray(probabilities(trajectory.take(t), jnp.asarray(probes.x)))[..., 0]
        label[t] = np.abs(said @ truth) / len(truth)
        variables[t] = np.abs(said[0] @ probes.x) / len(truth)
        for i in range(config.seeds):
            for j, degree in enumerate(degrees):
                means = correlation_means(said[i], probes.x, [world.support], degree)
                on[t, i, j], off[t, i, j] = means
    return {"on": on, "off": off, "label": label, "variables": variables}
