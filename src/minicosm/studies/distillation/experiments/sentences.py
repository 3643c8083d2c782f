"""BERT-like teachers and students of a grammar: reliance on neighbours, and distillation at short horizons.

Numbers: `floor` and `bayes`, losses of the unigram law and of the exact one on the test sentences;
`ceiling`, top-1 accuracy of the exact one, and `error`, its standard error; `loss` of teachers at the
end; `accuracy`, top-1 of every student by horizon and arm; `teacher_accuracy`. Arrays: `steps`;
`losses`, `top` `[step, teacher]`; `robust`, `close` `[step, teacher, n]`, medians for n = 2..5.
"""

from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from minicosm.adaptation import reliance
from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import (
    Curriculum,
    Distilled,
    MaskedSentences,
    Trajectory,
    fit_ensemble,
    keeping,
    labels_only,
    one_shot,
    stacked,
    two_shot,
    warmup_cosine,
)
from minicosm.worlds import LayeredPCFG

from ..trials import PLACES, Sentences
from .mlps import copies, key_of

GRAMS = (2, 3, 4, 5)
SLOTS = 4
"""Checkpoints that every student has room for."""


@cache
def optimiser(peak: float, steps: int) -> optax.GradientTransformation:
    """Adam with betas (0.9, 0.95): 6% warm-up, then along a half cosine to 0."""
    schedule = warmup_cosine(peak, steps, max(1, round(0.06 * steps)))
    return optax.adam(schedule, b1=0.9, b2=0.95)


def fresh(config: Sentences, world: LayeredPCFG, heads: int, keys: Any) -> Any:
    shape = TransformerConfig(
        vocab=world.vocab, layers=config.layers, heads=heads, width=8 * heads,
        max_length=world.longest, init_std=config.init_std,
    )  # fmt: skip
    return eqx.filter_vmap(lambda key: Transformer(shape, key=key))(keys)


class Judge(eqx.Module):
    """Held-out sentences, and one position in each at which reliance on neighbours is measured."""

    task: MaskedSentences
    batch: Any
    tokens: Any
    visible: Any
    places: Any

    @eqx.filter_jit
    def scores(self, models: Any) -> Float[Array, "members 2"]:
        """Loss and top-1 accuracy of every member at the hidden positions."""

        def one(model: Any) -> Float[Array, " 2"]:
            laws = jax.nn.log_softmax(self.task.logits(model, self.batch))
            return summary(self.task, self.batch, laws)

        arrays, rest = eqx.partition(models, eqx.is_array)
        return jax.lax.map(lambda part: one(eqx.combine(part, rest)), arrays)

    @eqx.filter_jit
    def reliance(self, models: Any) -> Float[Array, "members 2 grams"]:
        """Medians of `l_robust` and `l_close` over sentences, for n = 2..5."""

        def one(model: Any) -> Float[Array, "2 grams"]:
            def at(tokens: Array, place: Array, visible: Array) -> Float[Array, "2 grams"]:
                return reliance(model, tokens, place, GRAMS, visible)

            return jnp.median(jax.vmap(at)(self.tokens, self.places, self.visible), axis=0)

        arrays, rest = eqx.partition(models, eqx.is_array)
        return jax.lax.map(lambda part: one(eqx.combine(part, rest)), arrays)


def summary(task: MaskedSentences, batch: Any, laws: Float[Array, "n V"]) -> Float[Array, " 2"]:
    """Mean loss and top-1 accuracy of log laws over the hidden positions."""
    labels, weights = task.labels(batch), task.weights(batch)
    losses = -jnp.take_along_axis(laws, labels[:, None], axis=1)[:, 0]
    right = jnp.argmax(laws, axis=1) == labels
    return jnp.stack([jnp.sum(weights * losses), jnp.sum(weights * right)]) / jnp.sum(weights)


def judge(config: Sentences, world: LayeredPCFG, count: int, *words: str) -> Judge:
    task = MaskedSentences(world, batch=count, rate=config.mask)
    batch_key, text_key, place_key = jax.random.split(key_of(config.seed, "sentences", *words), 3)
    drawn = jax.jit(jax.vmap(world.sample))(jax.random.split(text_key, count))
    places = jax.random.uniform(place_key, (count,)) * drawn.length
    inside = jnp.arange(world.longest) < drawn.length[:, None]
    tokens = jnp.where(inside, drawn.tokens, 0)
    return Judge(task, jax.jit(task.draw)(batch_key), tokens, inside, places.astype(jnp.int32))


