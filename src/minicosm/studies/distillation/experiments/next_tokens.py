"""GPT-like teachers and students of a grammar, trained on the last tokens of nodes of some height.

Numbers, by height: `floor` and `bayes`, losses of the law of tokens at such places and of the exact one on
the test sentences; `ceiling`, top-1 accuracy of the exact one, and `error`, its standard error; `loss` and
`teacher_accuracy` of every teacher; `accuracy`, top-1 of every student by arm; `exact_robust`, `exact_close`,
medians of L_robust and L_close of the exact law for n in GRAMS. Arrays: `steps`; `losses`, `top` `[step,
teacher]`, teachers of the first height first; `grams`, these n; `robust`, `close` `[step, teacher,
n]`, their medians.
"""

from math import gcd
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from minicosm.adaptation import causal_reliance
from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import (
    Curriculum,
    Distilled,
    Trajectory,
    fit_ensemble,
    kappa_split,
    keeping,
    labels_only,
    one_shot,
    stacked,
)
from minicosm.training import NextTokens as Task
from minicosm.worlds import LayeredPCFG

from ..transformer_trials import NextTokens
from .mlps import key_of as first_keys
from .sentences import TOGETHER, optimiser, summary

RUN = "second run"
"""A first run had a grammar in which there was nothing to gain: these keys are new."""
PROBES = 256
"""Sentences on which teachers are judged at every checkpoint."""
GRAMS = (3, 4, 5, 9)
"""Sizes of the windows of L_robust and L_close; for n = 2 the former is 0."""


def key_of(seed: int, *words: str) -> Any:
    """A key of this run."""
    return first_keys(seed, RUN, *words)


def fresh(config: NextTokens, world: LayeredPCFG, heads: int, keys: Any) -> Any:
    shape = TransformerConfig(
        vocab=world.vocab, layers=config.layers, heads=heads, width=8 * heads, max_length=world.longest,
        causal=True, extra_inputs=1, init_std=config.init_std,
    )  # fmt: skip
    return eqx.filter_vmap(lambda key: Transformer(shape, key=key))(keys)


def task_of(config: NextTokens, world: LayeredPCFG, height: int, batch: int) -> Task:
    lowest = int(np.min(config.heights))
    return Task(world, np.asarray(height, np.int32), batch=batch, lowest=lowest)


class Judge(eqx.Module):
    """Held-out sentences with the ends of nodes of one height, and one of these ends in each."""

    task: Task
    batch: Any
    places: Any

    @eqx.filter_jit
    def scores(self, models: Any) -> Float[Array, "members 2"]:
        """Loss and top-1 accuracy of every member."""

        def one(part: Any) -> Float[Array, " 2"]:
            laws = jax.nn.log_softmax(self.task.logits(eqx.combine(part, rest), self.batch))
            return summary(self.task, self.batch, laws)

        arrays, rest = eqx.partition(models, eqx.is_array)
        return jax.lax.map(one, arrays)

    @eqx.filter_jit
    def reliance(self, models: Any) -> Float[Array, "members 2 grams"]:
        """Medians of L_robust and L_close of every member."""

        def one(part: Any) -> Float[Array, "2 grams"]:
            model, start = eqx.combine(part, rest), self.task.world.vocab
            each = jax.vmap(lambda row, at: causal_reliance(model, row, at, GRAMS, start=start))
            return jnp.median(each(self.batch.tokens, self.places), axis=0)

        arrays, rest = eqx.partition(models, eqx.is_array)
        return jax.lax.map(one, arrays)

    def exact_reliance(self) -> dict[str, list[float]]:
        """Those of the exact law."""
        world, height = self.task.world, int(self.task.height)
        each = jax.vmap(lambda row, at: causal_reliance(world, row, at, GRAMS, height=height))
        medians = jnp.median(jax.jit(each)(self.batch.tokens, self.places), axis=0)
        robust, close = np.asarray(medians, float).tolist()
        return {"exact_robust": robust, "exact_close": close}


