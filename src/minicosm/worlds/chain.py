"""Message passing along a Markov chain: the one algorithm behind every exact answer here.

For nonnegative rows `V[i]` (the probability of what is seen at position i in each state),

    a_1 = first,   a_{i+1} = A (a_i * V_i)        a_i = P[H_i, seen before i]
    b_T = 1,       b_{i-1} = A^T (V_i * b_i)      b_i = P[seen after i | H_i]

Each message is stored divided by a scale whose logarithm is kept beside it, so nothing underflows
at any length. A message that is exactly zero stays zero and has log scale -inf.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Messages(NamedTuple):
    """Scaled messages of a chain of T positions; index 0 of `backward` is H_0."""

    forward: Float[Array, "T H"]  # a_{i+1} / exp(forward_log[i]), i = 0..T-1
    forward_log: Float[Array, " T"]
    backward: Float[Array, "T+1 H"]  # b_i / exp(backward_log[i]), i = 0..T
    backward_log: Float[Array, " T+1"]


def _rescale(
    message: Float[Array, " H"], log: Float[Array, ""], size: Float[Array, ""]
) -> tuple[Float[Array, " H"], Float[Array, ""]]:
    # The scale is a constant to differentiation: message * exp(log) does not depend on it.
    size = jax.lax.stop_gradient(size)
    alive = size > 0
    safe = jnp.where(alive, size, 1)
    return message / safe, jnp.where(alive, log + jnp.log(safe), -jnp.inf)


def forward_messages(
    A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]
) -> tuple[Float[Array, "T+1 H"], Float[Array, " T+1"]]:
    """`a_1 .. a_{T+1}`, each scaled to sum to one, and the log scales."""

    def step(carry, v):
        message, log = carry
        moved = A @ (message * v)
        new = _rescale(moved, log, jnp.sum(moved))
        return new, new

    start = _rescale(first, jnp.zeros((), first.dtype), jnp.sum(first))
    _, (rest, logs) = jax.lax.scan(step, start, V)
    return jnp.concatenate([start[0][None], rest]), jnp.concatenate([start[1][None], logs])


def backward_messages(
    A: Float[Array, "H H"], V: Float[Array, "T H"]
) -> tuple[Float[Array, "T+1 H"], Float[Array, " T+1"]]:
    """`b_0 .. b_T`, each scaled to have maximum one, and the log scales."""

    def step(carry, v):
        message, log = carry
        moved = (v * message) @ A
        new = _rescale(moved, log, jnp.max(moved))
        return new, new

    end = (jnp.ones(A.shape[0], V.dtype), jnp.zeros((), V.dtype))
    _, (rest, logs) = jax.lax.scan(step, end, V, reverse=True)
    return jnp.concatenate([rest, end[0][None]]), jnp.concatenate([logs, end[1][None]])


def messages(A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]) -> Messages:
    """All forward and backward messages for the rows `V`."""
    forward, forward_log = forward_messages(A, first, V)
    backward, backward_log = backward_messages(A, V)
    return Messages(forward[:-1], forward_log[:-1], backward, backward_log)


def log_likelihood(
    A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]
) -> Float[Array, ""]:
    """`log sum_h a_{T+1}[h]`, the log probability of all that is seen; -inf if it is impossible."""
    forward, logs = forward_messages(A, first, V)
    total = jnp.sum(forward[-1])  # one, but it carries the derivative that the scales do not
    return logs[-1] + jnp.log(jnp.where(total > 0, total, 1))


def supports(
    A: Bool[Array, "H H"], first: Bool[Array, " H"], V: Bool[Array, "T H"]
) -> tuple[Bool[Array, "T H"], Bool[Array, "T+1 H"]]:
    """Where `forward` and `backward` are nonzero, by the same recursions on truth values."""
    arrow = A.astype(jnp.int32)

    def forward(a, v):
        return (arrow @ (a & v).astype(jnp.int32)) > 0, a

    def backward(b, v):
        new = ((v & b).astype(jnp.int32) @ arrow) > 0
        return new, new

    _, a = jax.lax.scan(forward, first, V)
    end = jnp.ones(A.shape[0], bool)
    _, b = jax.lax.scan(backward, end, V, reverse=True)
    return a, jnp.concatenate([b, end[None]])


def normalise(weights: Float[Array, "*batch H"]) -> Float[Array, "*batch H"]:
    """`weights / sum` along the last axis; a zero vector stays zero (also in its derivative)."""
    total = jnp.sum(weights, axis=-1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)
