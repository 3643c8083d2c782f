"""Attention heads on the exact model of memory worlds (Figure 3, right).

Worlds of Appendix E with one memory cell; sequences of 129 positions, the first masked; the label is
the argmax of `mu P[M | x_2..x_129]`. On the exact outputs G_1..G_129:

- `attention_slow`, `attention_fast`: softmax attention with score `k . G_i` and value `V G_i`, trained
  by Adam with peak rates .01 and .1; `token_attention`: value `Q[x_i] . G_i`, rate .1;
- `mean_output`, `first_output`: logistic regression on the mean of G_i, and on G_1 alone.

`histogram` is a regression on token counts, without a model. `certainty` is the mean over sequences
of the largest entry of P[M | x]. The vanilla comparators are `oracle_heads` with the same number of
states in total.
"""

from functools import partial

import jax

from minicosm.adaptation.controls import token_histogram
from minicosm.adaptation.logistic import logistic_accuracies
from minicosm.lab import Progress, TrialResult
from minicosm.worlds import MemoryHMM

from ..trials import OracleMemory
from .corpora import Split, lists, majority, sample_tokens, sparse_tasks
from .memory_outputs import memory_outputs, train_attention

NAMES = ("attention_slow", "attention_fast", "token_attention")


def run(config: OracleMemory, progress: Progress) -> TrialResult:
    """Per-world test accuracies, as lists; see the module."""
    total = config.steps + 3
    split = Split(config.train, config.validation, config.test)
    with jax.enable_x64(True):
        key = jax.random.fold_in(jax.random.key(config.seed), config.memory)
        world_key, token_key, task_key, tune_key = jax.random.split(key, 4)
        draw = partial(
            MemoryHMM.random, hidden=config.hidden, memory=config.memory, vocab=config.vocab
        )
        worlds = jax.jit(jax.vmap(draw))(jax.random.split(world_key, config.worlds))
        tokens = sample_tokens(worlds, token_key, split.total, config.length)
        progress(1, total, f"|M| = {config.memory}: {config.worlds} worlds drawn")
        exact = memory_outputs(worlds, tokens)
        task = sparse_tasks(task_key, exact.memory, split)
        progress(2, total, "exact outputs")
        rates = dict(zip(NAMES, config.rates, strict=True))
        tuned = train_attention(
            rates, exact.outputs, tokens, task.labels, config.train, config.test, tune_key,
            steps=config.steps, warmup=config.warmup, batch=config.batch,
            progress=lambda done, _: progress(done + 2, total, "training attention"),
        )  # fmt: skip
        features = {
            "mean_output": exact.mean,
            "first_output": exact.first,
            "histogram": jax.jit(jax.vmap(partial(token_histogram, vocab=config.vocab)))(
                tokens[:, :, 1:]
            ),
        }
        regressed = logistic_accuracies(features, task.labels, config.train, config.test)
        certainty = exact.memory.max(axis=2).mean(axis=1)
        shares = majority(task.labels[:, -config.test :])
    progress(total, total)
    return TrialResult(lists(majority=shares, certainty=certainty, **tuned, **regressed))
