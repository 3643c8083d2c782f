"""Models trained on bracket strings, many seeds at once, and what they have learned.

A trial is one configuration with all its seeds. Its numbers, each a list over seeds:

- `loss`: the training loss at the end; `within`, `within_hard`: closing accuracy at the lengths of
  training, on all queries and on the hard ones; `long_...` at the lengths `long`, `curve_...` for every
  length of `lengths`;
- `beta`, `worst_ratio`: balance violation and its largest term (models on brackets with their depth);
- `stack_mean`, `stack_rate`: how much closed brackets attend to the last open one, and how often it is
  what they attend to most, in the last layer;
- copy task: `copied`, `copied_uniform` (every attention map replaced by a uniform one), `on_closed`,
  `on_type` (attention of the last layer on closed brackets, on the favourite type of bracket).

Arrays: `probe` has the maps of all seeds on the probe string; `probe_distances` and
`sentence_distances` have, for each string and layer, `|A - A'|^2` of every pair of seeds, without the
start token, on the probe string and on random prefixes.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from minicosm.lab import Progress, TrialResult
from minicosm.models.attention_patterns import pairwise_variation, stack_score
from minicosm.theory.dyck import of_model
from minicosm.training import fit_ensemble
from minicosm.worlds import CompleteDyck, Dyck

from ..trials import Training
from . import measures
from .models import MINIMAL, fresh, shape
from .objective import BracketObjective

SENTENCE_LENGTH, STACK_LENGTH = 19, 26


def run(config: Training, progress: Progress, folder: Path) -> TrialResult:
    """Train all seeds together, then measure; see the module."""
    world = Dyck(config.types, config.depth, config.open_probability)
    pairs = config.model in MINIMAL
    key = jax.random.key(config.seed)
    start_key, train_key, test_key = jax.random.split(key, 3)
    settings = shape(
        config.model, world, embedding=config.embedding, width=config.width,
        layers=config.layers, positions=config.positions, longest=config.length,
    )  # fmt: skip
    models, trainable = fresh(
        config.model, settings, world, config.embedding, jax.random.split(start_key, config.seeds)
    )
    source: Dyck | CompleteDyck = world
    if config.data == "complete":
        source = CompleteDyck(world, range(2, config.length + 1, 2))
    objective = BracketObjective(
        source,
        np.asarray(config.contrast, np.float32) if config.contrast else None,
        length=config.length, batch=config.batch, pairs=pairs, copy=config.task == "copy",
    )  # fmt: skip
    stacked = jax.tree.map(
        lambda leaf: np.broadcast_to(np.asarray(leaf, np.float32), (config.seeds, *leaf.shape)),
        objective,
    )
    models, history = fit_ensemble(
        stacked,
        models,
        optimiser(config.rate, config.steps, config.decay),
        config.steps,
        jax.random.split(train_key, config.seeds),
        chunk=max(1, config.steps // 10),
        progress=lambda done, total, note="": progress(done, total, f"{config.model} {note}"),
        trainable=trainable,
        checkpoint=folder / "training.npz",
    )
    numbers: dict[str, Any] = {"loss": history["cross_entropy"][-1].tolist()}
    if config.task == "copy":
        numbers |= _copy(config, models, world, test_key)
    else:
        numbers |= _closing(config, models, world, test_key, pairs)
    scores, arrays = _attention(config, models, world, test_key, pairs)
    numbers |= scores
    if pairs and config.types > 1 and config.depth > 1 and config.embedding != "learned":
        with jax.enable_x64(True):
            violations = [of_model(measures.member(models, i), world) for i in range(config.seeds)]
        numbers["beta"] = [float(violation.mean) for violation in violations]
        numbers["worst_ratio"] = [float(violation.largest) for violation in violations]
    return TrialResult(numbers, arrays)


@lru_cache
def optimiser(rate: float, steps: int, decay: float) -> optax.GradientTransformation:
    """Adam whose rate falls to .3 of it after 70% of the steps."""
    schedule = optax.piecewise_constant_schedule(rate, {round(0.7 * steps): 0.3})
    if not decay:
        return optax.adam(schedule)
    return optax.chain(optax.add_decayed_weights(decay), optax.adam(schedule))


def _closing(
    config: Training, models: Any, world: Dyck, key: PRNGKeyArray, pairs: bool
) -> dict[str, Any]:
    numbers: dict[str, Any] = {"curve_lengths": list(config.lengths), "curve": [], "curve_hard": []}
    ranges = {"within": (2, config.length), "long": config.long} | {
        n: (n - 1, n) for n in config.lengths
    }
    for i, (name, lengths) in enumerate(ranges.items()):
        closing = measures.closing(
            models, world, jax.random.fold_in(key, i), config.queries, lengths, pairs
        )
        if isinstance(name, int):
            numbers["curve"].append(closing.accuracy.tolist())
            numbers["curve_hard"].append(closing.hard.tolist())
        else:
            numbers[name] = closing.accuracy.tolist()
            numbers[f"{name}_all_tokens"] = closing.of_all.tolist()
            numbers[f"{name}_hard"] = closing.hard.tolist()
            numbers[f"{name}_hard_queries"] = closing.hard_queries
    return numbers


def _strings(world: Dyck, key: PRNGKeyArray, count: int, length: int) -> np.ndarray:
    draw = jax.jit(jax.vmap(lambda k: world.sample(k, length).tokens))
    return np.asarray(draw(jax.random.split(key, count)))


def _attention(
    config: Training, models: Any, world: Dyck, key: PRNGKeyArray, pairs: bool
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    # Fixed across configurations of one language: the keys depend on the seed alone.
    keys = jax.random.split(jax.random.fold_in(key, 100), 2)
    maps = np.asarray(measures.attention(models, world, measures.probe(world)[None], pairs))
    sentences = _strings(world, keys[0], config.sentences, SENTENCE_LENGTH)
    each = measures.without_start(measures.attention(models, world, sentences, pairs))
    strings = _strings(world, keys[1], config.stack_strings, STACK_LENGTH)
    last = np.asarray(measures.attention(models, world, strings, pairs)[:, :, -1])
    score = stack_score(last, world, strings)
    arrays = {
        "probe": maps[:, 0].astype(np.float32),
        "probe_distances": pairwise_variation(measures.without_start(maps)),
        "sentence_distances": pairwise_variation(each),
    }
    return {"stack_mean": score.mean.tolist(), "stack_rate": score.rate.tolist()}, arrays


def _copy(config: Training, models: Any, world: Dyck, key: PRNGKeyArray) -> dict[str, Any]:
    """Accuracy with and without attention, and where the last layer looks."""
    strings = _strings(world, jax.random.fold_in(key, 200), 200, config.length)
    maps = np.asarray(measures.attention(models, world, strings, False))[:, :, :, 1:, 1:]
    total = maps.sum(axis=(1, 3, 4))  # seeds, layers
    share = (
        np.stack(
            [
                np.einsum("snlqk,nk->sl", maps, (strings == token).astype(maps.dtype))
                for token in range(world.vocab)
            ],
            axis=-1,
        )
        / np.maximum(total, 1e-30)[..., None]
    )
    closed = share[..., 1::2].sum(axis=-1)
    types = share.reshape(*share.shape[:2], world.types, 2).sum(axis=-1)
    return {
        "copied": measures.copied(models, strings).tolist(),
        "copied_uniform": measures.copied(models, strings, uniform=True).tolist(),
        "on_closed": closed.tolist(),
        "on_open": (1 - closed).tolist(),
        "on_type": types.max(axis=-1).tolist(),
    }
