"""Recall of the support by batch: from the one-step teacher, from labels, from a leak."""

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory import distillation as theory

from ..trials import Batches

K = 4


def run(config: Batches, progress: Progress) -> TrialResult:
    first = 1000 * config.seed + 600
    seeds = range(first, first + config.seeds)
    arrays = {}
    total = len(config.teacher_dims) + len(config.label_dims) + len(config.leaks)
    done = 0
    recalls = []
    for d in config.teacher_dims:
        progress(done, total, f"teacher, d = {d}")
        sizes = config.teacher_batches
        recalls.append(
            [theory.recall_by_batch("teacher", d, K, config.width, sizes, s) for s in seeds]
        )
        done += 1
    arrays["teacher"] = np.array(recalls)
    recalls = []
    for d in config.label_dims:
        progress(done, total, f"labels, d = {d}")
        sizes = config.label_batches
        recalls.append(
            [theory.recall_by_batch("labels", d, K, config.width, sizes, s) for s in seeds]
        )
        done += 1
    arrays["labels"] = np.array(recalls)
    recalls = []
    for leak in config.leaks:
        progress(done, total, f"leak of {leak}")
        sizes, d = config.leak_batches, config.leak_dim
        recalls.append(
            [theory.recall_by_batch("leak", d, K, config.width, sizes, s, leak) for s in seeds]
        )
        done += 1
    arrays["leak"] = np.array(recalls)
    return TrialResult({"seeds": config.seeds}, arrays)
