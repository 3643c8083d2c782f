"""The flip-flop language: strings of writes, reads and ignored pairs over a memory of one symbol."""

from typing import Any, Literal, NamedTuple, Self

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
    check_kind,
    check_length,
    check_number,
    check_size,
    check_tokens,
    check_worlds,
    is_concrete,
    is_empty,
    parameter,
)
from ..memories import check_place, check_step
from ..text import plain_tokens
from . import laws
from .glitches import Glitches, count_glitches

WRITE, READ, IGNORE = 0, 1, 2
SYMBOL = 3
"""The id of the first symbol; those of instructions are before it."""
LONGEST = 2**22
Select = Literal["last", "first"]
Looked = Literal["write", "informative"]


class FlipFlopSample(NamedTuple):
    """A string, and for each of its pairs what a read there has to say and whether it is one."""

    tokens: Int[Array, " T"]
    memory: Int[Array, " pairs"]
    """The token of the symbol that is remembered at the end of the pair."""
    reads: Bool[Array, " pairs"]


class LabelledString(NamedTuple):
    """A string, labels of its positions and how much each counts, as `training.LabelObjective` asks."""

    tokens: Int[Array, " T"]
    labels: Int[Array, " n"]
    weights: Bool[Array, " n"]


class FlipFlopMemory(NamedTuple):
    """What is known of every prefix of a string."""

    last: Int[Array, " rows"]
    """Its last token; -1 where there is none."""
    held: Int[Array, " rows"]
    """The token of the symbol that is remembered; -1 where there is none."""
    possible: Bool[Array, " rows"]


