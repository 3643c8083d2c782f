"""Masked prediction in sentences of different lengths, as a task that students and teachers share."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models.checks import check_key, shown
from minicosm.worlds import LayeredPCFG
from minicosm.worlds.arrays import check_count, check_kind, check_number, check_size

from .objectives import check_answers


class MaskedBatch(NamedTuple):
    """Sentences with hidden tokens; positions after the end are not visible."""

    shown: Int[Array, "*n T"]
    observed: Bool[Array, "*n T"]
    """False where the mask is shown."""
    visible: Bool[Array, "*n T"]
    at: Int[Array, "*n m"]
    """Positions to predict."""
    labels: Int[Array, "*n m"]
    weights: Float[Array, "*n m"]
    """1 where there is such a position, 0 where a sentence has fewer."""


class MaskedSentences(eqx.Module):
    """Masked prediction with BERT's corruption: `max(1, round(rate * length))` positions of a sentence
    are chosen; 80% show the mask, 10% a uniform token, 10% their own. The model has `embed` and `logits`.
    The world has `vocab`, `longest` and `sample(key)`, whose draws have `tokens` and `length`: a grammar, or
    windows of a text.
    """

    world: Any
    batch: int = eqx.field(static=True, default=32, kw_only=True)
    rate: float = eqx.field(static=True, default=0.3, kw_only=True)

    def __check_init__(self) -> None:
        if isinstance(self.world, type) or not hasattr(self.world, "longest"):
            raise TypeError(
                f"world is {shown(self.world)}; it must be a world of sentences, with sample, vocab and "
                "longest"
            )
        size = check_count("batch", self.batch) * self.world.longest
        check_size(f"batch = {self.batch} sentences", size)
        if check_number("rate", self.rate, 0, 1) == 0:
            raise ValueError(f"rate is {self.rate}; it must lie in (0, 1]")

    def draw(self, key: PRNGKeyArray) -> MaskedBatch:
        check_key("key", key)
        return jax.vmap(self._one)(jax.random.split(key, self.batch))

    def _one(self, key: PRNGKeyArray) -> MaskedBatch:
        token_key, place_key, show_key, random_key = jax.random.split(key, 4)
        sample = self.world.sample(token_key)
        room = self.world.longest
        most = max(1, round(self.rate * room))
        visible = jnp.arange(room) < sample.length
        tokens = jnp.where(visible, sample.tokens, 0)
        # The first places of a random order of the sentence's positions; padding comes last.
        order = jax.random.uniform(place_key, (room,)) + ~visible
        at = jnp.argsort(order)[:most]
        count = jnp.maximum(1, jnp.round(self.rate * sample.length)).astype(jnp.int32)
        chosen = jnp.arange(most) < count
        draw = jax.random.uniform(show_key, (most,))
        random = jax.random.randint(random_key, (most,), 0, self.world.vocab)
        kept = (draw >= 0.9) | ~chosen
        shown_tokens = tokens.at[at].set(jnp.where(kept, tokens[at], random))
        observed = jnp.ones(room, bool).at[at].set(~(chosen & (draw < 0.8)))
        return MaskedBatch(
            shown_tokens, observed, visible, at, tokens[at], chosen.astype(jnp.float32)
        )

    def logits(self, model: Any, batch: MaskedBatch) -> Float[Array, "n V"]:
        check_answers(model, "embed")
        check_answers(model, "logits")

        def one(b: MaskedBatch) -> Float[Array, "m V"]:
            return model.logits(model.embed(b.shown, b.observed), b.at, visible=b.visible)

        found = jax.vmap(one)(self._checked(batch))
        return found.reshape(-1, found.shape[-1])

    def labels(self, batch: MaskedBatch) -> Int[Array, " n"]:
        return self._checked(batch).labels.reshape(-1)

    def weights(self, batch: MaskedBatch) -> Float[Array, " n"]:
        return self._checked(batch).weights.reshape(-1)

    def bayes(self, batch: MaskedBatch) -> Float[Array, "n V"]:
        """The exact law of every answer given what a model sees: chosen positions show their own token with
        probability .1, so that a token that is seen may have been changed."""
        check_kind("world", self.world, LayeredPCFG, "a LayeredPCFG")
        rate, vocab = self.rate, self.world.vocab

        def one(b: MaskedBatch) -> Float[Array, "m V"]:
            own = jax.nn.one_hot(b.shown, vocab)
            seen = (1 - rate + 0.1 * rate) * own + 0.1 * rate / vocab
            rows = jnp.where(b.observed[:, None], seen, 1.0)
            rows = jnp.where(b.visible[:, None], rows, 0.0)
            laws = self.world._laws(rows, jnp.sum(b.visible))[b.at]
            # Of a position that is known to be chosen, what it shows says less.
            mine = jnp.where(b.observed[b.at][:, None], 0.1 * own[b.at] + 0.1 / vocab, 1.0)
            joint = laws * mine
            return joint / jnp.maximum(jnp.sum(joint, axis=1, keepdims=True), 1e-30)

        found = jax.vmap(one)(self._checked(batch))
        return found.reshape(-1, vocab)

    def _checked(self, batch: Any) -> MaskedBatch:
        if not isinstance(batch, MaskedBatch):
            raise TypeError(f"batch is {shown(batch)}; it must be what draw returns")
        return batch
