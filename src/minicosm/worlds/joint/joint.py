"""Any law over short sequences, written out: a probability for every sequence."""

import math
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_distribution,
    check_flag,
    check_key,
    check_shape,
    check_tokens,
    check_whole_numbers,
    native,
    numeric,
    parameter,
)
from ..text import numbers_text

MOST_STATES = 2**14
MOST_LENGTH = 32  # a table has an axis per position; NumPy allows 64 axes


def check_states(vocab: int, length: int, hint: str = "") -> int:
    """`vocab ** length`, the number of sequences; raise if there are too many to write out."""
    check_count("vocab", vocab)
    check_count("length", length)
    if length > MOST_LENGTH and vocab == 1:
        raise ValueError(
            f"length is {length}; sequences of one token are written out up to {MOST_LENGTH} positions"
        )
    if length * math.log2(vocab) > math.log2(MOST_STATES) + 1e-9:
        raise ValueError(
            f"{vocab} tokens at {length} positions make {vocab}^{length} sequences; at most "
            f"{MOST_STATES} are written out{hint}"
        )
    return vocab**length


class JointSample(NamedTuple):
    """One sequence."""

    tokens: Int[Array, " N"]


def check_own_length(length: int | None, own: int) -> None:
    """Raise unless the length asked for is the only one that a world has."""
    if length is not None and (check_count("length", length) != own):
        raise ValueError(f"length is {length}; sequences of this world have {own} tokens")


class Joint(eqx.Module):
    """A law on `vocab ** length` sequences, in double precision.

    Sequences are numbered in the order of the dictionary: `x` has the number
    `sum_i x_i vocab^(length - 1 - i)`. Everything else is computed from the table.
    """

    probabilities: Float[np.ndarray, " states"]
    vocab: int = eqx.field(static=True)
    length: int = eqx.field(static=True)

    def __init__(self, probabilities: Any, vocab: int, length: int):
        """`probabilities[number of x] = P[X = x]`."""
        states = check_states(vocab, length)
        p = parameter("probabilities", probabilities, (None,))
        if p.size != states:
            raise ValueError(
                f"probabilities has {p.size} entries; {vocab} tokens at {length} positions need "
                f"{vocab}^{length} = {states}"
            )
        check_distribution("probabilities", p, columns=False)
        self.probabilities = np.asarray(p, np.float64)
        self.vocab, self.length = int(vocab), int(length)

    @classmethod
    def from_weights(
        cls, log_weights: Float[np.ndarray, " states"], vocab: int, length: int
    ) -> Self:
        """The law proportional to `exp(log_weights)`; -inf is probability zero."""
        states = check_states(vocab, length)
        w = np.asarray(numeric("log_weights", log_weights), np.float64)
        highest = w.max(initial=-np.inf)
        if not np.isfinite(highest):  # NaN as well
            raise ValueError("log_weights must hold no NaN and no +inf, and one finite number")
        check_shape("log_weights", w, (states,))
        p = np.exp(w - highest)
        return cls(p / p.sum(), vocab, length)

    @classmethod
    def of_world(cls, world: Any, length: int, *, normalise: bool = False) -> Self:
        """The law of `length` tokens of a world that has `vocab` and `log_prob(tokens)`.

        With `normalise`, the world's weights over sequences of this length need not sum to one, as
        for complete Dyck strings, whose length is random.
        """
        if not (hasattr(world, "vocab") and callable(getattr(world, "log_prob", None))):
            raise ValueError(
                f"the world has type {type(world).__name__}; it must have `vocab` and `log_prob(tokens)`"
            )
        check_flag("normalise", normalise)
        states = check_states(world.vocab, length)
        tokens = all_sequences(world.vocab, length)
        with jax.enable_x64(True):
            found = np.asarray(jax.jit(jax.vmap(world.log_prob))(tokens))
        if normalise:
            return cls.from_weights(found.reshape(states), world.vocab, length)
        return cls(np.exp(found.reshape(states)), world.vocab, length)

    @property
    def states(self) -> Int[np.ndarray, "states N"]:
        """All sequences in order."""
        return all_sequences(self.vocab, self.length)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.vocab,) * self.length

    def number(self, tokens: Int[AnyArray, "*batch N"]) -> Int[np.ndarray, "*batch"]:
        """The numbers of sequences."""
        tokens = np.asarray(check_whole_numbers("tokens", tokens, 0, self.vocab - 1))
        if tokens.shape[-1:] != (self.length,):
            raise ValueError(
                f"tokens have shape {tokens.shape}; sequences have {self.length} tokens"
            )
        return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(tokens, -1, 0)), self.shape))

    # -- exact questions ----------------------------------------------------------------------

    def log_prob(self, tokens: Int[AnyArray, " N"]) -> float:
        """`log P[X = tokens]`; -inf if they are impossible."""
        p = float(self.probabilities[self.number(check_tokens(tokens, None, self.vocab)[0])])
        return math.log(p) if p > 0 else -math.inf

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> JointSample:
        """One sequence, by inverting the cumulative law; it has the law's own length."""
        check_key(key)
        check_own_length(length, self.length)
        p = jnp.asarray(self.probabilities)
        steps = jnp.cumsum(p) / jnp.sum(p)
        u = jax.random.uniform(key, (), steps.dtype)
        last = jnp.max(jnp.where(p > 0, jnp.arange(p.size), 0))  # rounding must not go beyond it
        state = jnp.minimum(jnp.searchsorted(steps, u, side="right"), last)
        return JointSample(jnp.asarray(self.states)[state])

    def conditional(
        self, tokens: Int[AnyArray, " N"], mask: Bool[np.ndarray, " N"]
    ) -> Float[np.ndarray, " blocks"]:
        """`P[X_K = . | X_-K = tokens_-K]` over the sequences of the masked positions, in order;
        zero if the context is impossible."""
        mask = check_mask(mask, self.length)
        self.number(check_tokens(tokens, None, self.vocab)[0])
        where = tuple(slice(None) if m else int(t) for m, t in zip(mask, tokens, strict=True))
        block = self.probabilities.reshape(self.shape)[where].reshape(-1)
        total = block.sum()
        return block / total if total > 0 else np.zeros_like(block)

    def conditionals(
        self, tokens: Int[AnyArray, " N"], observed: Bool[AnyArray, " N"] | None = None
    ) -> Float[np.ndarray, "N vocab"]:
        """For every position the law of its token given the observed others; zero if impossible."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        self.number(np.where(True if observed is None else np.asarray(observed), tokens, 0))
        seen = np.ones(self.length, bool) if observed is None else np.asarray(observed)
        laws = np.zeros((self.length, self.vocab))
        for i in range(self.length):
            block = self.conditional(np.where(seen, tokens, 0), ~seen | (np.arange(len(seen)) == i))
            hidden = int((~seen).sum() + seen[i])
            axis = int((~seen[:i]).sum())
            grid = block.reshape((self.vocab,) * hidden)
            laws[i] = grid.sum(axis=tuple(a for a in range(hidden) if a != axis))
        return laws

    def text(self, tokens: Any) -> str:
        """The tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    def marginals(self) -> Float[np.ndarray, "N vocab"]:
        """`P[X_i = v]`."""
        return row_marginals(self.probabilities[None], self.vocab, self.length)[0]

    def entropy(self) -> float:
        """`-sum_x p(x) log p(x)`."""
        return float(-xlogx(self.probabilities).sum())

    def total_correlation(self) -> float:
        """`KL(p || product of its marginals)`; zero iff positions are independent."""
        return float(total_correlation(self.probabilities[None], self.vocab, self.length)[0])


