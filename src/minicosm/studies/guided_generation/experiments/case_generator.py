"""Generators trained on the exact law of test-case texts, several at once."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.lab.claims import Progress
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import History, adamw, fit_ensemble
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.test_cases import AppendCases

DRAWN = 512  # texts that are drawn at once


@dataclass(frozen=True)
class CaseGenerators:
    """How the generators are made; `members` of them."""

    lines: int = 4
    longest: int = 5
    names: int = 20
    misleading: int = 10
    room: int = 120
    """Tokens of a text, header included; longer ones are cut off."""
    layers: int = 3
    width: int = 64
    heads: int = 4
    mlp_width: int = 256
    rate: float = 2e-3
    batch: int = 16
    steps: int = 3000
    texts: int = 4096
    """Of the fixed corpus of each member."""
    members: int = 3
    seed: int = 0

    @property
    def world(self) -> AppendCases:
        return AppendCases(
            lines=self.lines, longest=self.longest, names=self.names, misleading=self.misleading
        )

    @property
    def shape(self) -> TransformerConfig:
        return TransformerConfig(
            self.world.vocab, layers=self.layers, heads=self.heads, width=self.width,
            mlp_width=self.mlp_width, max_length=self.room + 1, causal=True, positions="rotary",
            extra_inputs=1, tied=False, residual_scaling=True,
        )  # fmt: skip

    @property
    def start(self) -> int:
        """The token behind which texts stand."""
        return self.world.vocab


class LawObjective(eqx.Module):
    """Mean cross-entropy to the exact law of each token behind the header, over a batch from a corpus.

    Metric "excess": what it exceeds the entropy of those laws by.
    """

    tokens: Int[AnyArray, "*stack texts T"]
    laws: Float[AnyArray, "*stack texts T V"]
    lengths: Int[AnyArray, "*stack texts"]
    batch: int = eqx.field(static=True)
    start: int = eqx.field(static=True)

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        which = jax.random.randint(key, (self.batch,), 0, self.tokens.shape[0])
        tokens, laws = self.tokens[which], self.laws[which].astype(jnp.float32)
        ids = jnp.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=self.start)
        predicted = jax.nn.log_softmax(jax.vmap(model.next_logits)(ids.astype(jnp.int32)))
        places = jnp.arange(tokens.shape[1])
        counted = (places >= 3) & (places < self.lengths[which][:, None])
        share = counted / jnp.sum(counted)
        loss = -jnp.sum(share * jnp.sum(laws * predicted, axis=-1))
        entropy = -jnp.sum(share * jnp.sum(jax.scipy.special.xlogy(laws, laws), axis=-1))
        metrics = {"excess": loss - entropy, "tokens": jnp.sum(counted).astype(loss.dtype)}
        return loss, jax.lax.stop_gradient(metrics)


def corpus(config: CaseGenerators, key: PRNGKeyArray) -> LawObjective:
    """Texts of the world and their laws, in half precision."""
    keys = jax.random.split(key, config.texts)
    parts = []
    size = min(DRAWN, config.texts)
    for first in range(0, config.texts, size):
        drawn = _draw(config.world, keys[first : first + size], config.room)
        parts.append(jax.tree.map(np.asarray, drawn))
    tokens, laws, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
    return LawObjective(tokens, laws, lengths, config.batch, config.start)


@eqx.filter_jit
def _draw(world, keys, room):
    def one(key):
        text = world.sample(key, room)
        return (
            text.tokens.astype(jnp.int16),
            jnp.exp(text.log_laws).astype(jnp.float16),
            text.length,
        )

    return jax.vmap(one)(keys)


@lru_cache
def optimiser(rate: float, steps: int) -> optax.GradientTransformation:
    return adamw(rate, steps, min(100, steps), clip=1.0, weight_decay=0.01)


def train(config: CaseGenerators, progress: Progress, folder: Path) -> tuple[Transformer, History]:
    """The generators, stacked, and their history."""
    key = jax.random.key(config.seed)
    start_key, train_key, corpus_key = jax.random.split(key, 3)
    progress(0, config.steps, "texts")
    objectives = [corpus(config, k) for k in jax.random.split(corpus_key, config.members)]
    objective = jax.tree.map(lambda *leaves: np.stack(leaves), *objectives)
    models = eqx.filter_vmap(lambda k: Transformer(config.shape, key=k))(
        jax.random.split(start_key, config.members)
    )
    return fit_ensemble(
        objective,
        models,
        optimiser(config.rate, config.steps),
        config.steps,
        jax.random.split(train_key, config.members),
        chunk=max(1, min(250, config.steps)),
        progress=lambda done, total, note="": progress(done, total, f"generators {note}"),
        checkpoint=folder / "training.npz",
    )
