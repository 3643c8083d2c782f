"""What `fit` and `fit_ensemble` may be told beyond what they train, and the checks of what they are given."""

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import PyTree

from minicosm.models.checks import (
    check_callable,
    check_count,
    check_file,
    check_flag,
    check_kind,
    check_number,
    shown,
)
from minicosm.worlds.arrays import AnyArray

Reporter = Callable[[int, int], None] | Callable[[int, int, str], None]
Watch = Callable[[Any, int], Mapping[str, Any]]
Target = Mapping[str, float]


class Settings(TypedDict, total=False):
    """The settings of `fit`, which explains them; `fit_ensemble` has the same."""

    chunk: int
    accumulate: int
    progress: Reporter | None
    watch: Watch | None
    trainable: PyTree
    target: Target | None
    checkpoint: str | os.PathLike | None
    sharding: Mesh | None
    finite: bool


def check_settings(
    loss: Any,
    optimiser: Any,
    steps: Any,
    chunk: Any,
    accumulate: Any,
    progress: Any,
    watch: Any,
    target: Any,
    checkpoint: Any,
    sharding: Any,
    finite: Any,
) -> None:
    """Raise unless each is of its kind and in its range."""
    check_callable("loss", loss, "loss(params, key, step)")
    check_optimiser(optimiser)
    check_count("steps", steps, least=0)
    check_count("chunk", chunk)
    check_count("accumulate", accumulate)
    check_flag("finite", finite)
    if steps >= 2**31:
        raise ValueError(f"steps is {steps}; it must be less than 2^31")
    if accumulate >= 2**31:
        raise ValueError(f"accumulate is {accumulate}; it must be less than 2^31")
    if progress is not None:
        check_callable("progress", progress, "progress(done, steps)", "progress(done, steps, note)")
    if watch is not None:
        check_callable("watch", watch, "watch(params, done)")
    if target is not None:
        check_kind("target", target, Mapping, "a mapping from metrics to numbers, or None")
        for name, value in target.items():
            if value == -math.inf:
                raise ValueError(f"target[{name!r}] is -inf; no metric can reach it")
            check_number(f"target[{name!r}]", value)
    if checkpoint is not None:
        check_file("checkpoint", checkpoint)
    if sharding is not None:
        check_kind("sharding", sharding, Mesh, "a jax.sharding.Mesh, or None")


def check_prepares(loss: Any, chunk: int, accumulate: int) -> int:
    """How many steps a loss prepares together; 0 if it prepares nothing."""
    if not callable(getattr(loss, "prepare", None)):
        return 0
    block = check_count("loss.block", getattr(loss, "block", None))
    if accumulate != 1:
        raise ValueError(f"accumulate is {accumulate}; it must be 1 for a loss that prepares steps")
    if chunk % block:
        raise ValueError(
            f"chunk is {chunk}; it must be a multiple of {block}, the steps that the loss prepares together"
        )
    return block


def check_optimiser(optimiser: Any) -> None:
    """Raise unless this is an optimiser of Optax, or works as one."""
    made = not isinstance(optimiser, type)
    works = all(callable(getattr(optimiser, name, None)) for name in ("init", "update"))
    if not (made and works):
        raise TypeError(
            f"optimiser is {shown(optimiser)}; it must be an Optax optimiser, as adamw(...) makes"
        )


def parted(params: Any, trainable: Any) -> tuple[PyTree, PyTree]:
    """What is learned and what stays, in trees like `params`."""
    if not callable(trainable) and not all(
        isinstance(leaf, bool | np.bool_) or callable(leaf) for leaf in jax.tree.leaves(trainable)
    ):
        raise TypeError(
            f"trainable is {shown(trainable)}; it must be a function of a leaf, or a tree of True and "
            "False that fits params"
        )
    try:
        learned, fixed = eqx.partition(params, trainable)
    except (ValueError, TypeError):
        raise ValueError(
            "trainable is a tree of True and False that does not fit params: it must have the same "
            "structure, or leaves that stand for whole subtrees"
        ) from None
    leaves = jax.tree.leaves(learned)
    if not sum(np.size(leaf) for leaf in leaves):
        raise ValueError(
            f"params is {shown(params)}, and trainable selects no array of it; there must be one"
        )
    wrong = [
        leaf
        for leaf in leaves
        if not (eqx.is_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating))
    ]
    if wrong:
        what = f"an array of {wrong[0].dtype}" if eqx.is_array(wrong[0]) else shown(wrong[0])
        raise ValueError(
            f"trainable selects {what} of params; only arrays of real numbers can be trained"
        )
    return learned, fixed


def as_jax(name: str, tree: Any) -> Any:
    """The tree with JAX arrays in the place of NumPy's."""

    def leaf(path: tuple, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype.kind in "OSUMm":
            where = name + jax.tree_util.keystr(path)
            raise TypeError(f"{where} has dtype {value.dtype}; arrays must hold numbers")
        return jnp.asarray(value)

    return jax.tree.map_with_path(leaf, tree)


def check_members(name: str, tree: Any, members: int) -> None:
    """Raise unless every array has a leading axis of members."""
    for path, leaf in jax.tree.leaves_with_path(tree):
        if isinstance(leaf, AnyArray) and (leaf.ndim == 0 or leaf.shape[0] != members):
            where = name + jax.tree_util.keystr(path)
            raise ValueError(
                f"{where} has shape {leaf.shape}; there are {members} keys, and every array needs a "
                "leading axis of that many members"
            )


def first_state(optimiser: optax.GradientTransformation, learned: PyTree, ensemble: bool) -> PyTree:
    """The optimiser's state before the first step."""
    try:
        return (jax.vmap(optimiser.init) if ensemble else optimiser.init)(learned)
    except (ValueError, TypeError, AttributeError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"optimiser does not fit params: {reason}") from error


def check_outputs(outputs: Any) -> tuple[Any, dict[str, Any]]:
    """What a loss returned, if it is a number and metrics; seen while the step is traced."""
    pair = isinstance(outputs, tuple) and len(outputs) == 2 and isinstance(outputs[1], Mapping)
    if not pair or np.shape(outputs[0]) != ():
        what = shown(jax.tree.map(np.shape, outputs)) if pair else f"a {type(outputs).__name__}"
        raise ValueError(
            f"loss returned {what}; it must return a pair, a scalar and a dict of metrics (perhaps {{}})"
        )
    taken = [name for name in outputs[1] if name in ("step", "loss")]
    if taken:
        raise ValueError(
            f"loss returned a metric called {taken[0]!r}; the history has this name already"
        )
    return outputs[0], dict(outputs[1])
