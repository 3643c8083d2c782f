"""The networks that the constructions return: from symbols to states, exactly and in float64.

    encoder[symbol] + positions[place]   ->   layers   ->   decoder: a state at every position

A `Network` is made for one `length` T and reads strings of 1 to T symbols, one (T,) or many (n, T):

    network(inputs)             the states q_1..q_T, -1 where the values read are the code of no state
    network.values(inputs)      what the decoder reads, before rounding: (n, T, r)
    network.attention(inputs, layer)   weights of layer 1, 2, ...: (heads, p+T, p+T), or (n, heads, p+T, p+T)
    network.audit()             depth, widths, largest weight; `str` of it is one line
    network.as_transformer()    the same map as a `models.Transformer`; it reads `network.ids(inputs)`
    network.as_hard(2)          hard attention in layer 2 (without a number: in all)

How to build one:

- Workspace: rows of d numbers. `encoder` has a row for every symbol, `pads` one for each of the p positions
  that stand before the first symbol, `positions` the p + T rows P that are added to both.
- Layers are `layers.Layer`s: heads, then maps (`MLP`s of any depth, or `Table`s), and which dimensions keep
  their value through attention and through the MLP. `layer.placed(dims, width)` moves one into a larger
  workspace, `layers.beside` makes several one layer, `network.then(layers, decoder)` adds more after them.
- The decoder rounds the dimensions `reads` and looks up the row in `codes` (whole numbers; several codes may
  have one label, as when group elements lead to one state). `Decoder.of_scalar` is the usual case.
- `side_by_side(networks, symbols)` runs networks of one length and as many pads on parts of one input.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from minicosm.adaptation.checks import as_numbers, brief, check_kind, check_reals, check_whole
from minicosm.models import Transformer
from minicosm.worlds.arrays import AnyArray

from ..signatures import checked
from .layers import Layer, Table, beside, find_rows, identity_layer, with_pads

CHUNK = 2**22  # numbers in the largest array of a pass; more sequences are run in several passes


@checked()
class Decoder(NamedTuple):
    """States of rows: `labels[i]` where the dimensions `reads`, rounded, are `codes[i]`."""

    reads: Int[np.ndarray, " r"]
    codes: Int[np.ndarray, "n r"]
    labels: Int[np.ndarray, " n"]
    states: int

    @classmethod
    def of_scalar(cls, dim: int, codes: Int[np.ndarray, " n"]) -> "Decoder":
        """State i has the code `codes[i]` in one dimension."""
        check_whole("dim", dim, 0, 2**40)
        given = np.asarray(as_numbers("codes", codes, "iu"))
        if given.ndim != 1 or not given.size:
            raise ValueError(f"codes have shape {given.shape}; they must be numbers in a row")
        return cls(np.array([dim]), given[:, None], np.arange(len(given)), len(given))

    def __call__(self, values: Float[np.ndarray, "*n r"]) -> Int[np.ndarray, "*n"]:
        """The states, -1 for the code of none."""
        rows = np.rint(values).reshape(-1, len(self.reads))
        found = find_rows(self.codes, np.clip(rows, -(2.0**53), 2.0**53).astype(np.int64))
        return np.where(found >= 0, self.labels[found], -1).reshape(values.shape[:-1])


class Audit(NamedTuple):
    """The size of a network; widths and heads are the largest of any layer."""

    length: int
    pads: int
    depth: int
    """Layers of attention and MLP."""
    package_depth: int
    """Layers of `as_transformer()`, whose MLPs have one hidden layer each."""
    width: int
    """d, of the workspace."""
    heads: int
    head_width: int
    """k, of queries and keys."""
    attention_width: int
    """max(d, H k)."""
    mlp_layers: int
    """Matrices of the deepest MLP."""
    mlp_width: int
    """The widest hidden layer."""
    largest_weight: float
    """Of all weights, biases, encodings and positions."""
    tables: int
    """Maps that are looked up in a table and not computed by an MLP; sizes leave them out."""

    def __str__(self) -> str:
        tables = f", {self.tables} tables evaluated directly" if self.tables else ""
        return (
            f"{self.depth} layers ({self.package_depth} as a Transformer of the package), d {self.width}, "
            f"{self.heads} heads of width {self.head_width}, MLP {self.mlp_width} "
            f"({self.mlp_layers} matrices), weights <= {self.largest_weight:.4g}, pads {self.pads}{tables}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A Transformer of explicit weights that simulates a semiautomaton; see above."""

    encoder: Float[np.ndarray, "symbols d"]
    pads: Float[np.ndarray, "p d"]
    positions: Float[np.ndarray, "places d"]
    layers: tuple[Layer, ...]
    decoder: Decoder

    def __post_init__(self) -> None:
        encoder = np.asarray(check_reals("encoder", self.encoder, (None, None)), np.float64)
        d = encoder.shape[1]
        pads = np.asarray(as_numbers("pads", self.pads, "fiu"), np.float64)
        if pads.ndim != 2 or pads.shape[1] != d:
            raise ValueError(f"pads have shape {pads.shape}; they must have shape (p, {d})")
        if not np.isfinite(pads).all():
            raise ValueError("pads hold a number that is not finite; every entry must be finite")
        positions = np.asarray(check_reals("positions", self.positions, (None, d)), np.float64)
        if len(positions) <= len(pads):
            raise ValueError(
                f"positions have {len(positions)} rows; there must be more than the {len(pads)} pads"
            )
        if not isinstance(self.layers, list | tuple):
            raise TypeError(f"layers is {brief(self.layers)}; it must be a tuple of Layers")
        for i, layer in enumerate(self.layers, 1):
            check_kind(f"layer {i} of layers", layer, Layer)
            if layer.width != d:
                raise ValueError(f"layer {i} of layers acts on {layer.width} dimensions; d is {d}")
        check_kind("decoder", self.decoder, Decoder)
        if not all(0 <= dim < d for dim in self.decoder.reads.tolist()):
            raise ValueError(f"decoder reads {self.decoder.reads}; dimensions are 0..{d - 1}")
        for name, value in (("encoder", encoder), ("pads", pads), ("positions", positions)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "layers", tuple(self.layers))

    @property
    def length(self) -> int:
        """T, the longest string that it reads."""
        return len(self.positions) - len(self.pads)

    @property
    def symbols(self) -> int:
        return len(self.encoder)

    @property
    def width(self) -> int:
        return self.encoder.shape[1]

    def __call__(self, inputs: Int[AnyArray, "*n T"]) -> Int[np.ndarray, "*n T"]:
        """The state after every symbol, -1 where the values read are the code of no state."""
        return self.decoder(self.values(inputs))

    def values(self, inputs: Int[AnyArray, "*n T"]) -> Float[np.ndarray, "*n T r"]:
        """What the decoder reads at every symbol, before rounding."""
        rows, batched = self._strings(inputs)
        read = [
            self._run(part, len(self.layers))[:, len(self.pads) :, self.decoder.reads]
            for part in np.array_split(rows, -(-len(rows) // self._at_once(rows.shape[1])))
        ]
        return np.concatenate(read) if batched else read[0][0]

    def hidden(self, inputs: Int[AnyArray, "*n T"], layer: int) -> Float[np.ndarray, "*n places d"]:
        """The workspace after so many layers (0: encodings and positions), pads included."""
        rows, batched = self._strings(inputs)
        after = self._run(rows, check_whole("layer", layer, 0, len(self.layers)))
        return after if batched else after[0]

    def attention(
        self, inputs: Int[AnyArray, "*n T"], layer: int
    ) -> Float[np.ndarray, "*n H places places"]:
        """The attention weights of layer 1, 2, ...; row t reads from column i, pads included."""
        rows, batched = self._strings(inputs)
        check_whole("layer", layer, 1, len(self.layers))
        heads, x = self.layers[layer - 1].heads, self._run(rows, layer - 1)
        places = x.shape[1]
        weights = np.zeros((len(x), len(heads), places, places))
        for h, head in enumerate(heads):
            weights[:, h] = head.weights(x)
        return weights if batched else weights[0]

    def as_hard(self, *layers: int) -> "Network":
        """The same network with hard attention in these layers (1, 2, ...), or in all."""
        chosen = [check_whole("layers", i, 1, len(self.layers)) for i in layers]
        return replace(
            self,
            layers=tuple(
                layer._replace(heads=tuple(head._replace(hard=True) for head in layer.heads))
                if i in chosen or not chosen
                else layer
                for i, layer in enumerate(self.layers, 1)
            ),
        )

    def then(self, layers: Sequence[Layer], decoder: Decoder | None = None) -> "Network":
        """The network with more layers after its own, and perhaps another decoder."""
        if not isinstance(layers, list | tuple):
            raise TypeError(f"layers is {brief(layers)}; it must be a tuple of Layers")
        return replace(
            self,
            layers=(*self.layers, *layers),
            decoder=self.decoder if decoder is None else decoder,
        )

    def as_transformer(self) -> Transformer:
        """The same map as an ordinary model; give it `ids(inputs)` and leave out what it says at the pads."""
        from .package_transformer import as_transformer

        return as_transformer(self)

    def ids(self, inputs: Int[AnyArray, "*n T"]) -> Int[np.ndarray, "*n places"]:
        """The tokens that `as_transformer()` reads: those of the pads, then the symbols."""
        rows, batched = self._strings(inputs)
        kinds = np.unique(self.pads, axis=0, return_inverse=True)[1].reshape(-1)
        before = np.broadcast_to(self.symbols + kinds, (len(rows), len(kinds)))
        ids = np.concatenate([before, rows], axis=1)
        return ids if batched else ids[0]

    def audit(self) -> Audit:
        """Depth, widths and largest weight, in the words of the source's Section 3.1."""
        heads = [head for layer in self.layers for head in layer.heads]
        per_layer = max((len(layer.heads) for layer in self.layers), default=0)
        k = max((max(head.W_Q.shape[1], head.W_V.shape[1]) for head in heads), default=0)
        hidden = [layer.mlp_widths for layer in self.layers]
        outside = [
            float(np.abs(a).max(initial=0)) for a in (self.encoder, self.pads, self.positions)
        ]
        return Audit(
            length=self.length,
            pads=len(self.pads),
            depth=len(self.layers),
            package_depth=sum(max(1, len(widths)) for widths in hidden),
            width=self.width,
            heads=per_layer,
            head_width=k,
            attention_width=max(self.width, per_layer * k),
            mlp_layers=max((len(widths) + 1 for widths in hidden if widths), default=0),
            mlp_width=max((max(widths, default=0) for widths in hidden), default=0),
            largest_weight=max([*(layer.largest for layer in self.layers), *outside]),
            tables=sum(isinstance(m, Table) for layer in self.layers for m in layer.maps),
        )

    def __repr__(self) -> str:
        return f"<Network of {self.symbols} symbols for length {self.length}: {self.audit()}>"

    # -- one pass ---------------------------------------------------------------------------------

    def _strings(self, inputs: Any) -> tuple[Int[np.ndarray, "n T"], bool]:
        """Inputs as rows, and whether there are many."""
        given = np.asarray(as_numbers("inputs", inputs, "iu"))
        if given.ndim not in (1, 2) or not given.size or given.shape[-1] > self.length:
            raise ValueError(
                f"inputs have shape {given.shape}; they must have shape (T,) or (n, T) with T in "
                f"1..{self.length}"
            )
        rows = np.atleast_2d(given)
        bad = (rows < 0) | (rows >= self.symbols)
        if bad.any():
            row, place = np.argwhere(bad)[0]
            raise ValueError(
                f"inputs hold the symbol {rows[row, place]} at row {row}, index {place}; "
                f"this network knows the symbols 0..{self.symbols - 1}"
            )
        return rows.astype(np.int64), given.ndim == 2

    def _at_once(self, length: int) -> int:
        """How many sequences one pass takes."""
        places = length + len(self.pads)
        hidden = max((max(layer.mlp_widths, default=0) for layer in self.layers), default=0)
        return max(1, CHUNK // (places * max(places, self.width, hidden)))

    def _run(self, rows: Int[np.ndarray, "n T"], layers: int) -> Float[np.ndarray, "n places d"]:
        """The workspace after so many layers. What pads hold does not depend on the input, as nobody reads
        ahead; so it is computed once for all strings."""
        p = len(self.pads)
        x = self.encoder[rows] + self.positions[p : p + rows.shape[1]]
        before = (self.pads + self.positions[:p])[None] if p else None
        for layer in self.layers[:layers]:
            x, before = (
                layer(x, before),
                None if before is None else layer(before),
            )
        return with_pads(before, x)


@checked()
def side_by_side(
    networks: Sequence[Network],
    symbols: Int[np.ndarray, "sigma m"],
) -> Network:
    """Networks of one length and as many pads, in parts of one workspace: Lemma 17.

    Symbol `s` is read by network i as its symbol `symbols[s, i]`. The state is the tuple of states, numbered
    with the last one fastest. A shallower network waits in layers that change nothing.
    """
    if not networks or symbols.shape[1] != len(networks):
        raise ValueError(
            f"symbols has shape {symbols.shape}; it must have one column for each of the "
            f"{len(networks)} networks"
        )
    shapes = {(network.length, len(network.pads)) for network in networks}
    if len(shapes) > 1:
        text = ", ".join(str((n.length, len(n.pads))) for n in networks)
        raise ValueError(
            f"networks have (length, pads) {text}; side by side they need one length and "
            "as many pads"
        )
    for i, network in enumerate(networks):
        if symbols[:, i].min() < 0 or symbols[:, i].max() >= network.symbols:
            raise ValueError(
                f"symbols[:, {i}] must lie in 0..{network.symbols - 1}, the symbols of network {i}"
            )
    starts = np.cumsum([0, *(network.width for network in networks)])
    width = int(starts[-1])
    places = [np.arange(a, b) for a, b in pairwise(starts)]
    depth = max(len(network.layers) for network in networks)
    padded = [
        [*network.layers, *[identity_layer(network.width)] * (depth - len(network.layers))]
        for network in networks
    ]
    decoders = [network.decoder for network in networks]
    rows = list(product(*(range(len(decoder.codes)) for decoder in decoders)))
    radices = [decoder.states for decoder in decoders]
    labels = [
        np.ravel_multi_index([d.labels[i] for d, i in zip(decoders, row, strict=True)], radices)
        for row in rows
    ]
    codes = [np.concatenate([d.codes[i] for d, i in zip(decoders, r, strict=True)]) for r in rows]
    reads = [start + decoder.reads for start, decoder in zip(starts, decoders, strict=False)]
    return Network(
        np.concatenate([n.encoder[symbols[:, i]] for i, n in enumerate(networks)], axis=1),
        np.concatenate([network.pads for network in networks], axis=1),
        np.concatenate([network.positions for network in networks], axis=1),
        tuple(beside(layers, places, width) for layers in zip(*padded, strict=True)),
        Decoder(np.concatenate(reads), np.array(codes), np.array(labels), int(np.prod(radices))),
    )
