"""Translators trained on a fertility world: refinement of all positions, or token by token.

A trial trains all seeds of one configuration together and measures each on the same test pairs. Arms
of one seed that differ in the loss alone see the same pairs and start from the same weights.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from minicosm.decoding import Refinement, beam, refine
from minicosm.decoding.refinement import Rejecter, constant, keep_all, linear, stutter
from minicosm.lab import Progress, TrialResult
from minicosm.models import Translator, TranslatorConfig
from minicosm.models.stutter import stutter_rate
from minicosm.training import RefinementObjective, TranslationObjective, adamw, fit_ensemble
from minicosm.training.schedules import adafactor

from ..trials import Data, Refining
from . import diagnostics, rejecters
from .measures import by_seed, quality, stutter_share
from .teachers import pairs_of, world_of

PASSES = (1, 2, 4, 10)
REJECTERS = {"none": keep_all, "linear": linear, "constant": constant(0.25)}
LEARNED = "learned"
MAIN = 4  # the number of passes after which attention is looked at
SHOWN = 3  # sources whose passes are kept for the picture


class Tests:
    """The pairs that models are measured on; they depend on the data and the seed alone (and on `part`:
    a rejecter that is learned has pairs of its own)."""

    def __init__(self, data: Data, seed: int, count: int, part: int = 77):
        pairs = pairs_of(data)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), part), count)
        drawn = _drawn(pairs, keys)
        self.world = world_of(data)
        self.source, self.source_lengths, self.target, self.lengths = map(np.asarray, drawn)
        self.visible = np.arange(self.source.shape[1]) < self.source_lengths[:, None]

    def quality(self, tokens: Any, lengths: Any) -> dict[str, float]:
        found = quality(
            self.world, self.source, self.source_lengths, np.asarray(tokens), np.asarray(lengths)
        )
        return found._asdict()

    def accuracy(self, tokens: Any) -> float:
        """The share of target tokens that stand in their places."""
        real = np.arange(self.target.shape[1]) < self.lengths[:, None]
        return float((np.asarray(tokens) == self.target)[real].mean())


@eqx.filter_jit
def _drawn(pairs: Any, keys: Any) -> Any:
    return jax.vmap(pairs.sample)(keys)


@eqx.filter_jit
def _fresh(shape: TranslatorConfig, keys: Any) -> Any:
    return eqx.filter_vmap(lambda key: Translator(shape, key=key))(keys)


def run(config: Refining, progress: Progress, folder: Path) -> TrialResult:
    """Train all seeds together, then decode and measure each."""
    start_key, train_key, test_key = jax.random.split(jax.random.key(config.seed), 3)
    shape = shape_of(config)
    models = _fresh(shape, jax.random.split(start_key, config.seeds))
    pairs = pairs_of(config.data)
    if config.causal:
        objective = TranslationObjective(pairs, batch=config.batch)
    else:
        objective = RefinementObjective(
            pairs,
            batch=config.batch,
            stages=config.stages,
            keep=np.asarray(config.keep),
            remask=config.remask,
        )
    stacked = jax.tree.map(lambda leaf: _for_each(leaf, config.seeds), objective)
    models, history = fit_ensemble(
        stacked,
        models,
        optimiser(config),
        config.steps,
        jax.random.split(train_key, config.seeds),
        chunk=max(10, config.steps // 30),  # a run that is killed loses one
        progress=lambda done, total, note="": progress(done, total, f"{config.data} {note}"),
        checkpoint=folder / "training.npz",
    )
    tests = Tests(config.data, config.seed, config.tests)
    size = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(models, eqx.is_array)))
    numbers: dict[str, Any] = {
        "parameters": size // config.seeds,
        "loss": history["loss"][-1].tolist(),
        "curve": history["loss"].tolist(),
    }
    arrays: dict[str, np.ndarray] = {}
    seeds = []
    for i in range(config.seeds):
        progress(config.steps, config.steps, f"decoding, seed {i + 1} of {config.seeds}")
        model = jax.tree.map(lambda leaf, i=i: leaf[i], models)
        measure = searched if config.causal else refined
        found, kept = measure(model, tests, test_key, config)
        seeds.append(found)
        arrays |= kept if i == 0 else {}
    return TrialResult(numbers | {"seeds": by_seed(seeds)}, arrays)


def _for_each(leaf: np.ndarray, seeds: int) -> np.ndarray:
    """The same array for every seed, real numbers in single precision."""
    leaf = leaf.astype(np.float32) if leaf.dtype.kind == "f" else leaf
    return np.broadcast_to(leaf, (seeds, *leaf.shape))


def shape_of(config: Refining) -> TranslatorConfig:
    world = world_of(config.data)
    return TranslatorConfig(
        world.vocab, source_vocab=world.source_vocab, encoder_layers=config.layers,
        decoder_layers=config.layers, heads=config.heads, width=config.width,
        mlp_width=config.mlp_width, causal=config.causal, dropout=config.dropout,
        positional_attention=config.positional, max_length=world.longest_target + 1,
        lengths=0 if config.causal else world.longest_target,
    )  # fmt: skip


def optimiser(config: Refining) -> optax.GradientTransformation:
    make = adafactor if config.factored else adamw
    return make(config.rate, config.steps, min(config.warmup, config.steps // 2))


def refined(
    model: Any, tests: Tests, key: Any, config: Refining
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Quality for every number of passes, and attention in the last of `MAIN`: of the best of several
    lengths, and with the true length given; the law of the first pass and the exact one."""
    T = tests.target.shape[1]
    lengths, length_tv = diagnostics.lengths(model, tests, config.candidates)

    def decoded(
        lengths: np.ndarray, steps: int = PASSES[-1], rejecter: Rejecter = stutter
    ) -> Refinement:
        common: dict[str, Any] = {"steps": steps, "rejecter": rejecter, "longest": T}
        return refine(model, tests.source, tests.visible, key, lengths=lengths, **common)

    all_passes, given = decoded(lengths), decoded(tests.lengths[:, None])
    numbers: dict[str, Any] = {
        "length_tv": length_tv,
        "passes": {str(n): of_passes(all_passes.after(n), tests) for n in PASSES},
        "joint": {str(n): of_passes(all_passes.scored(joint=True).after(n), tests) for n in PASSES},
        "rejecters": {
            name: of_passes(decoded(lengths, MAIN, REJECTERS[name]), tests)
            for name in config.rejecters
            if name in REJECTERS
        },
    }
    if LEARNED in config.rejecters:
        practice = Tests(config.data, config.seed, config.tests, part=78)
        seen = refine(
            model, practice.source, practice.visible, key, steps=PASSES[-1],
            lengths=practice.lengths[:, None], longest=T,
        )  # fmt: skip
        rejecter = rejecters.learned(model, practice, np.asarray(seen.inputs[:, 0, :MAIN]))
        numbers["rejecters"][LEARNED] = of_passes(decoded(lengths, MAIN, rejecter), tests)
    rows = np.arange(len(tests.source))
    for n in PASSES:
        outputs = np.asarray(given.outputs[:, 0, n - 1])
        numbers["passes"][str(n)] |= {
            "given_length_accuracy": tests.accuracy(outputs),
            "given_length_stutter": stutter_share(outputs, tests.lengths),
            "given_length_valid": tests.quality(*_clean(given.after(n)))["valid"],
        }
    for name, found in (("", all_passes.after(MAIN)), ("_given_length", given.after(MAIN))):
        best, ran = np.asarray(found.best), np.asarray(found.hypothesis_passes)
        own = np.asarray(found.hypothesis_lengths)[rows, best]
        entropy, impossible = diagnostics.uncertainty(tests.world, tests.source_lengths, own)
        numbers |= {f"entropy{name}": entropy, f"impossible{name}": impossible}
        if isinstance(model, Translator):
            at = (rows, best, ran[rows, best] - 1)
            inputs, outputs = np.asarray(found.inputs)[at], np.asarray(found.outputs)[at]
            kept = diagnostics.attention(model, tests, inputs, outputs, own)
            numbers[f"attention{name}"] = kept
            if name:
                numbers["alignment"] = diagnostics.alignment(tests, outputs)
    numbers |= diagnostics.laws(model, tests, np.asarray(given.inputs[:, 0, 0]), config.keep)
    shown = rows[: min(SHOWN, len(rows))]
    pictures = {
        "shown_source": tests.source[shown],
        "shown_outputs": np.asarray(given.outputs)[shown, 0],
        "shown_inputs": np.asarray(given.inputs)[shown, 0],
        "shown_lengths": tests.lengths[shown],
        "shown_target": tests.target[shown],
    }
    return numbers, pictures


