"""Tuning a pretrained Transformer and the exact model of the same world on the same tasks (Figure 3).

A trial is one world, one model pretrained on it, and several tasks. Sequences have 129 positions, the
first masked; the label is the argmax of `mu P[H_1 | x]` (of `mu P[M | x]` in a world with memory). The
names of its numbers say which model was tuned:

- `trained_head`, `exact_head`: a linear head on the law at the mask, by Adam (4,000 steps of 128);
- `trained_best`, `exact_best`: the same head by logistic regression to convergence, on whitened laws;
- `trained_prompt`, `exact_prompt`: 20 prompt rows and a linear head, by Adam;
- `fine_tuned`: the whole Transformer with a linear head;
- `trained_attention`, `exact_attention`: an attention head over all positions (worlds with memory),
  `..._mean`: logistic regression on the mean law over positions;
- `majority`; controls `first_tokens` and `histogram` without a model; `posterior`, regression on the
  exact posterior of the label's variable.

All are lists over tasks. `mask_tv` is the total variation between the two models at the mask,
`held_out` the excess loss with 5% masks. On the way through pretraining, `checkpoint_...` holds the
excess loss, `mask_tv` and the accuracy of `trained_best` at each checkpoint; `early_prompt` is the
accuracy of the first task's prompt on the models of some of them.
"""

import operator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from minicosm.adaptation import Classifier, LinearHead
from minicosm.adaptation.controls import first_tokens, mean_output, token_histogram
from minicosm.adaptation.tuning import (
    FineTuningLoss,
    HeadLoss,
    TuningLoss,
    accuracy,
    fresh_linear_head,
    fresh_rows,
    slot_prior,
)
from minicosm.lab.claims import Progress, TrialResult
from minicosm.models import Transformer
from minicosm.models.weights import load, save
from minicosm.training import adam, adamw, fit, fit_ensemble
from minicosm.worlds import HMM, MemoryHMM

from . import oracle_heads
from .corpora import (
    Labels,
    Split,
    all_slot_messages,
    lists,
    logistic_accuracies,
    majority,
    sample_tokens,
    slot_posteriors,
    sparse_tasks,
    whitened,
)
from .memory_outputs import memory_outputs, train_attention
from .pretraining import (
    Pretraining,
    outputs_at_mask,
    outputs_everywhere,
    pretrain,
    total_variation,
)
from .prompt_effect import prompt_effect

ATTENTION_RATE = 0.1


@dataclass(frozen=True)
class Tuning:
    """How heads and prompts are trained, and on how many examples."""

    length: int = 129
    train: int = 5000
    validation: int = 500
    test: int = 1000
    head_steps: int = 4000
    head_warmup: int = 500
    head_batch: int = 128
    head_rate: float = 0.01
    prompt_length: int = 20
    prompt_steps: int = 1000
    prompt_warmup: int = 100
    prompt_batch: int = 16
    prompt_rate: float = 0.01
    fine_steps: int = 300
    fine_batch: int = 16
    fine_rate: float = 1e-3


@dataclass(frozen=True)
class TrainedTuning:
    """One world, its pretrained model and `tasks` tasks. With `memory` the world has a memory of so
    many values and heads attend to all positions; otherwise `prompts` says whether to tune prompts
    and the whole model as well. `member` counts the worlds of one size."""

    hidden: int = 8
    memory: int = 0
    vocab: int = 10
    member: int = 0
    seed: int = 0
    tasks: int = 3
    prompts: bool = True
    early_prompts: tuple[int, ...] = ()
    """Checkpoints, counted from 1, on which the prompt of the first task is tuned as well."""
    pretraining: Pretraining = field(default_factory=Pretraining)
    tuning: Tuning = field(default_factory=Tuning)


