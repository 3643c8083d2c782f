"""Monotone translation by phrases of random length: what a parallel decoder must guess, exactly."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    check_count,
    check_distribution,
    check_key,
    check_length,
    check_number,
    check_whole_numbers,
    parameter,
)
from ..text import numbers_text

MOST_WORDS = 4096


def _tokens(name: str, values: Any, most: int, shape: tuple[int | None, ...] = (None,)) -> Any:
    return np.asarray(check_whole_numbers(name, values, 0, most, shape))


def _read(name: str, tokens: np.ndarray, lengths: np.ndarray, vocab: int) -> np.ndarray:
    """The tokens before the ends, which must be in the vocabulary, and -1 after them."""
    inside = np.arange(tokens.shape[1]) < lengths[:, None]
    bad = inside & ((tokens < 0) | (tokens >= vocab))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name}{list(where)} is the token {tokens[where]}; it must lie in 0..{vocab - 1}"
        )
    return np.where(inside, tokens, -1)


class Translation(NamedTuple):
    """One source with its target, padded after their ends with the ids `vocab` of each side."""

    source: Int[Array, "*batch L"]
    source_length: Int[Array, "*batch"]
    target: Int[Array, "*batch T"]
    target_length: Int[Array, "*batch"]

    @property
    def tokens(self) -> Int[Array, "*batch T"]:
        """The target: what is generated."""
        return self.target


class PhrasePosterior(NamedTuple):
    """What is known of a target from its source and its length N alone; o is the place in a phrase."""

    starts: Float[np.ndarray, "L N F"]  # phrase s starts at j and has l + 1 tokens
    tokens: Float[np.ndarray, "N L F"]  # P(y_j is token o of source s)
    alignment: Float[np.ndarray, "N L"]  # P(y_j comes from source s)
    entropy: float  # of the whole target


class Fertility(eqx.Module):
    """Source: L tokens, all different, L uniform on `shortest..longest`. Each is translated by a phrase,
    the first l of its own F target tokens with probability `q[l - 1]`; phrases are joined in order.
    A phrase of two tokens is turned round with probability `swap`.

    Target tokens of source token a are `a F, ..., a F + F - 1`: all different, so a correct target
    never repeats a token. Which lengths the phrases have is all that the source does not tell.
    """

    q: Float[np.ndarray, " F"]
    swap: float = eqx.field(static=True)
    source_vocab: int = eqx.field(static=True)
    shortest: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)

    def __init__(
        self,
        q: Any,
        *,
        swap: float = 0.0,
        source_vocab: int = 30,
        shortest: int = 5,
        longest: int = 10,
    ):
        q = parameter("q", q, (None,))
        check_distribution("q", q, columns=False)
        self.q = np.asarray(q, np.float64)
        swap = float(check_number("swap", swap, 0, 1))
        most = check_length(longest, MOST_WORDS, "longest")
        if not check_count("shortest", shortest) <= most:
            raise ValueError(f"shortest is {shortest}; it must be at most longest, {longest}")
        if check_length(source_vocab, 2**24, "source_vocab") < longest:
            raise ValueError(
                f"source_vocab is {source_vocab}; sources of {longest} different tokens need more"
            )
        self.swap, self.source_vocab = float(swap), int(source_vocab)
        self.shortest, self.longest = int(shortest), int(longest)

    @property
    def phrase(self) -> int:
        """F, the longest phrase."""
        return self.q.size

    @property
    def vocab(self) -> int:
        """Number of target tokens."""
        return self.source_vocab * self.phrase

    @property
    def longest_target(self) -> int:
        return self.longest * self.phrase

    @property
    def phrases(self) -> list[tuple[tuple[int, ...], float]]:
        """How a word may be translated: places of its tokens in the order in which they stand, and the
        probability of this."""
        straight = [(tuple(range(n + 1)), float(p)) for n, p in enumerate(self.q)]
        if self.swap and self.phrase > 1:
            both = straight[1][1]
            straight[1] = ((0, 1), both * (1 - self.swap))
            straight.append(((1, 0), both * self.swap))
        return straight

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> Translation:
        """Draw a source and its target, which is padded to `longest_target` tokens."""
        if length is not None and check_count("length", length) != self.longest_target:
            raise ValueError(
                f"length is {length}; targets of this world are padded to {self.longest_target} tokens"
            )
        size, words, phrases, turns = jax.random.split(check_key(key), 4)
        words_in = jax.random.randint(size, (), self.shortest, self.longest + 1)
        source = jax.random.permutation(words, self.source_vocab)[: self.longest]
        real = jnp.arange(self.longest) < words_in
        lengths = 1 + jax.random.categorical(
            phrases, jnp.log(jnp.asarray(self.q)), shape=(self.longest,)
        )
        turned = jax.random.uniform(turns, (self.longest,)) < self.swap
        return self._join(source, jnp.where(real, lengths, 0), turned, words_in)

    def _join(
        self,
        source: Int[Array, " L"],
        lengths: Int[Array, " L"],
        turned: Bool[Array, " L"],
        words_in: Int[Array, ""],
    ) -> Translation:
        """The target of phrases of these lengths (0 after the end of the source)."""
        F = self.phrase
        place = jnp.arange(F)
        order = jnp.where((turned & (lengths == 2))[:, None] & (place < 2), 1 - place, place)
        begin = jnp.cumsum(lengths) - lengths
        at = jnp.where(place < lengths[:, None], begin[:, None] + place, self.longest_target)
        target = jnp.full(self.longest_target + 1, self.vocab, jnp.int32)
        target = target.at[at].set(source[:, None] * F + order)[:-1]
        shown = jnp.where(jnp.arange(self.longest) < words_in, source, self.source_vocab)
        return Translation(shown, words_in, target, lengths.sum())

    def text(self, tokens: Any) -> str:
        """The target tokens as numbers with spaces between them; see `Dyck.text` for padding."""
        return numbers_text(tokens, self.vocab)

    # -- exact questions, by a recursion over (source index, target position) ------------------

    def _forward(self, count: int) -> Float[np.ndarray, "rows T"]:
        """`[s, j]`: probability that s phrases have j tokens together; s = 0..count."""
        table = np.zeros((count + 1, count * self.phrase + 1))
        table[0, 0] = 1
        for s in range(count):
            for l, p in enumerate(self.q, start=1):  # noqa: E741
                table[s + 1, l:] += p * table[s, : table.shape[1] - l]
        return table

    def length_law(self, source_length: int) -> Float[np.ndarray, " T"]:
        """`P(N = n)` of the target's length, n = 0.., given the source's."""
        return self._forward(check_length(source_length, MOST_WORDS, "source_length"))[-1]

    def posterior(self, source_length: int, target_length: int) -> PhrasePosterior:
        """Exact posteriors given the source and the target's length, `O(L N F)`.

        As tokens are all different, only the two lengths matter.
        """
        L, F = check_length(source_length, MOST_WORDS, "source_length"), self.phrase
        N = check_count("target_length", target_length)
        table = self._forward(L)
        total = table[L, N] if 0 <= N < table.shape[1] else 0.0
        if total <= 0:
            raise ValueError(
                f"a target of {N} tokens has probability zero for a source of {L} tokens"
            )
        starts = np.zeros((L, N, F))
        for s in range(L):
            for j in range(N):
                for l in range(min(F, N - j)):  # noqa: E741
                    rest = N - j - l - 1
                    starts[s, j, l] = table[s, j] * self.q[l] * table[L - s - 1, rest] / total
        tokens = np.zeros((N, L, F))
        for o in range(F):  # the token in place o of a phrase of l + 1 tokens that starts at j - o
            for l in range(o, F):  # noqa: E741
                here = starts[:, : N - o, l].T if o else starts[:, :, l].T
                straight = 1 - self.swap if l == 1 else 1.0
                tokens[o:, :, o] += straight * here
                if l == 1:
                    tokens[o:, :, 1 - o] += self.swap * here
        with np.errstate(divide="ignore"):
            logs = np.where(self.q > 0, np.log(np.where(self.q > 0, self.q, 1)), 0)
        use = starts.sum(axis=(0, 1))  # expected number of phrases of each length
        w = self.swap
        turn = -sum(p * np.log(p) for p in (w, 1 - w) if p > 0)
        doubles = use[1] if F > 1 else 0.0
        entropy = float(np.log(total) - use @ logs + doubles * turn)
        return PhrasePosterior(starts, tokens, tokens.sum(axis=2), max(entropy, 0.0))

    def log_prob(self, source: Int[np.ndarray, " L"], target: Int[np.ndarray, " N"]) -> float:
        """`log P(target | source)`; -inf if it is no translation of the source."""
        source = _tokens("source", source, self.source_vocab - 1)
        target = _tokens("target", target, self.vocab - 1)
        if len(set(source.tolist())) != len(source) or len(source) == 0:
            raise ValueError("the source must be a sequence of different tokens, at least one")
        sizes = np.array([len(source)]), np.array([len(target)])
        return float(self.log_probs(source[None], sizes[0], target[None], sizes[1])[0])

    def log_probs(
        self,
        source: Int[np.ndarray, "n L"],
        source_lengths: Int[np.ndarray, " n"],
        target: Int[np.ndarray, "n T"],
        lengths: Int[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """`log P(target | source)` of many pairs, padded after their ends by anything; -inf where a
        target is no translation."""
        target = np.asarray(check_whole_numbers("target", target, -(2**31), 2**31, (None, None)))
        n, T = target.shape
        source = np.asarray(check_whole_numbers("source", source, -(2**31), 2**31, (n, None)))
        source_lengths = _tokens("source_lengths", source_lengths, source.shape[1], (n,))
        lengths = _tokens("lengths", lengths, T, (n,))
        source = _read("source", source, source_lengths, self.source_vocab)
        target = _read("target", target, lengths, self.vocab)
        rows = np.full((n, T + self.phrase), -1)
        rows[:, :T] = target
        reached = np.full((n, T + 1), -np.inf)  # [:, j]: the phrases so far have j tokens
        reached[:, 0] = 0
        for s in range(source.shape[1]):
            following = np.full_like(reached, -np.inf)
            for order, p in self.phrases:
                size = len(order)
                if p == 0 or size > T:
                    continue
                fits = np.ones((n, T + 1 - size), bool)
                for at, place in enumerate(order):
                    token = source[:, s, None] * self.phrase + place
                    fits &= rows[:, at : at + fits.shape[1]] == token
                here = np.where(fits, reached[:, : fits.shape[1]] + np.log(p), -np.inf)
                following[:, size:] = np.logaddexp(following[:, size:], here)
            live = s < np.asarray(source_lengths)
            reached = np.where(live[:, None], following, reached)
        return reached[np.arange(n), np.asarray(lengths)]

    def product_decoder(self, source_length: int, target_length: int) -> Float[np.ndarray, "N T"]:
        """The Bayes-optimal one-pass decoder, given the length: the law of every target token alone,
        over tokens `s F + o` of source place s. Its total correlation is what it cannot know."""
        return self.posterior(source_length, target_length).tokens.reshape(target_length, -1)

    def total_correlation(self, source_length: int, target_length: int) -> float:
        """`KL(truth || product decoder)` given the source and the target's length, in nats."""
        found = self.posterior(source_length, target_length)
        p = found.tokens
        alone = float(-(p * np.log(np.where(p > 0, p, 1))).sum())
        return max(alone - found.entropy, 0.0)

    def best_lengths(self, source_length: int, target_length: int) -> Int[np.ndarray, " L"]:
        """The most likely phrase lengths with this sum (the shortest first among equals)."""
        L, N, F = source_length, target_length, self.phrase
        self.posterior(L, N)
        with np.errstate(divide="ignore"):
            logs = np.log(self.q)
        best = np.full((L + 1, N + 1), -np.inf)
        best[L, N] = 0
        choice = np.zeros((L, N + 1), int)
        for s in range(L - 1, -1, -1):
            for j in range(N + 1):
                options = [
                    logs[n] + best[s + 1, j + n + 1] if j + n < N else -np.inf for n in range(F)
                ]
                choice[s, j] = int(np.argmax(options)) + 1
                best[s, j] = max(options)
        lengths, j = [], 0
        for s in range(L):
            lengths.append(choice[s, j])
            j += choice[s, j]
        return np.array(lengths)
