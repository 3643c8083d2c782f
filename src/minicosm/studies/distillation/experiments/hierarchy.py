"""Students of a decision tree of parities: how many checkpoints they need.

Numbers, lists over seeds: `teacher`: accuracy at the end; `root`, `child`: the steps at which the teacher's
correlation with pairs of the root's block, and of the block of its left child, is largest. Arrays: `steps`,
`student_steps`; `teacher_curve` and `curve_<arm>` `[step, seed]`; `blocks` `[step, seed, group]`, mean
correlation of the probability of class 0 with pairs inside each block on the way to it, and with all others.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.training import Curriculum, labels_only, progressive, two_shot
from minicosm.worlds import HierarchicalParity

from ..trials import SINGLES, Hierarchy
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

RUN = 1_000_003
"""Added to seeds: a first run had eight trees, after which their number was raised, and the keys of this one
are new."""


def run(config: Hierarchy, progress: Progress, folder: Path) -> TrialResult:
    world = HierarchicalParity(config.d, config.k, config.depth)
    seed = config.seed + RUN
    held = held_out(world, key_of(seed, "held out", "tree"), config.tests)
    trajectory, curve = teachers(
        world, seed, config.seeds, config.teacher, config.rate, config.teacher_steps, config.chunk,
        held, progress, folder,
    )  # fmt: skip
    steps, last = trajectory.steps, len(trajectory) - 1
    blocks = _blocks(config, world, trajectory)
    peaks = steps[np.argmax(blocks[:, :, :2], axis=0)]  # [seed, root or child]
    root, child = peaks[:, 0].astype(float), peaks[:, 1].astype(float)
    places = {
        "early": 0.8 * root, "root": root, "between": (root + child) / 2, "child": child,
        "late": 1.1 * child,
    }  # fmt: skip

    def number(wanted: float) -> int:
        return nearest(steps, wanted)

    arms = {
        name: Arm([two_shot(number(step), config.shot, last) for step in places[name]])
        for name in SINGLES
    }
    arms["two"] = Arm(
        [
            Curriculum([number(a), number(b), last], [config.shot, config.shot])
            for a, b in zip(np.minimum(root, child), np.maximum(root, child), strict=True)
        ]
    )
    arms["labels"] = Arm(same(labels_only(), config.seeds))
    arms["progressive"] = Arm(same(progressive(range(len(steps)), config.chunk), config.seeds))
    curves = students(
        world, arms, trajectory, seed, config.student, config.rate, config.steps, config.chunk,
        held, progress, folder,
    )  # fmt: skip
    arrays = {
        "steps": steps,
        "student_steps": np.arange(config.chunk, config.steps + 1, config.chunk),
        "teacher_curve": curve,
        "blocks": blocks,
        **{f"curve_{name}": found for name, found in curves.items()},
    }
    numbers = {"teacher": curve[-1].tolist(), "root": root.tolist(), "child": child.tolist()}
    return TrialResult(numbers, arrays)


def _blocks(config: Hierarchy, world: HierarchicalParity, trajectory: object) -> np.ndarray:
    probes = held_out(world, key_of(config.seed + RUN, "probes", "tree"), config.probes)
    groups = [world.blocks[node - 1] for node in world.way(0)]
    found = np.zeros((len(trajectory), config.seeds, len(groups) + 1))  # type: ignore[arg-type]
    for t in range(len(found)):
        said = np.asarray(probabilities(trajectory.take(t), jnp.asarray(probes.x)))[..., 0]  # type: ignore
        for i in range(config.seeds):
            found[t, i] = correlation_means(said[i], probes.x, groups, 2)
    return found
