"""The training function: a loss, an Optax optimiser and a number of steps, compiled in chunks."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from . import checkpoint as disk
from . import devices
from .progress import CtrlC, Reporter, Stopped, tell

Loss = Callable[[Any, PRNGKeyArray, Int[Array, ""]], tuple[Float[Array, ""], dict[str, Array]]]
History = dict[str, np.ndarray]
Params = TypeVar("Params")
Watch = Callable[[Any, int], Mapping[str, Any]]


def fit(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    key: PRNGKeyArray,
    *,
    chunk: int = 500,
    accumulate: int = 1,
    progress: Reporter | None = None,
    watch: Watch | None = None,
    trainable: PyTree = eqx.is_inexact_array,
    target: Mapping[str, float] | None = None,
    checkpoint: str | os.PathLike | None = None,
    sharding: Mesh | None = None,
) -> tuple[Params, History]:
    """Minimise `loss(params, key, step) -> (scalar, metrics)` by `steps` steps of `optimiser`.

    Step i sees the key `fold_in(key, i)`, so a run does not depend on `chunk`. `loss` may be an
    Equinox module: its arrays (a fixed data set) are then arguments of the compiled program, not
    constants of it. Only the leaves of `params` that `trainable` selects are changed. With
    `accumulate`, a step takes the mean of the gradients (and metrics) of that many calls of `loss`, with
    keys split from its own: a large batch in pieces that stay in the cache.

    Returns the parameters and the history: for "loss" and every metric its mean over each chunk,
    with "step", the number of steps done at the end of the chunk. At those moments:

    - `progress(done, steps)`, or `progress(done, steps, note)` if it takes three arguments, is
      called; the note holds loss, excess loss, tokens per second and the time left.
    - `watch(params, done)` is called, and the numbers or arrays that it returns join the history: a
      measurement on held-out data, say.
    - Training ends early if each metric in `target` (`{"excess": 0.05}`) has had a chunk mean at or
      below its value.
    - Everything is written to the file `checkpoint`. If the file exists when training begins, the
      run continues from it, bit by bit as if it had not been interrupted (given the same `chunk` and
      devices). A file of a run with other data, parameters, optimiser or key is refused; `steps` and
      `target` may be raised to train on.
    - Ctrl-C takes effect: `Stopped`, a KeyboardInterrupt that holds parameters and history, is
      raised. A second Ctrl-C does not wait for the end of the chunk.

    `sharding` is a mesh with the axis "batch": the sequences of a batch that an objective of
    `training.objectives` draws are divided among its devices.
    """
    _check(steps, chunk, accumulate)
    mesh = None if sharding is None else devices.check_mesh(sharding, None)
    run = (chunk, accumulate, progress, watch, trainable, target, checkpoint, mesh)
    return _fit(loss, params, optimiser, steps, key, *run, ensemble=False)


def fit_ensemble(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    keys: Key[Array, " members"],
    *,
    chunk: int = 500,
    accumulate: int = 1,
    progress: Reporter | None = None,
    watch: Watch | None = None,
    trainable: PyTree = eqx.is_inexact_array,
    target: Mapping[str, float] | None = None,
    checkpoint: str | os.PathLike | None = None,
    sharding: Mesh | None = None,
) -> tuple[Params, History]:
    """`fit` for many members at once: every array of `loss` and of `params`, and `keys`, has a
    leading axis of members, and each member is trained as if alone. Histories have shape
    (chunks, members).

    With a `target`, training ends when every member has reached it; those that reached it before
    train on until then. `sharding` may have the axis "ensemble", over which the members are divided,
    and the axis "batch".
    """
    _check(steps, chunk, accumulate)
    mesh = None if sharding is None else devices.check_mesh(sharding, keys.shape[0])
    run = (chunk, accumulate, progress, watch, trainable, target, checkpoint, mesh)
    return _fit(loss, params, optimiser, steps, keys, *run, ensemble=True)


def _check(steps: int, chunk: int, accumulate: int) -> None:
    if steps < 0 or chunk < 1:
        raise ValueError(f"steps is {steps} and chunk is {chunk}; need steps >= 0 and chunk >= 1")
    if accumulate < 1:
        raise ValueError(f"accumulate is {accumulate}; it must be at least 1")


def _fit(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    key: Key[Array, "*members"],
    chunk: int,
    accumulate: int,
    progress: Reporter | None,
    watch: Watch | None,
    trainable: PyTree,
    target: Mapping[str, float] | None,
    path: str | os.PathLike | None,
    mesh: Mesh | None,
    *,
    ensemble: bool,
) -> tuple[Params, History]:
    loss, params = jax.tree.map(_as_jax, (loss, params))
    learned, fixed = eqx.partition(params, trainable)
    state = (jax.vmap(optimiser.init) if ensemble else optimiser.init)(learned)
    history: History = {}
    done, name = 0, ""
    if path is not None:
        step = (loss, learned, fixed, state, key, jnp.asarray(0), optimiser, 1, accumulate)
        arrays = eqx.filter((loss, params, key), eqx.is_array)
        program = _chunk.lower(*step, ensemble, None).as_text()  # type: ignore[attr-defined]
        name = disk.fingerprint(program, arrays)
        saved = disk.load_run(path, name, learned, state)
        if saved is not None:
            learned, state, history, done = saved
            if done > steps:
                raise ValueError(f"{path} is {done} steps along; steps is {steps}, which is less")
    loss, learned, fixed, state, key = devices.place((loss, learned, fixed, state, key), mesh)
    with CtrlC() as ctrl_c:
        while done < steps and not _reached(history, target):
            length, start = min(chunk, steps - done), time.perf_counter()
            with devices.on(mesh):
                learned, state, metrics = _chunk(
                    loss, learned, fixed, state, key, jnp.asarray(done), optimiser, length,
                    accumulate, ensemble, mesh,
                )  # fmt: skip
            row = {m: np.asarray(value) for m, value in metrics.items()}
            done += length
            if watch is not None:
                seen = watch(eqx.combine(learned, fixed), done)
                row |= {m: np.asarray(value) for m, value in seen.items()}
            history = _extended(history, {"step": np.asarray(done), **row})
            if path is not None:
                disk.save_run(path, name, disk.RunState(learned, state, history, done))
            if progress is not None:
                tell(progress, done, steps, accumulate * length, time.perf_counter() - start, row)
            if ctrl_c.pressed:
                raise Stopped(eqx.combine(learned, fixed), history, done, steps)
    return eqx.combine(learned, fixed), history


def _as_jax(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf


def _extended(history: History, row: dict[str, np.ndarray]) -> History:
    new = {name: value[None] for name, value in row.items()}
    if history and history.keys() != new.keys():
        raise ValueError(
            f"this run measures {', '.join(new)}; the one that it continues had {', '.join(history)}"
        )
    return {m: np.concatenate([history[m], new[m]]) for m in new} if history else new


def _reached(history: History, target: Mapping[str, float] | None) -> bool:
    """Whether every member has had a chunk in which each metric was at or below its target."""
    if target is None or not history:
        return False
    unknown = [name for name in target if name not in history]
    if unknown:
        raise ValueError(
            f"target names the metric {unknown[0]!r}; this loss has {', '.join(history)}"
        )
    return all(bool((history[m].min(axis=0) <= value).all()) for m, value in target.items())


@eqx.filter_jit
def _chunk(
    loss: Loss,
    learned: PyTree,
    fixed: PyTree,
    state: PyTree,
    key: Key[Array, "*members"],
    start: Int[Array, ""],
    optimiser: optax.GradientTransformation,
    length: int,
    accumulate: int,
    ensemble: bool,
    mesh: Mesh | None,
) -> tuple[PyTree, PyTree, dict[str, Array]]:
    """`length` steps from step `start`; module-level, so that equal shapes compile once."""

    def member(loss: Loss, learned: PyTree, fixed: PyTree, state: PyTree, key: PRNGKeyArray) -> Any:
        def step(carry: tuple[PyTree, PyTree], i: Array) -> Any:
            learned, state = carry

            def call(key: PRNGKeyArray) -> Any:
                def objective(learned: PyTree) -> Any:
                    return loss(eqx.combine(learned, fixed), key, i)

                return jax.value_and_grad(objective, has_aux=True)(learned)

            def add(total: PyTree, key: PRNGKeyArray) -> Any:
                outputs, gradient = call(key)
                return jax.tree.map(jnp.add, total, gradient), outputs

            if accumulate == 1:
                (value, metrics), gradient = call(jax.random.fold_in(key, i))
            else:
                keys = jax.random.split(jax.random.fold_in(key, i), accumulate)
                total, outputs = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, learned), keys)
                value, metrics = jax.tree.map(lambda m: jnp.mean(m, axis=0), outputs)
                gradient = jax.tree.map(lambda g: g / accumulate, total)
            updates, state = optimiser.update(gradient, state, learned)
            return (optax.apply_updates(learned, updates), state), {"loss": value, **metrics}

        (learned, state), metrics = jax.lax.scan(step, (learned, state), start + jnp.arange(length))
        return learned, state, jax.tree.map(lambda m: jnp.mean(m, axis=0), metrics)

    if not ensemble:
        return member(loss, learned, fixed, state, key)
    each = eqx.filter_vmap(member, in_axes=eqx.if_array(0))
    return devices.members_apart(each, mesh)(loss, learned, fixed, state, key)
