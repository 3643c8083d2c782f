"""An encoder-decoder in plain NumPy loops over positions and heads: the tests' referee.

It reads the arrays of a `Translator` and its config, and nothing else of the package.
"""

import math

import numpy as np


def bucket(ahead, causal, buckets=32, furthest=128):
    """T5's bucket of the distance `ahead` = key position - query position."""
    offset = 0
    if not causal:
        buckets //= 2
        offset = buckets if ahead > 0 else 0
        away = abs(ahead)
    else:
        away = max(-ahead, 0)
    near = buckets // 2
    if away < near:
        return offset + away
    far = near + int(math.log(away / near) / math.log(furthest / near) * (buckets - near))
    return offset + min(far, buckets - 1)


def norm(scale, shift, row):
    centred = row - row.mean()
    return centred / math.sqrt((centred**2).mean() + 1e-5) * scale + shift


def attention(config, weights, layer, queries, keys, values, seen, bias):
    """Outputs of every query and the weights [head, query, key]."""
    size = config.width // config.heads
    qkv, out = np.asarray(weights.qkv)[layer], np.asarray(weights.out)[layer]
    shift = np.zeros((3, config.heads, size))
    if weights.qkv_bias is not None:
        shift = np.asarray(weights.qkv_bias)[layer]
    found = np.zeros((len(queries), config.width))
    pattern = np.zeros((config.heads, len(queries), len(keys)))
    for h in range(config.heads):
        q, k, v = (
            rows @ qkv[:, s, h] + shift[s, h] for s, rows in enumerate((queries, keys, values))
        )
        for i in range(len(queries)):
            read = [j for j in range(len(keys)) if seen(i, j)]
            e = [math.exp(q[i] @ k[j] / math.sqrt(size) + bias(h, i, j)) for j in read]
            for j, value in zip(read, e, strict=True):
                pattern[h, i, j] = value / sum(e)
            found[i] += pattern[h, i] @ v @ out[h]
    if weights.out_bias is not None:
        found += np.asarray(weights.out_bias)[layer]
    return found, pattern


def side(model, layers, last, rows, real, memory=None, source_real=None):
    """All layers of the encoder, or of the decoder if there is a memory."""
    config = model.config
    causal = config.causal and memory is not None
    positions = None
    if model.position_embedding is not None:
        positions = np.asarray(model.position_embedding)[: len(rows)]
    x = rows + positions if config.positions == "learned" else rows.copy()

    def seen(i, j):
        return real[j] and (j <= i or not causal)

    def bias(h, i, j):
        if model.relative is None:
            return 0.0
        table = np.asarray(model.relative)[0 if memory is None else 1]
        return table[bucket(j - i, causal), h]

    def normed(norms, layer, x):
        scale, shift = np.asarray(norms.scale)[layer], np.asarray(norms.shift)[layer]
        return np.array([norm(scale, shift, row) for row in x])

    own = across = None
    for n in range(config.encoder_layers if memory is None else config.decoder_layers):
        y = normed(layers.self_norm, n, x)
        y, own = attention(config, layers.self_attention, n, y, y, y, seen, bias)
        x = x + y
        if memory is not None and config.positional_attention:
            y = normed(layers.positional_norm, n, x)
            zero = lambda h, i, j: 0.0  # noqa: E731
            y, _ = attention(config, layers.positional, n, positions, positions, y, seen, zero)
            x = x + y
        if memory is not None:
            y = normed(layers.cross_norm, n, x)
            y, across = attention(
                config, layers.cross, n, y, memory, memory,
                lambda i, j: source_real[j], lambda h, i, j: 0.0,
            )  # fmt: skip
            x = x + y
        up, down = np.asarray(layers.mlp.up)[n], np.asarray(layers.mlp.down)[n]
        inner = normed(layers.mlp_norm, n, x) @ up
        if layers.mlp.up_bias is not None:
            inner = inner + np.asarray(layers.mlp.up_bias)[n]
        y = np.where(inner > 0, inner, 0) @ down
        if layers.mlp.down_bias is not None:
            y = y + np.asarray(layers.mlp.down_bias)[n]
        x = x + y
    scale, shift = np.asarray(last.scale), np.asarray(last.shift)
    return np.array([norm(scale, shift, row) for row in x]), own, across


def forward(model, source, source_real, tokens, real):
    """Length logits (None if causal), target logits, and attention of the last decoder layer."""
    config = model.config
    table = model.embedding if model.source_embedding is None else model.source_embedding
    rows, seen = np.asarray(table, float)[source], list(source_real)
    if model.length_token is not None:
        rows, seen = np.concatenate([np.asarray(model.length_token)[None], rows]), [True, *seen]
    encoded, _, _ = side(model, model.encoder, model.encoder_norm, rows, seen)
    lengths = None
    if model.length_token is not None:
        lengths, encoded = np.asarray(model.length_vectors) @ encoded[0], encoded[1:]
    rows = np.asarray(model.embedding, float)[tokens]
    x, own, across = side(
        model, model.decoder, model.decoder_norm, rows, real, encoded, source_real
    )
    output = np.asarray(model.embedding).T if config.tied else np.asarray(model.output)
    logits = x @ output + (0 if model.output_bias is None else np.asarray(model.output_bias))
    return lengths, logits, own, across
