"""A deeper model whose keys, queries and values start near zero: what moves first (Figure 2.9)."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer
from minicosm.training import fit_ensemble
from minicosm.worlds import OverlappingTopics
from minicosm.worlds.topics.draws import draw_text

from ..trials import FOLD, Deep
from .language import fresh, objective_of, shape_of

PARTS = ("query", "key", "value")
CLIP = 1.0  # largest norm of a gradient: some seeds diverge at the first steps without it
_SGD: dict[float, optax.GradientTransformation] = {}


def run(config: Deep, progress: Progress) -> TrialResult:
    """Train all seeds; norms of every layer over time, and how far values turn in ten steps."""
    key = jax.random.fold_in(jax.random.key(config.seed), FOLD)
    world_key, start_key, train_key, data_key = jax.random.split(key, 4)
    world = OverlappingTopics.random(
        world_key, topics=config.topics, words=config.words, stop_words=config.stop_words,
        most=min(6, config.topics),
    )  # fmt: skip
    rng = np.random.default_rng(np.asarray(jax.random.bits(data_key, (4,))).tolist())
    windows = [draw_text(world, rng, config.documents, config.window) for _ in range(config.seeds)]
    shape = shape_of(config, world.vocab, attention_bias=False)
    models = fresh(shape, jax.random.split(start_key, config.seeds))
    models = eqx.tree_at(
        lambda m: m.layers.attention.qkv, models,
        models.layers.attention.qkv * (config.start / shape.init_std),
    )  # fmt: skip
    before = [_values(models)]

    def watch(models: Transformer, done: int) -> dict[str, np.ndarray]:
        now = _values(models)
        turned = _turned(before[0], now)
        before[0] = now
        return _norms(models) | {"turned": turned}

    first = _norms(models)
    clipped = optax.chain(optax.clip_by_global_norm(CLIP), optax.sgd(config.rate))
    _, history = fit_ensemble(
        objective_of(windows, config),
        models,
        _SGD.setdefault(config.rate, clipped),
        config.steps,
        jax.random.split(train_key, config.seeds),
        chunk=config.every,
        watch=watch,
        progress=lambda done, total, note="": progress(done, total, note),
    )
    law = world.law()
    arrays = {
        name: np.concatenate([norms[None], history[name]]).astype(np.float32)
        for name, norms in first.items()
    }
    arrays["turned"] = history["turned"].astype(np.float32)
    numbers: dict[str, Any] = {
        "steps": [0, *history["step"].tolist()],
        "loss": history["loss"][-1].tolist(),
        "unigram entropy": float(-(law[law > 0] * np.log(law[law > 0])).sum()),
    }
    return TrialResult(numbers, arrays)


def _norms(models: Transformer) -> dict[str, np.ndarray]:
    """`[seed, layer]`: norms of queries, keys and values, all heads of a layer together."""
    qkv = np.asarray(models.layers.attention.qkv, np.float64)  # seed, layer, E, 3, H, D
    return {
        name: np.sqrt((qkv[:, :, :, i] ** 2).sum(axis=(2, 3, 4))) for i, name in enumerate(PARTS)
    }


def _values(models: Transformer) -> np.ndarray:
    qkv = np.asarray(models.layers.attention.qkv, np.float64)[:, :, :, 2]
    return qkv.reshape(*qkv.shape[:2], -1)


def _turned(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The cosine distance `(1 - cos) / 2` of values now and one measurement before."""
    below = np.linalg.norm(old, axis=-1) * np.linalg.norm(new, axis=-1)
    return (1 - (old * new).sum(axis=-1) / np.maximum(below, 1e-300)) / 2
