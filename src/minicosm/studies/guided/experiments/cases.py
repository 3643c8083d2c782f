"""Test cases from trained generators: every arm of the source's code task, on the exact stand-in.

A trial is one ensemble of generators. An arm is a way to sample; for every generator and repetition
it has `accuracy`, which is Acc_distinct: the number of different correct cases (a case is its list and
item; counted for each name over all its texts) over all cases asked for; `correct`, the same without
"different"; `calls`, next-token laws for a text, and `most_calls` of any text; and `backtracks` of a
text. All arms of a generator draw with the same key, so that two of them write the same until a
verifier speaks.
"""

from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.decoding import Backtracking, BlockBestOfN, RandomVerifier
from minicosm.lab import Progress, TrialResult
from minicosm.models import CachedTransformer
from minicosm.worlds.guided.case_values import CaseReferee, CaseValue

from ..trials import Cases
from .case_generator import HEADER, case_world, excess, start_token, train
from .case_verifier import (
    CaseVerifiers,
    blank_probe,
    line_examples,
    read_texts,
    token_examples,
    train_verifiers,
)
from .judges import Bench, Judge, Speaker, kept_in, member, stacked


class Arm(NamedTuple):
    """A way to sample: who judges, what differs from `BASE`, and whether names mislead."""

    speaker: Speaker
    settings: dict[str, Any]
    misleading: bool = False


BASE: dict[str, Any] = {"quota": 4, "stride": 4, "threshold": 0.1, "top_p": 0.95}
MOST_QUOTA = 10  # of all arms: that many rejected prefixes are remembered


def arms(config: Cases) -> dict[str, Arm]:
    """All arms of Algorithm 1 with the usual probe, and those that need none."""
    plain = {"top_p": 1.0}
    hot = {"top_p": 1.0, "temperature": 1.2}
    result = {
        "baseline .95": Arm(Speaker.NOBODY, {}),
        "baseline 1": Arm(Speaker.NOBODY, plain),
        "baseline 1, T 1.2": Arm(Speaker.NOBODY, hot),
        "baseline .95, misleading": Arm(Speaker.NOBODY, {}, True),
        "argmax": Arm(Speaker.NOBODY, {"top_p": 0.0}),
        "random .95": Arm(Speaker.RANDOM, {}),
        "perfect .95": Arm(Speaker.PERFECT, {}),
        "perfect .95, Q 10": Arm(Speaker.PERFECT, {"quota": 10}),
        "guided .95, Q 10": Arm(Speaker.PROBE, {"quota": 10}),
    }
    for name, threshold in (("", 0.1), (", threshold .5", 0.5)):
        cut = {"threshold": threshold}
        result |= {
            f"guided .95{name}": Arm(Speaker.PROBE, cut),
            f"guided 1{name}": Arm(Speaker.PROBE, plain | cut),
            f"guided 1, B 10{name}": Arm(Speaker.PROBE, plain | cut | {"stride": 10}),
            f"guided 1, T 1.2{name}": Arm(Speaker.PROBE, hot | cut),
            f"guided .95, misleading{name}": Arm(Speaker.PROBE, cut, True),
            f"no refill .95{name}": Arm(Speaker.PROBE, cut | {"refill": "none"}),
        }
    for top_p, temperature in config.grid:
        settings = {"top_p": top_p, "temperature": temperature}
        result[f"grid {top_p:g}, {temperature:g}"] = Arm(Speaker.NOBODY, settings)
    return result


def run(config: Cases, progress: Progress, folder: Path) -> TrialResult:
    """Train the generators, then measure each."""
    models = train(config, progress, folder)
    result = []
    for i in range(config.members):
        progress(i, config.members, f"generator {i + 1} of {config.members}")
        key = jax.random.fold_in(jax.random.key(config.seed), 2 + i)
        one = partial(measure, config, member(models, i), key)
        result.append(kept_in(folder / f"generator{i}.npz", one))
    numbers = stacked([part for part, _ in result])
    numbers |= {"excess": excess(config, models).tolist(), "exact_correct": _exact_correct(config)}
    numbers["new_tokens"] = config.room - HEADER
    curves = {name: np.stack([part[name] for _, part in result]) for name in result[0][1]}
    return TrialResult(numbers, curves)


def _exact_correct(config: Cases) -> list[float]:
    """The probability that the exact law's first line is correct, for an ordinary name and a
    misleading one."""
    world = case_world(config)
    value = CaseValue(world)

    @jax.jit
    def at_first_line(name: Int[Array, ""]) -> Float[Array, ""]:
        return value.value(reduce(world.step, world.header(name), world.start()))

    return [float(at_first_line(name)) for name in (0, config.names)]


