"""Compiled runs, draws and likelihoods of automata. Tables are data: automata of one size share programs."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..hmm.hmm import cumulative, invert, uniform


def safe_log(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """`log x`, -inf at zero, without a NaN in its derivative."""
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), -jnp.inf)


def _moves(delta: Any, inputs: Any) -> tuple[Int[Array, "vocab states"], Int[Array, " T"]]:
    """The table with one more symbol, which changes nothing, and inputs in which it stands for unknown
    ones."""
    delta, inputs = jnp.asarray(delta, jnp.int32), jnp.asarray(inputs)
    vocab, states = delta.shape
    stay = jnp.arange(states, dtype=jnp.int32)[None]
    known = (inputs >= 0) & (inputs < vocab)
    return jnp.concatenate([delta, stay]), jnp.where(known, inputs, vocab)


@jax.jit
def run(delta: Any, start: Any, inputs: Any) -> Int[Array, " T"]:
    """The state after each symbol."""
    table, inputs = _moves(delta, inputs)

    def step(q: Array, s: Array) -> tuple[Array, Array]:
        new = table[s, q]
        return new, new

    return jax.lax.scan(step, jnp.asarray(start, jnp.int32), inputs)[1]


@jax.jit
def maps(delta: Any, inputs: Any) -> Int[Array, "T states"]:
    """The composition of the first t transitions, for every t, by an associative scan."""
    table, inputs = _moves(delta, inputs)

    def then(first: Array, second: Array) -> Array:
        return jnp.take_along_axis(second, first, axis=-1)

    return jax.lax.associative_scan(then, table[inputs])


@partial(jax.jit, static_argnames="length")
def draw(
    key: PRNGKeyArray, length: int, delta: Any, start: Any, law: Any, weights: Any
) -> tuple[Int[Array, " T"], Int[Array, " T"]]:
    """Symbols and states; one uniform a symbol, and one for the mode."""
    mode_key, path_key = jax.random.split(key)
    mode = invert(cumulative(jnp.asarray(weights)), uniform(mode_key, ()))
    steps = cumulative(jnp.asarray(law)[mode].T)  # [state, symbol]
    delta = jnp.asarray(delta, jnp.int32)

    def step(q: Array, u: Array) -> tuple[Array, tuple[Array, Array]]:
        s = invert(steps[q], u)
        new = delta[s, q]
        return new, (s, new)

    start = jnp.asarray(start, jnp.int32)
    return jax.lax.scan(step, start, uniform(path_key, (length,)))[1]


def step(
    delta: Any, law: Any, state: Array, weights: Float[Array, " modes"], token: Array
) -> tuple[Array, Float[Array, " modes"]]:
    """State and log weights of modes once a symbol is read; -1 and -inf if it is impossible."""
    delta, law = jnp.asarray(delta, jnp.int32), jnp.asarray(law)
    fits = (token >= 0) & (token < delta.shape[0]) & (state >= 0)
    s, q = jnp.clip(token, 0, delta.shape[0] - 1), jnp.maximum(state, 0)
    new = jnp.where(fits, weights + safe_log(law[:, s, q]), -jnp.inf)
    possible = jnp.any(new > -jnp.inf)
    return jnp.where(possible, delta[s, q], -1), new


def mixed(law: Any, state: Array, weights: Float[Array, " modes"]) -> Float[Array, " vocab"]:
    """`log sum_k P(k | symbols) law[k, :, state]`, -inf if no mode is possible."""
    logs = safe_log(jnp.asarray(law)[:, :, jnp.maximum(state, 0)])
    total = _log_sum(weights)
    joint = _log_sum((weights[:, None] + logs).T)
    return jnp.where(total > -jnp.inf, joint - jnp.where(total > -jnp.inf, total, 0), -jnp.inf)


def _log_sum(x: Float[Array, "*batch modes"]) -> Float[Array, "*batch"]:
    """Log of the sum of exponentials along the last axis, -inf where all are."""
    top = jnp.max(x, axis=-1)
    top = jnp.where(top > -jnp.inf, top, 0)
    return safe_log(jnp.sum(jnp.exp(x - top[..., None]), axis=-1)) + top


def _weights(
    delta: Any, start: Any, law: Any, weights: Any, tokens: Any
) -> tuple[Int[Array, " rows"], Float[Array, "rows modes"]]:
    """The state after i = 0..T symbols, and `log P[mode, s_{1:i}]`."""
    tokens = jnp.asarray(tokens)
    vocab = delta.shape[0]
    states = jnp.concatenate([jnp.asarray(start, jnp.int32)[None], run(delta, start, tokens)])
    logs = safe_log(jnp.asarray(law))[:, jnp.clip(tokens, 0, vocab - 1), states[:-1]].T
    logs = jnp.where(((tokens >= 0) & (tokens < vocab))[:, None], logs, -jnp.inf)
    prior = safe_log(jnp.asarray(weights))
    return states, jnp.cumsum(jnp.concatenate([prior[None], logs]), axis=0)


@jax.jit
def log_prob(
    delta: Any, start: Any, law: Any, weights: Any, tokens: Any, length: Any
) -> Float[Array, ""]:
    """`log P` of the first `length` symbols."""
    return _log_sum(_weights(delta, start, law, weights, tokens)[1][length])


@jax.jit
def next_logits(
    delta: Any, start: Any, law: Any, weights: Any, tokens: Any
) -> Float[Array, "rows vocab"]:
    """The log law of the symbol after i = 0..T symbols."""
    states, logs = _weights(delta, start, law, weights, tokens)
    return jax.vmap(mixed, in_axes=(None, 0, 0))(law, states, logs)
