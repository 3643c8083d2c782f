"""Prompts on a pretrained model and on the exact one (see `trained`)."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from minicosm.adaptation import (
    Classifier,
    LinearHead,
    TuningLoss,
    accuracy,
    fresh_linear_head,
    fresh_rows,
)
from minicosm.adaptation.outputs import outputs_at_mask
from minicosm.adaptation.tuning import slot_prior
from minicosm.models import Transformer
from minicosm.training import adam, fit
from minicosm.worlds import HMM

from ..trials import OracleHeads, TrainedTuning
from . import oracle_heads
from .prompt_effect import prompt_effect
from .trained_tasks import Steps, Tasks


def tune_prompts(
    config: TrainedTuning,
    data: Tasks,
    model: Transformer,
    laws: Float[np.ndarray, "n V"],
    key: PRNGKeyArray,
    steps: Steps,
    folder: Path,
) -> dict[str, Any]:
    """Prompts on the exact and the trained model, and what they do to the laws; then a prompt of one row
    for the first task where states outnumber tokens."""
    tuning, task, messages = config.tuning, data.task, data.messages
    assert isinstance(data.world, HMM) and messages is not None
    start_key, exact_key, tune_key = jax.random.split(key, 3)
    exact = _exact_prompts(config, data, start_key, exact_key)
    test = slice(-tuning.test, None)
    tokens = jnp.asarray(data.tokens, jnp.int32)
    found: dict[str, list] = {"exact_prompt": exact.accuracy.tolist()}
    rows: list[dict[str, float]] = []

    answers = jnp.asarray(task.labels, jnp.int32)

    def tune(i: int, length: int) -> tuple[np.ndarray, float]:
        """Task i's prompt of so many rows: the test sequences' laws at the mask after it, and the test
        accuracy."""
        labels = answers[i]
        start = Classifier(
            fresh_linear_head(config.vocab),
            fresh_rows(jax.random.fold_in(start_key, i), length, model),
        )
        train = slice(tuning.train)
        classifier, _ = fit(
            TuningLoss(model, tokens[train], labels[train], True, tuning.prompt_batch),
            {"prompt": start},
            adam(tuning.prompt_rate, tuning.prompt_steps, tuning.prompt_warmup),
            tuning.prompt_steps,
            jax.random.fold_in(tune_key, i),
            chunk=max(1, tuning.prompt_steps // 5),
            progress=steps.part(tuning.prompt_steps, f"prompt of {length} rows, task {i + 1}"),
            checkpoint=folder / f"prompt-{length}-{i}.npz",
        )
        tuned = classifier["prompt"]
        assert tuned.prompt is not None and isinstance(tuned.head, LinearHead)
        prompted = outputs_at_mask(model, tokens[test], tuned.prompt.rows)
        scores = jax.vmap(tuned.head)(prompted)
        return np.asarray(prompted, np.float64), float(accuracy(scores, labels[test]))

    for i in range(config.tasks):
        prompted, tested = tune(i, tuning.prompt_length)
        row = {"trained_prompt": tested}
        row |= prompt_effect(
            data.world,
            messages[test],
            np.asarray(task.mu[i]),
            laws[test],
            prompted,
            exact.prior[i],
        )
        rows.append(row)
    found |= {name: [row[name] for row in rows] for name in rows[0]}
    if config.hidden > config.vocab:
        found["trained_prompt_1"] = [tune(0, 1)[1]]
    return found


class ExactPrompts(NamedTuple):
    accuracy: Float[np.ndarray, " tasks"]
    prior: Float[np.ndarray, "tasks H"]
    """`c` of each prompt: the law of H_1 that it puts in place of the world's."""


def _exact_prompts(
    config: TrainedTuning, data: Tasks, start_key: PRNGKeyArray, tune_key: PRNGKeyArray
) -> ExactPrompts:
    """Prompts on the exact model, one per task."""
    tuning, count = config.tuning, config.tasks
    assert data.messages is not None
    with jax.enable_x64(True):
        worlds = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), data.world)
        messages = np.broadcast_to(data.messages, (count, *data.messages.shape))
        oracle = OracleHeads(
            hidden=config.hidden, vocab=config.vocab, worlds=count, steps=tuning.head_steps,
            warmup=tuning.head_warmup, batch=tuning.head_batch, rate=tuning.head_rate,
            prompt_length=tuning.prompt_length, arms=("prompt_20",),
        )  # fmt: skip
        train, labels = tuning.train, data.task.labels
        trained, _ = oracle_heads.tune(
            oracle, worlds, messages[:, :train], labels[:, :train], start_key, tune_key, None,
        )  # fmt: skip
        tested = oracle_heads.test_accuracies(
            trained, worlds, messages[:, -tuning.test :], labels[:, -tuning.test :]
        )
        prior = jax.jit(jax.vmap(slot_prior))(worlds, trained["prompt_20"].prompt)
        prior = np.asarray(prior)
        return ExactPrompts(
            np.asarray(tested["prompt_20"]), prior / prior.sum(axis=1, keepdims=True)
        )
