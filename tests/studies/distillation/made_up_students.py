"""Results of teachers and students as they would be if all went as the source says."""

import numpy as np

from minicosm.lab import TrialResult
from minicosm.studies.distillation import STUDY, trials

CLAIMS = {claim.id.removeprefix("distillation/"): claim for claim in STUDY.claims}
T90 = {  # in units of the teacher's own time; infinite: never
    "labels": np.inf, "one-shot, warm": np.inf, "one-shot": np.inf, "progressive": 1.2, "before": np.inf,
    "start": 0.8, "middle": 0.6, "end": 2.0, "after": np.inf, "middle, tau .01": 0.6,
    "middle, tau 1": 1.4, "low degree alone": 0.7, "low degree removed": np.inf, "labels, wide": 1.1,
}  # fmt: skip


def rising(steps, when):
    """Accuracy that is .5 before a step and 1 from it on."""
    return np.where(steps >= when, 1.0, 0.5)


def parity(**changed):
    """One trial; keywords replace times of arms, numbers or arrays."""
    config = trials.parity("laptop", 0)["parity"].config
    steps = np.arange(config.chunk, config.steps + 1, config.chunk)
    own = 30_000 + 2000 * (np.arange(config.seeds) % 4)
    times = T90 | changed.pop("times", {})
    curves = {}
    for arm, factor in times.items():
        factors = np.broadcast_to(factor, config.seeds)
        jitter = 1 + 0.02 * np.sin(np.arange(config.seeds))
        ends = own * factors * jitter
        curves[f"curve_{arm}"] = np.stack([rising(steps, end) for end in ends], axis=1)
    numbers = {
        "teacher": [1.0] * config.seeds,
        "start": (own - 4000).tolist(),
        "middle": (own - 2000).tolist(),
        "end": (own + 2000).tolist(),
    }
    shape = (len(steps), config.seeds, config.k - 1)
    on, off = np.full(shape, 0.004), np.full(shape, 0.004)
    for i, middle in enumerate(numbers["middle"]):
        on[np.argmin(np.abs(steps - middle)), i] = [0.02, 0.05, 0.01]
        on[:, i] *= 1 + 0.05 * np.sin(i)
    arrays = {
        "steps": steps,
        "teacher_curve": np.stack([rising(steps, end) for end in own], axis=1),
        "on": on, "off": off, "label": np.full(shape[:2], 0.5),
        "variables": np.full((len(steps), config.d), 0.01), **curves,
    }  # fmt: skip
    numbers |= {name: changed.pop(name) for name in list(changed) if name in numbers}
    return {"parity": TrialResult(numbers, arrays | changed, config)}


SOLVED = {
    "labels": 0,
    "early": 0,
    "root": 0,
    "between": 0,
    "child": 0,
    "late": 0,
    "two": 1,
    "progressive": 1,
}


def hierarchy(**changed):
    config = trials.hierarchy("laptop", 0)["hierarchy"].config
    steps = np.arange(config.chunk, config.teacher_steps + 1, config.chunk)
    later = np.arange(config.chunk, config.steps + 1, config.chunk)
    seeds = np.arange(config.seeds)
    solved = SOLVED | changed.pop("solved", {})
    curves = {}
    for arm, whole in solved.items():
        last = np.where(np.broadcast_to(whole, config.seeds) > 0, 1.0, 0.75)
        curve = np.full((len(later), config.seeds), 0.5)
        curve[-1] = last
        curves[f"curve_{arm}"] = curve
    numbers = {
        "teacher": [1.0] * config.seeds,
        "root": (190_000.0 + 5000 * (seeds % 2)).tolist(),
        "child": (205_000.0 + 5000 * (seeds % 3)).tolist(),
    }
    numbers |= {name: changed.pop(name) for name in list(changed) if name in numbers}
    arrays = {
        "steps": steps, "student_steps": later, "teacher_curve": np.ones((len(steps), config.seeds)),
        "blocks": np.full((len(steps), config.seeds, 3), 0.01), **curves,
    }  # fmt: skip
    return {"hierarchy": TrialResult(numbers, arrays | changed, config)}