def all_sequences(vocab: int, length: int) -> Int[np.ndarray, "states N"]:
    """All sequences in the order of the dictionary."""
    states = check_states(vocab, length)
    return np.stack(np.unravel_index(np.arange(states), (vocab,) * length), axis=1)


def check_mask(mask: Any, length: int) -> Bool[np.ndarray, " N"]:
    """A truth value for every position."""
    mask = np.asarray(native("mask", mask))
    if mask.shape != (length,) or mask.dtype != bool:
        raise ValueError(
            f"the mask has shape {mask.shape} and dtype {mask.dtype}; it must be boolean of shape "
            f"({length},)"
        )
    return mask


def context_sums(
    values: Float[np.ndarray, "states *rest"], mask: Bool[np.ndarray, " N"], vocab: int
) -> Float[np.ndarray, "states *rest"]:
    """`sum over y with y_-K = x_-K of values[y]`, for every x: what the context of x holds."""
    length = len(mask)
    grid = values.reshape((vocab,) * length + values.shape[1:])
    axes = tuple(int(i) for i in np.flatnonzero(mask))
    sums = grid.sum(axis=axes, keepdims=True)
    return np.broadcast_to(sums, grid.shape).reshape(values.shape)


def xlogx(p: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """`p log p`, zero at zero."""
    return p * np.log(np.where(p > 0, p, 1))


def row_marginals(
    rows: Float[np.ndarray, "rows states"], vocab: int, length: int
) -> Float[np.ndarray, "rows N vocab"]:
    """`[r, i, v] = P[X_i = v]` where X has the law `rows[r]`."""
    grid = rows.reshape(len(rows), *(vocab,) * length)
    axes = range(1, length + 1)
    return np.stack(
        [grid.sum(axis=tuple(a for a in axes if a != i)) for i in axes],
        axis=1,
    )


def product_rows(
    laws: Float[np.ndarray, "rows N vocab"],
) -> Float[np.ndarray, "rows states"]:
    """Laws under which positions are independent: `[r, x] = prod_i laws[r, i, x_i]`."""
    rows = np.ones((len(laws), 1))
    for i in range(laws.shape[1]):
        rows = (rows[:, :, None] * laws[:, None, i]).reshape(len(laws), -1)
    return rows


def total_correlation(
    rows: Float[np.ndarray, "rows states"], vocab: int, length: int
) -> Float[np.ndarray, " rows"]:
    """`KL(row || product of its marginals)` = sum of the marginals' entropies - the row's."""
    marginals = row_marginals(rows, vocab, length)
    return np.maximum(xlogx(rows).sum(axis=1) - xlogx(marginals).sum(axis=(1, 2)), 0.0)
