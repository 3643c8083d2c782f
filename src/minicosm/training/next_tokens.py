"""Next-token prediction at the ends of a grammar's nodes, as a task that students and teachers share."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.models.checks import check_key, shown
from minicosm.worlds import LayeredPCFG
from minicosm.worlds.arrays import (
    AnyArray,
    check_count,
    check_kind,
    check_size,
    check_whole_numbers,
)

from .objectives import check_answers


class NextBatch(NamedTuple):
    """Sentences after a start token, and the positions whose next token is to be predicted."""

    inputs: Int[Array, "*n T"]
    """The start token (the id V), then all tokens but the last; padding is the start token too."""
    tokens: Int[Array, "*n T"]
    """The sentences, padded with the id V."""
    at: Int[Array, "*n m"]
    labels: Int[Array, "*n m"]
    weights: Float[Array, "*n m"]
    """Of one sentence they sum to 1; 0 where it has fewer such tokens."""


class NextTokens(eqx.Module):
    r"""The tokens that end a node of some height, each predicted from all tokens before it:

        l^(h)(x) = 1 / |C^(h)(x)| sum over i in C^(h)(x) of KL(target || p(x_{1:i-1})),

    with `C^(h)(x)` the last tokens of the nodes of height h; of height 1 all tokens are. The model is causal,
    has an extra input for the start, `embed` and `logits`. Heights are arrays, so that tasks of different
    heights are members of one ensemble.
    """

    world: LayeredPCFG
    height: Int[AnyArray, "*stack"] | int = 1
    batch: int = eqx.field(static=True, default=32, kw_only=True)
    lowest: int = eqx.field(static=True, default=1, kw_only=True)
    """The least height among such members: it says how many positions there can be."""

    def __check_init__(self) -> None:
        check_kind("world", self.world, LayeredPCFG, "a LayeredPCFG")
        size = check_count("batch", self.batch) * self.world.longest
        check_size(f"batch = {self.batch} sentences", size)
        most = self.world.height
        if check_count("lowest", self.lowest) > most:
            raise ValueError(f"lowest is {self.lowest}; this grammar has the heights 1..{most}")
        check_whole_numbers("height", self.height, self.lowest, most)

    def draw(self, key: PRNGKeyArray) -> NextBatch:
        check_key("key", key)
        return jax.vmap(self._one)(jax.random.split(key, self.batch))

    def _one(self, key: PRNGKeyArray) -> NextBatch:
        sample = self.world.sample(key)
        room = self.world.longest
        inside = jnp.arange(room) < sample.length
        ends = jnp.concatenate([inside[None], sample.boundaries])[jnp.asarray(self.height) - 1]
        most = self.world.grammar.counts[self.lowest - 1]
        at = jnp.argsort(~ends, stable=True)[:most]  # the ends in order, then all others
        chosen = jnp.arange(most) < jnp.sum(ends)
        first = jnp.full(1, self.world.vocab, sample.tokens.dtype)
        inputs = jnp.concatenate([first, sample.tokens[:-1]])
        labels = jnp.where(chosen, sample.tokens[at], 0)
        return NextBatch(inputs, sample.tokens, at, labels, chosen / jnp.sum(ends))

    def logits(self, model: Any, batch: NextBatch) -> Float[Array, "n V"]:
        check_answers(model, "embed")
        check_answers(model, "logits")
        batch = self._checked(batch)
        one = jax.vmap(lambda row, at: model.logits(model.embed(row), at))
        found = one(batch.inputs, batch.at)
        return found.reshape(-1, found.shape[-1])

    def labels(self, batch: NextBatch) -> Int[Array, " n"]:
        return self._checked(batch).labels.reshape(-1)

    def weights(self, batch: NextBatch) -> Float[Array, " n"]:
        return self._checked(batch).weights.reshape(-1)

    def bayes(self, batch: NextBatch) -> Float[Array, "n V"]:
        """The exact law of every answer, given the tokens before it and that a node of this height ends
        with it."""
        batch, world = self._checked(batch), self.world
        height = int(check_whole_numbers("height", self.height, 1, world.height, ()))
        one = jax.vmap(lambda row, at: world.boundary_laws(row, height)[at])
        return one(batch.tokens, batch.at).reshape(-1, self.world.vocab)

    def _checked(self, batch: Any) -> NextBatch:
        if not isinstance(batch, NextBatch):
            raise TypeError(f"batch is {shown(batch)}; it must be what draw returns")
        return batch