def measure(
    config: Cases, model: Any, key: PRNGKeyArray
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Every arm on one generator: its numbers, and its curves of calls and new cases, text by text."""
    world = case_world(config)
    collect_key, verifier_key, sample_key = jax.random.split(key, 3)
    generator = CachedTransformer(
        model, start_token(config), keep=tuple(range(1, config.layers + 1))
    )
    random = RandomVerifier(sample_key)

    def bench(probe: Any) -> Bench:
        judge = Judge(probe, CaseReferee(world), random, np.asarray(Speaker.NOBODY, np.int32))
        return Bench(generator, judge, config.room, world.end, _size(config) * config.repetitions)

    half = config.names // 2
    tested = half + np.arange(config.tested_names)
    misleading = config.names + np.arange(config.tested_names)
    verifiers = _verifiers(config, model, bench(blank_probe(config)), collect_key, verifier_key)
    measured: dict[str, Any] = {}
    curves: dict[str, np.ndarray] = {}

    def sample(arm: str, probe: Any, sampler: Any, names: np.ndarray, speaker: Speaker) -> None:
        measured[arm], curves[arm] = _run(config, bench(probe), sampler, names, sample_key, speaker)

    usual = verifiers.by_layer[config.layer]
    for name, arm in arms(config).items():
        names = misleading if arm.misleading else tested
        sample(name, usual, _settings(arm.settings), names, arm.speaker)
    for layer, probe in verifiers.by_layer.items():
        if layer != config.layer:
            sample(f"layer {layer}", probe, _settings({}), tested, Speaker.PROBE)
    for depth, probe in verifiers.by_depth.items():
        sample(f"depth {depth}", probe, _settings({}), tested, Speaker.PROBE)
    for count in config.blocks:
        block = BlockBestOfN(
            count=count, separator=world.mark("\n"), blocks=config.lines, top_p=BASE["top_p"]
        )
        sample(f"block best of {count}", verifiers.line, block, tested, Speaker.PROBE)
    result = {
        "arms": measured,
        "probe_examples": verifiers.examples,
        "layer_accuracy": {str(k): v for k, v in verifiers.layer_accuracy.items()},
        "depth_accuracy": {str(k): v for k, v in verifiers.depth_accuracy.items()},
    }
    return result, curves


def _settings(fields: dict[str, Any]) -> Backtracking:
    return Backtracking(**(BASE | fields), once_per_prefix=True, record=MOST_QUOTA)


def _size(config: Cases) -> int:
    """Texts of one repetition."""
    return config.tested_names * config.texts


def _headers(config: Cases, names: Int[np.ndarray, " n"]) -> Int[np.ndarray, "n 3"]:
    world = case_world(config)
    start = np.full(len(names), world.mark("def"))
    return np.stack([start, world.first_name + names, np.full(len(names), world.mark("\n"))], 1)


def _verifiers(
    config: Cases, model: Any, bench: Bench, collect_key: PRNGKeyArray, key: PRNGKeyArray
) -> CaseVerifiers:
    """Trained on what the generator writes for names that are not tested."""
    world = case_world(config)
    names = np.arange(config.training_texts) % (config.names // 2)
    sizes = np.full(len(names), HEADER)
    trace = bench(_settings({"top_p": 1.0}), _headers(config, names), sizes, collect_key)
    tokens = np.where(trace.tokens < 0, world.end, trace.tokens)
    given = config.seed, config.examples
    examples = token_examples(world, tokens, trace.lengths, *given)
    lines = line_examples(world, tokens, *given) if config.blocks else None
    depths = config.depths, config.probe_width
    return train_verifiers(config, model, examples, lines, key, config.layer, *depths)


def _run(
    config: Cases, bench: Bench, sampler: Any, names: Int[np.ndarray, " n"], key: PRNGKeyArray,
    speaker: Speaker,
) -> tuple[dict[str, list[float]], np.ndarray]:  # fmt: skip
    """One arm: its numbers for every repetition, and for every text of the first one, with the names
    in turn, its calls and its new correct cases."""
    world = case_world(config)
    rows = np.tile(np.tile(names, config.texts), config.repetitions)
    trace = bench(sampler, _headers(config, rows), np.full(len(rows), HEADER), key, speaker)
    tokens = np.where(trace.tokens < 0, world.end, trace.tokens)
    _, _, correct, case = map(np.asarray, read_texts(world, tokens))
    asked = config.lines * _size(config)
    result: dict[str, list[float]] = {}
    curves = []
    for first in range(0, len(rows), _size(config)):
        part = slice(first, first + _size(config))
        new = new_cases(rows[part], case[part], correct[part])
        values = {
            "accuracy": new.sum() / asked,
            "correct": correct[part].sum() / asked,
            "calls": trace.calls[part].mean(),
            "most_calls": trace.calls[part].max(),
            "backtracks": trace.backtracks[part].mean(),
        }
        for name, value in values.items():
            result.setdefault(name, []).append(float(value))
        curves.append(np.stack([trace.calls[part], new]))
    return result, curves[0]


def new_cases(
    names: Int[np.ndarray, " n"], case: Int[np.ndarray, "n T"], correct: Any
) -> Int[np.ndarray, " n"]:
    """For every text, how many of its correct cases neither it nor an earlier one of its name had."""
    seen: set[tuple[int, int]] = set()
    new = []
    for name, numbers, right in zip(names, case, correct, strict=True):
        before = len(seen)
        seen |= {(int(name), int(number)) for number in numbers[right]}
        new.append(len(seen) - before)
    return np.asarray(new)
