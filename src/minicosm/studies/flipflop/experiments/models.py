"""The models that are trained, one for every member, the laws that they see and their optimisers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Key, PRNGKeyArray

from minicosm.models import (
    LSTM,
    LSTMConfig,
    Placement,
    Transformer,
    TransformerConfig,
    recency_slopes,
    with_layer_options,
)
from minicosm.models.positions import sinusoids
from minicosm.training import AttentionPenalty, Labelled, adamw, warmup_linear
from minicosm.worlds.flip_flop import FlipFlopMixture

from ..experiment_trials import Training

INSIDE, SPARSE, DENSE = 0.8, 0.98, 0.1
MIXED = (0.9, SPARSE, DENSE)


def law(config: Training) -> FlipFlopMixture:
    """The law of training: always a mixture of three, so that arms share a compiled program."""
    densities = MIXED if config.law == "mixture" else (INSIDE, SPARSE, DENSE)
    weights = np.full(3, 1 / 3) if config.law == "mixture" else np.array([1.0, 0.0, 0.0])
    return FlipFlopMixture(config.length, densities, weights)


class Generative(eqx.Module):
    """Strings whose labels are the next tokens, at every position but the last."""

    world: FlipFlopMixture

    def labelled(self, key: PRNGKeyArray, length: int) -> Labelled:
        """One string."""
        tokens = self.world.sample(key, length).tokens
        return Labelled(tokens, tokens[1:], jnp.ones(length - 1, bool))


def fresh(config: Training, keys: Key[Any, " members"]) -> Any:
    """Untrained models, stacked: matrices N(0, init_std^2), token embeddings N(0, 2/d), positions
    N(0, 1/d)."""
    if config.model == "lstm":
        small = LSTMConfig(5, config.hidden)
        return eqx.filter_vmap(lambda key: LSTM(small, key=key))(keys)
    kinds: dict[str, Any] = {"alibi": "sinusoidal", "none": "sinusoidal"}
    shape = TransformerConfig(
        5,
        layers=config.layers,
        heads=config.heads,
        width=config.width,
        max_length=config.length,
        causal=True,
        positions=kinds.get(config.positions, config.positions),
        tied=False,
        attention_bias=False,
        init_std=config.init_std,
        embedding_std=(2 / config.width) ** 0.5,
        position_std=config.width**-0.5,
        embedding_dropout=config.embedding_dropout,
    )
    options: dict[str, Any] = {
        "gated": config.gated,
        "attention_dropout": config.attention_dropout,
        "mlp_dropout": config.mlp_dropout,
    }
    if any(options.values()):
        return eqx.filter_vmap(lambda key: with_layer_options(shape, key=key, **options))(keys)
    return eqx.filter_vmap(lambda key: Transformer(shape, key=key))(keys)


def placement(config: Training) -> Placement | None:
    """What makes ALiBi, or no positions, of sinusoidal ones: arrays, so that they share a program."""
    if config.model == "lstm" or config.positions not in ("sinusoidal", "alibi", "none"):
        return None
    alibi = config.positions == "alibi"
    rows = sinusoids(config.length, config.width) * (config.positions == "sinusoidal")
    slopes = recency_slopes(config.heads) * alibi
    return Placement(slopes.astype(np.float32), None, rows.astype(np.float32))


def penalty(config: Training) -> AttentionPenalty | None:
    if not config.penalty:
        return None
    weight = np.asarray(config.penalty, np.float32)
    start = min(config.penalty_start, config.steps - 1)
    return AttentionPenalty(
        weight, config.penalty_kind, config.schedule, start=start, steps=config.steps
    )


def optimiser(config: Training) -> optax.GradientTransformation:
    """AdamW with a warm-up, then linearly to 0; no clipping."""
    rate = config.lstm_rate if config.model == "lstm" else config.rate
    if config.betas == Training.betas:
        return adamw(
            rate, config.steps, config.warmup, decay="linear", clip=None,
            weight_decay=config.weight_decay,
        )  # fmt: skip
    schedule = warmup_linear(rate, config.steps, config.warmup)
    return optax.adamw(schedule, *config.betas, weight_decay=config.weight_decay)


def stacked(tree: Any, members: int) -> Any:
    """Every array once for each member."""
    return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (members, *np.shape(leaf))), tree)
