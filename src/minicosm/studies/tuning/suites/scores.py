"""Exact scores and a classifier's scores on a batch of sequences, for figures."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.adaptation import Classifier
from minicosm.worlds import PosteriorTask
from minicosm.worlds.arrays import AnyArray


def both_scores(
    world: Any, task: PosteriorTask, classifier: Classifier, sequences: Int[np.ndarray, "n T"]
) -> Float[np.ndarray, "n 2"]:
    """Columns: the exact `mu . P`, and what the classifier computes."""
    with jax.enable_x64(True):
        return np.asarray(_both(world, task, classifier, sequences))


@eqx.filter_jit
def _both(
    world: Any, task: PosteriorTask, classifier: Classifier, sequences: Int[AnyArray, "n T"]
) -> Float[Array, "n 2"]:
    def one(tokens: Int[Array, " T"]) -> Float[Array, " 2"]:
        return jax.numpy.stack([task.scores(world, tokens), classifier.scores(world, tokens)])

    return jax.vmap(one)(jax.numpy.asarray(sequences))
