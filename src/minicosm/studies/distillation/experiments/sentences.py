"""BERT-like teachers and students of a grammar: reliance on neighbours, and distillation at short horizons.

Numbers: `floor` and `bayes`, losses of the unigram law and of the exact one on the test sentences;
`ceiling`, top-1 accuracy of the exact one, and `error`, its standard error; `loss` of teachers at the
end; `accuracy`, top-1 of every student by horizon and arm; `teacher_accuracy`. At the shortest horizon, by
arm and student: `robust`, medians of L_robust for n = 2..5, and `probe`, accuracies of probes of the
non-terminals of the heights below the root.

Arrays: `steps`; `losses`, `top` `[step, teacher]`; `robust`, `close` `[step, teacher, n]`, medians for
n = 2..5; `head_steps`, and `head_top_small`, `head_top_large` `[step, pair]`, accuracies from labels by
number of heads; of one sentence `tree_tokens`, `tree_symbols`, `tree_boundaries`, `tree_exact` `[token, V]`,
and `tree_said` `[step, arm, token, V]`, what the first student of the arms labels, one-shot and progressive
says of each token given all others, after `tree_steps`.
"""

from functools import cache
from math import gcd
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from minicosm.adaptation import fit_position_probe, reliance
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
TOGETHER = 5
"""Batches, at most, of which all teachers are asked at once, so that memory suffices."""
SLOTS = 4
"""Checkpoints that every student has room for."""
WAYS = ("labels", "one-shot", "progressive")
MEASURED = 1024
"""Sentences, at most, on which the features of students are measured."""
OFTEN = 25
"""Steps, at most, between evaluations of models that differ in their heads."""


@cache
def optimiser(peak: float, steps: int) -> optax.GradientTransformation:
    """Adam with betas (0.9, 0.95): 6% warm-up, then along a half cosine to 0."""
    schedule = warmup_cosine(peak, steps, max(1, round(0.06 * steps)))
    return optax.adam(schedule, b1=0.9, b2=0.95)


def fresh(config: Sentences, world: Any, heads: int, keys: Any) -> Any:
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


def summary(task: Any, batch: Any, laws: Float[Array, "n V"]) -> Float[Array, " 2"]:
    """Mean loss and top-1 accuracy of log laws over the hidden positions."""
    labels, weights = task.labels(batch), task.weights(batch)
    losses = -jnp.take_along_axis(laws, labels[:, None], axis=1)[:, 0]
    right = jnp.argmax(laws, axis=1) == labels
    return jnp.stack([jnp.sum(weights * losses), jnp.sum(weights * right)]) / jnp.sum(weights)


def judge(config: Sentences, world: Any, count: int, *words: str) -> Judge:
    task = MaskedSentences(world, batch=count, rate=config.mask)
    batch_key, text_key, place_key = jax.random.split(key_of(config.seed, "sentences", *words), 3)
    drawn = jax.jit(jax.vmap(world.sample))(jax.random.split(text_key, count))
    places = jax.random.uniform(place_key, (count,)) * drawn.length
    inside = jnp.arange(world.longest) < drawn.length[:, None]
    tokens = jnp.where(inside, drawn.tokens, 0)
    return Judge(task, jax.jit(task.draw)(batch_key), tokens, inside, places.astype(jnp.int32))


def run(config: Sentences, progress: Progress, folder: Path) -> TrialResult:
    world = LayeredPCFG.named(config.grammar, config.below)
    tests = judge(config, world, config.tests, "tests")
    drawn = jax.jit(world.sample)(key_of(config.seed, "sentences", "tree"))
    picture = Picture(drawn.tokens, drawn.length)
    trajectory, history = teachers(config, world, world, progress, folder)
    numbers = exact_scores(world, tests) | final_scores(trajectory, tests)
    arrays = {"steps": history["step"], "losses": history["held loss"], "top": history["held top"]}
    arrays |= {"robust": history["robust"], "close": history["close"]}
    numbers["accuracy"] = {}
    for steps in config.horizons:
        ended, said, top = students(
            config, world, steps, trajectory, tests, progress, folder, picture
        )
        numbers["accuracy"][str(steps)] = top
        if steps == min(config.horizons):
            numbers |= _features(config, world, ended, progress)
            arrays |= {"tree_steps": said["step"], "tree_said": said["tree"]}
    arrays |= _heads(config, world, progress, folder)
    arrays |= {
        "tree_tokens": np.asarray(drawn.tokens), "tree_symbols": np.asarray(drawn.symbols),
        "tree_boundaries": np.asarray(drawn.boundaries),
        "tree_exact": np.asarray(world.conditionals(drawn.tokens)),
    }  # fmt: skip
    return TrialResult(numbers, arrays)


