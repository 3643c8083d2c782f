"""What is measured on trained models: predicted states on fixed strings.

Models are stacked, one for every member; all see the same strings. Predictions of strings of twice the length
hold everything: a causal model's first T positions are its answer to a string of length T.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models import CachedTransformer, Placement
from minicosm.worlds import Semiautomaton
from minicosm.worlds.arrays import AnyArray

CHUNK = 64  # strings that a model reads at once


@eqx.filter_jit
def draw(
    world: Semiautomaton, key: PRNGKeyArray, count: int, length: int
) -> tuple[Int[Array, "n T"], Int[Array, "n T"]]:
    """Strings and their labels."""
    symbols, states = jax.vmap(lambda k: world.sample(k, length))(jax.random.split(key, count))
    return symbols, jnp.asarray(world.observation)[states]


@eqx.filter_jit
def labels(world: Semiautomaton, symbols: Int[AnyArray, "n T"]) -> Int[Array, "n T"]:
    """The labels of given strings."""
    return jax.vmap(world.labels)(jnp.asarray(symbols))


@eqx.filter_jit
def predictions(
    models: Any, placement: Placement | None, symbols: Int[AnyArray, "n T"], states: int | None
) -> Int[Array, "members n T"]:
    """The likeliest label after every symbol. With `states`, a scratchpad is written: symbols are the tokens
    after those of so many states."""

    def one(model: Any, string: Array) -> Array:
        if states is not None:
            return written(model, placement, string, states)
        options = {} if placement is None else {"placement": placement}
        return jnp.argmax(model.logits(model.embed(string), **options), axis=-1)

    def member(model: Any) -> Array:
        return jax.lax.map(lambda s: one(model, s), jnp.asarray(symbols), batch_size=CHUNK)

    return eqx.filter_vmap(member, in_axes=(eqx.if_array(0),))(models)


def written(
    model: Any, placement: Placement | None, symbols: Int[Array, " T"], states: int
) -> Int[Array, " T"]:
    """A scratchpad filled in step by step: the likeliest state after `s_1`, then that after
    `s_1, q_1, s_2`, where `q_1` is the model's own, and so on."""
    generator = CachedTransformer(model, start=0, placement=placement)
    tokens = symbols + states
    memory = generator.begin(2 * len(symbols) - 2, tokens[0])
    first = jnp.argmax(generator.law(memory, jnp.int32(0)))

    def step(carry: tuple[Any, Array, Array], symbol: Array) -> tuple[Any, Array]:
        memory, n, state = carry
        memory = generator.read(memory, n, state)
        memory = generator.read(memory, n + 1, symbol)
        state = jnp.argmax(generator.law(memory, n + 2))
        return (memory, n + 2, state), state

    _, others = jax.lax.scan(step, (memory, jnp.int32(0), first), tokens[1:])
    return jnp.concatenate([first[None], others])


def by_position(
    predicted: Int[AnyArray, "members n T"], wanted: Int[AnyArray, "n T"]
) -> Float[np.ndarray, "members T"]:
    """Accuracy at every position."""
    return (np.asarray(predicted) == np.asarray(wanted)).mean(axis=1)


def with_ones(
    rng: np.random.Generator, length: int, each: int
) -> Int[np.ndarray, "strings length"]:
    """`each` strings with m ones at random places, for m = 0..length."""
    rows = [
        rng.permutation(np.repeat([1, 0], [m, length - m]))
        for m in range(length + 1)
        for _ in range(each)
    ]
    return np.array(rows, np.int32)


def by_count(
    right: Bool[np.ndarray, "members n T"], symbols: Int[np.ndarray, "n T"]
) -> tuple[Float[np.ndarray, "members T counts"], Int[np.ndarray, "T counts"]]:
    """`[t, m]`: accuracy at position t over the strings with m ones among the first t, NaN if there are none,
    and how many there are."""
    length = symbols.shape[1]
    ones = np.cumsum(symbols, axis=1)
    found = np.full((len(right), length, length + 1), np.nan)
    seen = np.zeros((length, length + 1), int)
    for t in range(length):
        for m in range(t + 2):
            here = ones[:, t] == m
            seen[t, m] = here.sum()
            if here.any():
                found[:, t, m] = right[:, here, t].mean(axis=1)
    return found, seen


def expected_counts(sequences: int, length: int) -> Float[np.ndarray, "T counts"]:
    """`sequences Binom(t, 1/2)(m)`: in how many strings of training m of the first t symbols are ones."""
    from scipy.stats import binom

    t, m = np.arange(1, length + 1)[:, None], np.arange(length + 1)
    return sequences * binom.pmf(m, t, 0.5)
