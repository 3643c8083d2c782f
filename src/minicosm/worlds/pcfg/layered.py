"""The world of a layered probabilistic context-free grammar, and everything exact about it."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_embeddings,
    check_key,
    check_positions,
    check_size,
    check_tokens,
    check_whole_numbers,
    embed_rows,
    is_concrete,
    is_empty,
    short,
)
from ..padding import cut, known, padded_length
from ..text import numbers_text
from . import charts
from .derivations import derive
from .grammar import Grammar, layered, named_rules
from .words import is_word_grammar, word_rules


class PCFGSample(NamedTuple):
    """One sentence, padded to the longest with the id V, and its tree."""

    tokens: Int[Array, "*n T"]
    length: Int[Array, "*n"]
    symbols: Int[Array, "*n heights T"]
    """`[h - 2, i]`: the ancestor of height h = 2..height of token i, as its number among the symbols of its
    height; -1 after the end."""
    boundaries: Bool[Array, "*n heights T"]
    """`[h - 2, i]`: whether token i is the last one under its ancestor of height h."""


class PCFGPosterior(NamedTuple):
    """Laws of the tree given the observed tokens, zero if they are impossible or after the end."""

    ancestors: Float[Array, "heights T symbols"]
    """`[h - 2, i, A]`: the ancestor of height h of token i is A (of its height's symbols)."""
    ends: Float[Array, "heights T _"]
    """`[h - 2, i, A]`: a node A of height h ends at token i; the last entry: none does."""


class LayeredPCFG(eqx.Module):
    """A grammar whose symbols have heights: terminals 1, the root the largest, and a rule leads one
    height down.

    A sentence is made from the root: every symbol is replaced by the children of one of its rules, drawn by
    their probabilities (equal ones unless they are given), until all are terminals. Token t is the t-th
    terminal in order. Methods take one sentence, padded after its end with the id V or not.

    Everything exact is a product of matrices in bands, one batch for each layer (`charts`). In float32
    sentences of a hundred tokens and more may leave the range of numbers; ask about them under
    `jax.enable_x64(True)`.
    """

    grammar: Grammar = eqx.field(static=True)

    def __init__(
        self,
        rules: Mapping[int, Sequence[Sequence[int]]],
        root: int,
        probabilities: Mapping[int, Sequence[float]] | None = None,
    ):
        """`rules` maps each symbol to its alternatives, lists of children; symbols without rules are
        terminals."""
        self.grammar = layered(rules, root, probabilities)

    @classmethod
    def named(cls, name: str, below: int = 22) -> "LayeredPCFG":
        """A grammar of the source, "cfg3b", "cfg3i", "cfg3h", "cfg3g" or "cfg3f", or what is below one of its
        symbols (15: sentences of 18 to 27 tokens). "cfg3b_released" lacks a rule, as the authors' code
        does. "words-50" to "words-200" have so many words (`pcfg/words.py`)."""
        if is_word_grammar(name):
            rules, probabilities = word_rules(name, below)
            return cls(rules, below, probabilities)
        return cls(named_rules(name, below), below)

    # -- sizes and lengths ---------------------------------------------------------------------------

    @property
    def vocab(self) -> int:
        return len(self.grammar.terminals)

    @property
    def height(self) -> int:
        """Of the root; terminals have height 1."""
        return self.grammar.height

    @property
    def longest(self) -> int:
        return len(self.length_law) - 1

    @property
    def length_law(self) -> Float[np.ndarray, " n"]:
        """`[n] = P[a sentence has n tokens]`."""
        return self.grammar.lengths[-1][0]

    @property
    def entropy(self) -> float:
        """Of a derivation in nats; of a sentence, where no sentence has two derivations."""
        return self.grammar.entropy

    def symbols(self, height: int) -> tuple[int, ...]:
        """The symbols of a height, in the order in which they are numbered."""
        self._check_height(height)
        return self.grammar.terminals if height == 1 else self.grammar.layers[height - 2].symbols

    # -- samples -------------------------------------------------------------------------------------

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> PCFGSample:
        """A sentence and its tree, padded to the longest; or a sentence of `length` tokens."""
        check_key(key)
        if length is not None:
            n = check_count("length", length)
            if n > self.longest or self.length_law[n] == 0:
                possible = np.flatnonzero(self.length_law)
                raise ValueError(
                    f"length is {n}; this grammar makes {len(possible)} lengths from {possible[0]} to "
                    f"{possible[-1]}, and not this one"
                )
            return self._draw(key, jnp.asarray(n), n)
        with np.errstate(divide="ignore"):
            logits = jnp.asarray(np.log(self.length_law))
        size_key, key = jax.random.split(key)
        return self._draw(key, jax.random.categorical(size_key, logits), self.longest)

    def _draw(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> PCFGSample:
        nodes = derive(self.grammar, key, length)
        inside = jnp.arange(room) < length
        tokens = jnp.where(inside, nodes[0].symbols[:room], self.vocab).astype(jnp.int32)
        up, symbols, boundaries = nodes[0].parents[:room], [], []
        for level in nodes[1:]:
            symbols.append(jnp.where(inside, level.symbols[up], -1))
            after = jnp.concatenate([up[1:], jnp.full(1, -2, up.dtype)])
            last = jnp.arange(room) == length - 1
            boundaries.append(inside & ((after != up) | last))
            up = jnp.where(inside, level.parents[up], -1)
        return PCFGSample(
            tokens, length.astype(jnp.int32), jnp.stack(symbols), jnp.stack(boundaries)
        )

    # -- probabilities -------------------------------------------------------------------------------

    def log_prob(self, tokens: Int[AnyArray, " T"]) -> Float[Array, ""]:
        """`log P[sentence]`, summed over derivations; -inf if the grammar does not make it."""
        rows, length = self._evidence(tokens, None)
        return self.log_evidence(rows, length)

    def log_evidence(
        self, rows: Float[AnyArray, "T V"], length: Int[AnyArray, ""] | int | None = None
    ) -> Float[Array, ""]:
        """`log sum over sentences x of `length` tokens of P[x] prod_i rows[i, x_i]` for nonnegative rows; the
        length is that of the rows unless it is given."""
        rows = check_embeddings(rows, self.vocab)
        length = self._check_length(length, rows.shape[0])
        factors = charts.scales(self.grammar, rows)
        value = charts.total(charts.inside(self.grammar, factors[:, None] * rows), length)
        used = jnp.arange(rows.shape[0]) < length
        return jnp.log(value) - jnp.sum(jnp.where(used, jnp.log(factors), 0.0))

    def embed(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T V"]:
        """One-hot rows; an unobserved position is the all-ones row."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        return embed_rows(jnp.eye(self.vocab), tokens, observed)

    def predict(
        self, embeddings: Float[AnyArray, "T V"], at: Int[AnyArray, " n"] | None = None
    ) -> Float[Array, "n V"]:
        """The law of every token (or of those `at` these positions) given the other rows: nonnegative
        weights of the tokens there, such as `embed` gives. Zero where the others are impossible."""
        rows = check_embeddings(embeddings, self.vocab)
        at = check_positions(at, len(rows))
        laws = self._laws(rows, rows.shape[0])
        return laws if at is None else laws[at]

    def _laws(self, rows: Float[Array, "T V"], length: Any) -> Float[Array, "T V"]:
        factors = charts.scales(self.grammar, rows)
        found = charts.token_derivatives(self.grammar, factors[:, None] * rows, length)
        sums = jnp.sum(found, axis=1, keepdims=True)
        return jnp.where(sums > 0, found / jnp.where(sums > 0, sums, 1), 0.0)

    def conditionals(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> Float[Array, "T V"]:
        """`[i, x] = P[X_i = x | the observed others, and the number of tokens]`; zero where the context is
        impossible, and after the end."""
        rows, length = self._evidence(tokens, observed)
        count = len(tokens)
        if not known(rows, length):
            return self._laws(rows, length)
        more = padded_length(count) - count
        padded = jnp.pad(rows, ((0, more), (0, 0)))
        return cut(_conditionals(self, padded, jnp.asarray(length)), count)

    def posterior(
        self, tokens: Int[AnyArray, " T"], observed: Bool[AnyArray, " T"] | None = None
    ) -> PCFGPosterior:
        """Laws of the nodes above every token given the observed ones."""
        rows, length = self._evidence(tokens, observed)
        return _posterior(self, rows, jnp.asarray(length))

    def next_logits(self, tokens: Int[AnyArray, " T"]) -> Float[Array, "T V"]:
        """`[i, x] = log P[X_{i+1} = x | X_{1:i} = tokens_{1:i}, there is a next token]`; -inf after a
        prefix that is impossible or can only end. The law of the end is `end_probabilities`."""
        return jnp.log(self._prefixes(tokens)[0])[1:]

    def end_probabilities(self, tokens: Int[AnyArray, " T"]) -> Float[Array, " T"]:
        """`[i] = P[the sentence ends after tokens_{1:i} | they are its beginning]`; 0 after an
        impossible one."""
        return self._prefixes(tokens)[1][1:]

    def boundary_laws(
        self,
        tokens: Int[AnyArray, " T"],
        height: int,
        observed: Bool[AnyArray, " T"] | None = None,
    ) -> Float[Array, "T V"]:
        """`[i, x] = P[X_i = x | X_{1:i-1} = tokens_{1:i-1}, a node of this height ends with token i]`; zero
        where that is impossible. Of height 1 every token is a node. Earlier tokens that are not
        `observed` are unknown."""
        self._check_height(height)
        rows, _ = self._evidence(tokens, observed)
        count = len(tokens)
        if known(rows):
            rows = jnp.pad(rows, ((0, padded_length(count) - count), (0, 0)))
        return cut(_boundary_laws(self, rows, int(height)), count)

    def first_law(self) -> Float[Array, " V"]:
        """The law of the first token."""
        return self._prefixes(np.zeros(1, int))[0][0]

    def _prefixes(self, tokens: Int[AnyArray, " T"]) -> tuple[Float[Array, "_ V"], Array]:
        """Laws of the next token, and chances of the end, after 0..T tokens."""
        rows, _ = self._evidence(tokens, None)
        count = len(tokens)
        if known(rows):
            rows = jnp.pad(rows, ((0, padded_length(count) - count), (0, 0)))
            return cut(_prefixes(self, rows), count + 1)
        return _prefixes(self, rows)

    def ngrams(self, n: int) -> Float[Array, "*grams"]:
        """The expected number of times that every string of n tokens occurs in a sentence, as an array with n
        axes of V entries; divided by its sum it is the law of n-grams."""
        check_size(f"a table of {n}-grams", self.vocab ** min(check_count("n", n), 64), 2**16)
        grams = np.array(list(itertools.product(range(self.vocab), repeat=n)))
        found = _ngrams(self, jnp.asarray(grams))
        return found.reshape((self.vocab,) * n)

    def text(self, tokens: Any) -> str:
        """The tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    # -- what methods are given ------------------------------------------------------------------------

    def _evidence(self, tokens: Any, observed: Any) -> tuple[Float[Array, "T V"], Any]:
        """Rows of a sentence that may be padded with the id V, and how many tokens it has."""
        if is_empty("tokens", tokens):
            raise ValueError("the sentence is empty; it must have at least one token")
        tokens, observed = check_tokens(tokens, observed, self.vocab + 1)
        if is_concrete(tokens):
            real = np.asarray(tokens) < self.vocab
            if not real[0] or (np.diff(real.astype(int)) > 0).any():
                raise ValueError(
                    f"tokens has the id {self.vocab}, the padding, before its end, or nothing else"
                )
        inside = jnp.asarray(tokens) < self.vocab
        rows = embed_rows(jnp.eye(self.vocab), jnp.where(inside, tokens, 0), observed)
        return jnp.where(inside[:, None], rows, 0.0), jnp.sum(inside)

    def _check_length(self, length: Any, most: int) -> Any:
        if length is None:
            return most
        return check_whole_numbers("length", length, 1, most, ())

    def _check_height(self, height: Any) -> None:
        if check_count("height", height) > self.height:
            raise ValueError(
                f"height is {short(height)}; this grammar has the heights 1..{self.height}"
            )


@eqx.filter_jit
def _conditionals(world: LayeredPCFG, rows: Array, length: Array) -> Float[Array, "T V"]:
    return world._laws(rows, length)


@eqx.filter_jit
def _prefixes(world: LayeredPCFG, rows: Array) -> tuple[Float[Array, "_ V"], Float[Array, " _"]]:
    """Scaled by one factor for each position, which quotients do not see."""
    scaled = charts.scales(world.grammar, rows)[:, None] * rows
    chart = charts.inside(world.grammar, scaled)
    following = charts.prefix_weights(world.grammar, chart)
    ending = chart[-1]
    sums = jnp.sum(following, axis=1)
    laws = jnp.where(sums[:, None] > 0, following / jnp.where(sums > 0, sums, 1)[:, None], 0.0)
    whole = sums + ending
    return laws, jnp.where(whole > 0, ending / jnp.where(whole > 0, whole, 1), 0.0)


@eqx.filter_jit
def _boundary_laws(world: LayeredPCFG, rows: Array, height: int) -> Float[Array, "T V"]:
    scaled = charts.scales(world.grammar, rows)[:, None] * rows
    chart = charts.inside(world.grammar, scaled)
    found = charts.prefix_weights(world.grammar, chart, height)[:-1]
    sums = jnp.sum(found, axis=1, keepdims=True)
    return jnp.where(sums > 0, found / jnp.where(sums > 0, sums, 1), 0.0)


@eqx.filter_jit
def _posterior(world: LayeredPCFG, rows: Array, length: Array) -> PCFGPosterior:
    scaled = charts.scales(world.grammar, rows)[:, None] * rows
    weights, value = charts.node_weights(world.grammar, scaled, length)
    count = rows.shape[0]
    most = max(len(layer.symbols) for layer in world.grammar.layers)
    safe = jnp.where(value > 0, value, 1)
    ancestors, ends = [], []
    start, stop, token = jnp.arange(count + 1), jnp.arange(count + 1), jnp.arange(count)
    covers = (start[:, None] <= token)[:, None, :] & (stop[:, None] > token)[None]
    for h in range(1, len(weights)):
        spans = charts.dense(world.grammar, weights, h)
        law = jnp.where(value > 0, spans / safe, 0.0)
        wide = jnp.pad(law, ((0, most - law.shape[0]), (0, 0), (0, 0)))
        ancestors.append(jnp.einsum("aij,ijt->ta", wide, covers.astype(wide.dtype)))
        here = jnp.sum(wide, axis=1)[:, 1:].T
        none = jnp.where((token < length) & (value > 0), 1 - jnp.sum(here, axis=1), 0.0)
        ends.append(jnp.concatenate([here, none[:, None]], axis=1))
    return PCFGPosterior(jnp.stack(ancestors), jnp.stack(ends))


@eqx.filter_jit
def _ngrams(world: LayeredPCFG, grams: Int[Array, "m n"]) -> Float[Array, " m"]:
    return jax.vmap(lambda gram: charts.expected_ngrams(world.grammar, gram))(grams)
