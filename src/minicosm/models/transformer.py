"""One Transformer, for masked and for causal language modelling."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int, PRNGKeyArray

from minicosm.worlds.arrays import AnyArray, is_concrete

from .checks import (
    check_dtype,
    check_ids,
    check_key,
    check_kind,
    check_positions,
    check_rows,
    numbers_of,
)
from .config import TransformerConfig
from .layers import ACTIVATIONS, Draws, Layer, Norm, dropout
from .positions import Placement, after_offset, check_placement, rows_from, wave_rows


class TransformerTrace(NamedTuple):
    """What a Transformer computed on the way to its logits."""

    hidden: Float[Array, "layers+1 T E"]
    """[l]: the residual stream after l layers; [0] is embeddings plus positions."""
    attention: Float[Array, "layers H T T"]
    """[l, h, i, j]: how much position i reads from position j; rows sum to one."""
    logits: Float[Array, "T V"]


class HeadTransform(eqx.Module):
    """BERT's `norm(activation(x @ weight + bias))` before the output matrix."""

    weight: Float[AnyArray, "E E"]
    bias: Float[AnyArray, " E"]
    norm: Norm

    def __init__(self, config: TransformerConfig, draw: Draws):
        self.weight = draw(config.width, config.width, std=config.init_std)
        self.bias = jnp.zeros(config.width, draw.dtype)
        self.norm = Norm(config, draw.dtype)

    def __call__(self, config: TransformerConfig, x: Float[Array, "T E"]) -> Float[Array, "T E"]:
        y = ACTIVATIONS[config.activation](x @ jnp.asarray(self.weight) + self.bias)
        return self.norm(config, y)