def of_passes(found: Refinement, tests: Tests) -> dict[str, float]:
    """What came out of one number of passes; stutter is that of the hypothesis as it was decoded."""
    rows, best = np.arange(len(tests.source)), np.asarray(found.best)
    raw = np.asarray(found.outputs)[rows, best, -1]
    lengths = np.asarray(found.hypothesis_lengths)[rows, best]
    return tests.quality(*_clean(found)) | {
        "stutter": stutter_rate(raw, lengths),
        "stutter_share": stutter_share(raw, lengths),
        "executed": float(np.mean(found.passes)),
        "most": int(np.max(found.passes)),
        "until_fixed": float(np.asarray(found.hypothesis_passes)[rows, best].mean()),
    }


def searched(
    model: Any, tests: Tests, key: Any, config: Refining
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Quality of beam search and of greedy decoding."""
    numbers = {}
    for name, width in (("beam", config.candidates), ("greedy", 1)):
        found = beam(model, tests.source, tests.visible, width=width, longest=tests.target.shape[1])
        tokens, lengths = np.asarray(found.tokens[:, 0]), np.asarray(found.lengths[:, 0])
        passes = np.asarray(found.passes)
        numbers[name] = tests.quality(tokens, lengths) | {
            "stutter": stutter_rate(tokens, lengths),
            "stutter_share": stutter_share(tokens, lengths),
            "executed": float(passes.mean()),
            "one_a_token": bool((passes == lengths + 1).all()),
        }
    return numbers, {}


def _clean(found: Refinement) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(found.tokens), np.asarray(found.lengths)
