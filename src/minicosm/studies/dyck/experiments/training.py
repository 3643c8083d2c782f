"""Models trained on bracket strings, many seeds at once, and what they have learned.

A trial is one configuration with all its seeds. Its numbers, each a list over seeds:

- `loss`: the training loss at the end; `within`, `within_hard`: closing accuracy at the lengths of
  training, on all queries and on the hard ones; `long_...` at the lengths `long`, `curve_...` for every
  length of `lengths`;
- `beta`, `worst_ratio`: balance violation and its largest term (models on brackets with their depth);
- `stack_mean`, `stack_rate`: how much closed brackets attend to the last open one, and how often it is
  what they attend to most, in the last layer; `stack_rate_brackets` where the start token is left out;
- copy task: `copied`, `copied_uniform` (every attention map replaced by a uniform one), and for every
  layer the attention on closed brackets, on open ones and on the favourite type: `on_closed`, `on_open`,
  `on_type`, over the queries that see brackets inside and outside of the class; `..._brackets` as a share
  of the attention on brackets, without the start token.

Arrays: `probe` has the maps of all seeds on the probe string; `probe_...`, `sentence_...` and `longer_...`
have, for each string and layer, `|A - A'|^2` of every pair of seeds, on the probe string, on random
prefixes, and on longer ones: `..._distances` of the maps as they are, with the start token, `..._dropped`
without its row and column, `..._renormalised` without them and with rows that sum to one again.
"""

from functools import lru_cache, partial
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

SENTENCE_LENGTH, LONGER_LENGTH, STACK_LENGTH = 19, 50, 26
LONGER = 10  # strings of the longer length


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
    keys = jax.random.split(jax.random.fold_in(key, 100), 3)
    read = partial(measures.attention, models, world, pairs=pairs)
    maps = np.asarray(read(measures.probe(world)[None]))
    arrays = {"probe": maps[:, 0].astype(np.float32), **_distances("probe", maps)}
    sentences = _strings(world, keys[0], config.sentences, SENTENCE_LENGTH)
    arrays |= _distances("sentence", read(sentences))
    arrays |= _distances("longer", read(_strings(world, keys[2], LONGER, LONGER_LENGTH)))
    strings = _strings(world, keys[1], config.stack_strings, STACK_LENGTH)
    last = np.asarray(read(strings)[:, :, -1])
    score = stack_score(last, world, strings)
    among = stack_score(last[..., 1:, 1:], world, strings)
    scores = {
        "stack_mean": score.mean.tolist(),
        "stack_rate": score.rate.tolist(),
        "stack_rate_brackets": among.rate.tolist(),
    }
    return scores, arrays


def _distances(name: str, maps: Any) -> dict[str, np.ndarray]:
    """Squared distances of every pair of seeds, with the start token and without."""
    maps = np.asarray(maps, np.float64)
    brackets = maps[..., 1:, 1:]
    return {
        f"{name}_distances": pairwise_variation(maps),
        f"{name}_dropped": pairwise_variation(brackets),
        f"{name}_renormalised": pairwise_variation(measures.renormalised(brackets)),
    }


def _copy(config: Training, models: Any, world: Dyck, key: PRNGKeyArray) -> dict[str, Any]:
    """Accuracy with and without attention, and where each layer looks."""
    strings = _strings(world, jax.random.fold_in(key, 200), 200, config.length)
    maps = np.asarray(measures.attention(models, world, strings, False))[:, :, :, 1:, 1:]
    classes = {"closed": strings % 2 == 1, "open": strings % 2 == 0}
    classes |= {f"type {t}": strings // 2 == t for t in range(world.types)}
    whole = {name: measures.share_on(maps, inside) for name, inside in classes.items()}
    among = {
        name: measures.share_on(measures.renormalised(maps), inside)
        for name, inside in classes.items()
    }
    numbers = {
        "copied": measures.copied(models, strings).tolist(),
        "copied_uniform": measures.copied(models, strings, uniform=True).tolist(),
    }
    for suffix, share in (("", whole), ("_brackets", among)):
        types = [share[f"type {t}"] for t in range(world.types)]
        numbers |= {
            f"on_closed{suffix}": share["closed"].tolist(),
            f"on_open{suffix}": share["open"].tolist(),
            f"on_type{suffix}": np.max(types, axis=0).tolist(),
        }
    return numbers
