"""The decoder of a causal `Translator`, one position at a time, with what it computed remembered.

It uses the layers of `Translator`, unchanged, on the new rows; only what they read comes from memory.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds.arrays import AnyArray

from .checks import check_count, check_inside, check_kind, check_memory, check_whole, shown
from .layers import Attention
from .sublayers import Memory, Sublayers, attend, relative_buckets


class LayerPast(NamedTuple):
    """What one layer remembers of K targets of a source."""

    source_keys: Float[Array, "H S D"]
    source_values: Float[Array, "H S D"]
    keys: Float[Array, "H D rowsK"]
    """Of the K rows that were computed at every position, one position after the other. They stand
    after D: attention in a batch then takes a third to a half of the time."""
    values: Float[Array, "H rowsK D"]
    placed: Float[Array, "H rowsK D"] | None
    """Values of positional attention."""


class Past(NamedTuple):
    """What a decoder remembers of K targets of a source."""

    layers: tuple[LayerPast, ...]
    """One entry for each layer: stacked, they would be copied at every step."""
    visible: Bool[AnyArray, " S"]
    """False for the source's padding."""
    origin: Int[Array, "K rows"]
    """[k, s]: which of the K rows at position s belongs to target k; -1 if it has none there."""


class TokenByToken(eqx.Module):
    """Reads K targets of one source, a token of each at a time; use `jax.vmap` over sources.

    A step computes the K new rows alone. Rows stay where they were computed: every target attends to
    the K rows of all positions, with a mask that leaves it those of its own past. So nothing is copied
    when targets are dropped and others are continued in more than one way.
    """

    model: Any
    """A causal `Translator`."""
    layers: tuple[Sublayers, ...]
    places: tuple[Any, ...]
    """For each layer, queries and keys of positional attention, which do not depend on tokens; or None."""
    targets: int = eqx.field(static=True)
    room: int = eqx.field(static=True)

    def __init__(self, model: Any, targets: int, room: int):
        if not all(hasattr(model, name) for name in ("config", "decoder", "check_length")):
            raise TypeError(f"model is {shown(model)}; it must be a Translator")
        if not model.config.causal:
            raise ValueError("this model reads ahead; token by token, it needs causal=True")
        self.targets, self.room = check_count("targets", targets), check_count("room", room)
        model.check_length(room + 1, decoder=True)
        part = model.config.part(1)
        rows = 3 * part.heads * part.size_of_head * model.config.decoder_layers
        what = f"what {targets} targets with room for {room} tokens remember"
        check_memory(what, rows * (self.room + 1) * self.targets)
        self.model = model
        self.layers = tuple(
            jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf)[i], model.decoder)
            for i in range(model.config.decoder_layers)
        )
        self.places = tuple(self._places(layer.positional) for layer in self.layers)

    def _places(self, weights: Attention | None) -> tuple[Array, Array] | None:
        """Queries of every position, and keys of every position for each target."""
        if weights is None:
            return None
        where = jnp.asarray(self.model.position_embedding)[: self.room + 1]
        queries, keys = _heads(weights, where, slice(2))
        return queries, jnp.repeat(keys, self.targets, axis=1)

    def begin(self, memory: Memory) -> Past:
        """The source has been read, and nothing else."""
        check_kind("memory", memory, Memory, "a Memory, as encode returns")
        part, K, rows = self.model.config.part(1), self.targets, self.room + 1
        H, D, kind = part.heads, part.size_of_head, memory.rows.dtype
        values = jnp.zeros((H, rows * K, D), kind)

        def of_layer(layer: Any) -> LayerPast:
            source_keys, source_values = _heads(layer.cross, memory.rows, slice(1, 3))
            keys, placed = jnp.zeros((H, D, rows * K), kind), layer.positional is not None
            return LayerPast(source_keys, source_values, keys, values, values if placed else None)

        origin = jnp.full((K, rows), -1, jnp.int32)
        return Past(tuple(map(of_layer, self.layers)), jnp.asarray(memory.visible), origin)

    def step(
        self, past: Past, at: Int[Array, ""], parents: Int[Array, " K"], tokens: Int[Array, " K"]
    ) -> tuple[Float[Array, "K V"], Past]:
        """Target k becomes what target `parents[k]` was, with `tokens[k]` at position `at`; also, the
        unnormalised log laws of what comes next. At position 0 stands the start token."""
        check_kind("past", past, Past, "a Past, as begin and step return")
        model, (K, rows) = self.model, past.origin.shape
        at = check_inside("at", check_whole("at", at, ()), 0, rows - 1)
        parents = check_inside("parents", check_whole("parents", parents, (K,)), 0, K - 1)
        tokens = check_inside("tokens", check_whole("tokens", tokens, (K,)), 0, model.vocab)
        origin = past.origin[parents].at[:, at].set(jnp.arange(K, dtype=past.origin.dtype))
        own = (origin[:, :, None] == jnp.arange(K)).reshape(K, rows * K)
        x, bias = jnp.asarray(model.embedding)[tokens], None
        if model.config.positions == "learned":
            x = x + jnp.asarray(model.position_embedding)[at]
        if model.relative is not None:
            buckets = jnp.asarray(relative_buckets(rows, causal=True))[at]
            bias = jnp.repeat(jnp.asarray(model.relative)[1][buckets].T, K, axis=1)[:, None]
        layers = []
        for i in range(len(self.layers)):
            x, layer = self._layer(i, x, past, at, own, bias)
            layers.append(layer)
        logits = model.readout(model.decoder_norm(model.config.part(1), x))
        return logits, Past(tuple(layers), past.visible, origin)

    def _layer(
        self,
        i: int,
        x: Float[Array, "K E"],
        past: Past,
        at: Int[Array, ""],
        mine: Bool[Array, "K rowsK"],
        bias: Float[Array, "H 1 rowsK"] | None,
    ) -> tuple[Float[Array, "K E"], LayerPast]:
        """The new rows after layer i, and what it remembers now."""
        part, before, after = self.model.config.part(1), past.layers[i], past.layers[i]
        first = at * self.targets  # of the new rows

        def own(weights: Attention, rows: Array, key: Any) -> Any:
            nonlocal after
            q, k, v = _heads(weights, rows, slice(3))
            keys = put_columns(before.keys, k.swapaxes(1, 2), first)
            values = put_rows(before.values, v, first)
            after = after._replace(keys=keys, values=values)
            return attend(weights, part, q, keys.swapaxes(1, 2), values, mine, bias, key)

        def positional(weights: Attention, rows: Array, key: Any) -> Any:
            nonlocal after
            (q, k), (v,) = self.places[i], _heads(weights, rows, slice(2, 3))
            assert before.placed is not None
            values = put_rows(before.placed, v, first)
            after = after._replace(placed=values)
            here = jax.lax.dynamic_slice_in_dim(q, at, 1, axis=1)
            return attend(weights, part, here, k, values, mine, None, key)

        def cross(weights: Attention, rows: Array, key: Any) -> Any:
            (q,), k, v = _heads(weights, rows, slice(1)), before.source_keys, before.source_values
            return attend(weights, part, q, k, v, past.visible[None], None, key)

        x, _ = self.layers[i](part, x, None, own, positional, cross)
        return x, after


def _heads(weights: Attention, rows: Float[Array, "n E"], which: slice) -> Float[Array, "k H n D"]:
    """Those of queries, keys and values that `which` selects: one product, which for a few rows is faster
    than one for each (`project`, whose gradient is faster)."""
    return jnp.moveaxis(weights._project(rows, which), 0, 2)


def _put(axis: int) -> Callable[[Array, Array, Array], Array]:
    """A function of `rows`, `new` and `first`: `rows` with `new` in the place of those from `first` on.

    It is the same in a batch: JAX's own rule makes a scatter of it, for which all rows are copied.
    """

    @jax.custom_batching.custom_vmap
    def put(rows: Array, new: Array, first: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(rows, new, first, axis)

    @put.def_vmap
    def batch(size: int, batched: Any, rows: Array, new: Array, first: Array) -> tuple[Array, bool]:
        if batched[2]:
            raise ValueError("all sources of a batch must be at the same position")
        rows, new = (
            array if in_batch else jnp.broadcast_to(array, (size, *array.shape))
            for array, in_batch in zip((rows, new), batched[:2], strict=True)
        )
        return put(rows, new, first), True

    return put


put_rows, put_columns = _put(-2), _put(-1)
