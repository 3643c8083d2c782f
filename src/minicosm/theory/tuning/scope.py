"""The set R of sequences that the memory theorems speak about (4.3), decided on truth values."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.adaptation import SoftPrompt
from minicosm.worlds import MemoryHMM, Supports
from minicosm.worlds.arrays import AnyArray


class Scope(NamedTuple):
    """Which sequences a memory theorem speaks about, decided on truth values."""

    inside: Bool[np.ndarray, " n"]  # x is possible and some position is sure
    sure: Bool[np.ndarray, "n L"]  # supp P[H_i | the rest] lies in H* (and the rest is possible)
    possible: Bool[np.ndarray, " n"]


def in_scope(
    world: MemoryHMM,
    sequences: Int[np.ndarray, "n T"],
    star: Bool[np.ndarray, " H"],
    *,
    observed: Bool[np.ndarray, " T"] | None = None,
) -> Scope:
    """R: x possible and `supp P[H_i | x_-i]` in H* for some i. `sure` holds the sets of such i.

    `star` is the mask of H*, see `star_states`.
    """
    sequences, seen = check_sequences(sequences, observed)
    with jax.enable_x64(True):
        found = _scope(world, sequences, jnp.asarray(star), seen)
    possible, sure = map(np.asarray, found)
    return Scope(possible & sure.any(axis=1), sure & possible[:, None], possible)


def in_wider_scope(
    world: MemoryHMM,
    prompt: SoftPrompt,
    sequences: Int[np.ndarray, "n T"],
    star: Bool[np.ndarray, " H"],
    *,
    observed: Bool[np.ndarray, " T"] | None = None,
) -> Scope:
    """The larger set on which Theorem D.6 holds: x possible, and either some position i > 1 with
    `supp P[H_i | X^_-i = (z~, x)_-i]` in H*, or (z~, x) impossible (then both sides are 0).

    `sure` has a column for the prompt, which is never sure.
    """
    sequences, seen = check_sequences(sequences, observed)
    with jax.enable_x64(True):
        found = _prompted_scope(world, prompt, sequences, jnp.asarray(star), seen)
    possible, prompted, sure = map(np.asarray, found)
    return Scope(possible & (sure.any(axis=1) | ~prompted), sure & possible[:, None], possible)


def check_sequences(
    sequences: Int[np.ndarray, "n T"], observed: Bool[np.ndarray, " T"] | None = None
) -> tuple[Int[np.ndarray, "n T"], Bool[np.ndarray, " T"]]:
    """Sequences as rows, and which positions are observed (default: all)."""
    sequences = np.asarray(sequences)
    if sequences.ndim != 2 or 0 in sequences.shape:
        raise ValueError(f"sequences have shape {sequences.shape}; they must have shape (n, T)")
    seen = np.ones(sequences.shape[1], bool) if observed is None else np.asarray(observed)
    return sequences, seen


def sure_positions(
    world: MemoryHMM, embeddings: Float[Array, "L CH"], star: Bool[Array, " H"]
) -> tuple[Bool[Array, ""], Bool[Array, " L"]]:
    """Whether the rows are possible, and where `supp P[H_i | the other rows]` lies in H*.

    A position whose other rows are impossible is not sure.
    """
    found = world.supports(embeddings)
    return found.possible, sure_in(world, found, star)


def sure_in(world: MemoryHMM, found: Supports, star: Bool[Array, " H"]) -> Bool[Array, " L"]:
    """Where some state is possible given the other rows, and none outside H*."""
    others = found.others.reshape(len(found.others), -1, world.hidden).any(axis=1)
    return others.any(axis=1) & ~(others & ~star).any(axis=1)


@eqx.filter_jit
def _scope(
    world: MemoryHMM,
    sequences: Int[AnyArray, "n T"],
    star: Bool[Array, " H"],
    observed: Bool[AnyArray, " T"],
) -> tuple[Bool[Array, " n"], Bool[Array, "n T"]]:
    return jax.vmap(lambda x: sure_positions(world, world.embed(x, observed), star))(sequences)


@eqx.filter_jit
def _prompted_scope(
    world: MemoryHMM,
    prompt: SoftPrompt,
    sequences: Int[AnyArray, "n T"],
    star: Bool[Array, " H"],
    observed: Bool[AnyArray, " T"],
) -> tuple[Bool[Array, " n"], Bool[Array, " n"], Bool[Array, "n L"]]:
    def one(x: Int[Array, " T"]) -> tuple[Array, Array, Array]:
        rows = world.embed(x, observed)
        prompted, sure = sure_positions(world, prompt.prepend(rows), star)
        return world.supports(rows).possible, prompted, sure.at[: len(prompt)].set(False)

    return jax.vmap(one)(jnp.asarray(sequences))
