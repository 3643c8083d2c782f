"""A rejecter that is learned: which tokens of a pass are more likely wrong than right."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.decoding.refinement import Pass
from minicosm.models.repeats import repeats

CHUNK = 50  # rows that are read at once


def features(seen: Pass) -> Float[Array, "T 4"]:
    """Of every token: 1, its log-probability, whether it repeats its neighbour, whether it stood there
    before."""
    same = seen.tokens == seen.before
    columns = (jnp.ones(len(same)), seen.log_probs, repeats(seen.tokens), same)
    return jnp.stack([jnp.asarray(column, float) for column in columns], axis=1)


class Learned(eqx.Module):
    """Reject where `P(right) = sigmoid(features . weights)` is below 1/2."""

    weights: Float[Array, " 4"]

    def __call__(self, seen: Pass) -> Bool[Array, " T"]:
        return features(seen) @ self.weights < 0


def learned(model: Any, practice: Any, inputs: Int[np.ndarray, "n S T"]) -> Learned:
    """The weights under which the right tokens of passes that read `inputs` are most likely, on pairs that
    nothing is measured on; the true length is given."""
    arrays = (practice.source, practice.visible, inputs, practice.lengths, practice.target)
    X, y, real = map(np.asarray, _seen(model, tuple(map(jnp.asarray, arrays))))
    return Learned(jnp.asarray(logistic(X[real], y[real]), jnp.float32))


def logistic(X: Float[np.ndarray, "n d"], y: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """Logistic regression by Newton's method, with a penalty of `|w|^2 / 2` for the whole sample."""
    X = np.asarray(X, float)
    w = np.zeros(X.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(X @ w, -50, 50)))
        hessian = (X * (p * (1 - p))[:, None]).T @ X + np.eye(len(w))
        step = np.linalg.solve(hessian, X.T @ (y - p) - w)
        w = w + step / max(1.0, np.abs(step).max())
    return w


@eqx.filter_jit
def _seen(model: Any, rows: Any) -> Any:
    """[row, pass, position]: features, whether the token is right, and whether the position is real."""

    def one(row: Any) -> Any:
        source, visible, inputs, length, target = row
        memory = model.encode(source, visible)
        real = jnp.arange(target.shape[0]) < length

        def of_pass(before: Array) -> Any:
            law = jax.nn.log_softmax(model.decode(before, memory, real))
            tokens = jnp.argmax(law, axis=-1)
            key, step = jax.random.key(0), jnp.int32(1)
            seen = Pass(tokens, before, jnp.max(law, axis=-1), real, step, 1, key)
            return features(seen), tokens == target, real

        return jax.vmap(of_pass)(inputs)

    return jax.lax.map(one, rows, batch_size=CHUNK)
