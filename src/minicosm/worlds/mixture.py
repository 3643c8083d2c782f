"""A mixture of worlds: one of them is drawn, and a sequence from it."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .arrays import (
    AnyArray,
    check_distribution,
    check_flag,
    check_key,
    check_tokens,
    parameter,
    short,
)


class MixtureSample(NamedTuple):
    """The sequence and which world it is from."""

    tokens: Int[Array, " T"]
    component: Int[Array, ""]


class Mixture(eqx.Module):
    """`P = sum_k weights[k] P_k` for worlds `P_k` of one vocabulary, each with `sample` and `log_prob`.

    Strings with labels (`labelled`) need worlds that have them.
    """

    worlds: tuple[Any, ...]
    weights: Float[AnyArray, "*stack K"]

    def __init__(self, worlds: Any, weights: Any):
        if not isinstance(worlds, list | tuple) or not worlds:
            raise TypeError(f"worlds is {short(worlds)}; it must be a list of at least one world")
        for i, world in enumerate(worlds):
            answers = all(callable(getattr(world, name, None)) for name in ("sample", "log_prob"))
            if isinstance(world, type) or not answers or not hasattr(world, "vocab"):
                raise TypeError(
                    f"worlds[{i}] is {short(world)}; it must have `vocab`, `sample` and `log_prob`"
                )
            if world.vocab != worlds[0].vocab:
                raise ValueError(
                    f"worlds[{i}] has {world.vocab} tokens and worlds[0] has {worlds[0].vocab}; they "
                    "must have one vocabulary"
                )
        self.worlds = tuple(worlds)
        self.weights = parameter("weights", weights, (len(worlds),))
        check_distribution("weights", self.weights, columns=False)

    @property
    def vocab(self) -> int:
        return self.worlds[0].vocab

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> MixtureSample:
        """Draw a world, and `length` tokens from it; None, if the worlds have a length of their own."""
        first, second = jax.random.split(check_key(key))
        which = self._draw(first)
        tokens = self._switch(which, lambda world: world.sample(second, length).tokens)
        return MixtureSample(tokens, which)

    def labelled(self, key: PRNGKeyArray, length: int | None = None) -> Any:
        """Draw a world, and a string with labels from it."""
        for i, world in enumerate(self.worlds):
            if not callable(getattr(world, "labelled", None)):
                raise TypeError(f"worlds[{i}] is {short(world)}; it has no `labelled(key, length)`")
        first, second = jax.random.split(check_key(key))
        return self._switch(self._draw(first), lambda world: world.labelled(second, length))

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log sum_k weights[k] P_k(tokens)`; -inf if no world has them."""
        return jax.nn.logsumexp(self._joint(tokens))

    def posterior(self, tokens: Int[AnyArray, " T"]) -> Float[Array, " K"]:
        """`P[k | tokens]`; zero if no world has them."""
        joint = self._joint(tokens)
        total = jax.nn.logsumexp(joint)
        return jnp.where(total == -jnp.inf, 0, jnp.exp(joint - total))

    def next_logits(
        self, tokens: Int[AnyArray, " T"], *, start: bool = False
    ) -> Float[Array, "rows vocab"]:
        """`log sum_k P[k | x_{1:i}] P_k[x_{i+1} | x_{1:i}]` for i = 1..T, and for i = 0 first with `start`;
        -inf after what no world has. Worlds have `next_logits` with `start`."""
        for i, world in enumerate(self.worlds):
            if not callable(getattr(world, "next_logits", None)):
                raise TypeError(f"worlds[{i}] is {short(world)}; it has no `next_logits`")
        tokens, _ = check_tokens(tokens, None, self.vocab)
        laws = jnp.stack([world.next_logits(tokens, start=True) for world in self.worlds])
        chosen = jnp.asarray(tokens)[None, :, None]
        inside = (chosen >= 0) & (chosen < self.vocab)
        said = jnp.take_along_axis(laws[:, :-1], jnp.where(inside, chosen, 0), axis=-1)
        steps = jnp.where(inside, said, -jnp.inf)[:, :, 0]
        prior = jnp.log(jnp.asarray(self.weights))[:, None]
        joint = jnp.cumsum(jnp.concatenate([prior.astype(laws.dtype), steps], axis=1), axis=1)
        total = jax.nn.logsumexp(joint, axis=0)
        posterior = jnp.where(total == -jnp.inf, -jnp.inf, joint - total)
        rows = jax.nn.logsumexp(posterior[:, :, None] + laws, axis=0)
        return rows if check_flag("start", start) else rows[1:]

    def _joint(self, tokens: Any) -> Float[Array, " K"]:
        logs = jnp.stack([world.log_prob(tokens) for world in self.worlds])
        return logs + jnp.log(jnp.asarray(self.weights))

    def _draw(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.categorical(key, jnp.log(jnp.asarray(self.weights)))

    def _switch(self, which: Int[Array, ""], one: Any) -> Any:
        return jax.lax.switch(which, [lambda world=world: one(world) for world in self.worlds])
