"""Heads: what reads a frozen model's output probabilities."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds.arrays import AnyArray, check_shape, check_whole_numbers, is_concrete

from .checks import as_numbers, check_labels, check_real, check_reals

TIE = 1e-9


class LinearHead(eqx.Module):
    """`weights . g + bias` on one probability vector; a row of weights per class, or one for a sign."""

    weights: Float[AnyArray, "*rows V"]
    bias: Float[AnyArray, "*rows"]

    def __init__(self, weights: Any, bias: Any = None):
        self.weights = check_reals("weights", weights)
        shape = self.weights.shape
        if not shape or 0 in shape:
            raise ValueError(
                f"weights have shape {shape}; they must have shape (V,) or (classes, V)"
            )
        rows = shape[:-1]
        self.bias = np.zeros(rows) if bias is None else check_reals("bias", bias, rows)

    def __call__(self, probabilities: Float[Array, " V"]) -> Float[Array, "*rows"]:
        return jnp.asarray(self.weights) @ probabilities + jnp.asarray(self.bias)


class AttentionHead(eqx.Module):
    """One attention head over the model's outputs `g_1..g_T` (the paper's equations 4.1 and 4.2).

    Scores `q . (key g_i + positions_i)` choose where to look; the value there is
    `readout . ((value g_i) * e(x_i))`, with `e(x_i)` a row of `tokens` (ones where no token is known
    or the head has no token rows). `temperature = 0` averages the values over all positions whose
    score is within 1e-9 of the largest; a positive temperature weighs them by a softmax, which tends
    to the former as the temperature goes to zero.
    """

    query: Float[AnyArray, " D"]
    key: Float[AnyArray, "D V"]
    value: Float[AnyArray, "E V"]
    readout: Float[AnyArray, "*rows E"]
    tokens: Float[AnyArray, "V E"] | None = None
    positions: Float[AnyArray, "P D"] | None = None  # later positions have zero vectors
    bias: Float[AnyArray, "*rows"] | float = 0.0
    temperature: float = 0.0

    def __check_init__(self) -> None:
        width = check_reals("query", self.query, (None,)).shape[0]
        vocab = check_reals("key", self.key, (width, None)).shape[1]
        entries = check_reals("value", self.value, (None, vocab)).shape[0]
        rows = check_reals("readout", self.readout).shape[:-1]
        check_reals("readout", self.readout, (*rows, entries))
        if 0 in rows:
            raise ValueError(f"readout has {rows} rows; there must be one for every class")
        if self.tokens is not None:
            check_reals("tokens", self.tokens, (vocab, entries))
        if self.positions is not None:
            check_reals("positions", self.positions, (None, width))
        shape = check_reals("bias", self.bias).shape
        if shape not in ((), rows):
            raise ValueError(
                f"bias has shape {shape}; it must have shape {rows}, as the readout's rows"
            )
        check_real("temperature", self.temperature, least=0)

    def scores(self, outputs: Float[Array, "T V"]) -> Float[Array, " T"]:
        """`q . (key g_i + positions_i)` for every position."""
        outputs = self._laws(outputs)
        keys = outputs @ jnp.asarray(self.key).T
        if self.positions is not None:
            count = min(len(self.positions), len(outputs))
            keys = keys.at[:count].add(jnp.asarray(self.positions)[:count])
        return keys @ jnp.asarray(self.query)

    def weights(self, outputs: Float[Array, "T V"]) -> Float[Array, " T"]:
        """How much each position is attended to; they sum to one."""
        scores = self.scores(outputs)
        ties = (scores >= jnp.max(scores) - TIE).astype(scores.dtype)
        hard = ties / jnp.sum(ties)
        if isinstance(self.temperature, float) and self.temperature == 0:
            return hard
        sharp = jnp.asarray(self.temperature) <= 0
        soft = jax.nn.softmax(scores / jnp.where(sharp, 1, self.temperature))
        return jnp.where(sharp, hard, soft)

    def values(
        self, outputs: Float[Array, "T V"], tokens: Int[Array, " T"], known: Bool[Array, " T"]
    ) -> Float[Array, "T *rows"]:
        """`readout . ((value g_i) * e(x_i))` for every position."""
        outputs = self._laws(outputs)
        shape, vocab = (outputs.shape[0],), outputs.shape[1]
        tokens = jnp.asarray(check_whole_numbers("tokens", tokens, 0, vocab - 1, shape))
        known = jnp.asarray(as_numbers("known", known, "b"))
        check_shape("known", known, shape)
        features = outputs @ jnp.asarray(self.value).T
        if self.tokens is not None:
            features = features * jnp.where(known[:, None], jnp.asarray(self.tokens)[tokens], 1)
        return features @ jnp.asarray(self.readout).T

    def _laws(self, outputs: Any) -> Float[Array, "T V"]:
        shape = (None, jnp.shape(self.key)[1])
        return jnp.asarray(check_reals("outputs", outputs, shape))

    def __call__(
        self, outputs: Float[Array, "T V"], tokens: Int[Array, " T"], known: Bool[Array, " T"]
    ) -> Float[Array, "*rows"]:
        return self.weights(outputs) @ self.values(outputs, tokens, known) + jnp.asarray(self.bias)


def accuracy(scores: Float[AnyArray, "n *K"], labels: Int[AnyArray, " n"]) -> Float[Array, ""]:
    """The share of examples whose argmax (or sign, for one score) is the label."""
    scores = as_numbers("scores", scores, "fiu")
    if len(scores.shape) not in (1, 2) or 0 in scores.shape:
        raise ValueError(
            f"scores have shape {scores.shape}; they must have shape (n,) or (n, classes)"
        )
    if is_concrete(scores) and np.isnan(np.asarray(scores)).any():
        raise ValueError("scores hold a NaN; every score must be a number")
    classes = 2 if len(scores.shape) == 1 else scores.shape[1]
    labels = check_labels("labels", labels, scores.shape[0], classes)
    chosen = scores >= 0 if scores.ndim == 1 else scores.argmax(axis=1)
    return jnp.mean(jnp.asarray(chosen == labels))
