"""The set R of sequences that the memory theorems speak about (4.3), decided on truth values."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.adaptation import SoftPrompt
from minicosm.adaptation.checks import unshared
from minicosm.worlds import MemoryHMM, Supports
from minicosm.worlds.arrays import AnyArray

from ..checks import Rule, check_sequences, truths
from ..signatures import checked
from .assumptions import one


class Scope(NamedTuple):
    """Which sequences a memory theorem speaks about, decided on truth values."""

    inside: Bool[np.ndarray, " n"]  # x is possible and some position is sure
    sure: Bool[np.ndarray, "n L"]  # supp P[H_i | the rest] lies in H* (and the rest is possible)
    possible: Bool[np.ndarray, " n"]


MASK: Rule = truths(lambda given: (given["world"].hidden,))  # of states


@checked(world=one(MemoryHMM), star=MASK)
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
    sequences, seen = check_sequences(world, sequences, observed)
    with jax.enable_x64(True):
        found = _scope(unshared(world), sequences, jnp.asarray(star), seen)
    possible, sure = map(np.asarray, found)
    return Scope(possible & sure.any(axis=1), sure & possible[:, None], possible)


@checked(world=one(MemoryHMM), star=MASK)
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
    sequences, seen = check_sequences(world, sequences, observed)
    with jax.enable_x64(True):
        found = _prompted_scope(
            unshared(world), unshared(prompt), sequences, jnp.asarray(star), seen
        )
    possible, prompted, sure = map(np.asarray, found)
    return Scope(possible & (sure.any(axis=1) | ~prompted), sure & possible[:, None], possible)


def why_empty(
    world: MemoryHMM,
    star: Bool[np.ndarray, " H"],
    *,
    length: int | None = None,
    sequences: Any = None,
    **_: Any,
) -> str:
    """Why R has no sequence: what the other tokens leave possible at a position, in one example.

    The arguments are those of `certify`, of which the length is read.
    """
    length = len(sequences[0]) if length is None else length
    with jax.enable_x64(True):
        tokens = np.asarray(world.sample(jax.random.key(0), length).tokens)
        others = np.asarray(world.supports(world.embed(tokens)).others)
    possible = np.asarray(others.reshape(length, -1, world.hidden).any(axis=1))
    outside = np.where(possible.any(axis=1), (possible & ~star).sum(axis=1), world.hidden + 1)
    at = int(outside.argmin())
    left = np.flatnonzero(possible[at] & ~star).tolist()
    reason = (
        "R is empty here: it holds the possible x with a position i whose state is sure to be in H* = "
        f"{np.flatnonzero(star).tolist()} given the other tokens; in x = {tokens.tolist()}, say, the "
        f"surest is i = {at + 1}, where the states {left} remain possible"
    )
    if (np.asarray(world.A) > 0).all():
        reason += " (A has no zero, so every state can follow every other and none is ever sure)"
    return reason


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
