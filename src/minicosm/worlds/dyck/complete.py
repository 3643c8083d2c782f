"""Complete strings of bounded Dyck languages, of random length."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    Scalar,
    check_choice,
    check_count,
    check_distribution,
    check_flag,
    check_key,
    check_kind,
    check_length,
    check_size,
    parameter,
    short,
)
from ..memories import check_place, check_step
from . import strings
from .dyck import Dyck, DyckSample


class CompleteMemory(NamedTuple):
    """About every prefix; row n is after n tokens."""

    stacks: strings.Stacks
    weights: Float[Array, "rows L"]  # log P[length] P[moves 1..n | length]; -inf if it is shorter


class CompleteDyck(eqx.Module):
    """Balanced strings: the length n is drawn from a law, then n brackets that end at depth 0.

    `closing` says how they come to end there; the two laws are different:

    - "conditioned": the law of `world` given depth 0 after n tokens;
    - "forced": brackets follow `world` until the depth equals the number of tokens left, then all
      close with probability one.

    The predictor does not know n. There is no end token: the next token's law is given that there
    is one, and `end_probabilities` has the law of the end. Methods take one string, padded with the
    id `world.vocab` or not.
    """

    world: Dyck
    length_probabilities: Float[AnyArray, "*stack L"]
    lengths: tuple[int, ...] = eqx.field(static=True)
    closing: Literal["conditioned", "forced"] = eqx.field(static=True)

    def __init__(
        self,
        world: Dyck,
        lengths: int | Sequence[int] = range(2, 27, 2),
        length_probabilities: Any = None,
        *,
        closing: Literal["conditioned", "forced"] = "conditioned",
    ):
        """One or several even lengths; equally likely by default."""
        check_kind("world", world, Dyck, "a Dyck world")
        sizes = [lengths] if isinstance(lengths, int | np.integer) else lengths
        if not isinstance(sizes, list | tuple | range | np.ndarray) or (
            isinstance(sizes, np.ndarray) and sizes.ndim != 1
        ):
            raise ValueError(f"lengths are {short(lengths)}; give one or a list of whole numbers")
        if not len(sizes):
            raise ValueError("lengths are empty; give at least one")
        sizes = list(sizes)
        for n in sizes:
            if check_length(n, 2**16, "a length among lengths") % 2:
                raise ValueError(f"no complete string has length {n}; it must be even")
            if sizes.count(n) > 1:
                raise ValueError(f"lengths hold {n} more than once")
        check_choice("closing", closing, ("conditioned", "forced"))
        if closing == "conditioned":
            world._check_end(sizes, complete=True)
        if length_probabilities is None:
            length_probabilities = np.full(len(sizes), 1 / len(sizes))
        self.world = world
        self.lengths = tuple(int(n) for n in sizes)
        self.closing = closing
        self.length_probabilities = parameter(
            "length_probabilities", length_probabilities, (len(sizes),)
        )
        check_distribution("length_probabilities", self.length_probabilities, columns=False)

    @property
    def vocab(self) -> int:
        return self.world.vocab

    @property
    def longest(self) -> int:
        return max(self.lengths)

    def _moves(self) -> strings.Moves:
        moves = self.world._moves()
        if self.closing == "forced":
            return strings.forced_moves(moves, self.longest)
        return strings.conditioned_moves(moves, self.longest, complete=True)

    def _table(self) -> Float[Array, "states columns"]:
        """Which tokens the language and the types allow; moves are weighed by `_moves`."""
        allowed = Dyck(self.world.types, self.world.depth)._moves()
        return strings.law_table(allowed, jnp.asarray(self.world.type_probabilities))

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> DyckSample:
        """Draw a length and a string, padded to the longest; or a string of one of the lengths."""
        moves = self._moves()
        check_key(key)
        if length is not None:
            if check_count("length", length) not in self.lengths:
                raise ValueError(f"length is {length}; it must be one of {list(self.lengths)}")
            moves = strings.Moves(*(law[: length + 1] for law in moves))
            return self.world._draw(key, moves, length)
        size_key, key = jax.random.split(key)
        cuts = strings.cumulative(jnp.asarray(self.length_probabilities))
        n = jnp.asarray(self.lengths)[strings.invert(cuts, strings.uniform(size_key, ()))]
        return self.world._draw(key, moves, n.astype(jnp.int32))

    def _given_length(
        self, states: Int[Array, " rows"], tokens: Int[Array, " T"]
    ) -> tuple[strings.Moves, Float[Array, "rows L"]]:
        """For every number i = 0..T of tokens seen and every length n: the log law of the next move,
        and `log P[n] P[moves 1..i | n]`, -inf for n < i."""
        dead = states >= self.world._dead  # or ended
        depth = jnp.where(dead, 0, states // self.world.types)
        left = jnp.asarray(self.lengths) - jnp.arange(len(states))[:, None]
        moves = strings.Moves(
            *(
                jnp.where(left > 0, law[jnp.maximum(left, 0), depth[:, None]], -jnp.inf)
                for law in self._moves()
            )
        )
        taken = jnp.where(strings.is_closed(tokens)[:, None], moves.close[:-1], moves.open[:-1])
        prior = strings.safe_log(jnp.asarray(self.length_probabilities))
        weights = jnp.cumsum(jnp.concatenate([prior[None], taken]), axis=0)
        return moves, jnp.where(dead[:, None], -jnp.inf, weights)

    def next_logits(
        self, tokens: Int[AnyArray, " T"], *, start: bool = False
    ) -> Float[Array, "rows vocab"]:
        """`log P[X_{i+1} | X_{1:i}, n > i]` for i = 1..T, and for i = 0 first with `start`.

        `P(n | X_{1:i})` is proportional to `P(n) P(X_{1:i} | n)` over n > i; the laws given n are
        mixed by it. Rows after an impossible prefix or a certain end are -inf.
        """
        check_flag("start", start)
        table = self._table()
        states = self.world._states(tokens, table)
        moves, weights = self._given_length(states, self.world._tokens(tokens))
        longer = jnp.asarray(self.lengths) > jnp.arange(len(states))[:, None]
        weights = jnp.where(longer, weights, -jnp.inf)
        total = _log_sum(weights)
        total = jnp.where(total > -jnp.inf, total, 0)
        opens = _log_sum(weights + moves.open) - total
        closes = _log_sum(weights + moves.close) - total
        open_rows = opens[:, None] + strings.safe_log(jnp.asarray(self.world.type_probabilities))
        top = table[states, 1 : self.vocab : 2] > -jnp.inf
        close_rows = jnp.where(top, closes[:, None], -jnp.inf)
        rows = jnp.stack([open_rows, close_rows], axis=-1).reshape(len(states), self.vocab)
        return rows if start else rows[1:]

    # -- as a generator (`minicosm.models.Generator`) -----------------------------------------

    def begin(self, room: int) -> CompleteMemory:
        """The memory of the empty string, with room for `room` tokens: the stack of every prefix, and
        how likely each length is."""
        stacks, prior = self.world.begin(room), jnp.asarray(self.length_probabilities)
        check_size(f"a memory of {room} tokens", (room + 1) * len(self.lengths))
        weights = jnp.full((room + 1, len(self.lengths)), -jnp.inf, prior.dtype)
        return CompleteMemory(stacks, weights.at[0].set(strings.safe_log(prior)))

    def read(self, memory: CompleteMemory, n: Scalar, token: Scalar) -> CompleteMemory:
        """The memory once `token` stands after the first n tokens."""
        # An end token may be read; it is impossible here, and the string stays so.
        n, token = check_step(self.begin, memory, n, token, self.vocab + 1)
        fits = strings.fits_after(self.law(memory, n), token)
        moves = self._moves_after(memory, n)
        taken = jnp.where(strings.is_closed(jnp.asarray(token)), moves.close, moves.open)
        weights = jnp.where(fits, memory.weights[n] + taken, -jnp.inf).astype(memory.weights.dtype)
        stacks = strings.read_bracket(memory.stacks, n, token, fits)
        return CompleteMemory(stacks, memory.weights.at[n + 1].set(weights))

    def law(self, memory: CompleteMemory, n: Scalar) -> Float[Array, " vocab"]:
        """`log P[X_{n+1} | X_{1:n}, the string goes on]`; -inf for what is impossible, everywhere
        after an impossible prefix or a certain end. There is no end token: strings of this law have
        the world's law if the world has one length; otherwise take `with_end()`."""
        n = check_place(self.begin, memory, n)
        longer = jnp.asarray(self.lengths) > n
        weights = jnp.where(longer, memory.weights[n], -jnp.inf)
        total = _log_sum(weights)
        total = jnp.where(total > -jnp.inf, total, 0)
        moves = self._moves_after(memory, n)
        opens, closes = _log_sum(weights + moves.open), _log_sum(weights + moves.close)
        types = jnp.asarray(self.world.type_probabilities)
        return strings.next_law(memory.stacks, n, opens - total, closes - total, types)

    def with_end(self) -> "EndingDyck":
        """The generator whose strings end in the token `vocab`, the one that pads samples."""
        return EndingDyck(self)

    def _moves_after(self, memory: CompleteMemory, n: Scalar) -> strings.Moves:
        """For every length, the log law of the move after the first n tokens."""
        left, depth = jnp.asarray(self.lengths) - n, jnp.maximum(memory.stacks.depths[n], 0)
        return strings.Moves(
            *(
                jnp.where(left > 0, law[jnp.maximum(left, 0), depth], -jnp.inf)
                for law in self._moves()
            )
        )

    def text(self, tokens: Any) -> str:
        """The string as brackets; see `Dyck.text`."""
        return self.world.text(tokens)

    def end_probabilities(self, tokens: Int[AnyArray, " T"]) -> Float[Array, " T"]:
        """`P(n = i | X_{1:i}, n >= i)` for i = 1..T; zero after an impossible prefix."""
        states = self.world._states(tokens, self._table())
        _, weights = self._given_length(states, self.world._tokens(tokens))
        ends = jnp.asarray(self.lengths) == jnp.arange(len(states))[:, None]
        total = _log_sum(weights)
        here = _log_sum(jnp.where(ends, weights, -jnp.inf))
        return jnp.exp(here - jnp.where(total > -jnp.inf, total, 0))[1:]

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log P(n) P(tokens | n)` of the whole string; -inf if it is impossible or not complete."""
        checked = self.world._tokens(tokens)
        states = self.world._states(tokens, self._table())
        _, weights = self._given_length(states, checked)
        brackets = checked < self.vocab
        length = jnp.sum(brackets)
        mine = jnp.where(jnp.asarray(self.lengths) == length, weights[length], -jnp.inf)
        types = strings.safe_log(jnp.asarray(self.world.type_probabilities))
        opened = types[jnp.clip(checked // 2, 0, self.world.types - 1)]
        each = jnp.where(brackets & ~strings.is_closed(checked), opened, 0)
        whole = _log_sum(mine) + jnp.sum(each)
        return jnp.where(states[-1] == self.world._dead, -jnp.inf, whole)

    def optimal_loss(self, kind: Literal["cross_entropy", "squared"] = "cross_entropy") -> float:
        """The least expected loss per token, `E[sum_{i<=n} loss of token i] / E[n]`, for a predictor
        that does not know n but knows that there is a next token; losses as in `Dyck.optimal_loss`.

        For the conditioned law `P(n | X_{1:i})` depends on i and the depth alone, so it is a sum over
        these; so is that of the forced law for one length. For several it is not, and this refuses.
        """
        check_choice("kind", kind, ("cross_entropy", "squared"))
        if self.closing == "forced" and len(self.lengths) > 1:
            raise ValueError(
                f"the forced law has {len(self.lengths)} lengths; its optimal loss is exact for one"
            )
        with jax.enable_x64(True):
            opening = np.exp(np.asarray(self._moves().open, np.float64))  # [tokens left, depth]
        chances = np.asarray(self.length_probabilities, np.float64)
        depths = np.zeros((self.longest, len(self.lengths), self.world.depth + 1))
        rows = np.zeros_like(depths)  # P(n, depth after i), and P(open | n, depth after i)
        for which, (n, chance) in enumerate(zip(self.lengths, chances, strict=True)):
            law = np.eye(self.world.depth + 1)[0] * chance
            for i in range(n):
                up = opening[n - i]
                depths[i, which], rows[i, which] = law, up
                law = np.append(0, (law * up)[:-1]) + np.append((law * (1 - up))[1:], 0)
        here = depths.sum(axis=1)
        mixed = (depths * rows).sum(axis=1) / np.where(here > 0, here, 1)
        losses = self.world._least_losses(mixed, kind)
        return float((here * losses).sum() / (chances @ np.asarray(self.lengths)))


class EndingDyck(eqx.Module):
    """Complete strings and then an end token, the id `end` = 2k, as a generator: the probability of
    brackets and end is `CompleteDyck.log_prob` of the brackets. Sample with `end=generator.end`."""

    complete: CompleteDyck

    def __check_init__(self) -> None:
        check_kind("complete", self.complete, CompleteDyck, "a CompleteDyck")

    @property
    def end(self) -> int:
        return self.complete.vocab

    @property
    def vocab(self) -> int:
        """2k + 1: the brackets and the end token."""
        return self.complete.vocab + 1

    def begin(self, room: int) -> CompleteMemory:
        """The memory of the empty string, with room for `room` tokens."""
        return self.complete.begin(room)

    def read(self, memory: CompleteMemory, n: Scalar, token: Scalar) -> CompleteMemory:
        """The memory once `token` stands after the first n tokens; nothing follows the end token."""
        return self.complete.read(memory, n, token)

    def law(self, memory: CompleteMemory, n: Scalar) -> Float[Array, " V"]:
        """`log P[X_{n+1} | X_{1:n}]`, the end token last; -inf for what is impossible, everywhere
        after an impossible prefix or after the end."""
        n = check_place(self.begin, memory, n)
        lengths, weights = jnp.asarray(self.complete.lengths), memory.weights[n]
        total = _log_sum(weights)
        total = jnp.where(total > -jnp.inf, total, 0)
        goes_on = _log_sum(jnp.where(lengths > n, weights, -jnp.inf)) - total
        ends = _log_sum(jnp.where(lengths == n, weights, -jnp.inf)) - total
        return jnp.append(goes_on + self.complete.law(memory, n), ends)

    def text(self, tokens: Any) -> str:
        """The string as brackets, without the end token; see `Dyck.text`."""
        return self.complete.text(tokens)


def _log_sum(weights: Float[Array, "*rows L"]) -> Float[Array, "*rows"]:
    return jax.nn.logsumexp(weights, axis=-1)
