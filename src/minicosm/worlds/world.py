r"""The contract of a world, and the exact questions that some worlds answer.

A world is a law P of token sequences `X = (X_1, ..., X_T)` over the vocabulary `0..V-1`. Methods take
one sequence; callers write `jax.vmap`. A world never answers approximately: where it cannot answer a
question exactly, it does not have the method.

- `World`: `vocab`, `sample`, `log_prob`;
- `MaskedWorld`: also `conditionals`, which makes it an exact masked language model;
- `CausalWorld`: also `next_logits`, which makes it an exact causal language model;
- `LatentWorld`: also `posterior`, the law of its hidden variables.

`isinstance(world, CausalWorld)` is true for every object that has the methods; nothing is inherited.
"""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float, Int, PRNGKeyArray

from .arrays import AnyArray


@runtime_checkable
class Drawn(Protocol):
    """One draw from a world. Worlds with hidden variables return those, too, in fields of their own."""

    @property
    def tokens(self) -> Int[Array, " T"]:
        """The sequence; where lengths differ, padded after its end with the id V."""
        ...


@runtime_checkable
class World(Protocol):
    """What every world can do."""

    @property
    def vocab(self) -> int:
        """V, the number of tokens."""
        ...

    def sample(self, key: PRNGKeyArray, length: int) -> Any:
        """`X_{1:T} ~ P` with T = `length`: a `Drawn`, whose `.tokens` have shape (T,).

        Worlds that have a length, or a law of lengths, of their own take it from there if none is
        given, and raise `ValueError` for one that they do not have.
        """
        ...

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""] | float:
        """`log P[X_{1:T} = tokens]` in nats; -inf if they are impossible."""
        ...


@runtime_checkable
class MaskedWorld(World, Protocol):
    """A world that knows every token given any of the others."""

    def conditionals(self, tokens: Int[AnyArray, " T"], observed: Any = None) -> Float[Any, "T V"]:
        """`[i, x] = P[X_i = x | X_j = tokens[j] for all observed j != i]`; the zero vector where the
        context is impossible.

        `observed`, boolean of shape (T,), is True where a token is seen (None: everywhere). The
        others are summed over, whatever `tokens` holds there.
        """
        ...


@runtime_checkable
class CausalWorld(World, Protocol):
    """A world that knows the next token."""

    def next_logits(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T V"]:
        """`[i, x] = log P[X_{i+1} = x | X_{1:i} = tokens_{1:i}]` for i = 1..T; -inf after a prefix
        that is impossible."""
        ...


@runtime_checkable
class LatentWorld(World, Protocol):
    """A world that knows its hidden variables given the tokens."""

    def posterior(self, tokens: Int[AnyArray, " T"], observed: Any = None) -> Any:
        """Laws of the hidden variables given the observed tokens, a named tuple of arrays whose last
        axis is normalised; zero if the tokens are impossible."""
        ...
