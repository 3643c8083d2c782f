"""The parts of a Transformer layer, for one sequence; a `Transformer` stacks and scans them.

In annotations E is the width, H the number of heads, D the width of a head, F the MLP's width.
Weights act from the right, `x @ w`, so their first axis is the input.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray

from .checks import check_memory
from .config import TransformerConfig
from .positions import recency, rotate

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
}


class Draws:
    """Standard normal numbers, drawn all at once and handed out in order.

    One program draws them: compiling a draw for every array takes seconds. They are drawn in
    float32, so that a key means the same weights in either precision.
    """

    def __init__(self, config: TransformerConfig, dtype: DTypeLike, *, key: PRNGKeyArray):
        """Enough numbers for every array that a model of this config may have."""
        width, rows = config.width, config.vocab + config.extra_inputs
        outside = rows + 2 + config.max_length + width + config.vocab
        layer = 4 * config.heads * config.size_of_head + 2 * config.size_of_mlp
        self.draw(width * (outside + config.layers * layer), dtype, key)

    def draw(self, count: int, dtype: DTypeLike, key: PRNGKeyArray) -> None:
        """So many numbers, if there is room for them and for the arrays that are made of them."""
        check_memory("a model of this config", count, 4 + jnp.dtype(dtype).itemsize)
        self.numbers = jax.random.normal(key, (count,), "float32")
        self.dtype, self.used = dtype, 0

    def __call__(self, *shape: int, std: float) -> Float[Array, "..."]:
        """The next numbers as N(0, std^2)."""
        begin, self.used = self.used, self.used + math.prod(shape)
        return (std * self.numbers[begin : self.used]).astype(self.dtype).reshape(shape)


def dropout(key: PRNGKeyArray | None, rate: float, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Zero entries with probability `rate` and divide the others by `1 - rate`; no key, no dropout."""
    if key is None or rate == 0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def layer_norm(
    x: Float[Array, "*rows E"],
    scale: Float[AnyArray, " E"],
    shift: Float[AnyArray, " E"],
    *,
    epsilon: float,
) -> Float[Array, "*rows E"]:
    """`(x - mean) / sqrt(var + epsilon) * scale + shift` over the last axis."""
    centred = x - x.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + epsilon) * scale + shift


def unit_norm(x: Float[Array, "*rows E"], epsilon: float) -> Float[Array, "*rows E"]:
    """`(x - mean) / max(|x - mean|_2, epsilon)`, with 0/0 = 0 (and gradient 0 there)."""
    centred = x - x.mean(-1, keepdims=True)
    square = jnp.square(centred).sum(-1, keepdims=True)
    length = jnp.sqrt(jnp.where(square > 0, square, 1))
    return centred / jnp.where(square > 0, jnp.maximum(length, epsilon), 1)


class Norm(eqx.Module):
    """One normalisation; `scale` and `shift` are None for the normaliser "unit"."""

    scale: Float[AnyArray, "*stack E"] | None
    shift: Float[AnyArray, "*stack E"] | None

    def __init__(self, config: TransformerConfig, dtype: DTypeLike, stack: tuple[int, ...] = ()):
        affine = config.normaliser == "layer"
        self.scale = jnp.ones((*stack, config.width), dtype) if affine else None
        self.shift = jnp.zeros((*stack, config.width), dtype) if affine else None

    def __call__(self, config: TransformerConfig, x: Float[Array, "*T E"]) -> Float[Array, "*T E"]:
        if self.scale is None or self.shift is None:
            return unit_norm(x, config.epsilon)
        # Norms and activations are cheaper to compute again in the backward pass than to store:
        # on CPU a training step at width 64 takes 6% less.
        return jax.checkpoint(partial(layer_norm, epsilon=config.epsilon))(
            x, self.scale, self.shift
        )


