"""Temperature, top-k and nucleus, and one draw from a law."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from minicosm.models import Generator
from minicosm.worlds.arrays import check_kind, check_shape, is_concrete, numeric

from .rows import check_generator, read_all
from .settings import Draw

PAIRWISE = 64  # vocabularies up to this size are ranked by comparing all pairs: no sort


def truncate(log_law: Float[Array, " V"], draw: Draw) -> Float[Array, " V"]:
    """Log-probabilities after temperature, top-k and nucleus; see `Draw`."""
    log_law = _check(log_law, draw)
    cold = draw.temperature == 0
    log_law = log_law / jnp.where(cold, 1, draw.temperature)

    def cut(log_law: Float[Array, " V"]) -> Float[Array, " V"]:
        law = jax.nn.softmax(log_law)
        rank, before = _ranks(law)
        # Rounding may bring the mass before the last tokens to one: a nucleus of one keeps all.
        kept = (before < draw.top_p) | (draw.top_p >= 1)
        if draw.top_k is not None:
            # The nucleus is that of the top-k law: masses before a token are relative to what is left.
            heads = jnp.sum(jnp.where(rank < draw.top_k, law, 0))
            kept = (before < draw.top_p * heads) | (draw.top_p >= 1)
            kept &= rank < draw.top_k
        law = jnp.where(jnp.where(cold, rank == 0, kept | (rank == 0)), law, 0)
        return jnp.log(law) - jnp.log(jnp.sum(law))

    if log_law.shape[0] <= PAIRWISE or draw.top_k is not None:
        return cut(log_law)
    # Sorting takes longer than all else that is done with a law: not where all is kept.
    return jax.lax.cond(~cold & (draw.top_p >= 1), jax.nn.log_softmax, cut, log_law)


def _check(log_law: Any, draw: Any) -> Float[Array, " V"]:
    """A log law whose fault, if it can be seen now, is reported."""
    check_kind("draw", draw, Draw, "a Draw, such as Draw(top_k=5)")
    log_law = numeric("log_law", log_law)
    check_shape("log_law", log_law, (None,))
    if is_concrete(log_law):
        known = np.asarray(log_law, np.float64)
        if np.isnan(known).any() or not known.max(initial=-np.inf) < np.inf:
            raise ValueError("log_law holds NaN or infinity; it must hold log-probabilities")
        if not known.max(initial=-np.inf) > -np.inf:
            raise ValueError("log_law is -inf everywhere; a token must be possible")
    return jnp.asarray(log_law, jnp.result_type(float) if is_concrete(log_law) else None)


def _ranks(law: Float[Array, " V"]) -> tuple[Int[Array, " V"], Float[Array, " V"]]:
    """How many tokens come before each one in order of probability, and their mass."""
    size = law.shape[0]
    if size <= PAIRWISE:
        index = jnp.arange(size)
        ahead = (law > law[:, None]) | ((law == law[:, None]) & (index < index[:, None]))
        return jnp.sum(ahead, -1), jnp.sum(jnp.where(ahead, law, 0), -1)
    order = jnp.argsort(-law, stable=True)
    mass = jnp.cumsum(law[order])
    before = jnp.concatenate([jnp.zeros(1, law.dtype), mass[:-1]])
    back = jnp.zeros_like(order).at[order].set(jnp.arange(size), unique_indices=True)
    return back, before[back]


def choose(number: Float[Array, ""], weights: Float[Array, " n"]) -> Int[Array, ""]:
    """Index i with probability proportional to `weights[i] >= 0`, if `number` is uniform on [0, 1).

    An index of weight zero is never chosen; the weights must not all be zero.
    """
    if weights.shape[0] <= PAIRWISE:
        mass = _mass(weights)
        return jnp.argmax(mass > number * jnp.max(mass)).astype(jnp.int32)
    # First a block, then an index in it: sums over all indices take longer than all else here.
    size = math.isqrt(weights.shape[0])
    blocks = jnp.pad(weights, (0, -weights.shape[0] % size)).reshape(-1, size)
    sums = jnp.sum(blocks, 1)
    mass = _mass(sums)
    aim = number * jnp.max(mass)
    block = jnp.argmax(mass > aim)
    inside = _mass(blocks[block])
    # By rounding a block may end before its sum: then it is its last possible index.
    beyond = (inside > aim - (mass[block] - sums[block])) | (inside == jnp.max(inside))
    return (block * size + jnp.argmax(beyond)).astype(jnp.int32)


def _mass(weights: Float[Array, " n"]) -> Float[Array, " n"]:
    """Cumulative sums; 0 at weights of zero, where rounding may make a sum larger than the one before."""
    return jnp.where(weights > 0, jnp.cumsum(weights), 0)


def likeliest(log_law: Float[Array, " V"]) -> Int[Array, ""]:
    """The token of largest probability; the lowest id among equals."""
    return jnp.argmax(log_law).astype(jnp.int32)


class Truncated(eqx.Module):
    """A generator whose laws are another's after temperature, top-k and nucleus."""

    generator: Generator
    draw: Draw

    def __check_init__(self) -> None:
        check_generator("generator", self.generator)
        check_kind("draw", self.draw, Draw, "a Draw, such as Draw(top_k=5)")

    @property
    def vocab(self) -> int:
        return self.generator.vocab

    @property
    def context(self) -> int | None:
        return getattr(self.generator, "context", None)

    def begin(self, room: int) -> PyTree:
        return self.generator.begin(room)

    def begin_after(self, room: int, tokens: Int[Array, " P"]) -> PyTree:
        return read_all(self.generator, room, tokens)

    def read(self, memory: PyTree, n: Int[Array, ""], token: Int[Array, ""]) -> PyTree:
        return self.generator.read(memory, n, token)

    def law(self, memory: PyTree, n: Int[Array, ""]) -> Float[Array, " V"]:
        return truncate(self.generator.law(memory, n), self.draw)
