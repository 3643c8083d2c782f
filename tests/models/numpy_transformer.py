"""A Transformer in plain NumPy loops over positions, heads and layers: the tests' referee.

It knows the names of the arrays (`minicosm.models.to_arrays`) and nothing else of the package.
"""

import math

import numpy as np


def activation(kind, x):
    erf = np.vectorize(math.erf)
    return {
        "gelu": lambda: x * (1 + erf(x / math.sqrt(2))) / 2,
        "gelu_tanh": lambda: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "relu": lambda: np.where(x > 0, x, 0),
        "silu": lambda: x / (1 + np.exp(-x)),
        "tanh": lambda: np.tanh(x),
    }[kind]()


def normalise(config, arrays, name, row):
    centred = row - sum(row) / len(row)
    if config.normaliser == "unit":
        length = math.sqrt(sum(centred**2))
        return centred / max(length, config.epsilon) if length > 0 else 0 * centred
    variance = sum(centred**2) / len(row)
    scaled = centred / math.sqrt(variance + config.epsilon)
    return scaled * arrays[f"{name}.scale"] + arrays[f"{name}.shift"]


def rotated(config, vector, position):
    half = len(vector) // 2
    turned = vector.copy()
    for i in range(half):
        angle = position / config.rotary_base ** (2 * i / len(vector))
        a, b = vector[i], vector[i + half]
        turned[i] = a * math.cos(angle) - b * math.sin(angle)
        turned[i + half] = b * math.cos(angle) + a * math.sin(angle)
    return turned


def attention(config, arrays, here, rows, visible, slopes=None):
    """Outputs of every position, and the weights [head, reader, read]; `slopes` of the distance."""
    length, width = rows.shape
    size = config.head_width or config.width // config.heads
    scale = config.attention_scale if config.attention_scale is not None else 1 / math.sqrt(size)
    weights = np.zeros((config.heads, length, length))
    outputs = np.zeros((length, width))
    for h in range(config.heads):
        query, key, value = (
            [
                row @ arrays[f"{here}.qkv"][:, s, h]
                + (arrays[f"{here}.qkv_bias"][s, h] if config.attention_bias else 0)
                for row in rows
            ]
            for s in range(3)
        )
        if config.positions == "rotary":
            query = [rotated(config, q, t) for t, q in enumerate(query)]
            key = [rotated(config, k, t) for t, k in enumerate(key)]
        for i in range(length):
            readable = [j for j in range(length) if visible[i][j] and not (config.causal and j > i)]
            slope = 0 if slopes is None else slopes[h]
            exps = [
                math.exp(scale * float(query[i] @ key[j]) - slope * abs(i - j)) for j in readable
            ]
            for j, e in zip(readable, exps, strict=True):
                weights[h, i, j] = e / sum(exps)
            mixed = sum(weights[h, i, j] * value[j] for j in readable)
            outputs[i] += mixed @ arrays[f"{here}.out"][h]
    if config.attention_bias:
        outputs += arrays[f"{here}.out_bias"]
    return outputs, weights


def mlp(config, arrays, here, row):
    inner = row @ arrays[f"{here}.up"] + (arrays[f"{here}.up_bias"] if config.mlp_bias else 0)
    outer = activation(config.activation, inner) @ arrays[f"{here}.down"]
    return outer + (arrays[f"{here}.down_bias"] if config.mlp_bias else 0)


def forward(config, arrays, embeddings, visible=None, slopes=None):
    """Logits, residual streams and attention weights of one sequence."""
    length = len(embeddings)
    visible = np.ones((length, length), bool) if visible is None else visible
    rows = np.array(embeddings, float)
    for t in range(length):
        if config.positions == "learned":
            rows[t] += arrays["position_embedding"][t]
        if config.positions == "linear":
            rows[t] += t / config.max_length * arrays["position_direction"]
        if config.positions == "sinusoidal":
            for i in range(config.width):
                angle = t / 10000 ** (2 * (i // 2) / config.width)
                wave = math.cos(angle) if i % 2 else math.sin(angle)
                rows[t, i] += arrays["position_scale"] * wave
    if "embedding_norm.scale" in arrays:
        rows = np.array([normalise(config, arrays, "embedding_norm", row) for row in rows])
    streams, patterns = [rows], []
    for n in range(config.layers):
        here = f"layers.{n}"

        def norm(name, rows):
            return np.array([normalise(config, arrays, name, row) for row in rows])

        for part in ("attention", "mlp"):
            if part == "mlp" and config.mlp_width == 0:
                continue
            place = config.norm if part == "attention" else (config.mlp_norm or config.norm)
            residual = config.attention_residual if part == "attention" else config.mlp_residual
            name = f"{here}.{part}_norm"
            inputs = norm(name, rows) if place == "pre" else rows
            if part == "attention":
                y, weights = attention(config, arrays, f"{here}.attention", inputs, visible, slopes)
                patterns.append(weights)
            else:
                y = np.array([mlp(config, arrays, f"{here}.mlp", row) for row in inputs])
            y = norm(name, y) if place == "branch" else y
            rows = rows + y if residual else y
            rows = norm(name, rows) if place == "post" else rows
        streams.append(rows)
    has_final = config.norm == "pre" if config.final_norm is None else config.final_norm
    if has_final:
        rows = np.array([normalise(config, arrays, "final_norm", row) for row in rows])
    if config.head_transform:
        inner = rows @ arrays["head_transform.weight"] + arrays["head_transform.bias"]
        inner = activation(config.activation, inner)
        rows = np.array([normalise(config, arrays, "head_transform.norm", row) for row in inner])
    output = arrays["token_embedding"][: config.vocab].T if config.tied else arrays["output"]
    logits = rows @ output + (arrays["output_bias"] if config.output_bias else 0)
    return logits, np.array(streams), np.array(patterns)
