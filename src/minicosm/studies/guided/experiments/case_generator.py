"""Generators trained on the exact law of test-case texts, several at once."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.lab import Progress
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import fit_ensemble, muon
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.guided.case_texts import AppendCases

DRAWN = 512  # texts that are drawn at once; the loss is measured on as many
HEADER = 3  # tokens of `def NAME \n`


@dataclass(frozen=True)
class CaseGenerators:
    """How the generators are made; `members` of them.

    Training has two stages. The first reads only the beginnings of texts, which is where copying a
    list is learned at a third of the cost; the second reads whole texts.
    """

    lines: int = 4
    longest: int = 5
    names: int = 20
    misleading: int = 10
    room: int = 120
    """Tokens of a text, header included; longer ones are cut off."""
    beginning: int = 36
    """Tokens of a text in the first stage: the longest line with its header."""
    layers: int = 2
    width: int = 64
    heads: int = 4
    mlp_width: int = 256
    peak: float = 0.02
    """Muon's rate for the matrices of the layers in the first stage; half of it in the second."""
    rest: float = 2e-3
    """Adam's rate for everything else; half of it in the second stage."""
    batch_tokens: int = 1728
    """Of a batch: it has as many texts as there is room for."""
    first_steps: int = 1000
    """Of the first stage; 0 leaves it out."""
    steps: int = 700
    """Of the second stage."""
    texts: int = 16_384
    """Of the fixed corpus of each member; a quarter of it in the second stage, as whole texts."""
    members: int = 4
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

    @property
    def stages(self) -> tuple["Stage", "Stage"]:
        return (
            Stage(self.beginning, self.texts, self.first_steps, self.peak, self.rest),
            Stage(self.room, max(1, self.texts // 4), self.steps, self.peak / 2, self.rest / 2),
        )


@dataclass(frozen=True)
class Stage:
    """Steps on texts of at most `room` tokens."""

    room: int
    texts: int
    steps: int
    peak: float
    rest: float


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
        return self.on(model, which)

    def on(
        self, model: Any, which: Int[Array, " batch"]
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The same on these texts."""
        tokens, laws = self.tokens[which], self.laws[which].astype(jnp.float32)
        ids = jnp.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=self.start)
        predicted = jax.nn.log_softmax(jax.vmap(model.next_logits)(ids.astype(jnp.int32)))
        places = jnp.arange(tokens.shape[1])
        counted = (places >= HEADER) & (places < self.lengths[which][:, None])
        share = counted / jnp.sum(counted)
        loss = -jnp.sum(share * jnp.sum(laws * predicted, axis=-1))
        entropy = -jnp.sum(share * jnp.sum(jax.scipy.special.xlogy(laws, laws), axis=-1))
        metrics = {"excess": loss - entropy, "tokens": jnp.sum(counted).astype(loss.dtype)}
        return loss, jax.lax.stop_gradient(metrics)


def corpus(config: CaseGenerators, stage: Stage, key: PRNGKeyArray) -> LawObjective:
    """Texts of the world, cut off at the stage's room, and their laws, in half precision."""
    keys = jax.random.split(key, stage.texts)
    parts = []
    size = min(DRAWN, stage.texts)
    for first in range(0, stage.texts, size):
        drawn = _draw(config.world, keys[first : first + size], stage.room)
        parts.append(jax.tree.map(np.asarray, drawn))
    tokens, laws, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
    batch = max(1, config.batch_tokens // stage.room)
    return LawObjective(tokens, laws, lengths, batch, config.start)


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


def train(config: CaseGenerators, progress: Progress, folder: Path) -> Transformer:
    """The generators, stacked."""
    start_key, *keys = jax.random.split(jax.random.key(config.seed), 3)
    models = eqx.filter_vmap(lambda k: Transformer(config.shape, key=k))(
        jax.random.split(start_key, config.members)
    )
    total = sum(stage.steps for stage in config.stages)
    before = 0
    for i, (stage, key) in enumerate(zip(config.stages, keys, strict=True)):
        if stage.steps == 0:
            continue
        progress(before, total, "texts")
        corpus_key, train_key = jax.random.split(key)
        objectives = [
            corpus(config, stage, k) for k in jax.random.split(corpus_key, config.members)
        ]

        def report(done: int, _: int, note: str = "", before: int = before) -> None:
            progress(before + done, total, f"generators {note}")

        models, _ = fit_ensemble(
            jax.tree.map(lambda *leaves: np.stack(leaves), *objectives),
            models,
            muon(stage.peak, stage.steps, min(100, stage.steps), rest=stage.rest),
            stage.steps,
            jax.random.split(train_key, config.members),
            chunk=max(1, min(100, stage.steps)),
            progress=report,
            checkpoint=folder / f"stage{i + 1}.npz",
        )
        before += stage.steps
    return models


def excess(config: CaseGenerators, models: Transformer) -> Float[np.ndarray, " members"]:
    """How much the loss of every member exceeds the best possible one on fresh texts, in nats per
    token."""
    key = jax.random.fold_in(jax.random.key(config.seed), 1)
    fresh = corpus(config, replace(config.stages[1], texts=DRAWN), key)
    return np.asarray(_excess(jax.tree.map(jnp.asarray, fresh), models))


@eqx.filter_jit
def _excess(fresh, models):
    def one(model):
        each = jnp.arange(DRAWN).reshape(-1, 64)
        found = jax.lax.map(lambda which: fresh.on(model, which)[1], each)
        return jnp.sum(found["excess"] * found["tokens"]) / jnp.sum(found["tokens"])

    return eqx.filter_vmap(one)(models)
