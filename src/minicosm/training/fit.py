"""The training function: a loss, an Optax optimiser and a number of steps, compiled in chunks."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

Loss = Callable[[Any, PRNGKeyArray, Int[Array, ""]], tuple[Float[Array, ""], dict[str, Array]]]
Report = Callable[[int, int], None]
History = dict[str, np.ndarray]
Params = TypeVar("Params")


def fit(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    key: PRNGKeyArray,
    *,
    chunk: int = 500,
    progress: Report | None = None,
    trainable: PyTree = eqx.is_inexact_array,
) -> tuple[Params, History]:
    """Minimise `loss(params, key, step) -> (scalar, metrics)` by `steps` steps of `optimiser`.

    Step i sees the key `fold_in(key, i)`, so a run does not depend on `chunk`. `loss` may be an
    Equinox module: its arrays (a fixed data set) are then arguments of the compiled program, not
    constants of it. Only the leaves of `params` that `trainable` selects are changed.

    Returns the parameters and the history: for "loss" and every metric its mean over each chunk,
    with "step", the number of steps done at the end of the chunk. `progress(done, steps)` is called
    at those moments.
    """
    return _fit(loss, params, optimiser, steps, key, chunk, progress, trainable, ensemble=False)


def fit_ensemble(
    loss: Loss,
    params: Params,
    optimiser: optax.GradientTransformation,
    steps: int,
    keys: Key[Array, " members"],
    *,
    chunk: int = 500,
    progress: Report | None = None,
    trainable: PyTree = eqx.is_inexact_array,
) -> tuple[Params, History]:
    """`fit` for many members at once: every array of `loss` and of `params`, and `keys`, has a
    leading axis of members, and each member is trained as if alone. Histories have shape
    (chunks, members)."""
    return _fit(loss, params, optimiser, steps, keys, chunk, progress, trainable, ensemble=True)


def warmup_linear(peak: float, steps: int, warmup: int) -> optax.Schedule:
    """Learning rate 0 to `peak` over `warmup` steps, then linearly to 0 at `steps`."""
    warmup = min(warmup, steps)
    return optax.join_schedules(
        [
            optax.linear_schedule(0.0, peak, warmup),
            optax.linear_schedule(peak, 0.0, max(steps - warmup, 1)),
        ],
        [warmup],
    )


def adam(rates: PyTree, steps: int, warmup: int) -> optax.GradientTransformation:
    """Adam with `warmup_linear`; `rates` is the peak rate, or a tree of them whose leaves stand for
    whole subtrees of the parameters (`{"head": 0.01, "prompt": 0.3}`)."""

    def scale(updates, params=None):
        return jax.tree.map(
            lambda rate, part: jax.tree.map(lambda u: -rate * u, part), rates, updates
        )

    return optax.chain(
        optax.scale_by_adam(),
        optax.scale_by_schedule(warmup_linear(1.0, steps, warmup)),
        optax.stateless(scale),
    )


def _fit(loss, params, optimiser, steps, key, chunk, progress, trainable, *, ensemble):
    if steps < 0 or chunk < 1:
        raise ValueError(f"steps is {steps} and chunk is {chunk}; need steps >= 0 and chunk >= 1")
    loss, params = jax.tree.map(_as_jax, (loss, params))
    learned, fixed = eqx.partition(params, trainable)
    init = jax.vmap(optimiser.init) if ensemble else optimiser.init
    state = init(learned)
    rows: list[dict[str, np.ndarray]] = []
    for start in range(0, steps, chunk):
        length = min(chunk, steps - start)
        learned, state, metrics = _chunk(
            loss, learned, fixed, state, key, jnp.asarray(start), optimiser, length, ensemble
        )
        rows.append({"step": np.asarray(start + length), **jax.tree.map(np.asarray, metrics)})
        if progress is not None:
            progress(start + length, steps)
    history = {name: np.stack([row[name] for row in rows]) for name in rows[0]} if rows else {}
    return eqx.combine(learned, fixed), history


def _as_jax(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf


@eqx.filter_jit
def _chunk(loss, learned, fixed, state, key, start, optimiser, length, ensemble):
    """`length` steps from step `start`; module-level, so that equal shapes compile once."""

    def member(loss, learned, fixed, state, key):
        def step(carry, i):
            learned, state = carry

            def objective(learned):
                return loss(eqx.combine(learned, fixed), jax.random.fold_in(key, i), i)

            (value, metrics), gradient = jax.value_and_grad(objective, has_aux=True)(learned)
            updates, state = optimiser.update(gradient, state, learned)
            return (optax.apply_updates(learned, updates), state), {"loss": value, **metrics}

        (learned, state), metrics = jax.lax.scan(step, (learned, state), start + jnp.arange(length))
        return learned, state, jax.tree.map(lambda m: jnp.mean(m, axis=0), metrics)

    if ensemble:
        member = eqx.filter_vmap(member, in_axes=eqx.if_array(0))
    return member(loss, learned, fixed, state, key)
