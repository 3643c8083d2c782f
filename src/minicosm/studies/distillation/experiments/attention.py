"""Transformers that read a sparse parity: heads, one checkpoint, leaks, and attention on the support.

Numbers, lists over seeds: `teacher`: accuracy of the teacher at the end; `start`, `middle`, `end`: the first
steps with accuracy above .55, .70 and .97 (None: never). Arrays: `steps`, `student_steps`; `teacher_curve`
and `curve_<arm>` `[step, seed]`, accuracy on held-out inputs; `on`, `off` `[step, seed, degree - 1]`, mean
correlation of the teacher's probability of class 0 with monomials on and off the support; `paths`
`[step, seed, coordinate]`, the median over inputs of the share of attention that goes from the last position
to each coordinate through both layers; `support` `[step, seed]`, that of their sum over the support.
"""

from functools import cache
from itertools import product
from math import gcd
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import (
    Curriculum,
    Distilled,
    SignTokens,
    Trajectory,
    fit_ensemble,
    keeping,
    labels_only,
    one_shot,
    progressive,
    stacked,
    transition,
    two_shot,
)
from minicosm.worlds import SparseParity

from ..transformer_trials import Attention
from .mlps import Held, copies, correlation_means, held_out, nearest
from .mlps import key_of as first_keys

LEVELS = (0.55, 0.7, 0.97)
TOGETHER = 5
"""Batches, at most, of which all teachers are asked at once, so that memory suffices."""
AT_ONCE = 1024
"""Inputs that a model is asked about at once."""

RUN = "second run"
"""A first run had eight seeds, after which their number was raised: these keys are new."""

adam = cache(optax.adam)


def key_of(seed: int, *words: str) -> Any:
    """A key of this run."""
    return first_keys(seed, RUN, *words)


def fresh(config: Attention, heads: int, keys: Any) -> Any:
    """GPT-2's shape with an output of its own for the two classes."""
    shape = TransformerConfig(
        vocab=2, layers=config.layers, heads=heads, width=8 * heads, max_length=config.d, causal=True,
        tied=False, init_std=config.init_std,
    )  # fmt: skip
    return eqx.filter_vmap(lambda key: Transformer(shape, key=key))(keys)


@eqx.filter_jit
def first_class(models: Any, tokens: Int[Array, "n d"]) -> Float[Array, "members n"]:
    """The probability of class 0 that each member says of each input."""
    last = np.array([tokens.shape[1] - 1])

    def say(model: Any, row: Array) -> Array:
        return jax.nn.softmax(model.logits(model.embed(row), last)[0])[0]

    def one(model: Any) -> Float[Array, " n"]:
        return jax.lax.map(lambda row: say(model, row), tokens, batch_size=AT_ONCE)

    return _each(one, models)


@eqx.filter_jit
def attention_paths(models: Any, tokens: Int[Array, "n d"]) -> Float[Array, "members n d"]:
    """`sum_i a_d^(2)[i] a_i^(1)[j]` for every input and coordinate j, with a^(l) the mean over heads of the
    attention of the first and of the last layer."""

    def paths(model: Any, row: Array) -> Float[Array, " d"]:
        mean = jnp.mean(model.trace(row).attention, axis=1)
        return mean[-1, -1] @ mean[0]

    return _each(lambda model: jax.vmap(lambda row: paths(model, row))(tokens), models)


def _each(one: Any, models: Any) -> Any:
    arrays, rest = eqx.partition(models, eqx.is_array)
    return jax.lax.map(lambda part: one(eqx.combine(part, rest)), arrays)


def share_right(said: Float[np.ndarray, "members n"], held: Held) -> Float[np.ndarray, " members"]:
    """The share of inputs whose class each member has right."""
    return ((said < 0.5) == (held.labels == 1)).mean(axis=1)


def judged_on(config: Attention, world: SparseParity) -> Held:
    """Held-out inputs; all there are, if they are no more than asked for."""
    if 2**config.d > config.tests:
        return held_out(world, key_of(config.seed, "held out", "tokens"), config.tests)
    signs = 1.0 - 2.0 * np.array(list(product((0, 1), repeat=config.d)))
    return Held(signs.astype(np.float32), np.asarray(world.labels(signs)))


def tokens_of(held: Held) -> Int[Array, "n d"]:
    return jnp.asarray((1 - held.x) / 2, jnp.int32)


def run(config: Attention, progress: Progress, folder: Path) -> TrialResult:
    world = SparseParity(config.d, config.k)
    held = judged_on(config, world)
    trajectory, history = _teachers(config, world, held, progress, folder)
    curve, steps = history["test"], trajectory.steps
    phases = [transition(steps, curve[:, i], LEVELS) for i in range(config.seeds)]
    arms = _arms(config, trajectory, phases)
    curves = _students(config, world, arms, trajectory, held, progress, folder)
    numbers = {
        "teacher": curve[-1].tolist(),
        "start": [phase.start for phase in phases],
        "middle": [phase.middle for phase in phases],
        "end": [phase.end for phase in phases],
    }
    arrays = {
        "steps": steps,
        "student_steps": np.arange(config.judged, config.steps + 1, config.judged),
        "teacher_curve": curve,
        **_leaks(config, world, held, history["said"]),
        **_attention(config, world, trajectory),
        **{f"curve_{name}": found for name, found in curves.items()},
    }
    return TrialResult(numbers, arrays)