def run(config: TrainedTuning, progress: Progress, folder: Path) -> TrialResult:
    """Accuracies of all tasks on both models, as lists; see the module."""
    tuning = config.tuning
    key = jax.random.key(config.seed)
    for number in (config.hidden, config.memory, config.member):
        key = jax.random.fold_in(key, number)
    world_key, model_key, token_key, task_key, tune_key = jax.random.split(key, 5)
    name = f"|M| = {config.memory}" if config.memory else f"|H| = {config.hidden}"
    each = tuning.prompt_steps + tuning.fine_steps
    more = len(config.early_prompts) * tuning.prompt_steps
    tuned = config.tasks * each + more if config.prompts and not config.memory else 0
    steps = Steps(progress, name, config.pretraining.steps + tuned)

    data = make_tasks(config, world_key, token_key, task_key)
    tokens32 = jnp.asarray(data.tokens, jnp.int32)

    chunk = max(1, config.pretraining.steps // config.pretraining.checkpoints)
    early = {chunk * which: folder / f"model-{which}.safetensors" for which in config.early_prompts}

    def watch(model: Transformer, done: int) -> dict[str, Any]:
        if done in early:
            save(model, early[done])
        found = np.asarray(outputs_at_mask(model, tokens32), np.float64)
        return {
            "mask_tv": total_variation(found, data.laws)[-tuning.test :].mean(),
            "best": regress({"best": white(found, tuning.train)}, data.task, tuning)["best"],
        }

    model, history = pretrain(
        config.pretraining, data.world, model_key,
        folder=folder, progress=steps.part(config.pretraining.steps), watch=watch,
    )  # fmt: skip
    laws = np.asarray(outputs_at_mask(model, tokens32), np.float64)
    numbers = tune_heads(config, data, laws, tune_key)
    numbers["mask_tv"] = float(total_variation(laws, data.laws)[-tuning.test :].mean())
    numbers["held_out"] = float(history["held_out"][-1])
    numbers["held_out_tv"] = float(history["held_out_tv"][-1])
    if config.memory:
        numbers |= tune_attention(config, data, model, tune_key, steps)
    elif config.prompts:
        models = [model, *(load(path) for path in early.values())]
        numbers |= tune_prompts(config, data, models, laws, tune_key, steps, folder)
    arrays = {
        "checkpoint_step": history["step"],
        "checkpoint_excess": history["held_out"],
        "checkpoint_tv": history["mask_tv"],
        "checkpoint_best": history["best"],
    }
    steps.end()
    return TrialResult({"hidden": config.hidden, "memory": config.memory, **numbers}, arrays)


class Steps:
    """Progress over the parts of a trial, counted in training steps."""

    def __init__(self, progress: Progress, name: str, total: int):
        self.progress, self.name, self.total, self.before = progress, name, total, 0

    def part(self, length: int, what: str = "pretraining") -> Any:
        """A report for one call of `fit` with this many steps."""
        start = self.before
        self.before += length

        def report(done: int, of: int, note: str = "") -> None:
            self.progress(start + done, self.total, f"{self.name}, {what} {note}")

        return report

    def end(self) -> None:
        self.progress(self.total, self.total, self.name)


# -- the world and its tasks ------------------------------------------------------------------


class Tasks(NamedTuple):
    """A world, sequences from it, and the labels of several tasks on them."""

    world: HMM | MemoryHMM
    tokens: Int[np.ndarray, "n T"]
    posterior: Float[np.ndarray, "n S"]
    """Exact law of the label's variable: of H_1, or of the memory."""
    laws: Float[np.ndarray, "n V"]
    """The exact model's law at the mask."""
    messages: Float[np.ndarray, "n H"] | None
    """`P[x_2.. | H_1]` up to a factor; vanilla worlds only."""
    everywhere: Float[np.ndarray, "n T V"] | None
    """The exact model's laws at all positions; worlds with memory only."""
    task: Labels


def make_tasks(config: TrainedTuning, world_key, token_key, task_key) -> Tasks:
    """Everything exact, in float64."""
    split = Split(config.tuning.train, config.tuning.validation, config.tuning.test)
    sizes: dict[str, Any] = {"hidden": config.hidden, "vocab": config.vocab}
    with jax.enable_x64(True):
        draw = (
            partial(MemoryHMM.random, memory=config.memory, **sizes)
            if config.memory
            else partial(HMM.random, **sizes)
        )
        worlds = jax.jit(jax.vmap(draw))(world_key[None])
        tokens = sample_tokens(worlds, token_key, split.total, config.tuning.length)
        messages = everywhere = None
        if config.memory:
            exact = memory_outputs(worlds, tokens)
            posterior, laws, everywhere = exact.memory, exact.first, np.asarray(exact.outputs[0])
        else:
            messages = all_slot_messages(worlds, tokens[:, :, 1:])
            posterior = slot_posteriors(jax.vmap(lambda w: w.first)(worlds), messages)
            laws = oracle_heads.slot_laws(worlds, None, messages)
        task = sparse_tasks(task_key, jnp.tile(posterior, (config.tasks, 1, 1)), split)
        world = jax.tree.map(lambda leaf: np.asarray(leaf[0]), worlds)
        return Tasks(
            world,
            np.asarray(tokens[0]),
            np.asarray(posterior[0]),
            np.asarray(laws[0]),
            None if messages is None else np.asarray(messages[0]),
            everywhere,
            jax.tree.map(np.asarray, task),
        )


def white(features: Float[np.ndarray, "n d"], train: int) -> Float[np.ndarray, "n d"]:
    """`whitened`, for one world."""
    return whitened(features[None], train)[0]


def regress(
    features: dict[str, Float[np.ndarray, "n _"]], task: Labels, tuning: Tuning
) -> dict[str, np.ndarray]:
    """Test accuracy of logistic regression on each kind of features, for every task."""
    count = task.labels.shape[0]
    with jax.enable_x64(True):
        tiled = {name: np.tile(value, (count, 1, 1)) for name, value in features.items()}
        return logistic_accuracies(tiled, task.labels, tuning.train, tuning.test)


# -- heads ------------------------------------------------------------------------------------


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
        small_margins=(np.abs(task.margins) < oracle_heads.MARGIN).mean(axis=1),
        two_classes=task.two_classes,
    )


