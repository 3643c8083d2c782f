"""The bracket sandbox: generators, their mistakes, a verifier for each, and every table.

A trial is one ensemble of generators. Its numbers are lists over generators, in their order.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from minicosm.adaptation import probes
from minicosm.decoding import DyckVerifier, ProbeVerifier
from minicosm.lab import Progress, TrialResult
from minicosm.models import CachedTransformer

from . import dyck_tables as tables
from .dyck_generator import END, START, Generators, draw, mass_on_errors, prompts, train
from .dyck_leaves import LearnedValue
from .dyck_values import learn_value, trade_off
from .dyck_verifier import collect, train_verifier
from .judges import Bench, Judge, Speaker, member


@dataclass(frozen=True)
class Sandbox:
    """Sizes of everything that is measured on the generators."""

    generators: Generators = field(default_factory=Generators)
    mistakes: int = 400
    """Wanted of each generator."""
    asked: int = 30_000
    """Prompts that are asked for them at most."""
    share: float = 0.6
    """Of the mistakes, for training the verifier; the others are held out."""
    repeats: int = 5
    """Splits on which verifiers are trained for their accuracy."""
    draws: int = 3
    """Completions of each held-out prompt."""
    unseen: int = 4_800
    unseen_repeats: int = 1
    diverse: int = 100
    diverse_draws: int = 10
    rollouts: int = 4_800
    value_rows: int = 8_000
    """Completions, and prefixes of them, that the value is learned from."""
    blocks: tuple[int, ...] = (2, 4, 8)
    """Candidates of block best-of-n beside the value."""
    strings: int = 2_000
    """In distribution, for closing accuracy."""
    chunk: int = 480
    modes: tuple[str, ...] = ("printed", "refill checked", "released")


def run(config: Sandbox, progress: Progress, folder: Path) -> TrialResult:
    """Train the generators, then measure each."""
    recipe = config.generators
    models, history = train(recipe, progress, folder)
    numbers: dict[str, list[Any]] = {}
    arrays: dict[str, np.ndarray] = {
        "history_steps": history["step"], "history_loss": history["loss"],
        "history_ood": history["ood"],
    }  # fmt: skip
    key = jax.random.fold_in(jax.random.key(recipe.seed), 7)
    for i in range(recipe.members):
        done = recipe.steps + i
        progress(done, recipe.steps + recipe.members, f"generator {i + 1} of {recipe.members}")
        found, pictures = measure(config, member(models, i), jax.random.fold_in(key, i))
        found["kept_step"] = int(history["kept"][i])
        at = int(np.searchsorted(history["step"], history["kept"][i]))
        found["kept_ood"] = float(history["ood"][at, i])
        for name, value in found.items():
            numbers.setdefault(name, []).append(value)
        if i == 0:
            arrays |= pictures
    return TrialResult(numbers, arrays)


def bench_of(config: Sandbox, model: Any, probe: ProbeVerifier) -> Bench:
    recipe = config.generators
    perfect = DyckVerifier(2, recipe.length, END)
    learned = LearnedValue.of(probe, recipe.length)
    judge = Judge(learned, perfect, None, np.asarray(Speaker.NOBODY, np.int32))
    generator = CachedTransformer(model, START)
    return Bench(generator, judge, recipe.length + 1, END, config.chunk)


def measure(config: Sandbox, model: Any, key: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Everything about one generator: numbers, and arrays for pictures."""
    recipe = config.generators
    keys = dict(
        zip(
            ("strings", "collect", "verifier", "forced", "quota", "unseen", "asked", "diverse",
             "diverse prompts", "value", "trade-off"),
            jax.random.split(key, 11), strict=True,
        )
    )  # fmt: skip
    found: dict[str, Any] = {}
    strings = draw(recipe.world, keys["strings"], config.strings)
    _, right, closed = map(np.asarray, mass_on_errors(model, recipe.referee, strings))
    found["closing"] = float(right[closed].mean())

    blank = np.zeros((recipe.width, 1), np.float32)
    none = probes.ProbeVerifier((blank,), (np.zeros(1, np.float32),))
    bench = bench_of(config, model, none)
    mistakes = collect(recipe, bench, keys["collect"], config.mistakes, config.asked)
    found |= {
        "asked": mistakes.asked, "wrong": mistakes.wrong, "mistakes": len(mistakes.lengths),
        "ood": mistakes.wrong / mistakes.asked,
    }  # fmt: skip
    trained = train_verifier(
        recipe, model, mistakes, keys["verifier"], config.repeats, config.share
    )
    found["probe"] = trained.accuracies.tolist()
    bench = bench_of(config, model, trained.probe)

    found["forced"] = tables.forced_backtracks(recipe, bench, mistakes, keys["forced"])
    found["quota"] = tables.quota_by_stride(
        recipe, bench, mistakes, trained.held_out, keys["quota"], config.modes, config.draws
    )
    asked = prompts(recipe, keys["asked"], config.unseen)
    found["unseen"], traces = tables.unseen(
        recipe, bench, asked, keys["unseen"], config.unseen_repeats, config.modes
    )
    printed, other, unasked = traces.values()
    found["remaining"] = tables.remaining_mistakes(recipe, model, printed)
    found["remaining_other"] = tables.remaining_mistakes(recipe, model, other, 0)
    found["remaining_unasked"] = tables.remaining_mistakes(recipe, model, unasked, 0)
    found["fired_at_end"] = tables.share_at_end(printed, recipe.length + 1)
    found["other_mode"] = config.modes[-1]
    few = prompts(recipe, keys["diverse prompts"], config.diverse)
    found["diversity"] = tables.diversity(recipe, bench, few, keys["diverse"], config.diverse_draws)

    value = learn_value(recipe, bench, keys["value"], config.rollouts, config.value_rows)
    found["trade_off"] = trade_off(
        recipe, bench, value, few, keys["trade-off"], config.diverse_draws, config.blocks
    )

    wrong = trained.features[trained.labels == 0]
    seeds = np.random.default_rng(recipe.seed)
    shuffled = [
        probes.best_silhouette(
            trained.features[seeds.choice(len(trained.features), len(wrong), replace=False)], k
        )
        for k in range(3)
    ]
    found["silhouette"] = {
        "errors": probes.best_silhouette(wrong, 0), "shuffled": float(np.mean(shuffled)),
    }  # fmt: skip
    pictures = {
        "plane": probes.principal_plane(trained.features), "plane_labels": trained.labels,
    }  # fmt: skip
    return found, pictures
