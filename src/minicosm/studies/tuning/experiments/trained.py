"""Tuning a pretrained Transformer and the exact model of the same world on the same tasks (Figure 3).

A trial is one world, one model pretrained on it, and several tasks. Sequences have 129 positions, the
first masked; the label is the argmax of `mu P[H_1 | x]` (of `mu P[M | x]` in a world with memory). The
names of its numbers say which model was tuned:

- `trained_head`, `exact_head`: a linear head on the law at the mask, by Adam (4,000 steps of 128);
- `trained_best`, `exact_best`: the same head by logistic regression to convergence, on whitened laws;
- `trained_prompt`, `exact_prompt`: 20 prompt rows and a linear head, by Adam; `trained_prompt_1`: one
  row, on the first task, where states outnumber tokens;
- `trained_attention`, `exact_attention`: an attention head over all positions (worlds with memory),
  `..._mean`: logistic regression on the mean law over positions;
- with `masked` positions: `masked_attention` on laws from a masked pass for each of them,
  `shown_attention` on those of the one pass, and their distances `masked_tv`, `shown_tv`;
- `majority`; controls `first_tokens` and `histogram` without a model; `posterior`, regression on the
  exact posterior of the label's variable.

All are lists over tasks. `mask_tv` is the total variation between the two models at the mask,
`held_out` the excess loss with 5% masks. On the way through pretraining, `checkpoint_...` holds the
excess loss, `mask_tv` and the accuracy of `trained_best` (learned from at most 2,000 examples) at each
checkpoint.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from minicosm.adaptation.outputs import outputs_at_mask, total_variation
from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer

from ..trials import TrainedTuning
from .pretraining import pretrain
from .trained_heads import tune_attention, tune_heads
from .trained_prompts import tune_prompts
from .trained_tasks import Steps, make_tasks, regress, white

WATCHED = 2000  # training examples on the way


def run(config: TrainedTuning, progress: Progress, folder: Path) -> TrialResult:
    """Accuracies of all tasks on both models, as lists; see the module."""
    tuning = config.tuning
    key = jax.random.key(config.seed)
    for number in (config.hidden, config.memory, config.member):
        key = jax.random.fold_in(key, number)
    world_key, model_key, token_key, task_key, tune_key = jax.random.split(key, 5)
    name = f"|M| = {config.memory}" if config.memory else f"|H| = {config.hidden}"
    if config.memory:
        tuned = (4 if config.masked else 2) * tuning.head_steps
    elif config.prompts:
        tuned = (config.tasks + (config.hidden > config.vocab)) * tuning.prompt_steps
    else:
        tuned = 0
    steps = Steps(progress, name, config.pretraining.steps + tuned)

    data = make_tasks(config, world_key, token_key, task_key)
    tokens32 = jnp.asarray(data.tokens, jnp.int32)

    few = np.r_[: min(WATCHED, tuning.train), len(data.tokens) - tuning.test : len(data.tokens)]
    brief = replace(tuning, train=len(few) - tuning.test)
    watched = data.task._replace(labels=data.task.labels[:, few])

    def watch(model: Transformer, done: int) -> dict[str, Any]:
        found = np.asarray(outputs_at_mask(model, tokens32[few]), np.float64)
        return {
            "mask_tv": total_variation(found, data.laws[few])[-tuning.test :].mean(),
            "best": regress({"best": white(found, brief.train)}, watched, brief)["best"],
        }

    model, history = pretrain(
        config.pretraining, data.world, model_key,
        folder=folder, progress=steps.part(config.pretraining.steps), watch=watch,
    )  # fmt: skip
    laws = np.asarray(outputs_at_mask(model, tokens32), np.float64)
    numbers = tune_heads(config, data, laws, tune_key)
    numbers["mask_tv"] = float(total_variation(laws, data.laws)[-tuning.test :].mean())
    numbers["held_out"] = float(history["held_out"][-1])
    if config.memory:
        numbers |= tune_attention(config, data, model, tune_key, steps)
    elif config.prompts:
        numbers |= tune_prompts(config, data, model, laws, tune_key, steps, folder)
    arrays = {
        "checkpoint_step": history["step"],
        "checkpoint_excess": history["held_out"],
        "checkpoint_tv": history["mask_tv"],
        "checkpoint_best": history["best"],
    }
    steps.end()
    return TrialResult(numbers, arrays)