def judge(config: NextTokens, world: LayeredPCFG, height: int, count: int, word: str) -> Judge:
    task = task_of(config, world, height, count)
    batch = eqx.filter_jit(task.draw)(key_of(config.seed, "next", word))
    chosen = jax.random.categorical(
        key_of(config.seed, "places", word), jnp.log(batch.weights), axis=1
    )
    places = jnp.take_along_axis(batch.at, chosen[:, None], axis=1)[:, 0]
    return Judge(task, batch, jnp.maximum(places, 1))


def run(config: NextTokens, progress: Progress, folder: Path) -> TrialResult:
    world = LayeredPCFG.named(config.grammar, config.below)
    trajectory, history = _teachers(config, world, progress, folder)
    tests = [judge(config, world, h, config.tests, "tests") for h in config.heights]
    probes = [judge(config, world, h, PROBES, "probe") for h in config.heights]
    final = _by_height(config, trajectory.take(len(trajectory) - 1))
    numbers: dict[str, Any] = {}
    for height, test, probe, models in zip(config.heights, tests, probes, final, strict=True):
        scores = np.asarray(test.scores(models))
        numbers[str(height)] = _exact(test) | probe.exact_reliance() | {
            "loss": scores[:, 0].tolist(), "teacher_accuracy": scores[:, 1].tolist(),
        }  # fmt: skip
    accuracy = _students(config, world, trajectory, tests, progress, folder)
    for height in config.heights:
        numbers[str(height)]["accuracy"] = accuracy[height]
    arrays = {"steps": history["step"], "losses": history["held loss"], "top": history["held top"]}
    arrays |= {"grams": np.array(GRAMS), "robust": history["robust"], "close": history["close"]}
    return TrialResult(numbers, arrays)


def _exact(test: Judge) -> dict[str, float]:
    """What the exact law, and the law of tokens alone, score on the test sentences."""
    task, batch = test.task, test.batch
    exact = np.asarray(
        summary(task, batch, jnp.log(jnp.maximum(_bayes(int(task.height), task, batch), 1e-30)))
    )
    labels, weights = np.asarray(task.labels(batch)), np.asarray(task.weights(batch))
    law = np.bincount(labels, weights, minlength=task.world.vocab) / weights.sum()
    count = len(batch.labels)  # a sentence has the weight 1
    return {
        "floor": float(-(law[law > 0] * np.log(law[law > 0])).sum()),
        "bayes": float(exact[0]),
        "ceiling": float(exact[1]),
        "error": float(np.sqrt(exact[1] * (1 - exact[1]) / count)),
    }


@eqx.filter_jit
def _bayes(height: int, task: Task, batch: Any) -> Float[Array, "n V"]:
    return eqx.tree_at(lambda t: t.height, task, height).bayes(batch)


def _by_height(config: NextTokens, models: Any) -> list[Any]:
    """The teachers of each height."""

    def part(i: int) -> Any:
        return jax.tree.map(
            lambda leaf: (
                leaf[i * config.teachers : (i + 1) * config.teachers]
                if eqx.is_array(leaf)
                else leaf
            ),
            models,
        )

    return [part(i) for i in range(len(config.heights))]


