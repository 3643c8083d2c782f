"""The models that are trained, one for every seed, and which of their weights are.

- "minimal": brackets with their depth are looked up (in place of a first layer), then one layer
  `g(N(attention(x)) + x)`; "inside": `g(N(attention(x) + x))`; "attention": `N(attention(x))` alone;
  "bare": `attention(x)` alone;
- "gpt": GPT-2 blocks on tokens; "gpt-residual": the same with `x + N(attention(x))`, the residual after
  the norm as in the theory, in place of `x + attention(N(x))`; "uniform": GPT-2 blocks whose attention
  logits are all zero.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Key, PRNGKeyArray, PyTree

from minicosm.models import Transformer, TransformerConfig, variants
from minicosm.theory.dyck import token_depth_embedding
from minicosm.worlds import Dyck

from ..trials import Embedding, ModelName

MINIMAL = ("minimal", "inside", "attention", "bare")


def shape(
    name: ModelName,
    world: Dyck,
    *,
    embedding: Embedding,
    width: int,
    layers: int,
    positions: str,
    longest: int,
) -> TransformerConfig:
    """The config. With a fixed embedding, models on pairs are as wide as it; `width` is then that of
    the head and of the MLP."""
    if name in MINIMAL:
        rows = world.pairs + 1
        stream = (
            width if embedding == "learned" else token_depth_embedding(world, embedding).shape[1]
        )
        sizes: dict[str, Any] = {
            "width": stream, "head_width": width, "mlp_width": width, "inputs": rows,
            "attention_scale": width**-0.5, "init_std": 3**-0.5 * width**-0.5, "constant": 1e-6,
        }  # fmt: skip
        if name == "attention":
            sizes |= {"attention_residual": False, "mlp_width": 0}
        maker = {"inside": variants.residual_inside, "bare": variants.bare}.get(
            name, variants.theory
        )
        if name == "bare":
            del sizes["mlp_width"]
        return maker(world.vocab, **sizes)
    fields: dict[str, Any] = {}
    if name == "gpt-residual":
        fields = {"norm": "branch", "mlp_norm": "pre", "final_norm": True}
    elif name == "uniform":
        fields = {"attention_scale": 0.0}
    return variants.gpt2(
        world.vocab, width=width, layers=layers, positions=positions, max_length=longest, **fields
    )


def fresh(
    name: ModelName,
    config: TransformerConfig,
    world: Dyck,
    embedding: Embedding,
    keys: Key[Any, " seeds"],
) -> tuple[Transformer, PyTree]:
    """Untrained models, stacked, and a tree that says which leaves are trained."""
    table = None
    if name in MINIMAL and embedding != "learned":
        table = np.asarray(token_depth_embedding(world, embedding), np.float32)

    def draw(key: PRNGKeyArray) -> Transformer:
        model = Transformer(config, key=key)
        if table is not None:
            model = eqx.tree_at(lambda m: m.token_embedding, model, jnp.asarray(table))
        return model

    models = eqx.filter_vmap(draw)(keys)
    trainable = jax.tree.map(eqx.is_inexact_array, models)
    if table is not None:
        trainable = eqx.tree_at(lambda m: m.token_embedding, trainable, False)
    return models, trainable