class Attention(eqx.Module):
    """`y_i = sum_h sum_j softmax_j(scale q_ih . k_jh - slopes_h |i - j|) v_jh O_h + bias`.

    `qkv[:, 0, h]`, `qkv[:, 1, h]` and `qkv[:, 2, h]` are head h's query, key and value matrices,
    `out[h]` is its output matrix.
    """

    qkv: Float[AnyArray, "*stack E 3 H D"]
    qkv_bias: Float[AnyArray, "*stack 3 H D"] | None
    out: Float[AnyArray, "*stack H D E"]
    out_bias: Float[AnyArray, "*stack E"] | None

    def __init__(self, config: TransformerConfig, draw: Draws):
        stack, heads = config.layers, (config.heads, config.size_of_head)
        self.qkv = draw(stack, config.width, 3, *heads, std=config.init_std)
        self.out = draw(stack, *heads, config.width, std=residual_std(config))
        with_bias = config.attention_bias
        self.qkv_bias = jnp.zeros((stack, 3, *heads), draw.dtype) if with_bias else None
        self.out_bias = jnp.zeros((stack, config.width), draw.dtype) if with_bias else None

    def __call__(
        self,
        config: TransformerConfig,
        x: Float[Array, "T E"],
        visible: Bool[AnyArray, "#T T"] | None,
        key: PRNGKeyArray | None,
        keep_weights: bool = False,
        at: Int[AnyArray, " n"] | None = None,
        slopes: Float[AnyArray, " H"] | None = None,
    ) -> tuple[Float[Array, "n E"], Float[Array, "H n T"] | None]:
        """The output (at all positions, or only `at` these) and, if asked for, the attention
        weights before dropout.

        The softmax is normalised after the values are summed, `(e @ v) / e.sum()`: T x D divisions
        and no stored weights in place of T x T, a fifth of a training step's time on CPU.
        """
        precise = x.dtype
        kind = precise if config.compute is None else jnp.dtype(config.compute)
        x = x.astype(kind)
        out = jnp.asarray(self.out, kind)
        if (
            self.qkv_bias is None
            and config.positions != "rotary"
            and config.size_of_head > config.width
        ):
            query, keys, values, out = self._through_stream(x, at)
        elif at is None:
            projected = self._project(x, slice(None))
            query, keys, values = projected[:, 0], projected[:, 1], projected[:, 2]
        else:
            query, projected = self._project(x[at], slice(1))[:, 0], self._project(x, slice(1, 3))
            keys, values = projected[:, 0], projected[:, 1]
        if config.positions == "rotary":
            query = rotate(query, config.rotary_base, x.shape[0], at)
            keys = rotate(keys, config.rotary_base)
        logits = jnp.einsum(
            "thd,shd->hts", query * config.scale, keys, preferred_element_type=precise
        )
        if slopes is not None:
            where = jnp.arange(x.shape[0]) if at is None else at
            logits = logits + recency(slopes, where, x.shape[0], precise)
        if visible is not None:
            seen = visible if at is None or visible.shape[0] == 1 else jnp.asarray(visible)[at]
            logits = jnp.where(seen, logits, jnp.finfo(precise).min)
        highest = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
        weights = jnp.exp(logits - highest)
        total = weights.sum(-1, keepdims=True)
        mixed = jnp.einsum(
            "hts,shd->htd",
            dropout(key, config.dropout, weights).astype(kind),
            values,
            preferred_element_type=precise,
        )
        y = jnp.einsum("htd,hde->te", (mixed / total).astype(kind), out)
        y = y.astype(precise)
        if self.out_bias is not None:
            y = y + self.out_bias
        return y, weights / total if keep_weights else None

    def _through_stream(
        self, x: Float[Array, "T E"], at: Int[AnyArray, " n"] | None
    ) -> tuple[
        Float[Array, "n H E"], Float[Array, "T H E"], Float[Array, "T H E"], Float[Array, "H E E"]
    ]:
        """Queries, keys, values and output matrices of heads that are wider than the stream, so that the
        products `W_Q W_K^T` and `W_V O` are smaller than their factors: keys and values are x itself.

        A training step of heads of 50 on a stream of 17 takes 0.4 of the time on CPU.
        """
        query, key, value = (jnp.asarray(self.qkv[:, i], x.dtype) for i in range(3))
        asked = jnp.einsum("ehd,fhd->ehf", query, key)
        told = jnp.einsum("ehd,hdf->hef", value, jnp.asarray(self.out, x.dtype))
        rows = jnp.broadcast_to(x[:, None], (len(x), query.shape[1], x.shape[1]))
        return jnp.einsum("te,ehf->thf", x if at is None else x[at], asked), rows, rows, told

    def _project(self, x: Float[Array, "n E"], which: slice) -> Float[Array, "n k H D"]:
        """Queries, keys and values, or those of them that `which` selects."""
        matrices = jnp.asarray(self.qkv, x.dtype)[:, which]
        projected = jnp.einsum("te,eshd->tshd", x, matrices)
        if self.qkv_bias is None:
            return projected
        return projected + jnp.asarray(self.qkv_bias, x.dtype)[which]


