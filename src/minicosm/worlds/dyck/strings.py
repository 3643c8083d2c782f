"""Strings of brackets: how they are drawn, and how a stack automaton reads them.

Type t has the open token 2t and the closed token 2t + 1; 2k is padding after the end of a string.
The automaton's state is one number: `depth * k + type of the top`, then DEAD and ENDED.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import Scalar
from ..hmm.hmm import cumulative, invert, uniform


class Moves(NamedTuple):
    """Log probabilities that the next bracket opens or closes, at every depth d.

    `[d]`, or `[a, d]` where they depend on the number a of steps left, the next one included.
    """

    open: Float[Array, "*N levels"]
    close: Float[Array, "*N levels"]


class Partners(NamedTuple):
    """Positions, -1 where there is none."""

    tops: Int[Array, " T"]  # of the last bracket still open after each token
    matching: Int[Array, " T"]  # of the bracket at the other end of the pair


def safe_log(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """`log x` with log 0 = -inf, whose gradient is zero there."""
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), -jnp.inf)


# -- drawing ----------------------------------------------------------------------------------


@partial(jax.jit, static_argnames="length")
def free_moves(moves: Moves, length: int) -> Moves:
    """No condition on the end: the same law however many steps are left."""
    return Moves(*(jnp.tile(law, (length + 1, 1)) for law in moves))


@partial(jax.jit, static_argnames="length")
def forced_moves(moves: Moves, length: int) -> Moves:
    """Brackets close, with probability one, once the depth equals the number of steps left."""
    left, depth = jnp.arange(length + 1)[:, None], jnp.arange(len(moves.open))
    must = depth >= jnp.maximum(left, 1)
    return Moves(jnp.where(must, -jnp.inf, moves.open), jnp.where(must, 0, moves.close))


@partial(jax.jit, static_argnames=("length", "complete"))
def conditioned_moves(moves: Moves, length: int, *, complete: bool) -> Moves:
    """The law given the end: depth 0 if `complete`, else any depth after a closed bracket.

    With `Z(a, d)` the probability of such an end after a more steps from depth d,
    `Z(a, d) = p(d) Z(a-1, d+1) + (1-p(d)) Z(a-1, d-1)`, a bracket opens with probability
    `p(d) Z(a-1, d+1) / Z(a, d)`. Where Z is zero, which is never reached, p stays.
    """
    none = jnp.full(1, -jnp.inf, moves.open.dtype)
    end = jnp.zeros_like(moves.open)
    end = end.at[1:].set(-jnp.inf) if complete else end

    def step(Z: Array, first: Array) -> tuple[Array, tuple[Array, Array]]:
        up = moves.open + jnp.concatenate([Z[1:], none])
        up = up if complete else jnp.where(first, -jnp.inf, up)
        down = moves.close + jnp.concatenate([none, Z[:-1]])
        new = jnp.logaddexp(up, down)
        possible = new > -jnp.inf
        total = jnp.where(possible, new, 0)
        now = (
            jnp.where(possible, up - total, moves.open),
            jnp.where(possible, down - total, moves.close),
        )
        return new, now

    _, rows = jax.lax.scan(step, end, jnp.arange(length) == 0)
    return Moves(
        *(jnp.concatenate([law[None], later]) for law, later in zip(moves, rows, strict=True))
    )


def possible_ends(
    opening: Float[np.ndarray, " levels"],
    closing: Float[np.ndarray, " levels"],
    length: int,
    *,
    complete: bool,
) -> list[bool]:
    """Whether each length 1..length can end so (see `conditioned_moves`), on truth values."""
    reach = np.arange(len(opening)) == 0
    ends = []
    for _ in range(length):
        up, down = reach & (opening > 0), reach & (closing > 0)
        reach = np.append(down[1:], False) | np.append(False, up[:-1])
        ends.append(bool(reach[0] if complete else down.any()))
    return ends


@jax.jit
def draw(
    key: PRNGKeyArray,
    moves: Moves,
    type_law: Float[Array, " k"],
    length: int | Int[Array, ""],
) -> tuple[Int[Array, " N"], Int[Array, " N"]]:
    """`length` brackets and the depths after them, then padding; one uniform a bracket."""
    types, longest, depth = len(type_law), moves.open.shape[0] - 1, moves.open.shape[1] - 1
    opening, cuts, slots = jnp.exp(moves.open), cumulative(type_law), jnp.arange(depth)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        d, stack = carry
        i, u = x
        left = length - i
        live = left > 0
        # What is drawn is the type that opens, or `types` for the bracket that closes the top.
        drawn = invert(opening[jnp.maximum(left, 0), d] * cuts, u)
        opens = drawn < types
        token = jnp.where(opens, 2 * drawn, 2 * peek(stack, slots, d) + 1)
        stack = jnp.where((slots == d) & opens & live, drawn.astype(stack.dtype), stack)
        d = d + jnp.where(live, jnp.where(opens, 1, -1), 0)
        return (d, stack), (jnp.where(live, token, 2 * types), d)

    start = jnp.int32(0), jnp.zeros(depth, stack_type(types))
    draws = jnp.arange(longest, dtype=jnp.int32), uniform(key, (longest,))
    _, (tokens, depths) = jax.lax.scan(step, start, draws)
    return tokens, depths


def stack_type(types: int) -> type:
    return jnp.int8 if types <= 127 else jnp.int32


def peek(stack: Int[Array, " D"], slots: Int[Array, " D"], d: Int[Array, ""]) -> Int[Array, ""]:
    """The top of a stack of d entries; -1 if it is empty."""
    return jnp.max(jnp.where(slots == d - 1, stack, -1)).astype(jnp.int32)


# -- reading ----------------------------------------------------------------------------------


@jax.jit
def law_table(moves: Moves, type_law: Float[Array, " k"]) -> Float[Array, "states 2*k+1"]:
    """The log law of the next token in every state of the automaton.

    The last column is padding, which has weight one and ends the string; nothing follows in the
    states DEAD (a token was impossible) and ENDED, the last two rows.
    """
    levels, types = len(moves.open), len(type_law)
    opens = moves.open[:, None] + safe_log(type_law)
    rows = jnp.full((levels, types, types, 2), -jnp.inf)  # depth, top, type, open or closed
    rows = rows.at[..., 0].set(opens[:, None])
    each = jnp.arange(types)
    rows = rows.at[:, each, each, 1].set(moves.close[:, None])
    rows = rows.reshape(levels * types, 2 * types)
    live = jnp.concatenate([rows, jnp.zeros((levels * types, 1))], axis=1)
    last = jnp.full((2, 2 * types + 1), -jnp.inf).at[1, -1].set(0)
    return jnp.concatenate([live, last]).astype(moves.open.dtype)


@partial(jax.jit, static_argnames=("types", "depth"))
def read(
    tokens: Int[Array, " T"], table: Float[Array, "states columns"], *, types: int, depth: int
) -> Int[Array, " T+1"]:
    """The automaton's state before the first token and after each; impossible tokens lead to DEAD."""
    dead, ended = (depth + 1) * types, (depth + 1) * types + 1
    allowed, slots = table > -jnp.inf, jnp.arange(depth)
    tokens = jnp.where((tokens >= 0) & (tokens <= 2 * types), tokens, -1).astype(jnp.int32)

    def step(carry: Any, token: Array) -> tuple[Any, Array]:
        state, d, stack = carry
        fits = (token >= 0) & allowed[state, token]
        d, stack = pushed(stack, slots, d, token)
        live = d * types + jnp.maximum(peek(stack, slots, d), 0)
        state = jnp.where(fits, jnp.where(token == 2 * types, ended, live), dead)
        return (state, d, stack), state

    start = jnp.int32(0), jnp.int32(0), jnp.zeros(depth, stack_type(types))
    _, states = jax.lax.scan(step, start, tokens)
    return jnp.concatenate([jnp.zeros(1, jnp.int32), states])


