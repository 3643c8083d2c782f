"""Generators trained on the exact law of test-case texts, several at once."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from minicosm.lab import Progress
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import fit_ensemble, muon
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.guided.case_texts import AppendCases

from ..trials import CaseGenerators

DRAWN = 512  # texts that are drawn at once; the loss is measured on as many
HEADER = 3  # tokens of `def NAME \n`


@dataclass(frozen=True)
class Stage:
    """Steps on texts of at most `room` tokens."""

    room: int
    texts: int
    steps: int
    peak: float
    rest: float


def case_world(config: CaseGenerators) -> AppendCases:
    return AppendCases(
        lines=config.lines, longest=config.longest, names=config.names, misleading=config.misleading
    )


def shape(config: CaseGenerators) -> TransformerConfig:
    return TransformerConfig(
        start_token(config), layers=config.layers, heads=config.heads, width=config.width,
        mlp_width=config.mlp_width, max_length=config.room + 1, causal=True, positions="rotary",
        extra_inputs=1, tied=False, residual_scaling=True,
    )  # fmt: skip


def start_token(config: CaseGenerators) -> int:
    """The token that texts stand after."""
    return case_world(config).vocab


def stages(config: CaseGenerators) -> tuple[Stage, Stage]:
    return (
        Stage(config.beginning, config.corpus, config.first_steps, config.peak, config.rest),
        Stage(
            config.room, max(1, config.corpus // 4), config.steps, config.peak / 2, config.rest / 2
        ),
    )


class LawObjective(eqx.Module):
    """Mean cross-entropy to the exact law of each token after the header, over a batch from a corpus.

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
        drawn = _draw(case_world(config), keys[first : first + size], stage.room)
        parts.append(jax.tree.map(np.asarray, drawn))
    tokens, laws, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
    batch = max(1, config.batch_tokens // stage.room)
    return LawObjective(tokens, laws, lengths, batch, start_token(config))


@eqx.filter_jit
def _draw(world: AppendCases, keys: Key[Array, " n"], room: int) -> tuple[Array, Array, Array]:
    def one(key: PRNGKeyArray) -> tuple[Array, Array, Array]:
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
    models = eqx.filter_vmap(lambda k: Transformer(shape(config), key=k))(
        jax.random.split(start_key, config.members)
    )
    total = sum(stage.steps for stage in stages(config))
    before = 0
    for i, (stage, key) in enumerate(zip(stages(config), keys, strict=True)):
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
    fresh = corpus(config, replace(stages(config)[1], texts=DRAWN), key)
    return np.asarray(_excess(jax.tree.map(jnp.asarray, fresh), models))


@eqx.filter_jit
def _excess(fresh: LawObjective, models: Any) -> Float[Array, " members"]:
    def one(model: Any) -> Float[Array, ""]:
        each = jnp.arange(DRAWN).reshape(-1, 64)
        result = jax.lax.map(lambda which: fresh.on(model, which)[1], each)
        return jnp.sum(result["excess"] * result["tokens"]) / jnp.sum(result["tokens"])

    return eqx.filter_vmap(one)(models)
