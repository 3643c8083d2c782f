"""Memory tasks in which attention has something to do.

After 128 sharp tokens the memory is known and even token counts give it away. Here sequences are
short. In the `random` family emissions are softer (one group of worlds per temperature) and most
states emit one law whatever the memory holds; in the `gated` family (worlds of Assumption 4.2 with
markers and gates) some sequences lie in R, where Theorem 4.3 speaks. Task: a dense normal mu on
P[M | x_2..x_T], moved by its median so that both classes are equally likely; the first token is masked.

Compared: attention heads trained on whitened outputs (`attention`, and `token_attention` with values by
token; a regression to convergence needs no such help, gradient descent does), logistic
regression on the mean output, on the first output and on token counts, and on the exact posterior of
the memory (`posterior`, the ceiling of such a regression).
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.adaptation.controls import token_histogram
from minicosm.adaptation.logistic import logistic_accuracies
from minicosm.lab import Progress, TrialResult
from minicosm.worlds import MemoryHMM, recoverable_memory_world

from ..extension_trials import HarderMemory
from .corpora import (
    at_temperatures,
    balanced_dense,
    majority,
    sample_tokens,
    sign_labels,
)
from .memory_outputs import memory_outputs, train_attention, white_outputs


def run(config: HarderMemory, progress: Progress) -> TrialResult:
    """One list per group (`attention[g][w]`); `groups` holds the temperatures, or ["gated"]."""
    total = config.steps + 3
    groups = list(config.temperatures) if config.family == "random" else ["gated"]
    with jax.enable_x64(True):
        key = jax.random.fold_in(jax.random.key(config.seed), config.length)
        world_key, token_key, task_key, tune_key = jax.random.split(key, 4)
        drawn = draw_worlds(config, jax.random.split(world_key, config.worlds), groups)
        worlds = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *drawn)
        tokens = sample_tokens(worlds, token_key, config.train + config.test, config.length)
        exact = memory_outputs(worlds, tokens, double=True)
        mu = jax.random.normal(task_key, (config.worlds, config.values), jnp.float32)
        mu = jnp.tile(mu.astype(jnp.float64), (len(groups), 1))
        mu = jnp.asarray(balanced_dense(mu, exact.memory[:, : config.train]))
        labels = sign_labels(mu, exact.memory)
        progress(2, total, f"T = {config.length}: {len(drawn)} worlds drawn")
        tuned = {}
        if config.heads:
            tuned = train_attention(
                {"attention": config.rate, "token_attention": config.rate},
                white_outputs(exact.outputs, config.train), tokens, labels, config.train,
                config.test, tune_key,
                steps=config.steps, warmup=config.warmup, batch=config.batch,
                progress=lambda done, _: progress(done + 2, total, "training attention"),
            )  # fmt: skip
        histogram = jax.jit(jax.vmap(partial(token_histogram, vocab=worlds.vocab)))(
            tokens[:, :, 1:]
        )
        features = {"histogram": histogram, "posterior": exact.memory}
        if config.heads:
            features |= {"mean_output": exact.mean, "first_output": exact.first}
        columns = logistic_accuracies(features, labels, config.train, config.test) | tuned
        columns["majority"] = majority(labels[:, config.train :])

    shape = (len(groups), config.worlds)
    numbers = {name: np.asarray(value).reshape(shape).tolist() for name, value in columns.items()}
    progress(total, total)
    return TrialResult({"groups": groups, **numbers})


def draw_worlds(config: HarderMemory, keys: jax.Array, groups: list) -> list[MemoryHMM]:
    """The worlds of every group in order; groups of the random family share their logits."""
    if config.family == "gated":
        informative = config.hidden - config.uninformative
        return [
            recoverable_memory_world(
                key, values=config.values, syntax=config.hidden, star=informative
            ).world
            for key in keys
        ]
    draw = partial(
        MemoryHMM.random,
        hidden=config.hidden,
        memory=config.values,
        vocab=config.vocab,
        emission_temperature=1.0,
    )
    # As `harder_memory_world`, for all worlds at once.
    worlds = at_temperatures(jax.jit(jax.vmap(draw))(keys), groups)
    blind = config.hidden - config.uninformative
    W = jnp.asarray(worlds.W).at[..., blind:].set(worlds.W[:, :, :1, :, blind:])
    worlds = eqx.tree_at(lambda w: w.W, worlds, W)
    return jax.tree.map(np.asarray, worlds).unstack()