def run(config: Sentences, progress: Progress, folder: Path) -> TrialResult:
    world = LayeredPCFG.named(config.grammar, config.below)
    probe = judge(config, world, config.probes, "probe")
    tests = judge(config, world, config.tests, "tests")
    trajectory, history = _teachers(config, world, probe, progress, folder)
    bayes = eqx.filter_jit(lambda judge: judge.task.bayes(judge.batch))(tests)
    exact = np.asarray(summary(tests.task, tests.batch, jnp.log(jnp.maximum(bayes, 1e-30))))
    unigrams = np.asarray(world.ngrams(1), float)
    laws = jnp.log(jnp.asarray(unigrams / unigrams.sum()))
    hidden = float(jnp.sum(tests.task.weights(tests.batch)))
    floor = summary(tests.task, tests.batch, jnp.broadcast_to(laws, bayes.shape))
    final = np.asarray(tests.scores(trajectory.take(len(trajectory) - 1)))
    accuracy = {
        str(steps): _students(config, world, steps, trajectory, tests, progress, folder)
        for steps in config.horizons
    }
    numbers = {
        "floor": float(floor[0]),
        "bayes": float(exact[0]),
        "ceiling": float(exact[1]),
        "error": float(np.sqrt(exact[1] * (1 - exact[1]) / hidden)),
        "loss": final[:, 0].tolist(),
        "teacher_accuracy": final[:, 1].tolist(),
        "accuracy": accuracy,
    }
    arrays = {"steps": history["step"], "losses": history["held loss"], "top": history["held top"]}
    arrays |= {"robust": history["robust"], "close": history["close"]}
    return TrialResult(numbers, arrays)


def _teachers(
    config: Sentences, world: LayeredPCFG, probe: Judge, progress: Progress, folder: Path
) -> tuple[Trajectory, dict[str, np.ndarray]]:
    start, data = jax.random.split(key_of(config.seed, "teachers", "sentences"))
    models = fresh(config, world, config.teacher_heads, jax.random.split(start, config.teachers))
    task = MaskedSentences(world, batch=config.batch, rate=config.mask)
    loss = copies(Distilled(task, labels_only(), block=config.chunk), config.teachers)

    def watch(params: Any, done: int) -> dict[str, Any]:
        scores, reliance = probe.scores(params), probe.reliance(params)
        return {
            "held loss": scores[:, 0], "held top": scores[:, 1],
            "robust": reliance[:, 0], "close": reliance[:, 1],
        }  # fmt: skip

    last, history = fit_ensemble(
        loss, models, optimiser(config.teacher_rate, config.teacher_steps), config.teacher_steps,
        jax.random.split(data, config.teachers), chunk=config.chunk, watch=keeping(watch),
        progress=lambda done, total, note="": progress(done, total, f"teachers {note}"),
        checkpoint=folder / "teachers.npz",
    )  # fmt: skip
    return Trajectory.of(history, last), history


def _students(
    config: Sentences, world: LayeredPCFG, steps: int, trajectory: Trajectory, tests: Judge,
    progress: Progress, folder: Path,
) -> dict[str, list[float]]:  # fmt: skip
    """Top-1 accuracy of the students of all arms; a student has the same start and sentences in every arm."""
    last = len(trajectory) - 1

    def number(share: float) -> int:
        return trajectory.index(round(share * config.teacher_steps))

    early = [number(share) for share in (1 / 8, 2 / 8, 3 / 8)]
    arms = {
        "labels": labels_only(),
        "one-shot": one_shot(last + 1),
        "progressive": Curriculum([*early, last], [steps // 6] * 3),
    }
    if steps == min(config.horizons):
        arms |= {
            place: two_shot(number(share), config.shot, last) for place, share in PLACES.items()
        }
    start, data = jax.random.split(key_of(config.seed, "students", "sentences"))
    task = MaskedSentences(world, batch=config.batch, rate=config.mask)
    losses = [
        _loss(task, trajectory.member(i % config.teachers), arm, config.chunk)
        for arm in arms.values()
        for i in range(config.pairs)
    ]
    one = fresh(config, world, config.student_heads, jax.random.split(start, config.pairs))
    models = jax.tree.map(
        lambda leaf: jnp.concatenate([leaf] * len(arms)) if eqx.is_array(leaf) else leaf, one
    )
    keys = jnp.concatenate([jax.random.split(data, config.pairs)] * len(arms))
    ended, _ = fit_ensemble(
        stacked(losses), models, optimiser(config.student_rate, steps), steps, keys, chunk=config.chunk,
        progress=lambda done, total, note="": progress(done, total, f"students, {steps} steps {note}"),
        checkpoint=folder / f"students-{steps}.npz",
    )  # fmt: skip
    top = np.asarray(tests.scores(ended))[:, 1].reshape(len(arms), config.pairs)
    return {name: row.tolist() for name, row in zip(arms, top, strict=True)}


def _loss(task: MaskedSentences, teacher: Trajectory, arm: Curriculum, block: int) -> Distilled:
    used = list(arm.used) or [len(teacher) - 1]
    models = teacher.take(np.array(used + [used[-1]] * (SLOTS - len(used))))
    return Distilled(task, arm.among(used, SLOTS), models, np.zeros((), np.float32), block=block)
