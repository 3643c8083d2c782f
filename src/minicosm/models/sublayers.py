"""The layers of one side of a `Translator`, and what a row of them reads.

A layer says in which order a row attends to its own side, to positions and to the source; where keys and
values come from is said by whoever calls it: the rows themselves, or what is remembered of them.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray

from .config import TransformerConfig
from .layers import MLP, Attention, Draws, Norm, dropout

BUCKETS, FURTHEST = 32, 128  # of relative positions: how many, and from where on they are one

Read = Callable[
    [Attention, Float[Array, "T E"], PRNGKeyArray | None],
    tuple[Float[Array, "T E"], Float[Array, "H T S"]],
]
"""What normed rows get from one attention (with a key for dropout), and its weights."""


class Memory(NamedTuple):
    """A source as the decoder reads it."""

    rows: Float[Array, "S E"]
    visible: Bool[AnyArray, " S"]
    """False for padding."""
    length: Float[Array, " E"] | None
    """The encoding of the length token; None without a length predictor."""


class Sublayers(eqx.Module):
    """All layers of one side, stacked along a leading axis; the encoder has no `positional`, `cross`."""

    self_attention: Attention
    self_norm: Norm
    positional: Attention | None
    positional_norm: Norm | None
    cross: Attention | None
    cross_norm: Norm | None
    mlp: MLP
    mlp_norm: Norm

    def __init__(self, part: TransformerConfig, draw: Draws, *, positional: bool, cross: bool):
        def norm() -> Norm:
            return Norm(part, draw.dtype, (part.layers,))

        self.self_attention, self.self_norm = Attention(part, draw), norm()
        self.positional = Attention(part, draw) if positional else None
        self.positional_norm = norm() if positional else None
        self.cross, self.cross_norm = (Attention(part, draw), norm()) if cross else (None, None)
        self.mlp, self.mlp_norm = MLP(part, draw), norm()

    def __call__(
        self,
        part: TransformerConfig,
        x: Float[Array, "T E"],
        key: PRNGKeyArray | None,
        own: Read,
        positional: Read | None = None,
        cross: Read | None = None,
    ) -> tuple[Float[Array, "T E"], tuple[Float[Array, "H T _"], Float[Array, "H T _"] | None]]:
        """One layer: the next residual stream, and the weights of self- and cross-attention."""
        keys = (None,) * 8 if key is None or part.dropout == 0 else jax.random.split(key, 8)
        y, own_weights = own(self.self_attention, self.self_norm(part, x), keys[0])
        x = x + dropout(keys[1], part.dropout, y)
        if self.positional is not None and self.positional_norm is not None and positional:
            y, _ = positional(self.positional, self.positional_norm(part, x), keys[2])
            x = x + dropout(keys[3], part.dropout, y)
        across = None
        if self.cross is not None and self.cross_norm is not None and cross:
            y, across = cross(self.cross, self.cross_norm(part, x), keys[4])
            x = x + dropout(keys[5], part.dropout, y)
        y = self.mlp(part, self.mlp_norm(part, x))
        return x + dropout(keys[6], part.dropout, y), (own_weights, across)


def attend(
    weights: Attention,
    part: TransformerConfig,
    q: Float[Array, "H #T D"],
    k: Float[Array, "H S D"],
    v: Float[Array, "H S D"],
    visible: Bool[AnyArray, "#T S"],
    bias: Float[Array, "H #T S"] | None,
    key: PRNGKeyArray | None,
) -> tuple[Float[Array, "T E"], Float[Array, "H T S"]]:
    """`y_i = sum_h sum_j softmax_j(scale q_ih . k_jh + bias_hij) v_jh O_h`, and the attention weights."""
    logits = jnp.einsum("htd,hsd->hts", q * part.scale, k)
    logits = logits if bias is None else logits + bias
    logits = jnp.where(jnp.asarray(visible), logits, jnp.finfo(logits.dtype).min)
    # Normalised after the values are summed, as in `Attention`: less to compute and to store.
    highest = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    raw = jnp.exp(logits - highest)
    total = raw.sum(-1, keepdims=True)
    mixed = jnp.einsum("hts,hsd->htd", dropout(key, part.dropout, raw), v) / total
    y = jnp.einsum("htd,hde->te", mixed, jnp.asarray(weights.out))
    return y if weights.out_bias is None else y + weights.out_bias, raw / total


def project(weights: Attention, which: int, rows: Float[Array, "T E"]) -> Float[Array, "H T D"]:
    """Queries (0), keys (1) or values (2) of all heads."""
    y = jnp.einsum("te,ehd->htd", rows, jnp.asarray(weights.qkv)[:, which])
    return y if weights.qkv_bias is None else y + jnp.asarray(weights.qkv_bias)[which][:, None]


def relative_buckets(length: int, *, causal: bool) -> Int[np.ndarray, "T T"]:
    """`[i, j]`: the bucket of the distance `j - i`, as in T5.

    A decoder that reads both ways has half of the buckets for each side. Of those of one side, the
    first half are the distances 0, 1, ..., and the others grow geometrically up to `FURTHEST`, beyond
    which all distances are one.
    """
    ahead = np.arange(length)[None] - np.arange(length)[:, None]
    side = BUCKETS if causal else BUCKETS // 2
    away = np.maximum(-ahead, 0) if causal else np.abs(ahead)
    near = side // 2
    growth = np.log(np.maximum(away, near) / near) / np.log(FURTHEST / near)
    far = np.minimum(near + (growth * (side - near)).astype(int), side - 1)
    bucket = np.where(away < near, away, far)
    return bucket if causal else bucket + np.where(ahead > 0, side, 0)
