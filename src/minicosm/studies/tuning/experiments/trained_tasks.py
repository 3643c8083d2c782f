"""A trial with a pretrained model: its setting, its world and the tasks on it (see `trained`)."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from minicosm.adaptation.logistic import logistic_accuracies, whitened
from minicosm.lab import Progress
from minicosm.worlds import HMM, MemoryHMM

from ..trials import TrainedTuning, Tuning
from . import oracle_heads
from .corpora import (
    Labels,
    Split,
    all_slot_messages,
    sample_tokens,
    slot_posteriors,
    sparse_tasks,
)
from .memory_outputs import memory_outputs


class Tasks(NamedTuple):
    """A world, sequences from it, and the labels of several tasks on them."""

    world: HMM | MemoryHMM
    tokens: Int[np.ndarray, "n T"]
    posterior: Float[np.ndarray, "n S"]
    """Exact law of the label's variable: of H_1, or of the memory."""
    laws: Float[np.ndarray, "n V"]
    """The exact model's law at the mask."""
    messages: Float[np.ndarray, "n H"] | None
    """`P[x_2.. | H_1]` up to a factor; vanilla worlds only."""
    everywhere: Float[np.ndarray, "n T V"] | None
    """The exact model's laws at all positions; worlds with memory only."""
    task: Labels


def make_tasks(
    config: TrainedTuning, world_key: PRNGKeyArray, token_key: PRNGKeyArray, task_key: PRNGKeyArray
) -> Tasks:
    """Everything exact, in float64."""
    split = Split(config.tuning.train, config.tuning.validation, config.tuning.test)
    sizes: dict[str, Any] = {"hidden": config.hidden, "vocab": config.vocab}
    with jax.enable_x64(True):
        draw = (
            partial(MemoryHMM.random, memory=config.memory, **sizes)
            if config.memory
            else partial(HMM.random, **sizes)
        )
        worlds = jax.jit(jax.vmap(draw))(world_key[None])
        tokens = sample_tokens(worlds, token_key, split.total, config.tuning.length)
        messages = everywhere = None
        if config.memory:
            exact = memory_outputs(worlds, tokens)
            posterior, laws, everywhere = exact.memory, exact.first, np.asarray(exact.outputs[0])
        else:
            messages = all_slot_messages(worlds, tokens[:, :, 1:])
            posterior = slot_posteriors(jax.vmap(lambda w: w.first)(worlds), messages)
            laws = oracle_heads.slot_laws(worlds, None, messages)
        task = sparse_tasks(task_key, jnp.tile(posterior, (config.tasks, 1, 1)), split)
        world = jax.tree.map(lambda leaf: np.asarray(leaf[0]), worlds)
        return Tasks(
            world,
            np.asarray(tokens[0]),
            np.asarray(posterior[0]),
            np.asarray(laws[0]),
            None if messages is None else np.asarray(messages[0]),
            everywhere,
            jax.tree.map(np.asarray, task),
        )


def white(features: Float[np.ndarray, "n d"], train: int) -> Float[np.ndarray, "n d"]:
    """`whitened`, for one world."""
    return whitened(features[None], train)[0]


def regress(
    features: dict[str, Float[np.ndarray, "n _"]], task: Labels, tuning: Tuning
) -> dict[str, np.ndarray]:
    """Test accuracy of logistic regression on each kind of features, for every task."""
    count = task.labels.shape[0]
    with jax.enable_x64(True):
        tiled = {name: np.tile(value, (count, 1, 1)) for name, value in features.items()}
        return logistic_accuracies(tiled, task.labels, tuning.train, tuning.test)


class Steps:
    """Progress over the parts of a trial, counted in training steps."""

    def __init__(self, progress: Progress, name: str, total: int):
        self.progress, self.name, self.total, self.before = progress, name, total, 0

    def part(self, length: int, what: str = "pretraining") -> Any:
        """A report for one call of `fit` with this many steps."""
        start = self.before
        self.before += length

        def report(done: int, of: int, note: str = "") -> None:
            self.progress(start + done, self.total, f"{self.name}, {what} {note}")

        return report

    def end(self) -> None:
        self.progress(self.total, self.total, self.name)
