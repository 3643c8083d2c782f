"""Transformers with gated units, and with dropout of attention and of MLPs apart from each other.

Both are options of the layers: `with_layer_options` makes an ordinary `Transformer` whose layers are of the
class `OptionLayer`.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray

from .checks import check_dtype, check_flag, check_key, check_kind, check_number
from .config import TransformerConfig
from .layers import ACTIVATIONS, MLP, Layer, Norm, dropout
from .transformer import Transformer


class OptionMLP(eqx.Module):
    """`drop(activation(x @ up + b) * (x @ gate + c)) @ down + d`; without a gate the factor is left out."""

    mlp: MLP
    gate: Float[AnyArray, "*stack E F"] | None
    gate_bias: Float[AnyArray, "*stack F"] | None
    rate: float = eqx.field(static=True)

    def __call__(
        self, config: TransformerConfig, x: Float[Array, "T E"], key: PRNGKeyArray | None
    ) -> Float[Array, "T E"]:
        mlp, kind = self.mlp, x.dtype if config.compute is None else jnp.dtype(config.compute)
        rows = x.astype(kind)

        def linear(weight: AnyArray, bias: AnyArray | None, rows: Array) -> Array:
            y = rows @ jnp.asarray(weight, kind)
            return y if bias is None else y + jnp.asarray(bias, kind)

        inner = jax.checkpoint(ACTIVATIONS[config.activation])(linear(mlp.up, mlp.up_bias, rows))
        if self.gate is not None:
            inner = inner * linear(self.gate, self.gate_bias, rows)
        return linear(mlp.down, mlp.down_bias, dropout(key, self.rate, inner)).astype(x.dtype)


class OptionLayer(Layer):
    """`x + attention(N(x))`, then `x + mlp(N(x))`, with dropout of attention weights and inside the MLP."""

    mlp: OptionMLP  # type: ignore[assignment]
    attention_rate: float = eqx.field(static=True)

    def __init__(self, layer: Layer, mlp: OptionMLP, attention_rate: float):
        self.attention, self.attention_norm = layer.attention, layer.attention_norm
        self.mlp, self.mlp_norm = mlp, layer.mlp_norm
        self.attention_rate = attention_rate

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
        """As a `Layer`."""
        first, second = (None, None) if key is None else jax.random.split(key)

        def normed(norm: Norm | None, rows: Array) -> Array:
            return rows if norm is None else norm(config, rows)

        own = replace(config, dropout=self.attention_rate)
        y, weights = self.attention(
            own, normed(self.attention_norm, x), visible, first, keep_weights, at, slopes
        )
        x = (x if at is None else x[at]) + y
        return x + self.mlp(config, normed(self.mlp_norm, x), second), weights


def with_layer_options(
    config: TransformerConfig,
    *,
    key: PRNGKeyArray,
    gated: bool = False,
    attention_dropout: float = 0.0,
    mlp_dropout: float = 0.0,
    dtype: DTypeLike | None = None,
) -> Transformer:
    """A Transformer whose MLPs have gated units (Shazeer 2020: with `gelu`, GEGLU) and whose dropout is that
    of attention weights, of the MLPs' inner rows and of embeddings (`config.embedding_dropout`), each apart.

    Layers are `x + f(x)` or `x + f(N(x))` (norm "pre" or "none", with residuals); `config.dropout` must be
    0, and that of the model's config is the larger of both rates, so that methods take a key. Such a model
    cannot be saved or exported.
    """
    check_kind("config", config, TransformerConfig, "a TransformerConfig")
    check_key("key", key)
    check_flag("gated", gated)
    check_number("attention_dropout", attention_dropout, least=0, below=1)
    check_number("mlp_dropout", mlp_dropout, least=0, below=1)
    plain = {config.norm, config.place_of_mlp_norm} <= {"pre", "none"} and not config.norm_residual
    if not plain or not (config.attention_residual and config.mlp_residual):
        raise ValueError(
            "config has other layers than x + f(x) or x + f(N(x)); these are needed here"
        )
    if config.dropout:
        raise ValueError(
            f"config.dropout is {config.dropout}; it must be 0, as rates are given apart"
        )
    if not config.size_of_mlp:
        raise ValueError("config.mlp_width is 0; gates and dropout of an MLP need one")
    shape = replace(
        config,
        dropout=max(attention_dropout, mlp_dropout),
        embedding_dropout=config.rate_of_embeddings,
    )
    dtype = check_dtype("dtype", dtype)
    model_key, gate_key = jax.random.split(key)
    model = Transformer(shape, key=model_key, dtype=dtype)
    layer = model.layers
    assert layer.mlp is not None
    gate = bias = None
    if gated:
        size = (config.layers, config.width, config.size_of_mlp)
        gate = (config.init_std * jax.random.normal(gate_key, size, "float32")).astype(dtype)
        bias = jnp.zeros((size[0], size[2]), dtype) if config.mlp_bias else None
    mlp = OptionMLP(layer.mlp, gate, bias, mlp_dropout)
    return eqx.tree_at(lambda m: m.layers, model, OptionLayer(layer, mlp, attention_dropout))