def _adam_heads(laws, labels, tuning: Tuning, key) -> np.ndarray:
    """A linear head by Adam for every task: test accuracies."""
    count, train, test = labels.shape[0], tuning.train, tuning.test
    with jax.enable_x64(True):
        outputs = jnp.tile(jnp.asarray(laws)[None, :, None], (count, 1, 1, 1))
        heads = jax.vmap(lambda _: fresh_linear_head(laws.shape[1]))(jnp.arange(count))
        labels = jnp.asarray(labels)
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
def _test_heads(heads: LinearHead, laws, labels):
    return jax.vmap(lambda head, g, y: accuracy(jax.vmap(head)(g), y))(heads, laws, labels)


def tune_attention(
    config: TrainedTuning, data: Tasks, model: Transformer, key: PRNGKeyArray, steps: Steps
) -> dict[str, Any]:
    """Attention heads over all positions of both models, and regressions on the mean law."""
    tuning, task = config.tuning, data.task
    everywhere = np.asarray(outputs_everywhere(model, jnp.asarray(data.tokens, jnp.int32)))
    assert data.everywhere is not None
    found: dict[str, Any] = {}
    for name, outputs in (("trained", everywhere), ("exact", data.everywhere)):
        tiled = np.broadcast_to(outputs, (config.tasks, *outputs.shape))
        tokens = np.broadcast_to(data.tokens, (config.tasks, *data.tokens.shape))
        tuned, _, _ = train_attention(
            {"attention": ATTENTION_RATE}, tiled, tokens, task.labels, tuning.train, tuning.test,
            key, steps=tuning.head_steps, warmup=tuning.head_warmup, batch=tuning.head_batch,
            progress=steps.part(0, f"attention on the {name} model"),
        )  # fmt: skip
        found[f"{name}_attention"] = tuned["attention"]
        mean = np.asarray(mean_output(outputs), np.float64)
        found |= regress({f"{name}_mean": white(mean, tuning.train)}, task, tuning)
    # What the model puts out where it sees the token, against the exact law given the others.
    tv = total_variation(everywhere[-tuning.test :, 1:], data.everywhere[-tuning.test :, 1:])
    return {**lists(**found), "seen_tv": float(tv.mean())}


# -- prompts ----------------------------------------------------------------------------------