class FlipFlop(eqx.Module):
    """`FFL(T, p)`: T/2 pairs of an instruction and a symbol, over the tokens w, r, i and n symbols.

    The first instruction is w, the last is r, the others are independent with `p = (p_w, p_r, p_i)`. The
    symbols after w and i are uniform; after r stands the symbol of the latest write (of the first, with
    `select="first"`). Tokens: w, r, i are 0, 1, 2 and the symbols 3, 4, ....

    `p` is data: worlds of one length that differ in it share a compiled program. Methods take one string; use
    `jax.vmap` for batches.
    """

    p: Float[AnyArray, "*stack 3"]
    length: int = eqx.field(static=True)
    symbols: int = eqx.field(static=True)
    select: Select = eqx.field(static=True)

    def __init__(
        self,
        length: int,
        p: Any = None,
        *,
        p_ignore: float | None = None,
        symbols: int = 2,
        select: Select = "last",
    ):
        """Give either `p`, which sums to one, or `p_ignore`, and writes and reads share what is left."""
        if check_length(length, LONGEST) % 2 or length < 4:
            raise ValueError(
                f"length is {length}; a string has pairs, so it must be an even number from 4 on"
            )
        if (p is None) == (p_ignore is None):
            given = "neither" if p is None else "both"
            raise ValueError(f"{given} of p and p_ignore is given; one of them must be")
        if p_ignore is not None:
            rate = check_number("p_ignore", p_ignore, least=0, most=1)
            p = np.array([(1 - rate) / 2, (1 - rate) / 2, rate])
        self.p = parameter("p", p, (3,))
        check_distribution("p", self.p, columns=False)
        self.length = int(length)
        self.symbols = check_count("symbols", symbols, least=2)
        check_size(f"a law of symbols = {symbols}", symbols)
        self.select = check_choice("select", select, ("last", "first"))

    @classmethod
    def stack(cls, worlds: list[Self]) -> Self:
        """Worlds of one length as one with a leading axis, to be used under `jax.vmap`."""
        check_worlds(worlds, cls)
        for i, world in enumerate(worlds):
            if world._static != worlds[0]._static:
                raise ValueError(
                    f"worlds[{i}] has (length, symbols, select) = {world._static}; worlds[0] has "
                    f"{worlds[0]._static}"
                )
        return jax.tree.map(lambda *leaves: np.stack(leaves), *worlds)

    @property
    def _static(self) -> tuple[int, int, str]:
        return self.length, self.symbols, self.select

    @property
    def vocab(self) -> int:
        return SYMBOL + self.symbols

    @property
    def pairs(self) -> int:
        return self.length // 2

    @property
    def instructions(self) -> tuple[int, ...]:
        """The positions of instructions, 0, 2, ..., T-2: where a read may be asked."""
        return tuple(range(0, self.length, 2))

    def parameters(self) -> dict[str, np.ndarray]:
        """The array that defines the law."""
        return {"p": np.asarray(self.p)}

    # -- strings --------------------------------------------------------------------------------

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> FlipFlopSample:
        """Draw a string of the world's length."""
        if length is not None and check_length(length) != self.length:
            raise ValueError(f"length is {length}; this world has strings of {self.length} tokens")
        first, second = jax.random.split(check_key(key))
        shape = (self.pairs,)
        w, r, i = jnp.asarray(self.p)
        # One uniform number a pair; what has probability zero is not drawn, however sums are rounded.
        until_w, until_r = jnp.where(r + i == 0, 2, w), jnp.where(i == 0, 2, w + r)
        uniform = jax.random.uniform(first, shape)
        drawn = (uniform >= until_w).astype(jnp.int32) + (uniform >= until_r)
        place = jnp.arange(self.pairs)
        instructions = jnp.where(
            place == 0, WRITE, jnp.where(place == self.pairs - 1, READ, drawn)
        ).astype(jnp.int32)
        symbols = jax.random.randint(second, shape, SYMBOL, self.vocab, jnp.int32)
        memory = symbols[self._source(instructions)]
        reads = instructions == READ
        told = jnp.where(reads, memory, symbols)
        tokens = jnp.stack([instructions, told], axis=1).reshape(-1)
        return FlipFlopSample(tokens, memory, reads)

    def labelled(self, key: PRNGKeyArray, length: int | None = None) -> LabelledString:
        """A string and, at its instructions, what a read there has to say; reads count, others do not (the
        clean mode). A model's optimal loss is zero."""
        return LabelledString(*self.sample(key, length))

    def _source(self, instructions: Int[Array, " pairs"]) -> Int[Array, " pairs"]:
        """The pair whose symbol is remembered at the end of each pair; 0 where nothing was written."""
        place = jnp.arange(instructions.shape[0])
        if self.select == "first":
            return jnp.zeros_like(place)
        return jnp.maximum(jax.lax.cummax(jnp.where(instructions == WRITE, place, -1)), 0)

    def memory(self, tokens: Int[AnyArray, " T"]) -> Int[Array, " pairs"]:
        """The token of the symbol that is remembered at the end of each pair, of a string that begins with a
        write; its length is even."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if tokens.shape[0] % 2:
            raise ValueError(f"there are {tokens.shape[0]} tokens; pairs need an even number")
        if is_concrete(tokens):
            _check_pairs(np.asarray(tokens))
        return self._held(jnp.asarray(tokens))

    def _held(self, tokens: Int[Array, " T"]) -> Int[Array, " pairs"]:
        return tokens[1::2][self._source(tokens[::2])]

    def is_valid(self, tokens: Int[AnyArray, " T"]) -> Bool[Array, ""]:
        """Whether these are pairs of an instruction and a symbol that begin with a write and in which every
        read says what is remembered. Any length, and the last pair need not be a read."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if tokens.shape[0] % 2:
            return jnp.asarray(False)
        return self._fits(jnp.asarray(tokens)).all()

    def _fits(self, tokens: Int[Array, " T"]) -> Bool[Array, " T"]:
        """Whether each token may stand after those before it, if these may."""
        count = tokens.shape[0]
        whole = jnp.pad(tokens, (0, count % 2), constant_values=SYMBOL)
        instructions, symbols = whole[::2], whole[1::2]
        known = (instructions >= 0) & (instructions < SYMBOL)
        begins = (jnp.arange(instructions.shape[0]) > 0) | (instructions == WRITE)
        said = (symbols >= SYMBOL) & (symbols < self.vocab)
        right = (instructions != READ) | (symbols == symbols[self._source(instructions)])
        return jnp.stack([known & begins, said & right], axis=1).reshape(-1)[:count]

    def text(self, tokens: Any) -> str:
        """`w0i1r0`. Padding after the end (the id `vocab`, or -1) is left out."""
        between = "" if self.symbols <= 10 else " "
        names = [*"wri", *map(str, range(self.symbols))]
        return between.join(names[token] for token in plain_tokens(tokens, self.vocab))

    # -- exact questions about one string ------------------------------------------------------------

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`sum over pairs 2..P-1 of ln p_ins - (n_w + n_i) ln n`, the first write among these; -inf if the
        string is impossible, which it is at any other length."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if tokens.shape[0] != self.length:
            return jnp.asarray(-jnp.inf)
        tokens = jnp.asarray(tokens)
        return _told(self._rows(tokens)[:-1], tokens).sum()

    def next_logits(
        self, tokens: Int[AnyArray, " T"], *, start: bool = False
    ) -> Float[Array, "rows vocab"]:
        """`log P[x_{i+1} | x_{1:i}]` for i = 1..T, and for i = 0 first with `start`. Rows after an
        impossible prefix, and after the last token, are -inf."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        if tokens.shape[0] > self.length:
            raise ValueError(
                f"there are {tokens.shape[0]} tokens; this world has strings of {self.length}"
            )
        rows = self._rows(jnp.asarray(tokens))
        return rows if check_flag("start", start) else rows[1:]

    def _rows(self, tokens: Int[Array, " T"]) -> Float[Array, "T+1 vocab"]:
        """The laws before each token and after the last, -inf after an impossible prefix."""
        count = tokens.shape[0]
        whole = jnp.pad(tokens, (0, count % 2), constant_values=SYMBOL)
        held = jnp.repeat(whole[1::2][self._source(whole[::2])], 2)[:count]
        last, held = (jnp.append(-1, each) for each in (tokens, held))
        rows = jax.vmap(self._next)(jnp.arange(count + 1), last, held)
        fits = _told(rows[:-1], tokens) > -jnp.inf
        possible = jnp.append(True, jnp.cumprod(fits) > 0)
        return jnp.where(possible[:, None], rows, -jnp.inf)

    def _next(self, n: Scalar, last: Scalar, held: Scalar) -> Float[Array, " vocab"]:
        """The law after n possible tokens, the last of which is `last`, where `held` is remembered."""
        p, ids = jnp.asarray(self.p), jnp.arange(self.vocab)

        def certain(token: Any) -> Array:
            return jnp.where(ids == token, 0, jnp.asarray(-jnp.inf, p.dtype))

        uniform = jnp.where(ids < SYMBOL, -jnp.inf, jnp.asarray(-np.log(self.symbols), p.dtype))
        symbol = jnp.where(last == READ, certain(held), uniform)
        drawn = jnp.full(self.vocab, -jnp.inf, p.dtype).at[:SYMBOL].set(jnp.log(p))
        last_read = jnp.where(n == self.length - 2, certain(READ), drawn)
        instruction = jnp.where(n == 0, certain(WRITE), last_read)
        row = jnp.where(n % 2 == 0, instruction, symbol)
        return jnp.where(n < self.length, row, -jnp.inf)

    def next_token(self, prefix: Int[AnyArray, " T"]) -> Float[Array, " vocab"]:
        """`P[x_{T+1} | x_{1:T} = prefix]`; the prefix may be empty, an impossible one gives zeros."""
        if is_empty("prefix", prefix):
            return jnp.exp(self._next(0, -1, -1))
        return jnp.exp(self.next_logits(prefix)[-1])

    # -- as a generator (`minicosm.models.Generator`) --------------------------------------------------

    def begin(self, room: int) -> FlipFlopMemory:
        """The memory of the empty string, with room for `room` tokens."""
        rows = check_count("room", room, least=0) + 1
        check_size(f"a memory of {room} tokens", rows)
        none = jnp.full(rows, -1, jnp.int32)
        return FlipFlopMemory(none, none, jnp.zeros(rows, bool).at[0].set(True))

    def read(self, memory: FlipFlopMemory, n: Scalar, token: Scalar) -> FlipFlopMemory:
        """The memory once `token` stands after the first n tokens."""
        n, token = check_step(self.begin, memory, n, token, self.vocab)
        token = jnp.asarray(token, jnp.int32)
        writes = (n % 2 == 1) & (memory.last[n] == WRITE)
        if self.select == "first":
            writes = writes & (n == 1)
        held = jnp.where(writes, token, memory.held[n])
        fits = _told(self.law(memory, n)[None], token[None])[0] > -jnp.inf
        return FlipFlopMemory(
            memory.last.at[n + 1].set(token),
            memory.held.at[n + 1].set(held),
            memory.possible.at[n + 1].set(fits),
        )

    def law(self, memory: FlipFlopMemory, n: Scalar) -> Float[Array, " vocab"]:
        """`log P[x_{n+1} | x_{1:n}]`; -inf for what is impossible, everywhere after an impossible prefix
        and at the end."""
        n = check_place(self.begin, memory, n)
        row = self._next(n, memory.last[n], memory.held[n])
        return jnp.where(memory.possible[n], row, -jnp.inf)

    # -- models ------------------------------------------------------------------------------------------

    def glitches(self, model: Any, key: PRNGKeyArray, count: int = 1000) -> Glitches:
        """Wrong reads of a model on `count` strings: at r the likeliest token is not what is remembered.

        The model has `next_logits(tokens)`, the law of the token after each position.
        """
        return count_glitches(self, model, check_key(key), count)

    # -- exact questions about the law, in double precision --------------------------------------------

    @property
    def _law(self) -> Float[np.ndarray, " 3"]:
        if not is_concrete(self.p):
            raise ValueError("p is under a trace; this question needs its numbers")
        if np.ndim(self.p) != 1:
            raise ValueError(f"p has shape {np.shape(self.p)}; ask each world of a stack by itself")
        return np.asarray(self.p, float)

    def support(self) -> int:
        """The number of strings: `n (n [p_w > 0] + n [p_i > 0] + [p_r > 0])^(P-2)`, 2 5^(P-2) for two
        symbols."""
        w, r, i = (self._law > 0).tolist()
        return self.symbols * (self.symbols * (w + i) + r) ** (self.pairs - 2)

    def optimal_loss(self) -> float:
        """`(P-2) H(p) + ln n (1 + (P-2)(1 - p_r))` nats: the least expected loss of a string in the
        generative mode, where tokens 2, ..., T are predicted. In the clean mode it is zero."""
        p, inner = self._law, self.pairs - 2
        return inner * laws.entropy(p) + float(np.log(self.symbols)) * (1 + inner * (1 - p[READ]))

    def reads(self) -> float:
        """`1 + p_r (P-2)`: the expected number of reads of a string."""
        return float(1 + self._law[READ] * (self.pairs - 2))

    def divergence(self, other: "FlipFlop") -> float:
        """`KL(this | other) = (P-2) KL(p | p')` in nats, of worlds of one length."""
        check_kind("other", other, FlipFlop, "a FlipFlop")
        if other._static != self._static:
            raise ValueError(
                f"other has (length, symbols, select) = {other._static}; this world has {self._static}"
            )
        return (self.pairs - 2) * laws.divergence(self._law, other._law)

    def distance_law(self, to: Looked = "write") -> Float[np.ndarray, " distances"]:
        """`[d - 1]`: the share of reads that are d pairs after their write, or after the last pair that shows
        what is remembered (a write or another read), d = 1..P-1."""
        check_choice("to", to, ("write", "informative"))
        found = self._law[WRITE] if self.select == "last" else 0.0
        if to == "informative":
            found += self._law[READ]
        return laws.distance_law(self.pairs, self._law[READ], float(found))

    def mean_distance(self, to: Looked = "write") -> float:
        """The mean of `distance_law`, in pairs."""
        law = self.distance_law(to)
        return float(law @ np.arange(1, len(law) + 1))

    def window_error(self, window: int) -> float:
        """The share of reads that the best guess from the last `window` tokens, the r among them, gets
        wrong: that of the best n-gram model with n - 1 = `window`."""
        check_count("window", window)
        p = self._law
        silent = p[IGNORE] if self.select == "last" else 1 - p[READ]
        return laws.window_error(self.pairs, p[READ], float(silent), self.symbols, window)


def _told(rows: Float[Array, "n vocab"], tokens: Int[Array, " n"]) -> Float[Array, " n"]:
    """What each law says of its token; -inf of one outside the vocabulary."""
    inside = (tokens >= 0) & (tokens < rows.shape[1])
    said = jnp.take_along_axis(rows, jnp.where(inside, tokens, 0)[:, None], axis=-1)[:, 0]
    return jnp.where(inside, said, -jnp.inf)


def _check_pairs(tokens: Int[np.ndarray, " T"]) -> None:
    """Refuse what remembers nothing: a first instruction that is no write, and what is no pair."""
    wrong = (tokens < SYMBOL) != (np.arange(len(tokens)) % 2 == 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        needed = (
            f"an instruction (below {SYMBOL})" if at % 2 == 0 else f"a symbol (from {SYMBOL} on)"
        )
        raise ValueError(f"tokens[{at}] is {tokens[at]}; pairs need {needed} there")
    if tokens[0] != WRITE:
        raise ValueError(
            f"tokens[0] is {tokens[0]}; a string begins with a write ({WRITE}), else nothing is remembered"
        )
