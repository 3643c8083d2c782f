"""A `Network` as an ordinary `models.Transformer`, to be run, traced, fine-tuned and decoded like any other.

The package's layers have MLPs with one hidden layer and residuals for all dimensions or none. So

- an MLP of L matrices becomes L - 1 layers, of which all but the first have attention with values zero;
- attention adds to the stream. Where a dimension does not keep its value, heads write to a spare dimension;
- the MLP has no residual. What it keeps passes through it as x = relu(x) - relu(-x);
- learned positions hold P, and tokens after the symbols are the pads;
- logits of state q with code c are `2 v . c - |c|^2` of the values v read: the nearest code has the largest.

Weights are float64: under `jax.enable_x64(True)` the model computes what the network does.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import block_diag, csr_array, eye_array, hstack, vstack

from minicosm.models import Transformer, TransformerConfig, from_arrays
from minicosm.worlds.arrays import check_size

from .gadgets import lookup
from .layers import MLP, Layer, Table, identity_layer
from .network import Decoder, Network

MOST = 2**27  # numbers in all weights together


class _Stage(NamedTuple):
    """A layer of the package: heads that write to the stream, and one hidden layer."""

    heads: list[tuple[np.ndarray, ...]]
    up: csr_array  # stream -> hidden
    up_bias: np.ndarray
    down: csr_array  # hidden -> stream
    down_bias: np.ndarray


def as_transformer(network: Network) -> Transformer:
    """The model; see above."""
    if any(head.hard for layer in network.layers for head in layer.heads):
        raise ValueError("the network has hard attention; a Transformer of the package has softmax")
    network = _one_code_each(network)
    layers = network.layers or (identity_layer(network.width),)
    d = network.width
    spare = max(int((_written(layer) & ~layer.attention_keep).sum()) for layer in layers)
    maps = [_joined(layer) for layer in layers]
    between = max((_between(m) for m in maps), default=0)
    E = d + max(spare, between)
    hidden = max(max(m.widths, default=0) for m in maps) + 2 * d
    depth = sum(max(1, len(m.widths)) for m in maps)
    heads = max(1, *(len(layer.heads) for layer in layers))
    k = max([1, *(max(h.W_Q.shape[1], h.W_V.shape[1]) for layer in layers for h in layer.heads)])
    check_size("the Transformer", depth * (4 * E * heads * k + 2 * E * hidden), MOST)
    stages = [s for layer, m in zip(layers, maps, strict=True) for s in _stages(layer, m, d, E)]
    width = max(1, *(stage.up.shape[1] for stage in stages))
    kinds = np.unique(network.pads, axis=0) if len(network.pads) else np.zeros((0, d))
    inputs = network.symbols + len(kinds)
    config = TransformerConfig(
        network.decoder.states,
        layers=len(stages),
        heads=heads,
        width=E,
        mlp_width=width,
        head_width=k,
        max_length=len(network.positions),
        causal=True,
        positions="learned",
        norm="none",
        activation="relu",
        tied=False,
        extra_inputs=max(0, inputs - network.decoder.states),
        attention_bias=False,
        attention_scale=1.0,
        mlp_residual=False,
    )
    embedding = np.zeros((config.vocab + config.extra_inputs, E))
    embedding[:inputs, :d] = np.concatenate([network.encoder, kinds])
    positions = np.zeros((len(network.positions), E))
    positions[:, :d] = network.positions
    codes = np.zeros((network.decoder.states, E))
    codes[network.decoder.labels[:, None], network.decoder.reads] = network.decoder.codes
    arrays: dict[str, Any] = {
        "token_embedding": embedding,
        "position_embedding": positions,
        "output": 2 * codes.T,
        "output_bias": -(codes**2).sum(axis=1),
    }
    for i, stage in enumerate(stages):
        qkv, out = np.zeros((E, 3, heads, k)), np.zeros((heads, k, E))
        for h, (query, key, value, written) in enumerate(stage.heads):
            for which, matrix in enumerate((query, key, value)):
                qkv[:, which, h, : matrix.shape[1]] = matrix
            out[h, : len(written)] = written
        more = width - stage.up.shape[1]
        arrays |= {
            f"layers.{i}.attention.qkv": qkv,
            f"layers.{i}.attention.out": out,
            f"layers.{i}.mlp.up": np.pad(stage.up.toarray(), ((0, 0), (0, more))),
            f"layers.{i}.mlp.up_bias": np.pad(stage.up_bias, (0, more)),
            f"layers.{i}.mlp.down": np.pad(stage.down.toarray(), ((0, more), (0, 0))),
            f"layers.{i}.mlp.down_bias": stage.down_bias,
        }
    return from_arrays(config, arrays, fill=0)


def _one_code_each(network: Network) -> Network:
    """The network itself, or with one layer more that looks up the number of the state, if a state has
    several codes."""
    decoder = network.decoder
    if len(decoder.labels) == decoder.states == len(set(decoder.labels.tolist())):
        return network
    d = network.width
    table = lookup(decoder.codes, decoder.labels[:, None], decoder.reads.tolist(), [d], gap=1.0)
    layers = [layer.placed(np.arange(d), d + 1) for layer in network.layers]
    encoder, pads, positions = (
        np.pad(rows, ((0, 0), (0, 1)))
        for rows in (network.encoder, network.pads, network.positions)
    )
    last = identity_layer(d + 1)._replace(maps=(table,))
    decode = Decoder.of_scalar(d, np.arange(decoder.states))
    return Network(encoder, pads, positions, (*layers, last), decode)


def _written(layer: Layer) -> np.ndarray:
    """Which dimensions heads write to."""
    return np.logical_or.reduce(
        [head.W_C.any(axis=0) for head in layer.heads], initial=False, axis=0
    ) & np.ones(layer.width, bool)


def _joined(layer: Layer) -> MLP:
    """All maps of a layer as one MLP on the whole workspace."""
    d = layer.width
    mlps = [m.as_mlp() if isinstance(m, Table) else m for m in layer.maps]
    deepest = max((len(m.weights) for m in mlps), default=0)
    if not deepest:
        return MLP((), (), np.arange(d), np.arange(d))
    if deepest == 1:  # linear: a hidden layer that lets both signs pass
        mlps = [_with_hidden(m) for m in mlps]
        deepest = 2
    mlps = [_deepened(m if len(m.weights) > 1 else _with_hidden(m), deepest) for m in mlps]
    weights = [block_diag([m.weights[i] for m in mlps], format="csr") for i in range(deepest)]
    biases = [np.concatenate([m.biases[i] for m in mlps]) for i in range(deepest)]
    reads = np.concatenate([m.reads for m in mlps])
    writes = np.concatenate([m.writes for m in mlps])
    gather = csr_array((np.ones(len(reads)), (np.arange(len(reads)), reads)), (len(reads), d))
    scatter = csr_array((np.ones(len(writes)), (writes, np.arange(len(writes)))), (d, len(writes)))
    weights[0] = csr_array(weights[0] @ gather)
    weights[-1] = csr_array(scatter @ weights[-1])
    biases[-1] = scatter @ biases[-1]
    return MLP(tuple(map(csr_array, weights)), tuple(biases), np.arange(d), np.arange(d))


def _with_hidden(m: MLP) -> MLP:
    """A map of one matrix with a hidden layer: W x = W relu(x) - W relu(-x)."""
    w, n = m.weights[0], m.weights[0].shape[1]
    signs = csr_array(np.concatenate([np.eye(n), -np.eye(n)]))
    return m._replace(
        weights=(signs, csr_array(w @ signs.T)), biases=(np.zeros(2 * n), m.biases[0])
    )


def _deepened(m: MLP, matrices: int) -> MLP:
    """The same map with identities between its last hidden layer, which is not negative, and its output."""
    more = matrices - len(m.weights)
    n = m.weights[-1].shape[1]
    return m._replace(
        weights=(*m.weights[:-1], *[csr_array(eye_array(n))] * more, m.weights[-1]),
        biases=(*m.biases[:-1], *[np.zeros(n)] * more, m.biases[-1]),
    )


def _between(m: MLP) -> int:
    """Dimensions that the stream needs for what passes between two layers of one MLP."""
    widths = m.widths
    return max((min(a, b) for a, b in pairwise(widths)), default=0)


def _stages(layer: Layer, m: MLP, d: int, E: int) -> list[_Stage]:
    """The layers of the package that compute one layer of a network whose maps are `m`."""
    moved = np.flatnonzero(_written(layer) & ~layer.attention_keep)
    place = np.arange(d)
    place[moved] = d + np.arange(len(moved))
    present = layer.attention_keep | _written(layer)
    z_from = csr_array(  # stream after attention -> z
        (np.ones(present.sum()), (place[present], np.flatnonzero(present))), (E, d)
    )
    heads = []
    for head in layer.heads:
        out = np.zeros((head.W_C.shape[0], E))
        out[:, place] = head.W_C
        heads.append((*(_taller(w, E) for w in (head.W_Q, head.W_K, head.W_V)), out))

    kept = np.flatnonzero(layer.mlp_keep)
    keep_up = csr_array((np.ones(len(kept)), (kept, np.arange(len(kept)))), (d, len(kept)))
    to_main = csr_array((np.ones(len(kept)), (np.arange(len(kept)), kept)), (len(kept), E))
    inner = eye_array(d, E, format="csr")  # workspace -> stream
    count = max(1, len(m.widths))
    stages = []
    stored: csr_array | None = None  # how the stream holds what the next hidden layer needs
    stored_bias: np.ndarray | None = None
    for i in range(count):
        source = z_from if i == 0 else csr_array(inner.T)  # stream -> workspace
        carry = csr_array(source @ keep_up)
        if not m.widths:
            up, bias = csr_array((E, 0)), np.zeros(0)
        elif i == 0:
            up, bias = csr_array(z_from @ m.weights[0].T), m.biases[0]
        else:
            assert stored is not None and stored_bias is not None
            up, bias = stored, stored_bias
        size = up.shape[1]
        last = i == count - 1
        if not m.widths:
            down, down_bias = csr_array((0, E)), np.zeros(E)
        elif last:
            down = csr_array(m.weights[-1].T @ inner)
            down_bias = inner.T @ m.biases[-1]
        else:
            following, after_bias = m.weights[i + 1], m.biases[i + 1]
            early = (
                following.shape[0] < size
            )  # the smaller of the two sides passes through the stream
            passed = following.shape[0] if early else size
            into = csr_array(
                (np.ones(passed), (np.arange(passed), d + np.arange(passed))), (passed, E)
            )
            down = csr_array(following.T @ into) if early else into
            down_bias = into.T @ after_bias if early else np.zeros(E)
            stored = csr_array(into.T) if early else csr_array(into.T @ following.T)
            stored_bias = np.zeros(passed) if early else after_bias
        stages.append(
            _Stage(
                heads if i == 0 else [],
                csr_array(hstack([up, carry, -carry])),
                np.concatenate([bias, np.zeros(2 * len(kept))]),
                csr_array(vstack([down, to_main, -to_main])),
                down_bias,
            )
        )
    return stages


def _taller(w: Float[np.ndarray, "d k"], E: int) -> Float[np.ndarray, "E k"]:
    return np.pad(w, ((0, E - len(w)), (0, 0)))
