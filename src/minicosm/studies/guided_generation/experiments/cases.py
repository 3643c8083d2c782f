"""Test cases from trained generators: every arm of the source's code task, on the exact stand-in.

A trial is one ensemble of generators. For every arm its numbers hold, for each generator, a list over
repetitions: `accuracy` is Acc_distinct, the number of different correct cases (a case is its list and
item; counted for each name over all its texts) over all cases asked for, and `calls` the number of
next-token laws.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from minicosm.decoding import Backtracking, BlockBestOfN, RandomVerifier
from minicosm.lab.claims import Progress, TrialResult
from minicosm.models import CachedTransformer
from minicosm.worlds.test_case_values import CaseReferee

from .case_generator import CaseGenerators, train
from .case_verifier import (
    CaseVerifiers,
    line_examples,
    read_texts,
    token_examples,
    train_verifiers,
)  # fmt: skip
from .judges import Bench, Judge, Speaker, member


@dataclass(frozen=True)
class Cases:
    """Sizes of what is measured on the generators."""

    generators: CaseGenerators = field(default_factory=CaseGenerators)
    training_texts: int = 1_200
    """Texts, of the first half of the ordinary names, that verifiers are trained on."""
    texts: int = 10
    """Of each name."""
    tested_names: int = 10
    repetitions: int = 2
    layer: int = 2
    """That the verifier looks at, but for the ablation."""
    depths: tuple[int, ...] = (2, 4, 8)
    blocks: tuple[int, ...] = (2, 4, 8)
    grid: tuple[tuple[float, float], ...] = tuple(
        (p, t) for p in (1.0, 0.9, 0.8) for t in (0.4, 0.8, 1.0, 1.2) if (p, t) != (1.0, 1.0)
    )
    """Further baselines, as (top_p, temperature)."""

    @property
    def rows(self) -> int:
        return self.tested_names * self.texts * self.repetitions


BASE: dict[str, Any] = {"quota": 4, "stride": 4, "threshold": 0.1, "top_p": 0.95}
QUOTA = 10  # the largest: that many rejected prefixes are remembered


def arms(config: Cases) -> dict[str, tuple[Speaker, dict[str, Any], str]]:
    """Every arm with backtracking or none: who judges, its settings, and on which names."""
    nobody, probe, perfect = Speaker.NOBODY, Speaker.PROBE, Speaker.PERFECT
    plain = {"top_p": 1.0}
    hot = {"top_p": 1.0, "temperature": 1.2}
    found: dict[str, tuple[Speaker, dict[str, Any], str]] = {
        "baseline .95": (nobody, {}, "tested"),
        "baseline 1": (nobody, plain, "tested"),
        "baseline 1, T 1.2": (nobody, hot, "tested"),
        "argmax": (nobody, {"top_p": 0.0}, "tested"),
        "random .95": (Speaker.RANDOM, {}, "tested"),
        "perfect .95": (perfect, {}, "tested"),
        "perfect .95, Q 10": (perfect, {"quota": 10}, "tested"),
        "guided .95, Q 10": (probe, {"quota": 10}, "tested"),
        "baseline .95, misleading": (nobody, {}, "misleading"),
    }
    for name, threshold in (("", 0.1), (", threshold .5", 0.5)):
        cut = {"threshold": threshold}
        found[f"guided .95{name}"] = probe, cut, "tested"
        found[f"guided 1{name}"] = probe, plain | cut, "tested"
        found[f"guided 1, B 10{name}"] = probe, plain | cut | {"stride": 10}, "tested"
        found[f"guided 1, T 1.2{name}"] = probe, hot | cut, "tested"
        found[f"guided .95, misleading{name}"] = probe, cut, "misleading"
        found[f"no refill .95{name}"] = probe, cut | {"refill": "none"}, "tested"
    for top_p, temperature in config.grid:
        name = f"grid {top_p:g}, {temperature:g}"
        found[name] = nobody, {"top_p": top_p, "temperature": temperature}, "tested"
    return found


def run(config: Cases, progress: Progress, folder: Path) -> TrialResult:
    """Train the generators, then measure each."""
    recipe = config.generators
    models, history = train(recipe, progress, folder)
    numbers: dict[str, Any] = {"excess": np.asarray(history["excess"][-1]).tolist()}
    arrays: dict[str, list[list[float]]] = {}
    key = jax.random.fold_in(jax.random.key(recipe.seed), 7)
    for i in range(recipe.members):
        done = recipe.steps + i
        progress(done, recipe.steps + recipe.members, f"generator {i + 1} of {recipe.members}")
        found = measure(config, member(models, i), jax.random.fold_in(key, i))
        for name, value in found.items():
            if name == "arms":
                for arm, columns in value.items():
                    kept = numbers.setdefault("arms", {}).setdefault(arm, {})
                    for column, values in columns.items():
                        if column in ("new", "row_calls"):
                            arrays.setdefault(f"{column} {arm}", []).append(values)
                        else:
                            kept.setdefault(column, []).append(values)
            else:
                numbers.setdefault(name, []).append(value)
    return TrialResult(numbers, {name: np.asarray(rows) for name, rows in arrays.items()})


def measure(config: Cases, model: Any, key: Any) -> dict[str, Any]:
    """Every arm on one generator."""
    recipe, world = config.generators, config.generators.world
    collect_key, verifier_key, sample_key = jax.random.split(key, 3)
    generator = CachedTransformer(model, recipe.start, keep=tuple(range(1, recipe.layers + 1)))
    referee = CaseReferee(world)

    def bench(probe: Any) -> Bench:
        judge = Judge(
            probe, referee, RandomVerifier(sample_key), np.asarray(Speaker.NOBODY, np.int32)
        )
        return Bench(generator, judge, recipe.room, world.end, config.rows)

    verifiers = _verifiers(config, model, bench(_blank(recipe)), collect_key, verifier_key)
    names = {
        "tested": recipe.names // 2 + np.arange(config.tested_names) % (recipe.names // 2),
        "misleading": recipe.names + np.arange(config.tested_names) % recipe.misleading,
    }
    found: dict[str, dict[str, list[float]]] = {}
    usual = bench(verifiers.by_layer[config.layer])
    for arm, (speaker, fields, which) in arms(config).items():
        found[arm] = _run(config, usual, _settings(fields), names[which], sample_key, speaker)
    for layer, probe in verifiers.by_layer.items():
        if layer != config.layer:
            arm = f"layer {layer}"
            found[arm] = _run(
                config, bench(probe), _settings({}), names["tested"], sample_key, Speaker.PROBE
            )
    for depth, probe in verifiers.by_depth.items():
        found[f"depth {depth}"] = _run(
            config, bench(probe), _settings({}), names["tested"], sample_key, Speaker.PROBE
        )
    lines = bench(verifiers.line)
    for count in config.blocks:
        block = BlockBestOfN(
            count=count, separator=world.mark("\n"), blocks=recipe.lines, top_p=0.95
        )
        found[f"block best of {count}"] = _run(
            config, lines, block, names["tested"], sample_key, Speaker.PROBE
        )
    return {
        "arms": found,
        "probe_examples": verifiers.examples,
        "layer_accuracy": {str(k): v for k, v in verifiers.layer_accuracy.items()},
        "depth_accuracy": {str(k): v for k, v in verifiers.depth_accuracy.items()},
    }


def _settings(fields: dict[str, Any]) -> Backtracking:
    given = BASE | fields
    return Backtracking(**given, once_per_prefix=True, record=QUOTA)


def _blank(recipe: CaseGenerators) -> Any:
    from .case_verifier import StreamProbe

    weights = np.zeros((recipe.layers * recipe.width, 1), np.float32)
    return StreamProbe((weights,), (np.zeros(1, np.float32),))


def _headers(config: Cases, names: np.ndarray) -> np.ndarray:
    world = config.generators.world
    start = np.full(len(names), world.mark("def"))
    return np.stack([start, world.first_name + names, np.full(len(names), world.mark("\n"))], 1)


def _verifiers(
    config: Cases, model: Any, bench: Bench, collect_key: Any, key: Any
) -> CaseVerifiers:
    recipe = config.generators
    names = np.arange(config.training_texts) % (recipe.names // 2)
    headers = _headers(config, names)
    trace = bench(
        _settings({"top_p": 1.0}), headers, np.full(len(names), 3), collect_key, Speaker.NOBODY
    )
    tokens = np.where(trace.tokens < 0, recipe.world.end, trace.tokens)
    examples = token_examples(recipe.world, tokens, trace.lengths, recipe.seed)
    lines = line_examples(recipe.world, tokens, recipe.seed, len(examples.labels) // 2)
    return train_verifiers(recipe, model, examples, lines, key, config.depths, config.layer)


def _run(
    config: Cases, bench: Bench, sampler: Any, names: np.ndarray, key: Any, speaker: Speaker
) -> dict[str, list[float]]:
    """One arm: for every repetition its Acc_distinct, the share of correct cases, and its calls."""
    world = config.generators.world
    rows = np.tile(np.repeat(names, config.texts), config.repetitions)
    trace = bench(sampler, _headers(config, rows), np.full(len(rows), 3), key, speaker)
    tokens = np.where(trace.tokens < 0, world.end, trace.tokens)
    _, _, correct, case = map(np.asarray, read_texts(world, tokens))
    asked = config.generators.lines * config.texts * config.tested_names
    size = config.texts * config.tested_names
    found: dict[str, list[float]] = {}
    for first in range(0, len(rows), size):
        # Texts in turn: the first of every name, then the second, ...
        order = first + np.arange(size).reshape(-1, config.texts).T.reshape(-1)
        seen: set[tuple[int, int]] = set()
        new = []
        for row in order:
            before = len(seen)
            seen |= {(int(rows[row]), int(c)) for c in case[row][correct[row]]}
            new.append(float(len(seen) - before))
        values = {
            "accuracy": len(seen) / asked,
            "correct": float(correct[order].sum()) / asked,
            "calls": float(trace.calls[order].sum()),
            "calls_each": float(trace.calls[order].mean()),
            "backtracks": float(trace.backtracks[order].mean()),
        }
        for name, value in values.items():
            found.setdefault(name, []).append(value)
        if first == 0:
            found["new"], found["row_calls"] = new, trace.calls[order].tolist()
    return found