class MLP(eqx.Module):
    """`activation(x @ up + up_bias) @ down + down_bias`."""

    up: Float[AnyArray, "*stack E F"]
    up_bias: Float[AnyArray, "*stack F"] | None
    down: Float[AnyArray, "*stack F E"]
    down_bias: Float[AnyArray, "*stack E"] | None

    def __init__(self, config: TransformerConfig, draw: Draws):
        stack, width, inner = config.layers, config.width, config.size_of_mlp
        self.up = draw(stack, width, inner, std=config.init_std)
        self.down = draw(stack, inner, width, std=residual_std(config))
        self.up_bias = jnp.zeros((stack, inner), draw.dtype) if config.mlp_bias else None
        self.down_bias = jnp.zeros((stack, width), draw.dtype) if config.mlp_bias else None

    def __call__(self, config: TransformerConfig, x: Float[Array, "T E"]) -> Float[Array, "T E"]:
        kind = x.dtype if config.compute is None else jnp.dtype(config.compute)
        inner = x.astype(kind) @ jnp.asarray(self.up, kind)
        if self.up_bias is not None:
            inner = inner + jnp.asarray(self.up_bias, kind)
        inner = jax.checkpoint(ACTIVATIONS[config.activation])(inner)
        y = (inner @ jnp.asarray(self.down, kind)).astype(x.dtype)
        return y if self.down_bias is None else y + self.down_bias


class Layer(eqx.Module):
    """Attention, then MLP, each with its norm and residual as the config places them."""

    attention: Attention
    attention_norm: Norm | None
    mlp: MLP | None
    mlp_norm: Norm | None

    def __init__(self, config: TransformerConfig, draw: Draws):
        """All layers at once, stacked along a leading axis."""
        stack = (config.layers,)
        self.attention = Attention(config, draw)
        self.attention_norm = Norm(config, draw.dtype, stack) if config.norm != "none" else None
        self.mlp = MLP(config, draw) if config.size_of_mlp else None
        with_norm = self.mlp is not None and config.place_of_mlp_norm != "none"
        self.mlp_norm = Norm(config, draw.dtype, stack) if with_norm else None

    def __call__(
        self,
        config: TransformerConfig,
        x: Float[Array, "T E"],
        visible: Bool[AnyArray, "#T T"] | None,
        key: PRNGKeyArray | None,
        keep_weights: bool = False,
        at: Int[AnyArray, " n"] | None = None,
        slopes: Float[AnyArray, " H"] | None = None,
    ) -> tuple[Float[Array, "n E"], Float[Array, "H n T"] | None]:
        """The next residual stream (at all positions, or only `at` these, which read all) and, if
        asked for, this layer's attention weights."""
        keys = (None,) * 3 if key is None or config.dropout == 0 else jax.random.split(key, 3)

        def norm_at(place: str, norm: Norm | None, where: str, rows: Array) -> Array:
            if norm is None or place != where:
                return rows
            normed = norm(config, rows)
            return normed + rows if config.norm_residual and where == "pre" else normed

        def join(
            place: str, norm: Norm | None, residual: bool, x: Array, y: Array, key: Any
        ) -> Array:
            y = norm_at(place, norm, "branch", dropout(key, config.dropout, y))
            return norm_at(place, norm, "post", x + y if residual else y)

        place, norm = config.norm, self.attention_norm
        y, weights = self.attention(
            config, norm_at(place, norm, "pre", x), visible, keys[0], keep_weights, at, slopes
        )
        x = x if at is None else x[at]
        x = join(place, norm, config.attention_residual, x, y, keys[1])
        if self.mlp is not None:
            place, norm = config.place_of_mlp_norm, self.mlp_norm
            y = self.mlp(config, norm_at(place, norm, "pre", x))
            x = join(place, norm, config.mlp_residual, x, y, keys[2])
        return x, weights


def residual_std(config: TransformerConfig) -> float:
    """Initial deviation of the matrices that write to the residual stream, 2 per layer."""
    return (
        config.init_std / (2 * config.layers) ** 0.5 if config.residual_scaling else config.init_std
    )
