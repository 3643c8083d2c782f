"""Bounded Dyck languages: brackets of k types, nested at most D deep."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    Scalar,
    check_choice,
    check_count,
    check_distribution,
    check_flag,
    check_key,
    check_length,
    check_size,
    check_tokens,
    is_concrete,
    is_empty,
    parameter,
)
from ..markov import stationary_law
from ..memories import check_place, check_step
from ..padding import cut, known, pad, padded_length
from ..text import brackets_text
from . import strings
from .opening import opening_law


class DyckSample(NamedTuple):
    """One string; after its `length` brackets it is padded with the id `vocab`."""

    tokens: Int[Array, " T"]
    depths: Int[Array, " T"]  # after each token
    length: Int[Array, ""]

    @property
    def mask(self) -> Bool[Array, "*batch T"]:
        """True at brackets, False at padding; also for a batch of samples."""
        return jnp.arange(self.tokens.shape[-1]) < jnp.asarray(self.length)[..., None]


class ClosingQuery(NamedTuple):
    """A prefix, and which bracket closes its last open one."""

    tokens: Int[Array, " T"]  # the prefix, padded
    position: Int[Array, ""]  # of its last token: the answer is predicted here
    answer: Int[Array, ""]  # a closed token
    hard: Bool[Array, ""]  # the last token is closed, so it does not tell the answer


class ClosingFloor(NamedTuple):
    """What one achieves by looking at the last token alone."""

    easy: float  # the share of queries whose last token is open
    accuracy: float


class Dyck(eqx.Module):
    """Prefixes of balanced strings with `types` = k kinds of brackets and depths up to `depth` = D.

    Type t has the open token 2t and the closed token 2t + 1. The hidden state is the stack of open
    brackets. At depth d a bracket opens with probability p(d), of type t with probability
    `type_probabilities[t]`, or else the top of the stack is closed:

    `p(0) = 1`, `p(d) = open_probability` for 0 < d < D, `p(D) = 0`.

    The id `vocab` = 2k is no token of the world. It pads strings after their end, and models may
    use it as their start token. Methods take one string, padded or not; use `jax.vmap` for batches.
    """

    opening: Float[AnyArray, "*stack levels"]  # p(0), ..., p(D)
    closing: Float[AnyArray, "*stack levels"]  # 1 - p, kept because float32 may not hold it
    type_probabilities: Float[AnyArray, "*stack types"]

    def __init__(
        self,
        types: int = 2,
        depth: int = 4,
        open_probability: Any = 0.5,
        type_probabilities: Any = None,
    ):
        """`open_probability` is q, or all of p(0), ..., p(D); types are equally likely by default."""
        check_length(types, 2**12, "types")
        check_length(depth, 2**16, "depth")
        self.opening = opening_law(open_probability, depth)
        self.closing = 1 - self.opening
        if type_probabilities is None:
            type_probabilities = np.full(types, 1 / types)
        self.type_probabilities = parameter("type_probabilities", type_probabilities, (types,))
        check_distribution("type_probabilities", self.type_probabilities, columns=False)

    @classmethod
    def uniform(cls, types: int = 2, depth: int = 4) -> "Dyck":
        """Every token that may come next is equally likely: q = k / (k + 1)."""
        return cls(types, depth, check_length(types, 2**12, "types") / (types + 1))

    @property
    def types(self) -> int:
        return self.type_probabilities.shape[-1]

    @property
    def depth(self) -> int:
        return self.opening.shape[-1] - 1

    @property
    def vocab(self) -> int:
        return 2 * self.types

    @property
    def pairs(self) -> int:
        """Tokens with their depth: an open one has depth 1..D, a closed one 0..D-1; 2kD in all."""
        return self.vocab * self.depth

    # -- samples ------------------------------------------------------------------------------

    def sample(self, key: PRNGKeyArray, length: int) -> DyckSample:
        """Draw a prefix of `length` tokens."""
        check_length(length)
        if not known(self, check_key(key)):
            return self._draw(key, strings.free_moves(self._moves(), length), length)
        moves = strings.free_moves(self._moves(), padded_length(length))
        drawn = self._draw(key, moves, jnp.asarray(np.int32(length)))
        return drawn._replace(tokens=cut(drawn.tokens, length), depths=cut(drawn.depths, length))

    def sample_closing(
        self, key: PRNGKeyArray, length: int, shortest: int | None = None
    ) -> DyckSample:
        """Draw a prefix given that its last token is closed.

        With `shortest`, the number of tokens is drawn first, uniformly from shortest..length, and
        the rest is padding.
        """
        check_key(key)
        check_length(length)
        least = length if shortest is None else check_count("shortest", shortest)
        if least > length:
            raise ValueError(f"shortest is {least}; it must be at most the length {length}")
        self._check_end(range(least, length + 1), complete=False)
        moves = strings.conditioned_moves(self._moves(), length, complete=False)
        if shortest is None:
            return self._draw(key, moves, length)
        size_key, key = jax.random.split(key)
        return self._draw(key, moves, jax.random.randint(size_key, (), least, length + 1))

    def _moves(self) -> strings.Moves:
        return strings.Moves(*map(strings.safe_log, map(jnp.asarray, (self.opening, self.closing))))

    def _draw(
        self, key: PRNGKeyArray, moves: strings.Moves, length: int | Int[Array, ""]
    ) -> DyckSample:
        tokens, depths = strings.draw(key, moves, jnp.asarray(self.type_probabilities), length)
        return DyckSample(tokens, depths, jnp.asarray(length, jnp.int32))

    def _check_end(self, lengths: Sequence[int], *, complete: bool) -> None:
        """Raise unless strings of each length can end as they must."""
        if not is_concrete(self.opening):
            return
        possible = strings.possible_ends(
            np.asarray(self.opening), np.asarray(self.closing), max(lengths), complete=complete
        )
        what = "is complete" if complete else "ends in a closed bracket"
        for n in lengths:
            if not possible[n - 1]:
                raise ValueError(f"no string of length {n} {what} with positive probability")

    # -- exact questions about one string -----------------------------------------------------

    def next_logits(
        self, tokens: Int[AnyArray, " T"], *, start: bool = False
    ) -> Float[Array, "rows vocab"]:
        """`log P[X_{i+1} | X_{1:i}]` for i = 1..T: the exact causal language model.

        With `start` also for i = 0, the law of the first token, as row 0. Rows after an impossible
        prefix or after the end are -inf.
        """
        checked, _ = check_tokens(tokens, None, self.vocab + 1)
        first = 0 if check_flag("start", start) else 1
        if known(self, checked):
            rows = _next_logits(self, pad(checked, self.vocab), first)
            return cut(rows, len(checked) + 1 - first)
        return _next_logits(self, checked, first)

    def next_token(self, prefix: Int[AnyArray, " T"]) -> Float[Array, " vocab"]:
        """`P[X_{T+1} | X_{1:T} = prefix]`; the prefix may be empty, an impossible one gives zeros."""
        if is_empty("prefix", prefix):
            return jnp.exp(self._table()[0, : self.vocab])
        return jnp.exp(self.next_logits(prefix)[-1])

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log P[X_{1:T} = tokens]`; -inf if they are impossible."""
        checked, _ = check_tokens(tokens, None, self.vocab + 1)
        return _log_prob(self, pad(checked, self.vocab) if known(self, checked) else checked)

    # -- as a generator (`minicosm.models.Generator`) -----------------------------------------

    def begin(self, room: int) -> strings.Stacks:
        """The memory of the empty string, with room for `room` tokens: the stack of every prefix."""
        check_count("room", room, least=0)
        check_size(f"a memory of {room} tokens", (room + 1) * self.depth)
        return strings.empty_stacks(room, self.types, self.depth)

    def read(self, memory: strings.Stacks, n: Scalar, token: Scalar) -> strings.Stacks:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self.begin, memory, n, token, self.vocab)
        fits = strings.fits_after(self.law(memory, n), token)
        return strings.read_bracket(memory, n, token, fits)

    def law(self, memory: strings.Stacks, n: Scalar) -> Float[Array, " vocab"]:
        """`log P[X_{n+1} | X_{1:n}]`; -inf for what is impossible, everywhere after an impossible
        prefix."""
        n = check_place(self.begin, memory, n)
        moves, d = self._moves(), jnp.maximum(memory.depths[n], 0)
        types = jnp.asarray(self.type_probabilities)
        return strings.next_law(memory, n, moves.open[d], moves.close[d], types)

    def text(self, tokens: Any) -> str:
        """The string as brackets ()[]{}<>; `(t` and `)t` with spaces between them if there are more
        than four types. Padding after its end (the id `vocab`, or -1 as a sampler returns it) is
        left out."""
        return brackets_text(tokens, self.types)

    def depths(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """Open minus closed brackets up to each token, itself included."""
        return strings.depths(self._tokens(tokens), self.types)

    def token_depths(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """Every token with its depth d as one number below `pairs`: `token D + d - 1` if it is open,
        `token D + d` if it is closed; `pairs` for padding."""
        tokens = self._string(tokens)
        least = jnp.where(strings.is_closed(tokens), 0, 1)
        level = strings.depths(tokens, self.types) - least
        return jnp.where(tokens < self.vocab, tokens * self.depth + level, self.pairs)

    def is_prefix(self, tokens: Int[AnyArray, " T"]) -> Bool[Array, ""]:
        """Whether no bracket closes another type or an empty stack, and no depth exceeds D."""
        return self._language(tokens)[-1] != self._dead

    def stack_tops(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """The position of the last bracket still open after each token; -1 if there is none."""
        return self._partners(tokens).tops

    def matching(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """The position of the bracket at the other end of each pair; -1 if it is not there (yet)."""
        return self._partners(tokens).matching

    def copy_targets(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " T"]:
        """The targets of the copy task: each token itself; chance is 1 / vocab."""
        return self._tokens(tokens)

    def closing_query(self, tokens: Int[AnyArray, " T"]) -> ClosingQuery:
        """What `sample_closing` asks: all but the last bracket is seen, the last is the answer."""
        tokens = self._string(tokens)
        length = jnp.sum(tokens < self.vocab)
        answer = tokens[length - 1]
        if is_concrete(tokens) and (length < 2 or answer % 2 == 0):
            raise ValueError(f"the string ends in token {answer}; it must end in a closed bracket")
        before = jnp.where(jnp.arange(len(tokens)) < length - 1, tokens, self.vocab)[:-1]
        return ClosingQuery(before, length - 2, answer, strings.is_closed(tokens[length - 2]))

    def _tokens(self, tokens: Any) -> Int[Array, " T"]:
        return jnp.asarray(check_tokens(tokens, None, self.vocab + 1)[0])

    def _table(self) -> Float[Array, "states columns"]:
        return strings.law_table(self._moves(), jnp.asarray(self.type_probabilities))

    @property
    def _dead(self) -> int:
        return (self.depth + 1) * self.types

    def _states(self, tokens: Any, table: Float[Array, "states columns"]) -> Int[Array, " rows"]:
        return strings.read(self._tokens(tokens), table, types=self.types, depth=self.depth)

    def _language(self, tokens: Any) -> Int[Array, " rows"]:
        """States by the rules of the language alone, whatever the probabilities."""
        return self._states(tokens, Dyck(self.types, self.depth)._table())

    def _string(self, tokens: Any) -> Int[Array, " T"]:
        """Tokens of a string in the language."""
        checked = self._tokens(tokens)
        if is_concrete(checked):
            dead = np.asarray(self._language(checked)) == self._dead
            if dead.any():
                at = int(np.argmax(dead)) - 1
                raise ValueError(
                    f"token {checked[at]} at index {at} cannot stand there; the string must be a "
                    f"prefix of balanced brackets of {self.types} types, at most {self.depth} deep"
                )
        return checked

    def _partners(self, tokens: Any) -> strings.Partners:
        return strings.partners(self._string(tokens), types=self.types, depth=self.depth)

    # -- exact questions about the law, in double precision -----------------------------------

    def _chain(self) -> Float[np.ndarray, "levels levels"]:
        """The transition matrix of the depth, column-stochastic."""
        opening = np.asarray(self.opening, np.float64)
        closing = np.asarray(self.closing, np.float64)
        return np.diag(opening[:-1], -1) + np.diag(closing[1:], 1)

    def depth_marginals(self, length: int) -> Float[np.ndarray, "rows levels"]:
        """`[i, d] = P(the depth after i tokens is d)` for i = 0..length."""
        check_length(length)
        check_size(f"laws of length = {length}", length * (self.depth + 1))
        A = self._chain()
        laws = np.zeros((length + 1, self.depth + 1))
        laws[0, 0] = 1
        for i in range(length):
            laws[i + 1] = A @ laws[i]
        return laws

    def count(self, length: int, *, complete: bool = False) -> int:
        """How many strings of this length the language has: prefixes, or complete strings."""
        check_length(length, 2**16)
        check_flag("complete", complete)
        counts = [1] + [0] * self.depth
        for _ in range(length):
            up = [0, *(self.types * c for c in counts[:-1])]
            down = [*counts[1:], 0]
            counts = [u + d for u, d in zip(up, down, strict=True)]
        return counts[0] if complete else sum(counts)

    def optimal_loss(
        self, length: int, kind: Literal["cross_entropy", "squared"] = "cross_entropy"
    ) -> float:
        """The mean over i = 1..length of the least expected loss of predicting token i.

        "cross_entropy": `-log P`, in nats. "squared": the squared distance of a vector of
        probabilities to the one-hot token, at best `1 - sum_x P(x)^2`.
        """
        check_choice("kind", kind, ("cross_entropy", "squared"))
        losses = self._least_losses(np.asarray(self.opening, np.float64), kind)
        return float(np.mean(self.depth_marginals(length)[:-1] @ losses))

    def _least_losses(
        self, opening: Float[np.ndarray, "*shape"], kind: str
    ) -> Float[np.ndarray, "*shape"]:
        """The least expected loss of one token that opens with these probabilities."""
        types = np.asarray(self.type_probabilities, np.float64)
        laws = np.concatenate([opening[..., None] * types, 1 - opening[..., None]], axis=-1)
        if kind == "cross_entropy":
            return -np.sum(laws * np.log(np.where(laws > 0, laws, 1)), axis=-1)
        if kind == "squared":
            return 1 - np.sum(laws**2, axis=-1)
        raise ValueError(f"kind is {kind!r}; it must be 'cross_entropy' or 'squared'")

    def closing_floor(self, length: int | None = None) -> ClosingFloor:
        """How well the last token alone answers the closing query.

        The answer is its own type if it is open; otherwise it says nothing and the likeliest type
        is the best guess. With pi the law of the depth two tokens before the end of strings of this
        length (by default in the long run, over even and odd lengths),

        `easy = sum_d pi(d) p(d) (1 - p(d+1)) / P(closed)`, `accuracy = easy + (1 - easy) max_t P(t)`.
        """
        if length is None:
            law = stationary_law(self._chain())
        else:
            self._check_end([check_length(length)], complete=False)
            law = self.depth_marginals(length)[length - 2]
        opening = np.asarray(self.opening, np.float64)
        closed = (self._chain() @ law) @ (1 - opening)
        easy = float(np.sum(law[:-1] * opening[:-1] * (1 - opening[1:])) / closed)
        return ClosingFloor(easy, easy + (1 - easy) * float(np.max(self.type_probabilities)))


@eqx.filter_jit
def _log_prob(world: Dyck, tokens: Any) -> Float[Array, ""]:
    table = world._table()
    states = world._states(tokens, table)
    each = table[states[:-1], jnp.clip(jnp.asarray(tokens), 0, world.vocab)]
    return jnp.where(states[-1] == world._dead, -jnp.inf, jnp.sum(each))


@eqx.filter_jit
def _next_logits(world: Dyck, tokens: Any, first: int) -> Float[Array, "rows vocab"]:
    table = world._table()
    return table[world._states(tokens, table)[first:], : world.vocab]
