"""Transformers from explicit weights, and small changes of their weights."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from minicosm.models import Transformer, TransformerConfig
from minicosm.worlds.arrays import check_size

from ..checks import COUNT
from ..signatures import checked
from .relu import Stage, linear, padded


class Attention(NamedTuple):
    """One head, acting from the right: logits `(x_b @ query) . (x_a @ key)`, values `x @ value @
    out`."""

    query: Float[np.ndarray, "m m"]
    key: Float[np.ndarray, "m m"]
    value: Float[np.ndarray, "m m"]
    out: Float[np.ndarray, "m m"]


def silent_attention(m: int) -> Attention:
    """A head that adds nothing: `LN_0(0) = 0`."""
    zero = np.zeros((m, m))
    return Attention(zero, zero, zero, zero)


def assemble(
    config: TransformerConfig,
    embedding: Float[np.ndarray, "inputs m"],
    heads: Sequence[Attention],
    stages: Sequence[Stage],
    output: Float[np.ndarray, "m vocab"],
) -> Transformer:
    """The Transformer with these weights, one head and one stage per layer (or no stages at all)."""
    qkv = np.stack([np.stack([h.query, h.key, h.value], axis=1)[:, :, None] for h in heads])
    weights = (embedding, qkv, np.stack([h.out[None] for h in heads]), output)
    model = eqx.tree_at(
        lambda t: (t.token_embedding, t.layers.attention.qkv, t.layers.attention.out, t.output),
        _template(config),
        weights,
    )
    if not stages:
        return model
    wide = [padded(stage, config.width, config.size_of_mlp, config.width) for stage in stages]
    return eqx.tree_at(
        lambda t: tuple(getattr(t.layers.mlp, name) for name in Stage._fields),
        model,
        [np.stack([getattr(stage, name) for stage in wide]) for name in Stage._fields],
    )


@lru_cache
def _template(config: TransformerConfig) -> Transformer:
    return eqx.filter_eval_shape(Transformer, config, key=jax.random.key(0))


def check_input_rows(model: Transformer, rows: int) -> None:
    """Raise unless the model reads so many ids."""
    given = model.config.vocab + model.config.extra_inputs
    if given != rows:
        raise ValueError(f"the model has {given} input rows; it must have {rows}")


def check_one_head(model: Transformer, *, mlp: bool = True) -> None:
    """Raise unless the model has one head as wide as itself, an output matrix and, if `mlp`, MLPs
    with biases."""
    config = model.config
    faults = {
        f"{config.heads} heads of width {config.size_of_head}": config.heads != 1
        or config.size_of_head != config.width,
        "no output matrix of its own": model.output is None,
        "no MLPs with biases": mlp
        and (model.layers.mlp is None or model.layers.mlp.up_bias is None),
    }
    for fault, present in faults.items():
        if present:
            raise ValueError(
                f"the model has {fault}; it must be one of the constructed ones, with one head as wide as "
                "itself, an output matrix" + (" and MLPs with biases" if mlp else "")
            )


def parts_of(model: Transformer) -> tuple[list[Attention], list[Stage]]:
    """The heads and stages of a model with one head, layer by layer."""
    attention, mlp = model.layers.attention, model.layers.mlp
    qkv, out = np.asarray(attention.qkv), np.asarray(attention.out)
    heads = [
        Attention(a[:, 0, 0], a[:, 1, 0], a[:, 2, 0], b[0]) for a, b in zip(qkv, out, strict=True)
    ]
    if mlp is None:
        return heads, []
    arrays = [np.asarray(getattr(mlp, name)) for name in Stage._fields]
    return heads, [Stage(*layer) for layer in zip(*arrays, strict=True)]


@checked()
def with_logits(model: Transformer, M: Float[np.ndarray, "m m"]) -> Transformer:
    """The same model with another attention matrix in its first layer, nothing else adapted."""
    check_one_head(model, mlp=False)
    width = model.config.width
    if M.shape != (width, width):
        raise ValueError(
            f"M has shape {M.shape}; the model's width is {width}, so it must be square of that"
        )
    qkv = np.array(model.layers.attention.qkv)
    qkv[0, :, 0, 0], qkv[0, :, 1, 0] = np.asarray(M).T, np.eye(qkv.shape[1])
    return eqx.tree_at(lambda t: t.layers.attention.qkv, model, qkv)


@checked(count=COUNT)
def with_identity_layers(model: Transformer, count: int) -> Transformer:
    """Section 2.2.5.2: `count` layers more, with values zero and `g(x) = [I, -I] relu([I; -I] x) =
    x`."""
    config, width = model.config, model.config.width
    check_one_head(model)
    check_size(
        f"count = {count} more layers", count * width * 2 * max(config.size_of_mlp, 2 * width)
    )
    heads, stages = parts_of(model)
    inner = max(config.size_of_mlp, 2 * width)
    return assemble(
        replace(config, layers=config.layers + count, mlp_width=inner),
        np.asarray(model.token_embedding),
        heads + [silent_attention(width)] * count,
        stages + [linear(np.eye(width))] * count,
        np.asarray(model.output),
    )