def exact_scores(world: LayeredPCFG, tests: Judge) -> dict[str, Any]:
    """Of the exact law and of that of single tokens."""
    bayes = eqx.filter_jit(lambda judge: judge.task.bayes(judge.batch))(tests)
    exact = np.asarray(summary(tests.task, tests.batch, jnp.log(jnp.maximum(bayes, 1e-30))))
    unigrams = np.asarray(world.ngrams(1), float)
    laws = jnp.log(jnp.asarray(unigrams / unigrams.sum()))
    hidden = float(jnp.sum(tests.task.weights(tests.batch)))
    floor = summary(tests.task, tests.batch, jnp.broadcast_to(laws, bayes.shape))
    return {
        "floor": float(floor[0]),
        "bayes": float(exact[0]),
        "ceiling": float(exact[1]),
        "error": float(np.sqrt(exact[1] * (1 - exact[1]) / hidden)),
    }


def final_scores(trajectory: Trajectory, tests: Judge) -> dict[str, Any]:
    final = np.asarray(tests.scores(trajectory.take(len(trajectory) - 1)))
    return {"loss": final[:, 0].tolist(), "teacher_accuracy": final[:, 1].tolist()}


class Picture(eqx.Module):
    """One sentence, of whose tokens models are asked one by one."""

    tokens: Any
    length: Any

    @eqx.filter_jit
    def laws(self, models: Any) -> Float[Array, "members T V"]:
        """What every member says of each token given all others."""
        inside = jnp.arange(self.tokens.shape[0]) < self.length
        tokens = jnp.where(inside, self.tokens, 0)

        def at(model: Any, place: Array) -> Float[Array, " V"]:
            rows = model.embed(tokens, jnp.arange(len(tokens)) != place)
            return model.predict(rows, place[None], visible=inside)[0]

        say = eqx.filter_vmap(
            lambda model: jax.vmap(lambda place: at(model, place))(jnp.arange(len(tokens)))
        )
        return say(models)


def _features(
    config: Sentences, world: LayeredPCFG, ended: dict[str, Any], progress: Progress
) -> dict[str, Any]:
    """L_robust, and how well probes tell non-terminals at their last tokens, by arm and student."""
    key = key_of(config.seed, "sentences", "features")
    some = judge(config, world, min(config.tests, MEASURED), "features")
    drawn = jax.jit(jax.vmap(world.sample))(jax.random.split(key, config.tests))
    visible = jnp.arange(world.longest) < drawn.length[:, None]
    tokens = jnp.where(visible, drawn.tokens, 0)
    rest = config.tests - config.tests // 4
    robust, probes = {}, {}
    for done, arm in enumerate(WAYS):
        progress(done, len(WAYS), f"features of students, {arm}")
        robust[arm] = np.asarray(some.reliance(ended[arm]))[:, 0].tolist()
        states = np.asarray(_hidden(ended[arm], tokens, visible))
        probes[arm] = [
            [
                _told(states[i], drawn, visible, h, len(world.symbols(h + 2)), key, config, rest)
                for h in range(world.height - 2)
            ]
            for i in range(len(states))
        ]
    return {"robust": robust, "probe": probes}


@eqx.filter_jit
def _hidden(models: Any, tokens: Array, visible: Array) -> Float[Array, "members n T E"]:
    def one(part: Any) -> Float[Array, "n T E"]:
        model = eqx.combine(part, rest)
        each = jax.vmap(lambda row, seen: model.hidden(model.embed(row), visible=seen))
        return each(tokens, visible)

    arrays, rest = eqx.partition(models, eqx.is_array)
    return jax.lax.map(one, arrays)


def _told(
    rows: np.ndarray, drawn: Any, visible: Any, h: int, classes: int, key: Any, config: Sentences, rest: int
) -> float:  # fmt: skip
    """The accuracy of a probe of the symbols of height h + 2, fitted on the first sentences."""
    labels, ends = jnp.maximum(drawn.symbols[:, h], 0), drawn.boundaries[:, h]
    probe = fit_position_probe(
        rows[:rest], labels[:rest], ends[:rest], visible[:rest], key, classes=classes,
        steps=config.probe_steps,
    )  # fmt: skip
    said = jnp.argmax(_probed(probe, rows[rest:], visible[rest:]), axis=-1)
    right = (said == labels[rest:]) & ends[rest:]
    return float(jnp.sum(right) / jnp.sum(ends[rest:]))