def pushed(
    stack: Int[Array, " D"], slots: Int[Array, " D"], d: Int[Array, ""], token: Int[Array, ""]
) -> tuple[Int[Array, ""], Int[Array, " D"]]:
    """Depth and stack once a bracket has been read at depth d."""
    opens, kind = token % 2 == 0, token // 2
    stack = jnp.where((slots == d) & opens, kind.astype(stack.dtype), stack)
    return d + jnp.where(opens, 1, -1), stack


class Stacks(NamedTuple):
    """The stack of every prefix; row n is after n tokens."""

    depths: Int[Array, " rows"]  # -1 once a token was impossible
    stacks: Int[Array, "rows D"]  # types of the open brackets, the first `depths[n]` of row n


def empty_stacks(room: int, types: int, depth: int) -> Stacks:
    """Room for `room` tokens, nothing read."""
    rows = room + 1
    return Stacks(jnp.zeros(rows, jnp.int32), jnp.zeros((rows, depth), stack_type(types)))


def read_bracket(memory: Stacks, n: Scalar, token: Scalar, fits: Array) -> Stacks:
    """The stacks once a bracket stands after the first n tokens; `fits` says whether it may."""
    slots = jnp.arange(memory.stacks.shape[1])
    d, stack = pushed(memory.stacks[n], slots, memory.depths[n], jnp.asarray(token, jnp.int32))
    depth = jnp.where(fits, d, -1).astype(jnp.int32)
    return Stacks(memory.depths.at[n + 1].set(depth), memory.stacks.at[n + 1].set(stack))


