"""Gibbs updates of large cliques of equal spins in many chains at once; spins are [N, chains].

A spin's law depends on the others only through their sum, which is kept. Chains are the last axis, so
that each operation is one vector operation over them.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32
from scipy.special import gammaln

from minicosm.worlds.arrays import AnyArray, check_count
from minicosm.worlds.joint.masks import check_k

from .gibbs import unit

FEW = 32  # hidden spins up to which drawing their places is faster than going through all spins

Words = tuple[UInt32[Array, " n"], UInt32[Array, " n"], UInt32[Array, " n"], UInt32[Array, " n"]]

State = tuple[Array, Array, Words]


@eqx.filter_jit
def clique_sweeps(
    key: PRNGKeyArray,
    spins: Int[AnyArray, "N chains"],
    coupling: float | Float[Array, ""],
    field: float | Float[Array, ""],
    sweeps: int,
) -> Int[Array, "N chains"]:
    """Sweeps of single-spin Gibbs updates over a clique, spin by spin in order, for many chains.

    An update costs one comparison of a uniform with a number from a table of N + 1 probabilities.
    """
    N, chains = spins.shape
    check_count("sweeps", sweeps)
    others = 2.0 * jnp.arange(N) - (N - 1)  # sum of the other spins, by their number of +
    up = jax.nn.sigmoid(2 * (field + coupling * others)).astype(jnp.float32)

    def site(carry: tuple[Array, Words], row: Array) -> tuple[tuple[Array, Words], Array]:
        total, random = carry
        rest = total - row
        bits, random = xoshiro(random)
        row = (unit(bits) < up[rest]).astype(jnp.int32)
        return (rest + row, random), row

    def sweep(carry: tuple[Array, Any], _: None) -> tuple[tuple[Array, Any], None]:
        rows, inner = carry
        inner, rows = jax.lax.scan(site, inner, rows)
        return (rows, inner), None

    rows = (jnp.asarray(spins, jnp.int32) + 1) // 2
    random = tuple(jax.random.bits(key, (4, chains)))
    (rows, _), _ = jax.lax.scan(sweep, (rows, (rows.sum(axis=0), random)), length=sweeps)
    return 2 * rows - 1


def clique_blocks(
    key: PRNGKeyArray,
    spins: Int[AnyArray, "N chains"],
    coupling: float,
    field: float,
    k: int,
    steps: int,
) -> Int[Array, "N chains"]:
    """Steps of the k-Gibbs sampler of a clique (Definition 4.1.10) for many chains: k spins, chosen
    uniformly, are redrawn together.

    The number of + among them has a law that depends on the number of + among the others only: one
    uniform is compared with a row of a table of N - k + 1 laws. Which of them are + is uniform.
    """
    N = spins.shape[0]
    k = check_k(k, N)
    check_count("steps", steps)
    return _blocks(key, spins, block_table(N, k, float(coupling), float(field)), steps)


def block_table(N: int, k: int, coupling: float, field: float) -> Float[np.ndarray, "others v"]:
    """`[a, v]`: P(at most v of k hidden spins are +, given that a of the N - k others are), with
    weights `binom(k, v) exp(coupling M^2 / 2 + field M)`, `M = 2 (a + v) - N`."""
    v = np.arange(k + 1)
    total = 2.0 * (np.arange(N - k + 1)[:, None] + v) - N
    choose = gammaln(k + 1) - gammaln(v + 1) - gammaln(k - v + 1)
    logs = choose + coupling * total**2 / 2 + field * total
    sums = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    return (sums / sums[:, -1:]).astype(np.float32)


@eqx.filter_jit
def _blocks(
    key: PRNGKeyArray, spins: Any, table: Float[AnyArray, "others v"], steps: int
) -> Int[Array, "N chains"]:
    (N, chains), k = spins.shape, table.shape[1] - 1
    rows = (jnp.asarray(spins, jnp.int32) + 1) // 2
    each = jnp.arange(chains)

    def redrawn(others: Array, random: Words) -> tuple[Array, Words]:
        """How many hidden spins become +."""
        bits, random = xoshiro(random)
        below = jnp.sum(jnp.asarray(table)[others] <= unit(bits)[:, None], axis=1)
        return jnp.minimum(below, k), random

    def by_places(carry: State, _: None) -> tuple[State, None]:
        rows, total, random = carry
        places, random = ordered_places(random, N, k)
        others = total - jnp.sum(rows[places, each], axis=0)
        up, random = redrawn(others, random)
        new = (jnp.arange(k)[:, None] < up).astype(rows.dtype)  # their order is random already
        rows = rows.at[places, each].set(new, unique_indices=True, mode="promise_in_bounds")
        return (rows, others + up, random), None

    def by_passes(carry: State, _: None) -> tuple[State, None]:
        rows, total, random = carry
        hidden, random = chosen_in_turn(random, jnp.ones((N, chains), bool), jnp.full(chains, k))
        others = total - jnp.sum(jnp.where(hidden, rows, 0), axis=0)
        up, random = redrawn(others, random)
        new, random = chosen_in_turn(random, hidden, up)
        return (jnp.where(hidden, new.astype(rows.dtype), rows), others + up, random), None

    random = tuple(jax.random.bits(key, (4, chains)))
    step = by_places if k <= FEW else by_passes
    return 2 * jax.lax.scan(step, (rows, rows.sum(axis=0), random), length=steps)[0][0] - 1


def ordered_places(random: Words, N: int, k: int) -> tuple[Int[Array, "k n"], Words]:
    """k different places of N, in random order, for every stream.

    The first k swaps of a random permutation, i with r_i in i..N-1, without the array: what stands at
    a place was put there by the last swap that had this r, or is the place itself.
    """
    n = random[0].shape[0]
    order = jnp.arange(k)[:, None]

    def swap(carry: State, i: Array) -> tuple[State, Array]:
        targets, moved, random = carry
        bits, random = xoshiro(random)
        r = i + (unit(bits) * (N - i)).astype(jnp.int32)

        def now_at(place: Array) -> Array:
            last = jnp.max(jnp.where((order < i) & (targets == place), order, -1), axis=0)
            put = jnp.sum(jnp.where(order == last, moved, 0), axis=0)
            return jnp.where(last < 0, place, put)

        drawn, away = now_at(r), now_at(jnp.broadcast_to(i, r.shape))
        targets = jax.lax.dynamic_update_index_in_dim(targets, r, i, 0)
        return (targets, jax.lax.dynamic_update_index_in_dim(moved, away, i, 0), random), drawn

    empty = jnp.zeros((k, n), jnp.int32)
    (_, _, random), places = jax.lax.scan(swap, (empty, empty, random), jnp.arange(k))
    return places, random


def chosen_in_turn(
    random: Words, among: Bool[Array, "N n"], count: Int[Array, " n"]
) -> tuple[Bool[Array, "N n"], Words]:
    """A uniformly random choice of `count` of the true entries of every column: each is taken with
    the chance (still to take) / (still to come)."""

    def one(carry: State, here: Array) -> tuple[State, Array]:
        take, come, random = carry
        bits, random = xoshiro(random)
        taken = here & (unit(bits) * come < take)
        return (take - taken, come - here, random), taken

    start = (count, jnp.sum(among, axis=0, dtype=jnp.int32), random)
    (_, _, random), taken = jax.lax.scan(one, start, among)
    return taken, random


def xoshiro(state: Words) -> tuple[UInt32[Array, " n"], Words]:
    """The next 32 bits of xoshiro128++ (Blackman and Vigna 2021), one stream per entry.

    JAX's own bits, with which the streams begin, would be four fifths of the time of a sweep.
    """
    a, b, c, d = state
    bits = _rotated(a + d, 7) + a
    c, d = c ^ a, d ^ b
    return bits, (a ^ d, b ^ c, c ^ (b << 9), _rotated(d, 11))


def _rotated(word: UInt32[Array, " n"], by: int) -> UInt32[Array, " n"]:
    return (word << by) | (word >> (32 - by))
