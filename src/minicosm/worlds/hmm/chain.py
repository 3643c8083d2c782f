"""Message passing along a Markov chain: the one algorithm behind every exact answer here.

For nonnegative rows `V[i]` (the probability of what is seen at position i in each state),

    a_1 = first,   a_{i+1} = A (a_i * V_i)        a_i = P[H_i, seen before i]
    b_T = 1,       b_{i-1} = A^T (V_i * b_i)      b_i = P[seen after i | H_i]

Each message is stored divided by a scale whose logarithm is kept beside it, so nothing underflows
at any length. A message that is exactly zero stays zero and has log scale -inf.

`aggregates` and `laws` combine both directions into `tau_i = a_i * b_i = P[H_i, seen elsewhere]`,
and are the fast way when the messages themselves are not wanted. `jax.vmap` over them is written
out by hand, because a scan that is merely vmapped spends most of its time on memory: it keeps all
messages of the whole batch at once. Here batches of any nesting become one axis, cut into pieces
whose messages stay in the cache, and within a piece the batch is the last axis, so that sums over
states are sums of long vectors. Derivatives are those of the plain recursion. Everything that
loops is jitted here, so that calls outside `jax.jit` compile once per shape and not every time.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int

from ..arrays import AnyArray


class Messages(NamedTuple):
    """Scaled messages of a chain of T positions; index 0 of `backward` is H_0."""

    forward: Float[Array, "T H"]  # a_{i+1} / exp(forward_log[i]), i = 0..T-1
    forward_log: Float[Array, " T"]
    backward: Float[Array, "T+1 H"]  # b_i / exp(backward_log[i]), i = 0..T
    backward_log: Float[Array, " T+1"]


def _halve(message: Float[Array, " H"], size: Float[Array, ""]) -> tuple[Array, Array]:
    """The message times a power of two that brings `size` into [1/2, 1), and the exponent taken out.

    Powers of two and whole exponents are exact, so scaling adds no error however long the chain. The
    scale is a constant to differentiation: message * 2^exponent does not depend on it.
    """
    exponent = jnp.frexp(jax.lax.stop_gradient(size))[1]
    return message * jnp.ldexp(jnp.ones((), message.dtype), -exponent), exponent


def _normalised(
    messages: Float[Array, "n H"], sizes: Float[Array, " n"], exponents: Int[Array, " n"]
) -> tuple[Float[Array, "n H"], Float[Array, " n"]]:
    """Messages divided by their sizes, and the logarithms of all that was taken out of them."""
    sizes = jax.lax.stop_gradient(sizes)
    alive = sizes > 0
    safe = jnp.where(alive, sizes, 1)
    logs = exponents.astype(messages.dtype) * jnp.log(jnp.asarray(2, messages.dtype))
    return messages / safe[:, None], jnp.where(alive, logs + jnp.log(safe), -jnp.inf)


@jax.jit
def forward_messages(
    A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]
) -> tuple[Float[Array, "T+1 H"], Float[Array, " T+1"]]:
    """`a_1 .. a_{T+1}`, each scaled to sum to one, and the log scales."""

    def step(message: Array, v: Array) -> Any:
        moved = A @ (message * v)
        new, exponent = _halve(moved, jnp.sum(moved))
        return new, (new, exponent)

    _, (rest, exponents) = jax.lax.scan(step, first, V)
    found = jnp.concatenate([first[None], rest])
    taken = jnp.concatenate([jnp.zeros(1, exponents.dtype), jnp.cumsum(exponents)])
    return _normalised(found, jnp.sum(found, axis=1), taken)


@jax.jit
def backward_messages(
    A: Float[Array, "H H"], V: Float[Array, "T H"]
) -> tuple[Float[Array, "T+1 H"], Float[Array, " T+1"]]:
    """`b_0 .. b_T`, each scaled to have maximum one, and the log scales."""

    def step(message: Array, v: Array) -> Any:
        moved = (v * message) @ A
        new, exponent = _halve(moved, jnp.max(moved))
        return new, (new, exponent)

    end = jnp.ones(A.shape[0], V.dtype)
    _, (rest, exponents) = jax.lax.scan(step, end, V, reverse=True)
    found = jnp.concatenate([rest, end[None]])
    taken = jax.lax.cumsum(exponents, reverse=True)
    taken = jnp.concatenate([taken, jnp.zeros(1, exponents.dtype)])
    return _normalised(found, jnp.max(found, axis=1), taken)


def messages(A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]) -> Messages:
    """All forward and backward messages for the rows `V`."""
    forward, forward_log = forward_messages(A, first, V)
    backward, backward_log = backward_messages(A, V)
    return Messages(forward[:-1], forward_log[:-1], backward, backward_log)


@jax.jit
def log_likelihood(
    A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]
) -> Float[Array, ""]:
    """`log sum_h a_{T+1}[h]`, the log probability of all that is seen; -inf if it is impossible."""
    forward, logs = forward_messages(A, first, V)
    total = jnp.sum(forward[-1])  # one, but it carries the derivative that the scales do not
    return logs[-1] + jnp.log(jnp.where(total > 0, total, 1))


# Messages are kept near 2**32, not 1: the product of two still cannot overflow float32, and there is
# room below for rows of V that are all as small as the smallest normal number.
_LEVEL = 2.0**32

# A piece of a batch is as narrow as it can be before the loop costs more than its arithmetic: this
# many numbers in one message of all its examples, and no fewer examples than _WIDTH.
_MESSAGE = 2**12
_WIDTH = 128

_Pair = tuple[Array, Array]


def aggregates(
    A: Float[Array, "H H"], first: Float[Array, " H"], V: Float[Array, "T H"]
) -> tuple[Float[Array, "T H"], Float[Array, " T"]]:
    """`tau_i / ||tau_i||_1` (zero if `tau_i` is) and `log ||tau_i||_1`, with `tau_i = a_i * b_i`."""
    return _combined(A, first, None, V)


def laws(
    A: Float[Array, "H H"],
    first: Float[Array, " H"],
    V: Float[Array, "T H"],
    W: Float[Array, "X H"],
) -> Float[Array, "T X"]:
    """`W tau_i / ||tau_i||_1` with `tau_i = a_i * b_i`, and the zero vector if `tau_i = 0`."""
    return _combined(A, first, W, V)[0]


@jax.custom_jvp
def _combined(A: Array, first: Array, W: Array | None, V: Float[Array, "T H"]) -> _Pair:
    """`W tau_i / ||tau_i||_1` and `log ||tau_i||_1`; `W = None` stands for the identity."""
    law, log = _batch(A, first, W, V[None])
    return law[0], log[0]


@_combined.defjvp
def _differentiate(primals: tuple, tangents: tuple) -> tuple[_Pair, _Pair]:
    # custom_vmap has no reverse mode: where derivatives are taken, the recursion itself is used.
    def plain(A: Array, first: Array, W: Array | None, V: Array) -> _Pair:
        law, log = _recursion(A, first, W, V[:, :, None])
        return law[..., 0], log[..., 0]

    return jax.jvp(plain, primals, tangents)


@jax.jit
def _pieces(A: Array, first: Array, W: Array | None, V: Float[Array, "B T H"]) -> _Pair:
    """`_recursion` on B examples, piece by piece; the last piece may overlap the one before."""
    count, _, hidden = V.shape
    width = min(count, max(_WIDTH, _MESSAGE // hidden))

    def piece(V: Array) -> _Pair:
        law, log = _recursion(A, first, W, jnp.moveaxis(V, 0, -1))
        return jnp.moveaxis(law, -1, 0), jnp.moveaxis(log, -1, 0)

    if width == count:
        return piece(V)

    def add(i: Array, done: _Pair) -> _Pair:
        at = jnp.minimum(i * width, count - width)
        new = piece(jax.lax.dynamic_slice_in_dim(V, at, width))
        put = jax.lax.dynamic_update_slice_in_dim
        return jax.tree.map(lambda old, part: put(old, part, at, axis=0), done, new)

    shapes = jax.eval_shape(piece, V)
    blank = jax.tree.map(lambda x: jnp.zeros((count, *x.shape[1:]), x.dtype), shapes)
    return jax.lax.fori_loop(0, -(-count // width), add, blank)


_batch = custom_vmap(_pieces)


@_batch.def_vmap
def _merge(
    size: int, batched: list, A: AnyArray, first: AnyArray, W: AnyArray | None, V: AnyArray
) -> tuple[_Pair, tuple[bool, bool]]:
    """One more `vmap`: a longer batch if only V is mapped, otherwise a stack of worlds."""
    if not any(jax.tree.leaves(batched[:3])):
        law, log = _batch(A, first, W, V.reshape(-1, *V.shape[2:]))
        return (
            law.reshape(size, -1, *law.shape[1:]),
            log.reshape(size, -1, *log.shape[1:]),
        ), (True, True)
    axes = [0 if any(jax.tree.leaves(mapped)) else None for mapped in batched]
    return jax.vmap(_pieces, in_axes=axes)(A, first, W, V), (True, True)


@jax.jit
def _recursion(A: Array, first: Array, W: Array | None, V: Float[Array, "T H B"]) -> _Pair:
    """`W tau_i / ||tau_i||_1`, (T, X, B), and `log ||tau_i||_1`, (T, B), for B examples at once.

    Every new message is multiplied by a number that brings its sum to _LEVEL. Where that number
    would overflow it is the largest one allowed, and the next step does the rest.
    """
    dtype = jnp.result_type(A, first, V)
    A, first, V = A.astype(dtype), first.astype(dtype), V.astype(dtype)
    largest = 2.0 ** (jnp.finfo(dtype).maxexp - 2)

    def scale_to(level: float, total: Array) -> Array:
        # A constant to differentiation: what is returned does not depend on it.
        total = jax.lax.stop_gradient(total)
        return jnp.where(total > 0, level / jnp.maximum(total, level / largest), 1)

    def move(M: Array, message: Array, log: Array, v: Array) -> _Pair:
        moved = M @ (message * v)
        scale = scale_to(_LEVEL, jnp.sum(moved, axis=0))
        return moved * scale, log - jnp.log(scale)

    def backward(carry: _Pair, v: Array) -> tuple[_Pair, _Pair]:
        b, log = carry
        return move(A.T, b, log, v), carry

    def forward(carry: _Pair, row: tuple[Array, _Pair]) -> Any:
        (a, a_log), (v, (b, b_log)) = carry, row
        tau = a * b
        total = jnp.sum(tau, axis=0)
        scale = scale_to(1.0, total)
        alive = total > 0
        total = jnp.where(alive, total * scale, 1)  # one up to rounding, or a little less
        law = (tau if W is None else W.astype(dtype) @ tau) * jnp.where(alive, scale / total, 0)
        log = a_log + b_log + (jnp.log(total) - jnp.log(scale) - 2 * math.log(_LEVEL))
        return move(A, a, a_log, v), (law, jnp.where(alive, log, -jnp.inf))

    # Logs count from a message at _LEVEL, so that they are small when nothing is rare.
    log = jnp.zeros(V.shape[2], dtype)
    end = (jnp.full_like(V[0], _LEVEL), log)
    _, b = jax.lax.scan(backward, end, V, reverse=True)
    start = (jnp.broadcast_to(first[:, None] * _LEVEL, V.shape[1:]), log)
    return jax.lax.scan(forward, start, (V, b))[1]


@jax.jit
def supports(
    A: Bool[Array, "H H"], first: Bool[Array, " H"], V: Bool[Array, "T H"]
) -> tuple[Bool[Array, "T H"], Bool[Array, "T+1 H"]]:
    """Where `forward` and `backward` are nonzero, by the same recursions on truth values."""
    arrow = A.astype(jnp.int32)

    def forward(a: Array, v: Array) -> tuple[Array, Array]:
        return (arrow @ (a & v).astype(jnp.int32)) > 0, a

    def backward(b: Array, v: Array) -> tuple[Array, Array]:
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
