"""Wrong reads of a model on strings of the flip-flop language."""

from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key, PRNGKeyArray

from ..arrays import check_count, check_size, short

if TYPE_CHECKING:
    from .language import FlipFlop

BLOCK = 100
"""Strings that are judged at once."""


class Glitches(NamedTuple):
    """Wrong reads, of how many; 0 of n is no error of zero, which is why there is an interval."""

    wrong: int
    reads: int

    @property
    def rate(self) -> float:
        return self.wrong / self.reads

    @property
    def interval(self) -> tuple[float, float]:
        """Of the error, exact (Clopper and Pearson) at 95%, as if reads were independent."""
        from scipy.stats import binomtest

        found = binomtest(self.wrong, self.reads).proportion_ci(0.95, "exact")
        return float(found.low), float(found.high)


def count_glitches(world: "FlipFlop", model: Any, key: PRNGKeyArray, count: int) -> Glitches:
    """See `FlipFlop.glitches`."""
    if isinstance(model, type) or not callable(getattr(model, "next_logits", None)):
        raise TypeError(f"model is {short(model)}; it must have `next_logits(tokens)`")
    vocab = getattr(model, "vocab", world.vocab)
    if vocab != world.vocab:
        raise ValueError(f"model has {vocab} tokens; this world has {world.vocab}")
    check_size(f"count = {count} strings", check_count("count", count) * world.length)
    wrong, reads = _judged(world, model, jax.random.split(key, count))
    return Glitches(int(wrong.sum()), int(reads.sum()))


@eqx.filter_jit
def _judged(
    world: "FlipFlop", model: Any, keys: Key[Array, " n"]
) -> tuple[Bool[Array, "n pairs"], Bool[Array, "n pairs"]]:
    """Which reads of every string are wrong, and which pairs are reads."""

    def one(key: PRNGKeyArray) -> tuple[Array, Array]:
        tokens, memory, reads = world.sample(key)
        said = jnp.argmax(model.next_logits(tokens)[::2], axis=-1)
        return reads & (said != memory), reads

    return jax.lax.map(one, keys, batch_size=BLOCK)