def _teachers(
    config: NextTokens, world: LayeredPCFG, progress: Progress, folder: Path
) -> tuple[Trajectory, dict[str, np.ndarray]]:
    """Teachers of all heights; teacher i has the same start and sentences at every height."""
    start, data = jax.random.split(key_of(config.seed, "teachers", "next"))
    chunk, heights = config.teacher_steps // config.checkpoints, len(config.heights)
    losses = [
        Distilled(
            task_of(config, world, h, config.batch), labels_only(), temperature=np.zeros((), np.float32),
            block=gcd(chunk, TOGETHER),
        )
        for h in config.heights
        for _ in range(config.teachers)
    ]  # fmt: skip
    one = fresh(config, world, config.teacher_heads, jax.random.split(start, config.teachers))
    probes = [judge(config, world, h, PROBES, "probe") for h in config.heights]

    def watch(params: Any, done: int) -> dict[str, Any]:
        parts = list(zip(probes, _by_height(config, params), strict=True))
        scores = np.concatenate([np.asarray(probe.scores(part)) for probe, part in parts])
        relied = np.concatenate([np.asarray(probe.reliance(part)) for probe, part in parts])
        return {
            "held loss": scores[:, 0], "held top": scores[:, 1],
            "robust": relied[:, 0], "close": relied[:, 1],
        }  # fmt: skip

    last, history = fit_ensemble(
        stacked(losses), repeated(one, heights), optimiser(config.teacher_rate, config.teacher_steps),
        config.teacher_steps, jnp.concatenate([jax.random.split(data, config.teachers)] * heights),
        chunk=chunk, watch=keeping(watch),
        progress=lambda done, total, note="": progress(done, total, f"teachers {note}"),
        checkpoint=folder / "teachers.npz",
    )  # fmt: skip
    return Trajectory.of(history, last), history


def repeated(models: Any, times: int) -> Any:
    """The same members several times."""
    return jax.tree.map(
        lambda leaf: jnp.concatenate([leaf] * times) if eqx.is_array(leaf) else leaf, models
    )


def arms_of(config: NextTokens, checkpoints: int) -> dict[str, Curriculum]:
    """Labels, the final teacher, and kappa T0 / N steps of each checkpoint, as many as the horizon has."""
    every = kappa_split(range(checkpoints), config.kappa, config.teacher_steps, config.steps)
    return {"labels": labels_only(), "one-shot": one_shot(checkpoints), "progressive": every}


def _students(
    config: NextTokens, world: LayeredPCFG, trajectory: Trajectory, tests: list[Judge],
    progress: Progress, folder: Path,
) -> dict[int, dict[str, list[float]]]:  # fmt: skip
    """Top-1 accuracy of the students of all heights and arms; a student has the same start and sentences in
    all of them."""
    arms = arms_of(config, len(trajectory))
    slots = len(arms["progressive"].used)
    each = int(config.kappa * config.teacher_steps / config.checkpoints)
    chunk = gcd(max(each, 1), config.steps)
    block = gcd(chunk, TOGETHER)
    losses = []
    for i, height in enumerate(config.heights):
        task = task_of(config, world, height, config.batch)
        for arm in arms.values():
            for j in range(config.pairs):
                teacher = trajectory.member(i * config.teachers + j % config.teachers)
                losses.append(_loss(task, teacher, arm, slots, block))
    start, data = jax.random.split(key_of(config.seed, "students", "next"))
    one = fresh(config, world, config.student_heads, jax.random.split(start, config.pairs))
    times = len(losses) // config.pairs
    ended, _ = fit_ensemble(
        stacked(losses), repeated(one, times), optimiser(config.student_rate, config.steps), config.steps,
        jnp.concatenate([jax.random.split(data, config.pairs)] * times), chunk=chunk,
        progress=lambda done, total, note="": progress(done, total, f"students {note}"),
        checkpoint=folder / "students.npz",
    )  # fmt: skip
    found = {}
    size = len(arms) * config.pairs
    for i, (height, test) in enumerate(zip(config.heights, tests, strict=True)):
        part = jax.tree.map(
            lambda leaf: leaf[i * size : (i + 1) * size] if eqx.is_array(leaf) else leaf,  # noqa: B023
            ended,
        )
        top = np.asarray(test.scores(part))[:, 1].reshape(len(arms), config.pairs)
        found[height] = {name: row.tolist() for name, row in zip(arms, top, strict=True)}
    return found


def _loss(task: Task, teacher: Trajectory, arm: Curriculum, slots: int, block: int) -> Distilled:
    used = list(arm.used) or [len(teacher) - 1]
    models = teacher.take(np.array(used + [used[-1]] * (slots - len(used))))
    return Distilled(task, arm.among(used, slots), models, np.zeros((), np.float32), block=block)
