"""What models are trained on: the next bracket, or the bracket itself, and the contrastive term.

The model reads a start token and then the brackets, as tokens or each with its depth as one number
(`pairs`). The contrastive term compares what it says about a string s with what it says about s after
nested pairs that are closed again, which do not matter to what comes after them:

`R = mean_i |T(p s)_i - T(s)_i|^2`, p of depth r = 1..D with types drawn uniformly,

over the positions i of s, where T are the logits.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.worlds import CompleteDyck, Dyck
from minicosm.worlds.arrays import AnyArray


def brackets_of(world: Dyck | CompleteDyck) -> Dyck:
    """The language, whatever the law of its strings."""
    return world.world if isinstance(world, CompleteDyck) else world


def with_start(
    brackets: Dyck, tokens: Int[AnyArray, " T"], pairs: bool
) -> Int[Array, " T_and_one"]:
    """The start token and then the string, as the model reads it."""
    ids = brackets.token_depths(tokens) if pairs else jnp.asarray(tokens)
    start = brackets.pairs if pairs else brackets.vocab
    return jnp.concatenate([jnp.full(1, start, ids.dtype), ids])


class BracketObjective(eqx.Module):
    """Mean cross-entropy over the brackets of a batch, plus `contrast` times the contrastive term.

    Metrics: "cross_entropy", and "contrast" (R itself) if there is one; "tokens".
    """

    world: Dyck | CompleteDyck
    contrast: Float[AnyArray, "*stack"] | None = None
    length: int = eqx.field(static=True, kw_only=True)
    """Of prefixes; complete strings have their own law of lengths."""
    batch: int = eqx.field(static=True, kw_only=True)
    pairs: bool = eqx.field(static=True, kw_only=True)
    copy: bool = eqx.field(static=True, default=False, kw_only=True)
    """Predict each bracket where it is read, in place of the next one."""

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        keys = jax.random.split(key, self.batch)
        each: Any = jax.vmap(lambda k: self._one(model, k))(keys)
        losses, there, terms = each
        total = jnp.sum(there)
        loss = jnp.sum(losses * there) / total
        metrics = {"cross_entropy": loss, "tokens": total.astype(loss.dtype)}
        if self.contrast is not None:
            # Positions of s: all brackets of it that are read.
            term = jnp.sum(terms * there[:, 1:]) / jnp.sum(there[:, 1:])
            metrics["contrast"] = term
            loss = loss + jnp.asarray(self.contrast) * term
        return loss, jax.lax.stop_gradient(metrics)

    def _one(
        self, model: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, " T"], Bool[Array, " T"], Float[Array, " T_less_one"] | None]:
        draw_key, prefix_key = jax.random.split(key)
        brackets = brackets_of(self.world)
        if isinstance(self.world, CompleteDyck):
            tokens = self.world.sample(draw_key).tokens
        else:
            tokens = self.world.sample(draw_key, self.length).tokens
        ids = with_start(brackets, tokens, self.pairs)
        logits = model.next_logits(ids)
        logits = logits[1:] if self.copy else logits[:-1]
        there = tokens < brackets.vocab
        targets = jnp.where(there, tokens, 0)
        losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], axis=-1)[:, 0]
        if self.contrast is None:
            return losses, there, None
        after = self._after(model, brackets, prefix_key, tokens[:-1])
        return losses, there, jnp.sum((after - logits[1:]) ** 2, axis=-1)

    def _after(
        self, model: Any, brackets: Dyck, key: PRNGKeyArray, tokens: Int[Array, " n"]
    ) -> Float[Array, "n V"]:
        """Logits at the brackets of a string after nested pairs.

        The pairs stand right before the string; what is left of the room for D of them comes first
        and cannot be seen.
        """
        depth_key, type_key = jax.random.split(key)
        room = 2 * brackets.depth
        depth = jax.random.randint(depth_key, (), 1, brackets.depth + 1)
        types = jax.random.randint(type_key, (brackets.depth,), 0, brackets.types)
        unused = room - 2 * depth
        place = jnp.arange(room) - unused
        opens = place < depth
        level = jnp.where(opens, place, 2 * depth - 1 - place)
        nested = 2 * types[jnp.clip(level, 0, len(types) - 1)] + ~opens
        if self.pairs:
            nested = nested * brackets.depth + level
        start = brackets.pairs if self.pairs else brackets.vocab
        nested = jnp.where(place < 0, start, nested)
        rest = brackets.token_depths(tokens) if self.pairs else tokens
        whole = jnp.concatenate([jnp.full(1, start), nested, rest])
        # The unused places hold the same id as the start token; the last of them is the start.
        visible = jnp.arange(len(whole)) >= unused
        at = jnp.arange(len(tokens)) + room + 1
        return model.logits(model.embed(whole), at, visible=visible)
