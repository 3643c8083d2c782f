"""The channel of masked language modelling: which positions are predicted, and what they show."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from .arrays import AnyArray, check_key, check_length, check_number, check_tokens


class Corrupted(NamedTuple):
    """A sequence as a masked model sees it."""

    tokens: Int[Array, " T"]
    """What is shown; where the mask is, the token that it hides."""
    observed: Bool[Array, " T"]
    """False where the mask is shown."""
    chosen: Bool[Array, " T"]
    """Which positions are predicted; the model is not told."""


@dataclass(frozen=True)
class Corruption:
    r"""Each position is chosen with probability `p_m = chosen`. A chosen one keeps its token with
    probability `p_c = kept`, shows a uniform token (perhaps its own) with `p_r = random`, else the
    mask. If no position is chosen, all is drawn again.

    BERT's is `Corruption(0.15, 0.1, 0.1)`.
    """

    chosen: float = 0.15
    kept: float = 0.1
    random: float = 0.1

    def __post_init__(self) -> None:
        for name in ("chosen", "kept", "random"):
            value = check_number(name, getattr(self, name), 0, 1)
            if value == 1 or (name == "chosen" and value == 0):
                least = "above 0" if name == "chosen" else "at least 0"
                raise ValueError(f"{name} is {value:g}; it must be {least} and below 1")
            object.__setattr__(self, name, float(value))
        if self.kept + self.random >= 1:
            raise ValueError(
                f"kept + random is {self.kept + self.random:g}; it must be below 1, so that some chosen "
                "positions show the mask"
            )

    @property
    def a(self) -> float:
        """`1 - (1 - p_c) p_m`: a position shows its own token, not counting random draws."""
        return 1 - (1 - self.kept) * self.chosen

    @property
    def b(self) -> float:
        """`p_m p_r`: a position shows a uniform token."""
        return self.chosen * self.random

    @property
    def k(self) -> float:
        """`p_m (1 - p_c - p_r)`: a position shows the mask; `a + b + k = 1`."""
        return self.chosen * (1 - self.kept - self.random)

    def corrupt(
        self,
        key: PRNGKeyArray,
        tokens: Int[AnyArray, " T"],
        vocab: int,
        real: Bool[AnyArray, " T"] | None = None,
    ) -> Corrupted:
        """Draw what is shown of a sequence over the tokens `0..vocab-1`. Where `real` is False (padding)
        nothing is chosen."""
        check_length(vocab, 2**31 - 1, "vocab")
        tokens, real = _checked(tokens, real, vocab)
        start, show_key, random_key = jax.random.split(check_key(key), 3)
        there = jnp.ones(tokens.shape, bool) if real is None else jnp.asarray(real)

        def draw(state: Any) -> Any:
            again, used = jax.random.split(state[0])
            return again, (jax.random.uniform(used, tokens.shape) < self.chosen) & there

        # A document without any real token has none to choose.
        _, chosen = jax.lax.while_loop(
            lambda state: ~state[1].any() & there.any(),
            draw,
            (start, jnp.zeros(tokens.shape, bool)),
        )
        how = jax.random.uniform(show_key, tokens.shape)
        uniform = jax.random.randint(random_key, tokens.shape, 0, vocab)
        random = chosen & (how >= self.kept) & (how < self.kept + self.random)
        masked = chosen & (how >= self.kept + self.random)
        return Corrupted(jnp.where(random, uniform, jnp.asarray(tokens)), ~masked, chosen)


def _checked(tokens: Any, real: Any, vocab: int) -> Any:
    """One sequence and which of its positions are real; `check_tokens` calls the mask observed."""
    try:
        return check_tokens(tokens, real, vocab)
    except ValueError as error:
        raise ValueError(str(error).replace("observed ", "real ")) from None
