"""A causal Transformer that reads one token at a time and remembers what it computed.

It uses the layers of `Transformer`, unchanged, on one row; only what the row reads comes from the
memory. The row at position s reads the keys and values of positions 0..s, and those of positions
after it are overwritten before they are read: this is why going back is a smaller n.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds.arrays import (
    AnyArray,
    check_count,
    check_kind,
    check_size,
    check_whole_numbers,
)
from minicosm.worlds.memories import check_place, check_step

from .config import TransformerConfig
from .layers import Attention
from .positions import Placement, recency, rotate
from .transformer import Transformer


class CachedMemory(NamedTuple):
    """What was computed for the start token and the tokens after it; row n is after n tokens."""

    keys: tuple[Float[Array, "H rows D"], ...]
    """One array for each layer: stacked, they would be turned about at every step of a batch."""
    values: tuple[Float[Array, "H rows D"], ...]
    streams: Float[Array, "kept rows E"]
    """The residual stream after l layers, for the l in `keep`; as `Transformer.trace(...).hidden`."""
    hidden: Float[Array, "rows E"]
    """What the output matrix reads; as `Transformer.hidden`."""
    logits: Float[Array, "rows V"]


class CachedTransformer(eqx.Module):
    """A `Generator` around a causal `Transformer`, whose strings stand after the token `start`.

    `law(memory, n)` is the `log_softmax` of `model.next_logits` of the start token and the first n
    tokens, at its last row. `keep` names layers whose residual stream the memory holds besides, for
    verifiers that look at it (0: embeddings; `config.layers`: the last layer, not yet normalised).

    The start token is the one that stood before every sequence in training, as in
    `CausalObjective(world, length=T, start=V)` with `TransformerConfig(vocab=V, extra_inputs=1, ...)`:
    such a model generates from an empty prompt. With learned positions, strings of T tokens need
    `max_length=T + 1`. `placement` is that of the model's `logits`.
    """

    model: Transformer
    start: int = eqx.field(static=True)
    keep: tuple[int, ...] = eqx.field(static=True, default=())
    placement: Placement | None = None

    def __check_init__(self) -> None:
        check_kind("model", self.model, Transformer, "a Transformer")
        config = self.model.config
        if not config.causal:
            raise ValueError("this model reads ahead; a generator needs a config with causal=True")
        if check_count("start", self.start, least=0) >= self._inputs:
            raise ValueError(
                f"the start token is {self.start}; it must be one of 0..{self._inputs - 1}"
            )
        check_kind("keep", self.keep, tuple, "a tuple of layers, such as (0, 2)")
        for layer in self.keep:
            if check_count("a layer in keep", layer, least=0) > config.layers:
                raise ValueError(
                    f"keep has layer {layer}; this model has the layers 0..{config.layers}"
                )
        self.model._placement(self.placement, 1)

    @property
    def vocab(self) -> int:
        return self.model.vocab

    @property
    def context(self) -> int | None:
        """The largest number of tokens of a string; None if there is no limit."""
        config = self.model.config
        return config.max_length - 1 if config.positions == "learned" else None

    @property
    def _inputs(self) -> int:
        """How many tokens the model reads, those that it never predicts included."""
        return self.model.vocab + self.model.config.extra_inputs

    def begin(self, room: int, start: Int[AnyArray, ""] | int | None = None) -> CachedMemory:
        """The memory of the empty string: the start token has been read, or `start` in its place."""
        first = jnp.int32(self.start)
        if start is not None:
            start = check_whole_numbers("start", start, 0, self._inputs - 1, ())
            first = jnp.asarray(start, jnp.int32)
        return self._read(self._empty(room), jnp.int32(0), first)

    def begin_after(self, room: int, tokens: Int[Array, " P"]) -> CachedMemory:
        """The memory of a string of P tokens, read in one pass; up to rounding that of `begin` and P
        times `read`."""
        memory, (model, config) = self._empty(room), (self.model, self.model.config)
        tokens = jnp.asarray(check_whole_numbers("tokens", tokens, 0, self._inputs - 1, (None,)))
        if tokens.shape[0] > room:
            raise ValueError(f"tokens are {tokens.shape[0]}; the memory has room for {room}")
        ids = jnp.concatenate([jnp.full(1, self.start, tokens.dtype), tokens])
        embedded = jnp.asarray(model.token_embedding)[ids]
        x, visible, _, slopes = model._start(embedded, None, None, self.placement)
        keys, values, streams = [], [], [x]
        for i in range(config.layers):
            layer = jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf)[i], model.layers)
            note = Note(layer.attention)
            layer = eqx.tree_at(lambda whole: whole.attention, layer, note)
            x, _ = layer(config, x, visible, None, slopes=slopes)
            keys.append(_head(memory.keys[i], note.keys, axis=1))
            values.append(_head(memory.values[i], note.values, axis=1))
            streams.append(x)
        kept = memory.streams
        if self.keep:
            kept = _head(kept, jnp.stack([streams[layer] for layer in self.keep]), axis=1)
        x = x if model.final_norm is None else model.final_norm(config, x)
        return CachedMemory(
            tuple(keys),
            tuple(values),
            kept,
            _head(memory.hidden, x, axis=0),
            _head(memory.logits, model.readout(x), axis=0),
        )

    def _empty(self, room: int) -> CachedMemory:
        """Room for the start token and `room` tokens, nothing read."""
        check_count("room", room, least=0)
        check_size(f"a memory of {room} tokens", self._size(room))
        if self.context is not None and room > self.context:
            raise ValueError(
                f"there must be room for {room} tokens after the start token; "
                f"this model has {self.model.config.max_length} learned positions"
            )
        config, kind = self.model.config, jnp.asarray(self.model.token_embedding).dtype
        rows = room + 1
        computed = kind if config.compute is None else jnp.dtype(config.compute)
        empty = jnp.zeros((config.heads, rows, config.size_of_head), computed)
        pairs = (empty,) * config.layers
        return CachedMemory(
            pairs,
            pairs,
            jnp.zeros((len(self.keep), rows, config.width), kind),
            jnp.zeros((rows, config.width), kind),
            jnp.zeros((rows, config.vocab), kind),
        )

    def _size(self, room: int) -> int:
        """How many numbers a memory holds."""
        config = self.model.config
        each = 2 * config.layers * config.heads * config.size_of_head + config.vocab
        return (room + 1) * (each + (len(self.keep) + 1) * config.width)

    def read(self, memory: CachedMemory, n: Int[Array, ""], token: Int[Array, ""]) -> CachedMemory:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self._empty, memory, n, token, self._inputs)
        return self._read(memory, n + 1, jnp.asarray(token))

    def law(self, memory: CachedMemory, n: Int[Array, ""]) -> Float[Array, " V"]:
        """Log-probabilities of the token after the first n."""
        n = check_place(self._empty, memory, n)
        return jax.nn.log_softmax(_row(memory.logits, n))

    def _read(
        self, memory: CachedMemory, at: Int[Array, ""], token: Int[Array, ""]
    ) -> CachedMemory:
        """Put `token` at position `at`."""
        model, config = self.model, self.model.config
        rows = memory.hidden.shape[0]
        placement = model._placement(self.placement, rows)
        x = _row(jnp.asarray(model.token_embedding), token)[None]
        x = model._positioned(x, at, rows, placement)
        x = x if model.embedding_norm is None else model.embedding_norm(config, x)
        here = jnp.arange(rows) == at
        past = jnp.arange(rows) <= at

        keys, values, below = [], [], []
        for i in range(config.layers):
            below.append(x)
            layer = jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf)[i], model.layers)
            recall = Recall(layer.attention, memory.keys[i], memory.values[i], here, past, at)
            layer = eqx.tree_at(lambda whole: whole.attention, layer, recall)
            x, _ = layer(config, x, None, None, slopes=placement.slopes)
            keys.append(recall.keys)
            values.append(recall.values)
        streams = memory.streams
        if self.keep:
            every = [*below, x]
            kept = jnp.stack([every[layer] for layer in self.keep])
            streams = _put(streams, kept, here[:, None])
        x = x if model.final_norm is None else model.final_norm(config, x)
        return CachedMemory(
            tuple(keys),
            tuple(values),
            streams,
            _put(memory.hidden, x, here[:, None]),
            _put(memory.logits, model.readout(x), here[:, None]),
        )


class Recall:
    """Attention of one row to itself and to remembered rows, in the place of a layer's own.

    It is called as `Attention` is; after that, `keys` and `values` hold the row's too.
    """

    def __init__(
        self,
        attention: Attention,
        keys: Float[Array, "H rows D"],
        values: Float[Array, "H rows D"],
        here: Bool[Array, " rows"],
        past: Bool[Array, " rows"],
        at: Int[Array, ""],
    ):
        self.attention, self.keys, self.values = attention, keys, values
        self.here, self.past, self.at = here, past, at

    def __call__(
        self,
        config: TransformerConfig,
        x: Float[Array, "1 E"],
        visible: None,
        key: None,
        keep_weights: bool = False,
        at: None = None,
        slopes: Float[AnyArray, " H"] | None = None,
    ) -> tuple[Float[Array, "1 E"], None]:
        precise, kind = x.dtype, self.keys.dtype
        projected = self.attention._project(x.astype(kind), slice(None))
        query, new_key, new_value = projected[:, 0], projected[:, 1], projected[:, 2]
        if config.positions == "rotary":
            where, rows = self.at[None], self.keys.shape[1]
            query = rotate(query, config.rotary_base, rows, where)
            new_key = rotate(new_key, config.rotary_base, rows, where)
        self.keys = _put(self.keys, new_key[0, :, None], self.here[:, None])
        self.values = _put(self.values, new_value[0, :, None], self.here[:, None])
        # Heads stand before rows: these two products are then plain matrix products for XLA.
        logits = jnp.einsum(
            "hd,hsd->hs", query[0] * config.scale, self.keys, preferred_element_type=precise
        )
        if slopes is not None:
            logits = logits + recency(slopes, self.at[None], logits.shape[1], precise)[:, 0]
        logits = jnp.where(self.past, logits, jnp.finfo(precise).min)
        weights = jnp.exp(logits - logits.max(-1, keepdims=True))
        mixed = jnp.einsum(
            "hs,hsd->hd", weights.astype(kind), self.values, preferred_element_type=precise
        )
        mixed = (mixed / weights.sum(-1, keepdims=True)).astype(kind)
        y = jnp.einsum("hd,hde->e", mixed, jnp.asarray(self.attention.out, kind))
        y = y.astype(precise)
        if self.attention.out_bias is not None:
            y = y + self.attention.out_bias
        return y[None], None


class Note:
    """A layer's attention that keeps its keys and values; called as `Attention` is."""

    keys: Float[Array, "H T D"]
    values: Float[Array, "H T D"]

    def __init__(self, attention: Attention):
        self.attention = attention

    def __call__(
        self,
        config: TransformerConfig,
        x: Float[Array, "T E"],
        visible: Bool[AnyArray, "#T T"] | None,
        key: None,
        keep_weights: bool = False,
        at: None = None,
        slopes: Float[AnyArray, " H"] | None = None,
    ) -> tuple[Float[Array, "T E"], None]:
        # The attention projects the same rows; the compiler does so once.
        kind = x.dtype if config.compute is None else jnp.dtype(config.compute)
        projected = self.attention._project(x.astype(kind), slice(None))
        keys = projected[:, 1]
        if config.positions == "rotary":
            keys = rotate(keys, config.rotary_base)
        self.keys, self.values = keys.swapaxes(0, 1), projected[:, 2].swapaxes(0, 1)
        return self.attention(config, x, visible, key, slopes=slopes)[0], None


def _head(rows: Float[Array, "..."], new: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """`rows` with its first rows replaced."""
    rest = jax.lax.slice_in_dim(rows, new.shape[axis], rows.shape[axis], axis=axis)
    return jnp.concatenate([new.astype(rows.dtype), rest], axis)


def _put(
    rows: Float[Array, "..."], new: Float[Array, "..."], here: Bool[Array, "..."]
) -> Float[Array, "..."]:
    """`rows` with the row `here` replaced; a select, which in a batch is as fast as a scatter."""
    return jnp.where(here, new.astype(rows.dtype), rows)


def _row(rows: Float[AnyArray, "n *rest"], at: Int[Array, ""]) -> Float[Array, "*rest"]:
    return jax.lax.dynamic_index_in_dim(jnp.asarray(rows), at, keepdims=False)
