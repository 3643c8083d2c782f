"""Emission temperature against what a linear head can read.

Worlds of Appendix E in which only the temperature of the emission laws changes (the same uniform
logits at every temperature). Near-deterministic emissions share top tokens, so W is numerically rank
deficient although |H| <= |X|; softer emissions are better conditioned but tell less. Task and
protocol as in `oracle_heads`, without training.
"""

from functools import partial

import jax
import numpy as np

from minicosm.adaptation.logistic import logistic_accuracies
from minicosm.adaptation.tuning import slot_features
from minicosm.lab import Progress, TrialResult
from minicosm.worlds import HMM

from ..extension_trials import Temperature
from .corpora import (
    Split,
    all_slot_messages,
    at_temperatures,
    majority,
    sample_tokens,
    slot_posteriors,
    sparse_tasks,
)


def run(config: Temperature, progress: Progress) -> TrialResult:
    """One list per temperature (`logistic[t][w]`), in the order of `temperatures`."""
    count = len(config.temperatures)
    split = Split(config.train, config.validation, config.test)
    with jax.enable_x64(True):
        key = jax.random.fold_in(jax.random.key(config.seed), config.hidden)
        world_key, token_key, task_key = jax.random.split(key, 3)

        draw = partial(
            HMM.random, hidden=config.hidden, vocab=config.vocab, emission_temperature=1.0
        )
        drawn = jax.jit(jax.vmap(draw))(jax.random.split(world_key, config.worlds))
        worlds = at_temperatures(drawn, config.temperatures)
        tokens = sample_tokens(worlds, token_key, split.total, config.length)[:, :, 1:]
        messages = all_slot_messages(worlds, tokens)
        posteriors = slot_posteriors(jax.vmap(lambda w: w.first)(worlds), messages)
        task = sparse_tasks(task_key, posteriors, split)
        progress(1, 3, f"{count} temperatures of {config.worlds} worlds drawn")
        outputs = jax.jit(jax.vmap(lambda w, b: slot_features(w, None, b)))(worlds, messages)
        found = logistic_accuracies({"logistic": outputs}, task.labels, config.train, config.test)
        progress(2, 3, "regressions")
        W, mu, outputs = map(np.asarray, (worlds.W, task.mu, outputs))
        labels = np.asarray(task.labels)

    sigma = np.linalg.svd(W, compute_uv=False)
    last = sigma[:, -1] if config.hidden <= config.vocab else np.zeros(len(sigma))
    with np.errstate(divide="ignore"):
        condition = sigma[:, 0] / last
    test = slice(split.total - config.test, None)
    scores = np.einsum("wnv,wrv->wrn", outputs[:, test], mu @ np.linalg.pinv(W))
    columns = {
        "majority": majority(labels[:, test]),
        "constructed": ((scores[:, 1] > scores[:, 0]) == labels[:, test]).mean(axis=1),
        "logistic": found["logistic"],
        "condition": condition,
        "degenerate": condition > 1e3,
    }
    by_heat = (count, config.worlds)
    numbers = {name: value.reshape(by_heat).tolist() for name, value in columns.items()}
    progress(3, 3)
    return TrialResult(numbers)
