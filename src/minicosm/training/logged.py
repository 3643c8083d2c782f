"""Metrics as they come, for TensorBoard, Weights & Biases or a file."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from minicosm.models.checks import check_key
from minicosm.worlds.arrays import short

from .fit import Loss
from .settings import Watch

Write = Callable[[str, float, int], Any]


def logged(objective: Loss, write: Write, key: PRNGKeyArray) -> Watch:
    """A `watch` for `fit`: after every chunk `objective` is measured once, on sequences drawn by `key`, and
    `write(name, value, step)` is called for the loss and for every metric.

    `SummaryWriter.add_scalar` of TensorBoard is such a function. The numbers join the history as
    "held-out NAME". It is for one model; an ensemble has many numbers of each name.
    """
    for name, value in (("objective", objective), ("write", write)):
        if isinstance(value, type) or not callable(value):
            raise TypeError(f"{name} is {short(value)}; it must be a function")
    check_key("key", key)

    def watch(params: Any, done: int) -> dict[str, np.ndarray]:
        fresh = jax.random.fold_in(key, done)
        loss, metrics = _measured(objective, params, fresh, np.int32(done))
        found = {name: np.asarray(value) for name, value in {"loss": loss, **metrics}.items()}
        for name, value in found.items():
            if value.ndim:
                raise ValueError(f"{name} has shape {value.shape}; what is written must be numbers")
            write(name, value.item(), done)
        return {f"held-out {name}": value for name, value in found.items()}

    return watch


@eqx.filter_jit
def _measured(objective: Loss, params: Any, key: PRNGKeyArray, step: Any) -> Any:
    return objective(params, key, step)