def tune_prompts(
    config: TrainedTuning,
    data: Tasks,
    models: list[Transformer],
    laws: Float[np.ndarray, "n V"],
    key: PRNGKeyArray,
    steps: Steps,
    folder: Path,
) -> dict[str, Any]:
    """Prompts on the exact and the trained model (the first of `models`), the whole model fine-tuned,
    and what the prompts do to the laws; then the first task's prompt on the other models."""
    tuning, task, messages = config.tuning, data.task, data.messages
    assert isinstance(data.world, HMM) and messages is not None
    start_key, exact_key, tune_key, fine_key = jax.random.split(key, 4)
    exact = _exact_prompts(config, data, start_key, exact_key)
    test = slice(-tuning.test, None)
    tokens = jnp.asarray(data.tokens, jnp.int32)
    found: dict[str, list] = {"exact_prompt": exact.accuracy.tolist()}
    rows: list[dict[str, float]] = []

    def tune(model: Transformer, labels: Int[jax.Array, " n"], i: int, file: str):
        """Task i's prompt on a model: the laws at the mask behind it, and the test accuracy."""
        start = Classifier(
            fresh_linear_head(config.vocab),
            fresh_rows(jax.random.fold_in(start_key, i), tuning.prompt_length, model),
        )
        train = slice(tuning.train)
        classifier, _ = fit(
            TuningLoss(model, tokens[train], labels[train], True, tuning.prompt_batch),
            {"prompt": start},
            adam(tuning.prompt_rate, tuning.prompt_steps, tuning.prompt_warmup),
            tuning.prompt_steps,
            jax.random.fold_in(tune_key, i),
            chunk=max(1, tuning.prompt_steps // 5),
            progress=steps.part(tuning.prompt_steps, f"prompt of task {i + 1}"),
            checkpoint=folder / file,
        )
        tuned = classifier["prompt"]
        assert tuned.prompt is not None and isinstance(tuned.head, LinearHead)
        prompted = outputs_at_mask(model, tokens, tuned.prompt.rows)
        scores = jax.vmap(tuned.head)(prompted[test])
        return np.asarray(prompted, np.float64), float(accuracy(scores, labels[test]))

    answers = jnp.asarray(task.labels, jnp.int32)
    for i, labels in enumerate(answers):
        prompted, tested = tune(models[0], labels, i, f"prompt-{i}.npz")
        refit = regress(
            {"refit": white(prompted, tuning.train)},
            jax.tree.map(operator.itemgetter(slice(i, i + 1)), task),
            tuning,
        )
        tuned = _fine_tune(
            config, models[0], tokens, labels, jax.random.fold_in(fine_key, i), steps
        )
        row = {
            "trained_prompt": tested,
            "trained_prompt_refit": float(refit["refit"][0]),
            "fine_tuned": tuned,
        }
        row |= prompt_effect(
            data.world,
            messages[test],
            np.asarray(task.mu[i]),
            laws[test],
            prompted[test],
            exact.prior[i],
        )
        rows.append(row)
    found |= {name: [row[name] for row in rows] for name in rows[0]}
    if len(models) > 1:
        found["early_checkpoints"] = list(config.early_prompts)
        found["early_prompt"] = [
            tune(model, answers[0], 0, f"early-{j}.npz")[1] for j, model in enumerate(models[1:])
        ]
    return found


def _fine_tune(config, model, tokens, labels, key, steps: Steps) -> float:
    """All weights and a linear head, trained on one task: the test accuracy."""
    tuning = config.tuning
    (model, classifier), _ = fit(
        FineTuningLoss(tokens[: tuning.train], labels[: tuning.train], True, tuning.fine_batch),
        (model, Classifier(fresh_linear_head(config.vocab))),
        adamw(tuning.fine_rate, tuning.fine_steps, tuning.fine_steps // 10),
        tuning.fine_steps,
        key,
        chunk=max(1, tuning.fine_steps // 2),
        progress=steps.part(tuning.fine_steps, "fine-tuning"),
    )
    assert isinstance(classifier.head, LinearHead)
    laws = outputs_at_mask(model, tokens[-tuning.test :])
    return float(accuracy(jax.vmap(classifier.head)(laws), labels[-tuning.test :]))


class ExactPrompts(NamedTuple):
    accuracy: Float[np.ndarray, " tasks"]
    prior: Float[np.ndarray, "tasks H"]
    """`c` of each prompt: the law of H_1 that it puts in place of the world's."""


def _exact_prompts(config: TrainedTuning, data: Tasks, start_key, tune_key) -> ExactPrompts:
    """Prompts on the exact model, one per task."""
    tuning, count = config.tuning, config.tasks
    assert data.messages is not None
    with jax.enable_x64(True):
        worlds = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), data.world)
        messages = np.broadcast_to(data.messages, (count, *data.messages.shape))
        oracle = oracle_heads.OracleHeads(
            hidden=config.hidden, vocab=config.vocab, worlds=count, steps=tuning.head_steps,
            warmup=tuning.head_warmup, batch=tuning.head_batch, rate=tuning.head_rate,
            prompt_length=tuning.prompt_length,
        )  # fmt: skip
        train, labels = tuning.train, data.task.labels
        trained, _ = oracle_heads.tune(
            oracle, worlds, messages[:, :train], labels[:, :train], start_key, tune_key, None,
            names=("prompt_20",),
        )  # fmt: skip
        tested = oracle_heads.test_accuracies(
            trained, worlds, messages[:, -tuning.test :], labels[:, -tuning.test :]
        )
        prior = jax.jit(jax.vmap(slot_prior))(worlds, trained["prompt_20"].prompt)
        prior = np.asarray(prior)
        return ExactPrompts(
            np.asarray(tested["prompt_20"]), prior / prior.sum(axis=1, keepdims=True)
        )
