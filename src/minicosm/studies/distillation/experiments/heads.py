"""Transformers of one width that learn a sparse parity from labels with few and with many heads, which are
concatenated or averaged.

Arrays: `steps`; `few` and `many` `[step, seed]`, accuracy on held-out inputs. With either number of heads a
seed has the same inputs.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import Distilled, SignTokens, fit_ensemble, labels_only
from minicosm.worlds import SparseParity
from minicosm.worlds.arrays import AnyArray

from ..head_trials import Heads
from .attention import adam, first_class, share_right, tokens_of
from .mlps import copies, held_out, key_of


class AveragedHeads(eqx.Module):
    """A Transformer whose attention writes `mean_h(sum_j a_hij v_jh) @ O + bias`, with one matrix O for the
    mean of its heads. That is what heads write whose output matrices are all `O / heads`: O stands in the
    place of theirs, with an axis of one head, and is repeated when the model is asked."""

    tied: Transformer

    def __init__(self, model: Transformer):
        """The output matrix of the first head is that of the mean."""
        self.tied = eqx.tree_at(_out, model, _out(model)[..., :1, :, :])

    def untied(self) -> Transformer:
        """The same as a Transformer with an output matrix for every head."""
        heads = self.tied.config.heads
        return eqx.tree_at(_out, self.tied, jnp.repeat(_out(self.tied) / heads, heads, axis=-3))

    def embed(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T E"]:
        return self.tied.embed(tokens)

    def logits(
        self, embeddings: Float[AnyArray, "T E"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n V"]:
        return self.untied().logits(embeddings, at)


def _out(model: Transformer) -> Any:
    return model.layers.attention.out


def fresh(config: Heads, heads: int, mean: bool, keys: Any) -> Any:
    """GPT-2's shape with an output of its own for the two classes. Heads divide the width, or each has it
    and their mean is taken."""
    shape = TransformerConfig(
        vocab=2, layers=config.layers, heads=heads, width=config.width,
        head_width=config.width if mean else None, max_length=config.d, causal=True, tied=False,
        init_std=config.init_std,
    )  # fmt: skip

    def one(key: Any) -> Any:
        model = Transformer(shape, key=key)
        return AveragedHeads(model) if mean else model

    return eqx.filter_vmap(one)(keys)


def concatenated(config: Heads, progress: Progress, folder: Path) -> TrialResult:
    return _run(config, False, progress, folder)


def averaged(config: Heads, progress: Progress, folder: Path) -> TrialResult:
    return _run(config, True, progress, folder)


def _run(config: Heads, mean: bool, progress: Progress, folder: Path) -> TrialResult:
    kind = "averaged" if mean else "concatenated"
    world = SparseParity(config.d, config.k)
    held = held_out(world, key_of(config.seed, "heads", kind, "held out"), config.tests)
    data = jax.random.split(key_of(config.seed, "heads", kind, "inputs"), config.seeds)
    task = SignTokens(world, batch=config.batch)
    curves = {}
    for name, heads in (("few", config.few), ("many", config.many)):
        start = jax.random.split(key_of(config.seed, "heads", kind, name), config.seeds)

        def report(done: int, total: int, note: str = "", heads: int = heads) -> None:
            progress(done, total, f"heads: {heads} {note}")

        _, history = fit_ensemble(
            copies(Distilled(task, labels_only(), block=config.judged), config.seeds),
            fresh(config, heads, mean, start),
            adam(config.rate), config.steps, data, chunk=config.judged,
            watch=lambda params, done: {
                "test": share_right(np.asarray(first_class(params, tokens_of(held))), held)
            },
            progress=report,
            checkpoint=folder / f"{name}.npz",
        )  # fmt: skip
        curves[name] = history["test"]
    return TrialResult({}, {"steps": history["step"], **curves})
