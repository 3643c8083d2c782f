"""The training function: a loss, an Optax optimiser and a number of steps, compiled once."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from minicosm.models.checks import check_key, check_keys

from . import checkpoint as disk
from . import devices
from .progress import CtrlC, Diverged, Stopped, tell
from .settings import (
    Reporter,
    Settings,
    Watch,
    as_jax,
    check_members,
    check_outputs,
    check_prepares,
    check_settings,
    first_state,
    parted,
)

Loss = Callable[..., tuple[Float[Array, ""], dict[str, Array]]]
History = dict[str, np.ndarray]
Params = TypeVar("Params")


class _Members(NamedTuple):
    """The keys of an ensemble, in the place of the key of one model."""

    keys: Key[Array, " members"]


def fit(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    key: PRNGKeyArray | _Members,
    *,
    chunk: int = 500,
    accumulate: int = 1,
    progress: Reporter | None = None,
    watch: Watch | None = None,
    trainable: PyTree = eqx.is_inexact_array,
    target: Mapping[str, float] | None = None,
    checkpoint: str | os.PathLike | None = None,
    sharding: Mesh | None = None,
    finite: bool = True,
) -> tuple[Params, History]:
    """Minimise `loss(params, key, step) -> (scalar, metrics)` by `steps` steps of `optimiser`.

    Step i sees the key `fold_in(key, i)`, and the compiled program does not know how many steps it will
    do: parameters are the same, bit by bit, for every `chunk`. `loss` may be an Equinox module: its arrays
    (a fixed data set) are then arguments of the compiled program, not constants of it. Only the leaves
    of `params` that `trainable` selects are changed. With `accumulate`, a step takes the mean of the
    gradients (and metrics) of that many calls of `loss`, with keys split from its own: a large batch in
    pieces that stay in the cache.

    A loss may have `prepare(key, steps)`, which is called once for each chunk, outside the loop, and returns
    arrays with a row for every step; the loss is then called as `loss(params, key, step, row)`. What does
    not depend on the parameters (inputs, what a teacher says of them) is so computed for many steps by one
    product. `chunk` must be a multiple of `loss.block`, the number of steps that are prepared together.

    Returns the parameters and the history: for "loss" and every metric its mean over each chunk,
    with "step", the number of steps done at the end of the chunk. At those moments:

    - A loss that was NaN or infinite ends the training: `Diverged`, which names the step and holds the
      history, is raised, and no checkpoint is written. With `finite=False` training goes on.
    - `progress(done, steps)`, or `progress(done, steps, note)` if it takes three arguments, is
      called; the note holds loss, excess loss, tokens per second and the time left.
    - `watch(params, done)` is called, and the numbers or arrays that it returns join the history: a
      measurement on held-out data, say.
    - Training ends early if each metric in `target` (`{"excess": 0.05}`) has had a chunk mean at or
      below its value.
    - Everything is written to the file `checkpoint`. If the file exists when training begins, the
      run continues from it, bit by bit as if it had not been interrupted (given the same devices).
      A file of a run with other data, parameters, optimiser or key is refused, one that is damaged is
      set aside with a warning and the run begins again; `steps` and `target` may be raised to train on.
    - Ctrl-C takes effect: `Stopped`, a KeyboardInterrupt that holds parameters and history, is
      raised. A second Ctrl-C does not wait for the end of the chunk.

    `sharding` is a mesh with the axis "batch": the sequences of a batch that an objective of
    `training.objectives` draws are divided among its devices.
    """
    check_settings(
        loss, optimiser, steps, chunk, accumulate, progress, watch, target, checkpoint, sharding, finite
    )  # fmt: skip
    members: int | None = None
    if isinstance(key, _Members):
        keys, members = key.keys, check_keys("keys", key.keys)
        check_members("loss", loss, members)
        check_members("params", params, members)
    else:
        keys = key
        check_key("key", key)
    ensemble = members is not None
    block = check_prepares(loss, chunk, accumulate)
    mesh = None if sharding is None else devices.check_mesh(sharding, members)
    loss, params = as_jax("loss", loss), as_jax("params", params)
    learned, fixed = parted(params, trainable)
    state = first_state(optimiser, learned, ensemble)
    history: History = {}
    done, name = 0, ""
    if checkpoint is not None:
        step = (loss, learned, fixed, state, keys, jnp.asarray(0), jnp.asarray(1), optimiser)
        arrays = eqx.filter((loss, params, keys), eqx.is_array)
        program = _chunk.lower(*step, accumulate, ensemble, None, block)  # type: ignore[attr-defined]
        name = disk.fingerprint(program.as_text(), arrays)
        saved = disk.load_run(checkpoint, name, learned, state)
        if saved is not None:
            learned, state, history, done = saved
            if done > steps:
                raise ValueError(
                    f"{checkpoint} is {done} steps along; steps is {steps}, which is less"
                )
    loss, learned, fixed, state, keys = devices.place((loss, learned, fixed, state, keys), mesh)

    def run(first: int, last: int) -> Any:
        with devices.on(mesh):
            when = (jnp.asarray(first), jnp.asarray(last))
            return _chunk(
                loss, learned, fixed, state, keys, *when, optimiser, accumulate, ensemble, mesh,
                chunk if block else 0,
            )  # fmt: skip

    first = True
    with CtrlC() as ctrl_c:
        while done < steps and not _reached(history, target):
            length = min(chunk, steps - done)
            if first and progress is not None:
                jax.block_until_ready(run(done, done))  # compiles, and does nothing
            start = time.perf_counter()
            learned, state, metrics, bad = run(done, done + length)
            row = {m: np.asarray(value) for m, value in metrics.items()}
            seconds = time.perf_counter() - start
            done += length
            if finite and (np.asarray(bad) >= 0).any():
                # Nothing is watched in a model that has diverged.
                lost = {m: np.full_like(seen[-1], np.nan, float) for m, seen in history.items()}
                history = _extended(history, lost | {"step": np.asarray(done), **row})
                raise Diverged(np.asarray(bad), done, history)
            if watch is not None:
                row |= _seen(watch, eqx.combine(learned, fixed), done)
            history = _extended(history, {"step": np.asarray(done), **row})
            if checkpoint is not None:
                disk.save_run(checkpoint, name, disk.RunState(learned, state, history, done))
            if progress is not None:
                # At first, what watches has been compiled as well.
                seconds = seconds if first else time.perf_counter() - start
                tell(progress, done, steps, accumulate * length, seconds, row)
            first = False
            if ctrl_c.pressed:
                raise Stopped(eqx.combine(learned, fixed), history, done, steps)
    return eqx.combine(learned, fixed), history


def fit_ensemble(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    keys: Key[Array, " members"],
    **settings: Unpack[Settings],
) -> tuple[Params, History]:
    """`fit` for many members at once, with the settings of `fit`: every array of `loss` and of `params`,
    and `keys`, has a leading axis of members. Histories have shape (chunks, members).

    Each member sees the data and the steps that it would see alone. Its numbers are not the same bit by bit:
    products of matrices of all members are one product, whose sums are taken in another order, and an
    optimiser that divides by small gradients (Adam) makes more of such rounding. In float32 parameters
    differ by some 1e-5 to 1e-3 after tens of steps, in float64 by less than 1e-9.

    With a `target`, training ends when every member has reached it; those that reached it before
    train on until then. A loss of one member that is NaN ends the training of all, unless `finite=False`.
    `sharding` may have the axis "ensemble", over which the members are divided, and the axis "batch".
    """
    return fit(loss, params, optimiser, steps, _Members(keys), **settings)


def _seen(watch: Watch, params: Any, done: int) -> dict[str, np.ndarray]:
    """What a watcher measures, as arrays."""
    seen = watch(params, done)
    if not isinstance(seen, Mapping):
        raise TypeError(
            f"watch returned {type(seen).__name__}; it must return a mapping of numbers"
        )
    return {m: np.asarray(value) for m, value in seen.items()}


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
    stop: Int[Array, ""],
    optimiser: optax.GradientTransformation,
    accumulate: int,
    ensemble: bool,
    mesh: Mesh | None,
    prepared: int = 0,
) -> tuple[PyTree, PyTree, dict[str, Array], Int[Array, "*members"]]:
    """The steps from `start` up to `stop`: what is learned, the optimiser's state, the means of the
    metrics, and the first step whose loss was not finite (-1: there was none).

    Module-level, so that equal shapes compile once. `stop` is an input: of a loop whose length it knew the
    compiler would make another program for every length (a single step is taken out of the loop), and
    these round differently. `prepared` is for how many steps the loss prepares itself; 0: it does not.
    """

    def member(loss: Loss, learned: PyTree, fixed: PyTree, state: PyTree, key: PRNGKeyArray) -> Any:
        rows = loss.prepare(key, start + jnp.arange(prepared)) if prepared else None  # type: ignore

        def step(i: Array, learned: PyTree, state: PyTree) -> Any:
            row = () if rows is None else (jax.tree.map(lambda leaf: leaf[i - start], rows),)

            def call(key: PRNGKeyArray) -> Any:
                def objective(learned: PyTree) -> Any:
                    return check_outputs(loss(eqx.combine(learned, fixed), key, i, *row))

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
            metrics = jax.tree.map(_real, {"loss": value, **metrics})
            return optax.apply_updates(learned, updates), state, metrics

        # Traced once, here: the loop has to know the metrics before it begins.
        traced: Any = eqx.filter_closure_convert(step, start, learned, state)
        zeros = jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), traced.out_struct[2])

        def body(i: Array, carry: Any) -> Any:
            learned, state, sums, bad = carry
            learned, state, metrics = traced(i, learned, state)
            bad = jnp.where((bad < 0) & ~jnp.isfinite(metrics["loss"]), i, bad)
            return learned, state, jax.tree.map(jnp.add, sums, metrics), bad

        begin = (learned, state, zeros, jnp.full((), -1, start.dtype))
        learned, state, sums, bad = jax.lax.fori_loop(start, stop, body, begin)
        return learned, state, jax.tree.map(lambda m: m / (stop - start), sums), bad

    if not ensemble:
        return member(loss, learned, fixed, state, key)
    each = eqx.filter_vmap(member, in_axes=eqx.if_array(0))
    return devices.members_apart(each, mesh)(loss, learned, fixed, state, key)


def _real(metric: Any) -> Array:
    """A metric in a precision in which it can be summed."""
    metric = jnp.asarray(metric)
    return metric.astype(jnp.promote_types(metric.dtype, jnp.float32))