def _teachers(
    config: Attention, world: SparseParity, held: Held, progress: Progress, folder: Path
) -> tuple[Trajectory, dict[str, np.ndarray]]:
    start, data = jax.random.split(key_of(config.seed, "teachers", "tokens"))
    task = SignTokens(world, batch=config.batch)

    def watch(params: Any, done: int) -> dict[str, Any]:
        said = np.asarray(first_class(params, tokens_of(held)))
        return {"said": said, "test": share_right(said, held)}

    last, history = fit_ensemble(
        copies(Distilled(task, labels_only(), block=config.chunk), config.seeds),
        fresh(config, config.teacher_heads, jax.random.split(start, config.seeds)),
        adam(config.rate), config.teacher_steps, jax.random.split(data, config.seeds), chunk=config.chunk,
        watch=keeping(watch),
        progress=lambda done, total, note="": progress(done, total, f"teachers {note}"),
        checkpoint=folder / "teachers.npz",
    )  # fmt: skip
    return Trajectory.of(history, last), history


def _arms(config: Attention, trajectory: Trajectory, phases: list) -> dict[str, Any]:
    """Curricula of every arm, seed by seed, and its temperature. A seed whose teacher has no transition
    follows the final checkpoint; no claim counts it."""
    steps, last, seeds = trajectory.steps, len(trajectory) - 1, config.seeds
    every = [
        nearest(steps, step) for step in range(config.every, config.teacher_steps + 1, config.every)
    ]
    middle = [
        two_shot(last if p.middle is None else nearest(steps, p.middle), config.shot, last)
        for p in phases
    ]
    return {
        "labels": ([labels_only()] * seeds, 0.0),
        "one-shot, warm": ([one_shot(last + 1)] * seeds, 1.0),
        "middle": (middle, 0.0),
        "progressive": ([progressive(every, config.every)] * seeds, 0.0),
    }


def _students(
    config: Attention, world: SparseParity, arms: dict[str, Any], trajectory: Trajectory, held: Held,
    progress: Progress, folder: Path,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Accuracy of students after every chunk, `[step, seed]` for each arm. Under every arm a seed has the
    same start and the same inputs."""
    slots = max(len(c.used) for curricula, _ in arms.values() for c in curricula)
    losses = [
        _loss(config, world, trajectory.member(i), curricula[i], tau, slots)
        for curricula, tau in arms.values()
        for i in range(config.seeds)
    ]
    start, data = jax.random.split(key_of(config.seed, "students", "tokens"))
    one = fresh(config, config.student_heads, jax.random.split(start, config.seeds))
    models = jax.tree.map(
        lambda leaf: jnp.concatenate([leaf] * len(arms)) if eqx.is_array(leaf) else leaf, one
    )
    keys = jnp.concatenate([jax.random.split(data, config.seeds)] * len(arms))
    _, history = fit_ensemble(
        stacked(losses), models, adam(config.rate), config.steps, keys, chunk=config.judged,
        watch=lambda params, done: {
            "test": share_right(np.asarray(first_class(params, tokens_of(held))), held)
        },
        progress=lambda done, total, note="": progress(done, total, f"students {note}"),
        checkpoint=folder / "students.npz",
    )  # fmt: skip
    parts = np.split(history["test"], len(arms), axis=1)
    return dict(zip(arms, parts, strict=True))


def _loss(
    config: Attention, world: SparseParity, teacher: Trajectory, arm: Curriculum, tau: float, slots: int
) -> Distilled:  # fmt: skip
    used = list(arm.used) or [len(teacher) - 1]
    models = teacher.take(np.array(used + [used[-1]] * (slots - len(used))))
    numbered = arm.among(used, max(slots, 2))
    task = SignTokens(world, batch=config.batch)
    block = gcd(gcd(config.chunk, config.judged), TOGETHER)
    return Distilled(task, numbered, models, np.asarray(tau, np.float32), block=block)


def _leaks(
    config: Attention, world: SparseParity, held: Held, said: Float[np.ndarray, "steps seeds n"]
) -> dict[str, np.ndarray]:
    """Correlations of every checkpoint with monomials of the degrees 1..k-1."""
    degrees = range(1, min(config.k, 4))
    on, off = np.zeros((2, len(said), config.seeds, len(degrees)))
    for t in range(len(said)):
        for i in range(config.seeds):
            for j, degree in enumerate(degrees):
                on[t, i, j], off[t, i, j] = correlation_means(
                    said[t, i], held.x, [world.support], degree
                )
    return {"on": on, "off": off}


def _attention(
    config: Attention, world: SparseParity, trajectory: Trajectory
) -> dict[str, np.ndarray]:
    inputs = held_out(world, key_of(config.seed, "traces", "tokens"), config.traces)
    paths, support = [], []
    for t in range(len(trajectory)):
        found = np.asarray(attention_paths(trajectory.take(t), tokens_of(inputs)))
        paths.append(np.median(found, axis=1))
        support.append(np.median(found[..., list(world.support)].sum(axis=-1), axis=1))
    return {"paths": np.stack(paths), "support": np.stack(support)}
