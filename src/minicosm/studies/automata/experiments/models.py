"""The models that are trained, one for every member, and where their strings stand."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Int, Key

from minicosm.models import (
    LSTM,
    LSTMConfig,
    Placement,
    Transformer,
    TransformerConfig,
    recency_slopes,
)
from minicosm.models.positions import sinusoids
from minicosm.worlds import Semiautomaton

from ..experiment_trials import Training


def fresh(config: Training, world: Semiautomaton, keys: Key[Any, " members"]) -> Any:
    """Untrained models, stacked. Outputs are states; inputs symbols, after the states on a scratchpad."""
    extra = max(0, world.vocab - world.states)
    if config.model == "scratchpad":
        extra = world.vocab
    if config.model == "lstm":
        shape = LSTMConfig(world.states, config.hidden, config.embedding, extra)
        return eqx.filter_vmap(lambda key: LSTM(shape, key=key))(keys)
    return eqx.filter_vmap(
        lambda key: Transformer(transformer_shape(config, world, extra), key=key)
    )(keys)


def transformer_shape(config: Training, world: Semiautomaton, extra: int) -> TransformerConfig:
    """GPT-2's block; linear positions are `t / length`."""
    return TransformerConfig.gpt2(
        world.states,
        extra_inputs=extra,
        layers=config.layers,
        width=config.width,
        mlp_width=config.mlp_width,
        heads=config.heads,
        max_length=config.length,
        positions="linear" if config.positions == "linear" else "sinusoidal",
        init_std=config.init_std,
        tied=False,
        output_bias=True,
        residual_scaling=False,
    )


def placement(config: Training) -> Placement | None:
    """What says "sinusoidal", "none", "shift" or "recency": arrays, so that they share a program."""
    if config.model == "lstm":
        return None
    slopes = recency_slopes(config.heads) * (config.positions == "recency")
    if config.positions == "linear":
        return Placement(slopes.astype(np.float32))
    rows = sinusoids(longest(config) + 2 * config.length, config.width)
    rows = rows * (config.positions in ("sinusoidal", "shift"))
    return Placement(slopes.astype(np.float32), None, rows.astype(np.float32))


def shift(config: Training) -> Int[np.ndarray, ""]:
    """The largest first position of a batch."""
    return np.asarray(2 * config.length if config.positions == "shift" else 0)


def longest(config: Training) -> int:
    """Positions of the longest string that is read: of twice the length, with its scratchpad."""
    return 4 * config.length - 1 if config.model == "scratchpad" else 2 * config.length
