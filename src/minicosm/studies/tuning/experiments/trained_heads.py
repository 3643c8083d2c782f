"""Heads on the outputs of a pretrained model and of the exact one (see `trained`)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from minicosm.adaptation import HeadLoss, LinearHead, accuracy, fresh_linear_head
from minicosm.adaptation.controls import first_tokens, mean_output, token_histogram
from minicosm.adaptation.heads import AnyArray
from minicosm.adaptation.outputs import (
    outputs_everywhere,
    outputs_one_by_one,
    total_variation,
)
from minicosm.models import Transformer
from minicosm.training import adam, fit_ensemble

from ..trials import TrainedTuning, Tuning
from .corpora import lists, majority
from .memory_outputs import train_attention
from .trained_tasks import Steps, Tasks, regress, white

ATTENTION_RATE = 0.1


def tune_heads(
    config: TrainedTuning, data: Tasks, laws: Float[np.ndarray, "n V"], key: PRNGKeyArray
) -> dict[str, Any]:
    """Linear heads on the laws at the mask, trained and exact, and the controls, for every task."""
    tuning, task = config.tuning, data.task
    features = {
        "trained_best": white(laws, tuning.train),
        "exact_best": white(data.laws, tuning.train),
        "first_tokens": np.asarray(first_tokens(data.tokens[:, 1:], 5, config.vocab)),
        "histogram": np.asarray(token_histogram(data.tokens[:, 1:], config.vocab)),
        "posterior": data.posterior,
    }
    found: dict[str, Any] = regress(features, task, tuning)
    for name, given in (("trained_head", laws), ("exact_head", data.laws)):
        found[name] = _adam_heads(given, task.labels, tuning, key)
    return lists(
        majority=majority(task.labels[:, -tuning.test :]),
        **found,
    )


def _adam_heads(laws: np.ndarray, given: AnyArray, tuning: Tuning, key: PRNGKeyArray) -> np.ndarray:
    """A linear head by Adam for every task: test accuracies."""
    count, train, test = given.shape[0], tuning.train, tuning.test
    with jax.enable_x64(True):
        outputs = jnp.tile(jnp.asarray(laws)[None, :, None], (count, 1, 1, 1))
        heads = jax.vmap(lambda _: fresh_linear_head(laws.shape[1]))(jnp.arange(count))
        labels = jnp.asarray(given)
        unused = jnp.zeros((count, train, 1), int)
        trained, _ = fit_ensemble(
            HeadLoss(outputs[:, :train], unused, labels[:, :train], True, tuning.head_batch),
            {"head": heads},
            adam(tuning.head_rate, tuning.head_steps, tuning.head_warmup),
            tuning.head_steps,
            jax.random.split(key, count),
            chunk=max(1, tuning.head_steps // 2),
        )
        return np.asarray(_test_heads(trained["head"], outputs[:, -test:, 0], labels[:, -test:]))


@jax.jit
def _test_heads(heads: LinearHead, laws: jax.Array, labels: jax.Array) -> jax.Array:
    return jax.vmap(lambda head, g, y: accuracy(jax.vmap(head)(g), y))(heads, laws, labels)


def tune_attention(
    config: TrainedTuning, data: Tasks, model: Transformer, key: PRNGKeyArray, steps: Steps
) -> dict[str, Any]:
    """Attention heads over all positions of both models, and regressions on the mean law. With
    `config.masked` also over so many positions, on laws from a masked pass for each (`masked_...`) and on
    those of the one pass (`shown_...`), and how far both are from the exact model's."""
    tuning, task = config.tuning, data.task
    everywhere = np.asarray(outputs_everywhere(model, jnp.asarray(data.tokens, jnp.int32)))
    assert data.everywhere is not None
    found: dict[str, Any] = {}
    given = {"trained": (everywhere, data.tokens), "exact": (data.everywhere, data.tokens)}
    test, distances = slice(-tuning.test, None), {}
    if config.masked:
        at = np.linspace(0, data.tokens.shape[1] - 1, config.masked).astype(int)
        alone = np.asarray(outputs_one_by_one(model, jnp.asarray(data.tokens, jnp.int32), at))
        given |= {
            "masked": (alone, data.tokens[:, at]),
            "shown": (everywhere[:, at], data.tokens[:, at]),
        }
        exact = data.everywhere[test][:, at]
        distances["masked_tv"] = float(total_variation(alone[test], exact).mean())
        distances["shown_tv"] = float(total_variation(everywhere[test][:, at], exact).mean())
    for name, (outputs, read) in given.items():
        tiled = np.broadcast_to(outputs, (config.tasks, *outputs.shape))
        tokens = np.broadcast_to(read, (config.tasks, *read.shape))
        tuned = train_attention(
            {"attention": ATTENTION_RATE}, tiled, tokens, task.labels, tuning.train, tuning.test,
            key, steps=tuning.head_steps, warmup=tuning.head_warmup, batch=tuning.head_batch,
            progress=steps.part(tuning.head_steps, f"attention on the {name} model"),
        )  # fmt: skip
        found[f"{name}_attention"] = tuned["attention"]
        mean = np.asarray(mean_output(outputs), np.float64)
        found |= regress({f"{name}_mean": white(mean, tuning.train)}, task, tuning)
    return lists(**found) | distances