class Transformer(eqx.Module):
    """A Transformer over one sequence; use `jax.vmap` for batches.

    Encoder and decoder differ only in `config.causal`. As a masked language model it has
    `embed` and `predict`, as a causal one `next_logits`. **Inputs and outputs**: a law is always
    over the `vocab` real tokens, so that it compares entry by entry with an exact world's. The mask
    is no token but a row of its own, `mask_embedding`, which `embed` puts at unobserved positions;
    `extra_inputs` adds rows for tokens that are read and never predicted.

    **Positions** are added in `logits` and `predict`, not in `embed`: rows of a soft prompt put
    before the embeddings take the first positions and move the tokens on.

    Parameters of the layers are stacked along a leading axis and scanned. They may be NumPy arrays:
    weights given in float64 compute in float32, and in float64 under `jax.enable_x64(True)`.
    """

    token_embedding: Float[AnyArray, "*stack rows E"]
    mask_embedding: Float[AnyArray, "*stack E"] | None
    position_embedding: Float[AnyArray, "*stack max_length E"] | None
    position_scale: Float[AnyArray, "*stack"] | None
    position_direction: Float[AnyArray, "*stack E"] | None
    embedding_norm: Norm | None
    layers: Layer
    final_norm: Norm | None
    head_transform: HeadTransform | None
    output: Float[AnyArray, "*stack E V"] | None
    output_bias: Float[AnyArray, "*stack V"] | None
    config: TransformerConfig = eqx.field(static=True)

    def __init__(
        self, config: TransformerConfig, *, key: PRNGKeyArray, dtype: DTypeLike | None = None
    ):
        """Random weights: N(0, init_std^2), zero biases, norms that begin as plain normalisation.

        The sinusoidal table is multiplied by a learned number that begins at `sqrt(2)` times the
        `position_std`, so that at first positions have this root mean square. `dtype` is that of
        the parameters (default: float32, or float64 under `jax.enable_x64(True)`).
        """
        check_kind("config", config, TransformerConfig, "a TransformerConfig")
        check_key("key", key)
        dtype = check_dtype("dtype", dtype)
        draw = Draws(config, dtype, key=key)
        width, std = config.width, config.init_std
        learned, waves = config.positions == "learned", config.positions == "sinusoidal"
        self.config = config
        tokens, places = config.std_of_embeddings, config.std_of_positions
        self.token_embedding = draw(config.vocab + config.extra_inputs, width, std=tokens)
        self.mask_embedding = None if config.causal else draw(width, std=tokens)
        self.position_embedding = draw(config.max_length, width, std=places) if learned else None
        self.position_scale = jnp.asarray(2**0.5 * places, dtype) if waves else None
        self.embedding_norm = Norm(config, dtype) if config.has_embedding_norm else None
        self.layers = Layer(config, draw)
        self.final_norm = Norm(config, dtype) if config.has_final_norm else None
        self.head_transform = HeadTransform(config, draw) if config.head_transform else None
        self.output = None if config.tied else draw(width, config.vocab, std=std)
        linear = config.positions == "linear"
        self.position_direction = draw(width, std=places) if linear else None
        self.output_bias = jnp.zeros(config.vocab, dtype) if config.output_bias else None

    @property
    def vocab(self) -> int:
        return self.config.vocab

    def embed(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T E"]:
        """`token_embedding[token]`, and `mask_embedding` where a position is not observed.

        Without positions, which `logits` adds. While JAX traces, tokens cannot be checked.
        """
        rows = self.vocab + self.config.extra_inputs
        tokens, observed = check_ids("tokens", tokens, rows, observed)
        embedded = jnp.asarray(self.token_embedding)[jnp.asarray(tokens)]
        if observed is None:
            return embedded
        if self.mask_embedding is None:
            raise ValueError(
                "this model is causal and has no mask; every position must be observed"
            )
        return jnp.where(jnp.asarray(observed)[:, None], embedded, self.mask_embedding)

    def hidden(
        self,
        embeddings: Float[AnyArray, "T E"],
        at: Int[AnyArray, " n"] | None = None,
        *,
        visible: Bool[AnyArray, "*rows T"] | None = None,
        key: PRNGKeyArray | None = None,
        placement: Placement | None = None,
    ) -> Float[Array, "n E"]:
        """The residual stream after the last layer, normalised if the config says so.

        With `at`, only at these positions: the last layer then computes nothing for the others but
        the keys and values that these read, which for two layers saves up to half of the work.

        `visible[j]` says whether position j may be read at all (False for padding), `visible[i, j]`
        whether position i may read position j; a causal model also never reads ahead. A position
        that may read nothing reads the mean of all. `key` turns dropout on. `placement` says where
        the sequence stands and how much nearer positions are preferred.
        """
        x, visible, keys, slopes = self._start(embeddings, visible, key, placement)
        at = None if at is None else check_positions("at", at, x.shape[0])
        config = self.config

        def step(x: Array, layer_and_key: Any, at: Any = None) -> tuple[Array, None]:
            layer, key = layer_and_key
            return layer(config, x, visible, key, at=at, slopes=slopes)[0], None

        step = jax.checkpoint(step, prevent_cse=False) if config.remat else step
        layers = jax.tree.map(jnp.asarray, (self.layers, keys))
        scanned = layers if at is None else jax.tree.map(lambda leaf: leaf[:-1], layers)
        x, _ = jax.lax.scan(step, x, scanned, unroll=config.unroll)
        if at is not None:
            x, _ = step(x, jax.tree.map(lambda leaf: leaf[-1], layers), jnp.asarray(at))
        return x if self.final_norm is None else self.final_norm(config, x)

    def readout(self, hidden: Float[Array, "T E"]) -> Float[Array, "T V"]:
        """Logits of rows of `hidden`: `transform(hidden) @ output + output_bias`."""
        return self._readout(jnp.asarray(check_rows("hidden", hidden, self.config.width)))

    def _readout(self, hidden: Float[Array, "T E"]) -> Float[Array, "T V"]:
        if self.head_transform is not None:
            hidden = self.head_transform(self.config, hidden)
        if self.output is None:
            logits = hidden @ jnp.asarray(self.token_embedding)[: self.vocab].T
        else:
            logits = hidden @ jnp.asarray(self.output)
        return logits if self.output_bias is None else logits + self.output_bias

    def logits(
        self,
        embeddings: Float[AnyArray, "T E"],
        at: Int[AnyArray, " n"] | None = None,
        *,
        visible: Bool[AnyArray, "*rows T"] | None = None,
        key: PRNGKeyArray | None = None,
        placement: Placement | None = None,
    ) -> Float[Array, "n V"]:
        """Unnormalised log laws: of the position's own token, or of the next one if causal; of
        all positions, or `at` these."""
        hidden = self.hidden(embeddings, at, visible=visible, key=key, placement=placement)
        return self._readout(hidden)

    def predict(
        self,
        embeddings: Float[AnyArray, "T E"],
        at: Int[AnyArray, " n"] | None = None,
        *,
        visible: Bool[AnyArray, "*rows T"] | None = None,
        key: PRNGKeyArray | None = None,
        placement: Placement | None = None,
    ) -> Float[Array, "n V"]:
        """`softmax(logits(embeddings, at))`: for every position a law over the real tokens."""
        logits = self.logits(embeddings, at, visible=visible, key=key, placement=placement)
        return jax.nn.softmax(logits, axis=-1)

    def next_logits(
        self,
        tokens: Int[AnyArray, " T"],
        *,
        key: PRNGKeyArray | None = None,
        placement: Placement | None = None,
    ) -> Float[Array, "T V"]:
        """Unnormalised log law of the token after each position; the model must be causal."""
        if not self.config.causal:
            raise ValueError("this model reads ahead; next_logits needs a config with causal=True")
        return self.logits(self.embed(tokens), key=key, placement=placement)

    def trace(
        self,
        inputs: Int[AnyArray, " T"] | Float[AnyArray, "T E"],
        observed: Bool[AnyArray, " T"] | None = None,
        *,
        visible: Bool[AnyArray, "*rows T"] | None = None,
        key: PRNGKeyArray | None = None,
        placement: Placement | None = None,
    ) -> TransformerTrace:
        """Residual streams, attention weights and logits of tokens (or of embeddings)."""
        inputs = numbers_of("inputs", inputs, "tokens or rows")
        if len(inputs.shape) == 1:
            inputs = self.embed(inputs, observed)
        elif observed is not None:
            raise ValueError("observed goes with tokens; embeddings hold the mask's row already")
        start, visible, keys, slopes = self._start(inputs, visible, key, placement, "inputs")
        config = self.config

        def step(x: Array, layer_and_key: Any) -> tuple[Array, tuple[Array, Array]]:
            layer, key = layer_and_key
            x, weights = layer(config, x, visible, key, keep_weights=True, slopes=slopes)
            return x, (x, weights)

        last, (streams, attention) = jax.lax.scan(step, start, (self.layers, keys))
        last = last if self.final_norm is None else self.final_norm(config, last)
        return TransformerTrace(
            jnp.concatenate([start[None], streams]), attention, self._readout(last)
        )

    def _start(
        self,
        embeddings: AnyArray,
        visible: AnyArray | None,
        key: PRNGKeyArray | None,
        placement: Placement | None,
        name: str = "embeddings",
    ) -> tuple[Float[Array, "T E"], Bool[AnyArray, "#T T"] | None, Any, Any]:
        """What the layers begin with: rows with positions, what may read what, dropout keys and slopes."""
        config = self.config
        embeddings = check_rows(name, embeddings, config.width)
        if key is not None:
            check_key("key", key)
        length = embeddings.shape[0]
        x = jnp.asarray(embeddings).astype(jnp.asarray(self.token_embedding).dtype)
        if self.position_embedding is not None and length > config.max_length:
            raise ValueError(
                f"the sequence has {length} positions, prompt included; "
                f"this model has {config.max_length} learned positions"
            )
        placement = self._placement(placement, length)
        x = self._positioned(x, 0, length, placement)
        if self.embedding_norm is not None:
            x = self.embedding_norm(config, x)
        keys = None
        if key is not None and max(config.dropout, config.rate_of_embeddings) > 0:
            key, first = jax.random.split(key)
            x = dropout(first, config.rate_of_embeddings, x)
            keys = jax.random.split(key, config.layers) if config.dropout > 0 else None
        return x, _visibility(visible, length, config.causal), keys, placement.slopes

    def _placement(self, placement: Placement | None, room: int) -> Placement:
        """The placement, if this model can have `room` positions in it."""
        config = self.config
        return check_placement(
            placement, heads=config.heads, width=config.width, kind=config.positions, room=room,
            most=config.max_length,
        )  # fmt: skip

    def _positioned(
        self, x: Float[Array, "n E"], first: Any, length: int, placement: Placement
    ) -> Float[Array, "n E"]:
        """Rows that stand at the positions `first, first + 1, ...` of a sequence of `length`, with what is
        added there."""
        config, count, begin = self.config, x.shape[0], after_offset(placement, first)
        if self.position_embedding is not None:
            x = x + rows_from(jnp.asarray(self.position_embedding), begin, count)
        if self.position_scale is not None:
            waves = wave_rows(placement, first, count, config.width, length, x.dtype)
            x = x + self.position_scale * waves
        if self.position_direction is not None:
            where = jnp.arange(count, dtype=x.dtype)[:, None]
            if not isinstance(begin, int):
                where = where + jnp.asarray(begin).astype(x.dtype)
            x = x + where / config.max_length * jnp.asarray(self.position_direction)
        return x


def _visibility(
    visible: Bool[AnyArray, "*rows T"] | None, length: int, causal: bool
) -> Bool[AnyArray, "#T T"] | None:
    """Which position (row) may read which (column); None where each may read every one."""
    if visible is not None:
        visible = numbers_of("visible", visible, "True and False")
        if visible.shape not in ((length,), (length, length)) or visible.dtype != bool:
            raise ValueError(
                f"visible has shape {visible.shape} and dtype {visible.dtype}; it must be boolean "
                f"of shape ({length},) or ({length}, {length}), as there are {length} embeddings"
            )
        visible = visible.reshape(-1, length)
    if not causal:
        return visible
    past = np.tril(np.ones((length, length), bool))
    if visible is None:
        return past
    return past & (np.asarray(visible) if is_concrete(visible) else visible)
