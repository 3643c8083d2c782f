"""A Transformer pretrained by masked prediction on one world, and how far it is from the exact model."""

from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from minicosm.models import Transformer, TransformerConfig
from minicosm.training import History, MaskedObjective, adamw, fit, muon
from minicosm.training.fit import Reporter, Watch
from minicosm.worlds import HMM, MemoryHMM

from ..trials import Pretraining

MEASURED_RATE = 0.05  # the paper's share of masks: what all recipes are measured by
HELD_OUT = 256


def transformer_config(recipe: Pretraining, vocab: int) -> TransformerConfig:
    shape: dict[str, Any] = {
        "layers": recipe.layers, "width": recipe.width, "heads": recipe.heads,
        "max_length": recipe.max_length, "positions": recipe.positions, "dropout": recipe.dropout,
        "rotary_base": recipe.rotary_base,
    }  # fmt: skip
    if recipe.norm == "post":
        return TransformerConfig.bert(vocab, **shape)
    return TransformerConfig(vocab, norm=recipe.norm, **shape)


def optimiser_of(recipe: Pretraining) -> optax.GradientTransformation:
    when: dict[str, Any] = {"steps": recipe.steps, "warmup": recipe.warmup, "decay": recipe.decay}
    if recipe.optimiser == "muon":
        return muon(recipe.peak, rest=recipe.rest, **when)
    return adamw(recipe.peak, **when)


def pretrain(
    recipe: Pretraining,
    world: HMM | MemoryHMM,
    key: PRNGKeyArray,
    *,
    folder: Path,
    progress: Reporter,
    watch: Watch | None = None,
) -> tuple[Transformer, History]:
    """The trained model and its history, which holds "held_out" and "held_out_tv": excess loss and
    total variation on fresh sequences with 5% masks, whatever the recipe's own masks.

    Continues from the checkpoint in `folder`, if there is one.
    """
    start_key, corpus_key, train_key, test_key = jax.random.split(key, 4)
    world = jax.tree.map(partial(jnp.asarray, dtype=jnp.float32), world)
    model = Transformer(transformer_config(recipe, world.vocab), key=start_key)
    corpus = None
    if recipe.documents:
        corpus = _corpus(world, corpus_key, recipe.documents, recipe.document_length)
    objective = MaskedObjective(
        world, length=recipe.length, batch=recipe.batch, rate=recipe.rate, exact=recipe.exact,
        corruption=recipe.corruption, first=recipe.first, measure=False, corpus=corpus,
    )  # fmt: skip
    yardstick = MaskedObjective(
        world, length=recipe.length, batch=HELD_OUT, rate=MEASURED_RATE, exact=True
    )

    def measure(model: Transformer, done: int) -> dict[str, Any]:
        found = _measure(yardstick, model, test_key)
        extra = {} if watch is None else watch(model, done)
        return {"held_out": found["excess"], "held_out_tv": found["tv"], **extra}

    return fit(
        objective,
        model,
        optimiser_of(recipe),
        recipe.steps,
        train_key,
        chunk=max(1, recipe.steps // recipe.checkpoints),
        progress=progress,
        watch=measure,
        checkpoint=folder / "pretraining.npz",
    )  # fmt: skip


@eqx.filter_jit
def _measure(yardstick: MaskedObjective, model: Transformer, key: PRNGKeyArray) -> dict[str, Array]:
    return yardstick(model, key, jnp.asarray(0))[1]


@partial(jax.jit, static_argnames=("documents", "length"))
def _corpus(
    world: HMM | MemoryHMM, key: PRNGKeyArray, documents: int, length: int
) -> Int[Array, "n T"]:
    def one(key: PRNGKeyArray) -> Int[Array, " T"]:
        return world.sample(key, length).tokens.astype(jnp.int8)

    return jax.lax.map(one, jax.random.split(key, documents), batch_size=50)
