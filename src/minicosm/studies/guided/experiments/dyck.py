"""The bracket sandbox: generators, their mistakes, a verifier for each, and every table.

A trial is one ensemble of generators. Its numbers are lists over generators, in their order, under names
that may be nested.
"""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from minicosm.adaptation import probes
from minicosm.decoding import DyckVerifier, ProbeVerifier
from minicosm.lab import Progress, TrialResult
from minicosm.models import CachedTransformer

from ..trials import Sandbox
from . import dyck_tables as tables
from .dyck_generator import (
    END,
    START,
    completion_error,
    draw,
    mass_on_errors,
    prompts,
    referee,
    train,
    training_world,
)
from .dyck_leaves import LearnedValue, Leaves, unknown_lengths
from .dyck_values import learn_value, trade_off
from .dyck_verifier import collect, train_verifier
from .judges import Bench, Judge, Speaker, kept_in, member, stacked


def run(config: Sandbox, progress: Progress, folder: Path) -> TrialResult:
    """Train the generators, then measure each."""
    models, history = train(config, progress, folder)
    parts: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {
        "history_steps": history["step"], "history_loss": history["loss"],
        "history_ood": history["ood"],
    }  # fmt: skip
    key = jax.random.fold_in(jax.random.key(config.seed), 7)
    for i in range(config.members):
        done = config.steps + i
        progress(done, config.steps + config.members, f"generator {i + 1} of {config.members}")
        result, pictures = kept_in(
            folder / f"generator{i}.npz",
            partial(measure, config, member(models, i), jax.random.fold_in(key, i)),
        )
        result["kept_step"] = int(history["kept"][i])
        at = int(np.searchsorted(history["step"], history["kept"][i]))
        result["kept_ood"] = float(history["ood"][at, i])
        parts.append(result)
        if i == 0:
            arrays |= pictures
    return TrialResult(stacked(parts), arrays)


def bench_of(
    config: Sandbox, model: Any, probe: ProbeVerifier, mistakes: np.ndarray | None = None
) -> Bench:
    """With a verifier that is asked about strings of lengths at which it knows `mistakes`."""
    perfect = DyckVerifier(2, config.length, END)
    unknown = None if mistakes is None else unknown_lengths(mistakes, config.length + 1)
    learned = LearnedValue.of(probe, config.length, Leaves.ACCEPTED, unknown)
    judge = Judge(learned, perfect, None, np.asarray(Speaker.NOBODY, np.int32))
    generator = CachedTransformer(model, START)
    return Bench(generator, judge, config.length + 1, END, config.rows)


def measure(config: Sandbox, model: Any, key: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Everything about one generator: numbers, and arrays for pictures."""
    keys = dict(
        zip(
            ("strings", "collect", "verifier", "forced", "quota", "unseen", "asked", "diverse",
             "diverse prompts", "value", "trade-off", "errors"),
            jax.random.split(key, 12), strict=True,
        )
    )  # fmt: skip
    result: dict[str, Any] = {}
    strings = draw(training_world(config), keys["strings"], config.strings)
    _, right, closed = map(np.asarray, mass_on_errors(model, referee(config), strings))
    result["closing"] = float(right[closed].mean())
    result["error"] = {
        name: float(completion_error(model, referee(config), asked.tokens, asked.lengths))
        for name, shifted in (("in", False), ("out", True))
        for asked in [prompts(config, keys["errors"], config.strings, shifted=shifted)]
    }

    blank = np.zeros((config.width, 1), np.float32)
    none = probes.ProbeVerifier((blank,), (np.zeros(1, np.float32),))
    bench = bench_of(config, model, none)
    mistakes = collect(config, bench, keys["collect"], config.mistakes, config.asked)
    result |= {
        "asked": mistakes.asked, "wrong": mistakes.wrong, "mistakes": len(mistakes.lengths),
        "ood": mistakes.wrong / mistakes.asked,
    }  # fmt: skip
    trained = train_verifier(
        config, model, mistakes, keys["verifier"], config.repeats, config.share
    )
    result["probe"] = trained.accuracies.tolist()
    seen = np.delete(mistakes.lengths, trained.held_out)
    bench = bench_of(config, model, trained.probe, seen)

    result["forced"] = tables.forced_backtracks(config, bench, mistakes, keys["forced"])
    result["quota"] = tables.quota_by_stride(
        config, bench, mistakes, trained.held_out, keys["quota"]
    )
    asked = prompts(config, keys["asked"], config.unseen)
    result["unseen"], traces = tables.unseen(config, bench, asked, keys["unseen"])
    printed, other, judged = traces.values()
    result["remaining"] = tables.remaining_mistakes(config, model, printed)
    result["remaining_other"] = tables.remaining_mistakes(config, model, other, 0)
    result["remaining_judged"] = tables.remaining_mistakes(config, model, judged, 0)
    result["where"] = {
        "mistakes": np.bincount(mistakes.lengths, minlength=bench.length + 1).tolist(),
        "fired": tables.where_fired(printed, bench.length),
        "fired, all strings judged": tables.where_fired(judged, bench.length),
    }
    few = prompts(config, keys["diverse prompts"], config.diverse)
    result["diversity"] = tables.diversity(
        config, bench, few, keys["diverse"], config.diverse_draws
    )

    value = learn_value(config, bench, keys["value"], config.rollouts, config.value_rows)
    result["trade_off"] = trade_off(
        config, bench, value, few, keys["trade-off"], config.diverse_draws, config.blocks
    )

    wrong = trained.features[trained.labels == 0]
    seeds = np.random.default_rng(config.seed)
    shuffled = [
        probes.best_silhouette(
            trained.features[seeds.choice(len(trained.features), len(wrong), replace=False)], k
        )
        for k in range(3)
    ]
    result["silhouette"] = {
        "errors": probes.best_silhouette(wrong, 0), "shuffled": float(np.mean(shuffled)),
    }  # fmt: skip
    pictures = {"states": trained.features.astype(np.float32), "labels": trained.labels}
    return result, pictures
