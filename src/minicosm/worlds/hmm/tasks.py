"""Downstream tasks: labels that are exact functions of a posterior."""

from typing import Any, Literal, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_choice,
    check_count,
    check_flag,
    check_key,
    check_length,
    check_number,
    check_reals,
    check_size,
    check_tokens,
    short,
)

Latent = Literal["start", "first", "cell"]


class PosteriorTask(eqx.Module):
    """Labels a sequence by a linear classifier on the exact posterior of one hidden variable.

    `latent` names the variable:

    - "start": `P[H_0 | x_1..x_T]`, the task of the paper's theory;
    - "first": `P[H_1 | x_2..x_T]`, the task of its experiments (the first token is masked);
    - "cell": `P[M_cell | x]`, for worlds with memory (`mask_first`: given `x_2..x_T`).

    With `mu` of shape (S,) the label is `1(mu . P >= 0)`; with shape (K, S) it is the argmax of the
    K scores.
    """

    mu: Float[AnyArray, "*rows S"]
    latent: Latent = eqx.field(static=True, default="start")
    cell: int = eqx.field(static=True, default=0)
    mask_first: bool = eqx.field(static=True, default=False)

    def __init__(
        self, mu: Any, latent: Latent = "start", *, cell: int = 0, mask_first: bool | None = None
    ):
        mu = check_reals("mu", mu)
        mu = mu if isinstance(mu, jax.Array) else np.asarray(mu, np.float64)
        if mu.ndim not in (1, 2) or mu.size == 0:
            raise ValueError(f"mu has shape {mu.shape}; it must have shape (S,) or (classes, S)")
        if mu.ndim == 2 and mu.shape[0] < 2:
            raise ValueError("mu has one row; give a vector for a sign, or a row per class")
        check_choice("latent", latent, ("start", "first", "cell"))
        self.mu, self.latent, self.cell = mu, latent, check_count("cell", cell, least=0)
        self.mask_first = (
            latent == "first" if mask_first is None else check_flag("mask_first", mask_first)
        )

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        size: int,
        latent: Latent = "first",
        *,
        nonzeros: int = 6,
        rows: int = 2,
        mask_first: bool | None = None,
    ) -> Self:
        """The sparse random tasks of the experiments: `nonzeros` places drawn with replacement over
        all rows together, standard normal values; a place drawn twice keeps the later value."""
        check_count("size", size)
        check_count("rows", rows, least=2)
        check_size(f"mu of size = {size} and rows = {rows}", size * rows)
        check_size(f"nonzeros = {nonzeros}", check_count("nonzeros", nonzeros))
        where, what = jax.random.split(check_key(key))
        places = jax.random.randint(where, (nonzeros,), 0, rows * size)
        values = jax.random.normal(what, (nonzeros,), jnp.float32)
        dtype = jnp.result_type(float)
        mu = jnp.zeros(rows * size, dtype).at[places].set(values.astype(dtype))
        return cls(mu.reshape(rows, size), latent, mask_first=mask_first)

    def observed(self, length: int) -> Bool[np.ndarray, " T"]:
        """Which positions the task looks at."""
        seen = np.ones(check_length(length), bool)
        seen[0] = not self.mask_first
        return seen

    def law(self, world: Any, tokens: Int[AnyArray, " T"]) -> Float[Array, " S"]:
        """The exact posterior of the latent; zero for an impossible sequence."""
        if isinstance(world, type) or not hasattr(world, "posterior"):
            raise TypeError(
                f"world is {short(world)}; it must be a hidden Markov or a memory world"
            )
        tokens, _ = check_tokens(tokens, None, world.vocab)
        posterior = world.posterior(tokens, self.observed(tokens.shape[0]))
        if self.latent == "cell":
            return posterior.cells[self.cell]
        return posterior.hidden[1 if self.latent == "first" else 0]

    def scores(self, world: Any, tokens: Int[AnyArray, " T"]) -> Float[Array, "*rows"]:
        """`mu . P`: one number, or one per class."""
        return jnp.asarray(self.mu) @ self.law(world, tokens)

    def margin(self, world: Any, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """The number whose sign decides: the score, or how far the best class leads the next.

        For two rows it is signed: second row minus first.
        """
        return margin(self.scores(world, tokens))

    def label(self, world: Any, tokens: Int[AnyArray, " T"]) -> Int[Array, ""]:
        """The exact label. It is undefined on impossible sequences, where this gives that of 0."""
        return decide(self.scores(world, tokens))


def margin(scores: Float[Array, "*rows"]) -> Float[Array, ""]:
    """The score itself; `s_1 - s_0` for two classes; best minus second best for more."""
    scores = _scores(scores)
    if scores.ndim == 0:
        return scores
    if scores.shape[0] == 2:
        return scores[1] - scores[0]
    top = jax.lax.top_k(scores, 2)[0]
    return top[0] - top[1]


def decide(scores: Float[Array, "*rows"], tolerance: float = 0.0) -> Int[Array, ""]:
    """`1(score >= -tolerance)` for one number, the argmax (first of equals) for several."""
    scores = _scores(scores)
    check_number("tolerance", tolerance, least=0)
    if scores.ndim == 0:
        return (scores >= -tolerance).astype(jnp.int32)
    return jnp.argmax(scores).astype(jnp.int32)


def _scores(scores: Float[AnyArray, "*rows"]) -> Float[Array, "*rows"]:
    """One score, or one for each of at least two classes."""
    checked = jnp.asarray(check_reals("scores", scores))
    if checked.ndim > 1 or (checked.ndim == 1 and checked.shape[0] < 2):
        raise ValueError(
            f"scores have shape {checked.shape}; they must have shape () or (classes,)"
        )
    return checked