@eqx.filter_jit
def _probed(probe: Any, rows: Any, visible: Any) -> Float[Array, "n T classes"]:
    return jax.vmap(probe)(rows, visible)


def _heads(
    config: Sentences, world: LayeredPCFG, progress: Progress, folder: Path
) -> dict[str, np.ndarray]:
    """Accuracy against steps from labels, with the students' number of heads and the teachers'."""
    steps = min(config.horizons)
    chunk = gcd(config.chunk, OFTEN)
    probe = judge(config, world, config.probes, "probe")
    task = MaskedSentences(world, batch=config.batch, rate=config.mask)
    start, data = jax.random.split(key_of(config.seed, "heads", "sentences"))
    found: dict[str, np.ndarray] = {}
    for name, heads in (("small", config.student_heads), ("large", config.teacher_heads)):
        loss = copies(Distilled(task, labels_only(), block=gcd(chunk, TOGETHER)), config.pairs)
        _, history = fit_ensemble(
            loss, fresh(config, world, heads, jax.random.split(start, config.pairs)),
            optimiser(config.student_rate, steps), steps, jax.random.split(data, config.pairs), chunk=chunk,
            watch=lambda params, done: {"top": probe.scores(params)[:, 1]},
            progress=lambda done, total, note="": progress(done, total, f"{heads} heads {note}"),  # noqa: B023
            checkpoint=folder / f"heads-{name}.npz",
        )  # fmt: skip
        found |= {"head_steps": history["step"], f"head_top_{name}": history["top"]}
    return found


def teachers(
    config: Sentences, world: Any, held: Any, progress: Progress, folder: Path
) -> tuple[Trajectory, dict[str, np.ndarray]]:
    """Teachers of a world of sentences, judged on sentences of the world `held`."""
    probe = judge(config, held, config.probes, "probe")
    start, data = jax.random.split(key_of(config.seed, "teachers", "sentences"))
    models = fresh(config, world, config.teacher_heads, jax.random.split(start, config.teachers))
    task = MaskedSentences(world, batch=config.batch, rate=config.mask)
    loss = copies(
        Distilled(task, labels_only(), block=gcd(config.chunk, TOGETHER)), config.teachers
    )

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


def students(
    config: Sentences, world: Any, steps: int, trajectory: Trajectory, tests: Judge, progress: Progress,
    folder: Path, picture: Picture | None = None,
) -> tuple[dict[str, Any], dict[str, np.ndarray], dict[str, list[float]]]:  # fmt: skip
    """The students of each arm, the history, and their top-1 accuracies; a student has the same start and
    sentences in every arm."""
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
        _loss(task, trajectory.member(i % config.teachers), arm, gcd(config.chunk, TOGETHER))
        for arm in arms.values()
        for i in range(config.pairs)
    ]
    one = fresh(config, world, config.student_heads, jax.random.split(start, config.pairs))
    models = jax.tree.map(
        lambda leaf: jnp.concatenate([leaf] * len(arms)) if eqx.is_array(leaf) else leaf, one
    )
    keys = jnp.concatenate([jax.random.split(data, config.pairs)] * len(arms))
    firsts = np.arange(len(WAYS)) * config.pairs

    def watch(params: Any, done: int) -> dict[str, Any]:
        return {} if picture is None else {"tree": picture.laws(_members(params, firsts))}

    ended, history = fit_ensemble(
        stacked(losses), models, optimiser(config.student_rate, steps), steps, keys, chunk=config.chunk,
        watch=watch,
        progress=lambda done, total, note="": progress(done, total, f"students, {steps} steps {note}"),
        checkpoint=folder / f"students-{steps}.npz",
    )  # fmt: skip
    top = np.asarray(tests.scores(ended))[:, 1].reshape(len(arms), config.pairs)
    places = np.arange(len(losses)).reshape(len(arms), config.pairs)
    parted = {name: _members(ended, row) for name, row in zip(arms, places, strict=True)}
    return parted, history, {name: row.tolist() for name, row in zip(arms, top, strict=True)}


def _members(models: Any, which: np.ndarray) -> Any:
    return jax.tree.map(lambda leaf: leaf[which] if eqx.is_array(leaf) else leaf, models)


def _loss(task: MaskedSentences, teacher: Trajectory, arm: Curriculum, block: int) -> Distilled:
    used = list(arm.used) or [len(teacher) - 1]
    models = teacher.take(np.array(used + [used[-1]] * (SLOTS - len(used))))
    return Distilled(task, arm.among(used, SLOTS), models, np.zeros((), np.float32), block=block)