def next_law(
    memory: Stacks, n: Scalar, opens: Array, closes: Array, type_law: Float[Array, " k"]
) -> Float[Array, " 2*k"]:
    """The log law of the token after the first n, from the log probabilities that it opens and that
    it closes."""
    d, types = memory.depths[n], len(type_law)
    top = peek(memory.stacks[n], jnp.arange(memory.stacks.shape[1]), d)
    opened = opens + safe_log(type_law)
    closed = jnp.where((jnp.arange(types) == top) & (d > 0), closes, -jnp.inf)
    rows = jnp.stack([opened, closed], axis=-1).reshape(2 * types)
    return jnp.where(d >= 0, rows, -jnp.inf)


def fits_after(law: Float[Array, " V"], token: Scalar) -> Bool[Array, ""]:
    """Whether the token has positive probability."""
    token = jnp.asarray(token)
    inside = (token >= 0) & (token < len(law))
    return inside & (law[jnp.clip(token, 0, len(law) - 1)] > -jnp.inf)


@partial(jax.jit, static_argnames=("types", "depth"))
def partners(tokens: Int[Array, " T"], *, types: int, depth: int) -> Partners:
    """Who matches whom in a string of the language."""
    slots, where = jnp.arange(depth), jnp.arange(len(tokens), dtype=jnp.int32)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        d, stack = carry
        i, token = x
        opens, closes = token % 2 == 0, token % 2 == 1
        opens = opens & (token < 2 * types)
        partner = jnp.where(closes, peek(stack, slots, d), -1)
        stack = jnp.where((slots == d) & opens, i, stack)
        d = d + opens - closes
        return (d, stack), (peek(stack, slots, d), partner)

    start = jnp.int32(0), jnp.zeros(depth, jnp.int32)
    _, (tops, partner) = jax.lax.scan(step, start, (where, tokens.astype(jnp.int32)))
    # An open bracket learns its partner from the closed one; -1 points after the end and is dropped.
    there = jnp.where(partner >= 0, partner, len(tokens))
    return Partners(tops, partner.at[there].set(where, mode="drop"))


def depths(tokens: Int[Array, " T"], types: int) -> Int[Array, " T"]:
    """Open minus closed brackets up to each token, itself included."""
    step = jnp.where(tokens % 2 == 0, 1, -1) * (tokens < 2 * types)
    return jnp.cumsum(step, dtype=jnp.int32)


def is_closed(tokens: Int[Array, "*shape"]) -> Bool[Array, "*shape"]:
    return tokens % 2 == 1
