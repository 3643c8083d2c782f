"""Documents whose only structure is that words come from topics, which share no words."""

from math import comb
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_choice,
    check_count,
    check_key,
    check_kind,
    check_length,
    check_positive,
    check_size,
    check_tokens,
    check_whole_numbers,
    short,
)
from ..corruption import Corruption
from .mixtures import law_of_topic_count, mixture_of_dirichlet, mixture_of_sets

Loss = Literal["squared", "cross-entropy"]
LOSSES: tuple[Loss, ...] = ("squared", "cross-entropy")
MOST_WORDS = 2**53  # of theory; documents are drawn of at most 2^24
MOST_LENGTH = 2**16


class TopicSample(NamedTuple):
    """One document, padded after its end with the id V, and what it was drawn from."""

    tokens: Int[Array, " N"]
    mixture: Float[Array, " T"]
    """theta: the probability of every topic in this document."""


class TopicPosterior(NamedTuple):
    """What is known of a document's mixture from its words."""

    mixture: Float[Array, " T"]
    """`E[theta_t | words]`."""


class Moments(NamedTuple):
    """Second moments of a document's mixture."""

    same: float
    """`E[theta_t^2]`."""
    different: float
    """`E[theta_s theta_t]` for two topics."""


class TopicWorld(eqx.Module):
    r"""T topics of v words each; word i belongs to topic `i // v`. A document draws a mixture theta of
    topics, and every position a topic from theta and one of its words, uniformly.

    With `per_document` = tau, theta is uniform on a uniformly drawn set of tau topics; with `dirichlet` =
    alpha it has a Dirichlet law with all parameters alpha (LDA with topics that share no words). One of
    the two is given.
    `lengths = (low, high)` makes `sample` draw a length uniformly if none is given.

    **Infinite documents**, in which every word has its expected frequency, are a mode of the world: what
    says "infinite" sums over sets of topics in place of documents.
    """

    topics: int = eqx.field(static=True)
    words: int = eqx.field(static=True)
    per_document: int | None = eqx.field(static=True)
    dirichlet: float | None = eqx.field(static=True)
    lengths: tuple[int, int] | None = eqx.field(static=True)

    def __init__(
        self,
        topics: int,
        words: int,
        *,
        per_document: int | None = None,
        dirichlet: float | None = None,
        lengths: tuple[int, int] | None = None,
    ):
        self.topics, self.words = check_count("topics", topics), check_count("words", words)
        if topics * words > MOST_WORDS:
            raise ValueError(
                f"topics = {topics} of words = {words} each are {topics * words} words; "
                f"at most {MOST_WORDS} are allowed"
            )
        if (per_document is None) == (dirichlet is None):
            raise ValueError(
                f"per_document is {short(per_document)} and dirichlet is {short(dirichlet)}; "
                "one of them must be given and the other None"
            )
        if per_document is not None and check_count("per_document", per_document) > topics:
            raise ValueError(
                f"per_document is {per_document}; there are {topics} topics, it must be at most as many"
            )
        if dirichlet is not None:
            if isinstance(dirichlet, bool):
                raise ValueError(f"dirichlet is {dirichlet}; it must be a positive number")
            check_positive("dirichlet", dirichlet)
        self.per_document = None if per_document is None else int(per_document)
        self.dirichlet = None if dirichlet is None else float(dirichlet)
        self.lengths = None if lengths is None else _lengths(lengths)

    @classmethod
    def of_vocabulary(cls, vocab: int, topics: int, **fields: Any) -> "TopicWorld":
        """The world in which `topics` topics share out `vocab` words."""
        check_count("topics", topics)
        if check_count("vocab", vocab) % topics:
            raise ValueError(
                f"vocab is {vocab}, which {topics} topics do not divide; it must be a multiple of topics"
            )
        return cls(topics, vocab // topics, **fields)

    @property
    def vocab(self) -> int:
        return self.topics * self.words

    @property
    def labels(self) -> Int[np.ndarray, " V"]:
        """The topic of every word."""
        check_size("the list of all words", self.vocab, 2**24)
        return np.repeat(np.arange(self.topics), self.words)

    @property
    def moments(self) -> Moments:
        """`E[theta_t^2]` and `E[theta_s theta_t]`."""
        T = self.topics
        if self.per_document is not None:
            tau = self.per_document
            return Moments(1 / (tau * T), (tau - 1) / (tau * T * (T - 1)) if T > 1 else 0.0)
        assert self.dirichlet is not None
        alpha = self.dirichlet
        below = T * alpha * (T * alpha + 1)
        return Moments(alpha * (alpha + 1) / below, alpha**2 / below if T > 1 else 0.0)

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> TopicSample:
        """A document of `length` words, or of a length drawn from `lengths`, then padded to the longest."""
        if length is None:
            if self.lengths is None:
                raise ValueError("length is None; this world has no lengths of its own")
            low, most = self.lengths
        else:
            low = most = check_length(length, MOST_LENGTH)
        check_size("the list of all words", self.vocab, 2**24)
        mixture_key, topic_key, word_key, length_key = jax.random.split(check_key(key), 4)
        T = self.topics
        if self.per_document is not None:
            chosen = jax.random.permutation(mixture_key, T) < self.per_document
            mixture = chosen / jnp.asarray(self.per_document, float)
        else:
            mixture = jax.random.dirichlet(mixture_key, jnp.full(T, float(self.dirichlet or 0)))
        topic = jax.random.categorical(topic_key, jnp.log(mixture), shape=(most,))
        word = jax.random.randint(word_key, (most,), 0, self.words)
        size = jax.random.randint(length_key, (), low, most + 1)
        tokens = jnp.where(jnp.arange(most) < size, topic * self.words + word, self.vocab)
        return TopicSample(tokens, mixture)

    # -- documents that are seen as they are ----------------------------------------------------

    def _counts(self, tokens: Any, observed: Any) -> tuple[Int[Array, " T"], Int[Array, "N T"]]:
        """How often each topic is seen, and the topic of every position that is."""
        topic = jnp.asarray(tokens) // self.words
        each = jax.nn.one_hot(topic, self.topics, dtype=jnp.int32)  # zero outside the vocabulary
        if observed is not None:
            each = jnp.where(jnp.asarray(observed)[:, None], each, 0)
        return each.sum(axis=0), each

    def _mixture(self, counts: Int[Array, " T"]) -> Float[Array, " T"]:
        """`E[theta_t]` given how often each topic was seen; zero if that is impossible."""
        if self.dirichlet is not None:
            return (self.dirichlet + counts) / (self.topics * self.dirichlet + counts.sum())
        seen = counts > 0
        known, tau = seen.sum(), self.per_document
        assert tau is not None
        others = (tau - known) / jnp.maximum(self.topics - known, 1)
        return jnp.where(known <= tau, jnp.where(seen, 1.0, others) / tau, 0.0)

    def posterior(
        self, tokens: Int[AnyArray, " N"], observed: Bool[AnyArray, " N"] | None = None
    ) -> TopicPosterior:
        """`E[theta | observed words]`; zero if they are impossible."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        return TopicPosterior(self._mixture(self._counts(tokens, observed)[0]))

    def conditionals(
        self, tokens: Int[AnyArray, " N"], observed: Bool[AnyArray, " N"] | None = None
    ) -> Float[Array, "N V"]:
        """`[i, x] = E[theta_topic(x) | observed words but i] / v`."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        counts, each = self._counts(tokens, observed)
        return jnp.repeat(jax.vmap(self._mixture)(counts - each) / self.words, self.words, axis=1)

    def next_logits(self, tokens: Int[AnyArray, " N"]) -> Float[Array, "N V"]:
        """`[i, x] = log E[theta_topic(x) | first i words] / v`."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        counts = jnp.cumsum(self._counts(tokens, None)[1], axis=0)
        law = jax.vmap(self._mixture)(counts) / self.words
        return jnp.log(jnp.repeat(law, self.words, axis=1))

    def log_prob(self, tokens: Int[AnyArray, " N"]) -> Float[Array, ""]:
        r"""`log P(words)` given their number: every word of `prod_i E[theta | words before i] / v`.

        For sets this is `C(T - s, tau - s) / C(T, tau) (tau v)^-N` if s topics are seen.
        """
        tokens, _ = check_tokens(tokens, None, self.vocab)
        each = self._counts(tokens, None)[1]
        before = jnp.cumsum(each, axis=0) - each
        laws = jax.vmap(self._mixture)(before)
        known = ((jnp.asarray(tokens) >= 0) & (jnp.asarray(tokens) < self.vocab)).all()
        logs = jnp.log((laws * each).sum(axis=1) / self.words).sum()
        return jnp.where(known, logs, -jnp.inf)

    # -- documents that are corrupted -----------------------------------------------------------

    def denoised(
        self, counts: Int[np.ndarray, " T"], corruption: Corruption
    ) -> Float[np.ndarray, " T"]:
        """`E[theta_t | shown words]` in double precision, if `counts[t]` shown words are of topic t: any
        of them may be a random one. Zero if that is impossible."""
        check_kind("corruption", corruption, Corruption, "a Corruption")
        shown = np.asarray(
            check_whole_numbers("counts", counts, 0, MOST_LENGTH, (self.topics,)), np.int64
        )
        return self._denoised(shown, corruption)

    def _denoised(self, counts: np.ndarray, corruption: Corruption) -> np.ndarray:
        a, b = corruption.a, corruption.b
        if self.per_document is not None:
            return mixture_of_sets(counts, self.per_document, a, b)
        assert self.dirichlet is not None
        return mixture_of_dirichlet(counts, self.dirichlet, a, b)

    def bayes_predict(
        self,
        tokens: Int[np.ndarray, " N"],
        observed: Bool[np.ndarray, " N"] | None,
        corruption: Corruption,
    ) -> Float[np.ndarray, "N V"]:
        r"""The law of the original word at each position, if it was chosen, given all that is shown.

        With `pi_i = E[theta_topic(i) | all that is shown but here] / v` it is `pi` where the mask is, and
        proportional to `pi_i (p_c 1[i = w] + p_r / (T v))` where the word w is. `observed` is False where
        the mask is (None: nowhere).
        """
        check_kind("corruption", corruption, Corruption, "a Corruption")
        given, shown = check_tokens(tokens, observed, self.vocab)
        tokens = np.asarray(given)
        observed = np.ones(len(tokens), bool) if shown is None else np.asarray(shown)
        topic = tokens // self.words
        counts = np.bincount(topic[observed], minlength=self.topics)
        laws = {-1: self._denoised(counts, corruption)}
        for t in np.unique(topic[observed]):
            less = counts.copy()
            less[t] -= 1
            laws[int(t)] = self._denoised(less, corruption)
        which = np.where(observed, topic, -1)
        law = np.repeat(np.array([laws[int(t)] for t in which]) / self.words, self.words, axis=1)
        own = np.eye(self.vocab)[tokens] * corruption.kept + corruption.random / self.vocab
        law = np.where(observed[:, None], law * own, law)
        total = law.sum(axis=1, keepdims=True)
        return np.divide(law, total, out=np.zeros_like(law), where=total > 0)

    # -- infinite documents ---------------------------------------------------------------------

    def stage1_loss(self, loss: Loss = "squared") -> float:
        """The least loss of predictors that do not see the token at their own position, in infinite
        documents of tau topics: `1 - 1/(tau v)`, or `log(tau v)` nats."""
        size = self._document_words()
        check_choice("loss", loss, LOSSES)
        return 1 - 1 / size if loss == "squared" else float(np.log(size))

    def bayes_loss(self, corruption: Corruption, loss: Loss = "squared") -> float:
        """The least loss of any predictor at chosen positions of infinite documents of tau topics.

        The set of topics is known. A word outside it was put there; one inside is the word itself with
        probability `c = (p_c + p_r/(Tv)) / D` and each other one of the document's with `o = p_r/(Tv) / D`,
        where `D = p_c + p_r tau/T`.
        """
        size = self._document_words()
        check_choice("loss", loss, LOSSES)
        check_kind("corruption", corruption, Corruption, "a Corruption")
        kept, random = corruption.kept, corruption.random
        inside = kept + random * size / self.vocab
        blind = self.stage1_loss(loss)
        if inside == 0:
            return blind
        own = (kept + random / self.vocab) / inside
        other = random / self.vocab / inside
        if loss == "squared":
            seen = 1 - own**2 - (size - 1) * other**2
        else:
            spread = (size - 1) * other * np.log(other) if other > 0 and size > 1 else 0.0
            seen = float(-own * np.log(own) - spread)
        return (1 - inside) * blind + inside * seen

    def _document_words(self) -> int:
        if self.per_document is None:
            raise ValueError(
                f"dirichlet is {self.dirichlet}; infinite documents need per_document, a number of topics"
            )
        return self.per_document * self.words

    def topic_sets(self) -> Bool[np.ndarray, "sets T"]:
        """All C(T, tau) sets of topics that a document can have."""
        from itertools import combinations

        self._document_words()
        assert self.per_document is not None
        count = comb(self.topics, self.per_document)
        if count > 2**16:
            raise ValueError(
                f"there are {count} sets of per_document = {self.per_document} of {self.topics} topics; "
                f"at most {2**16} are listed"
            )
        sets = np.zeros((count, self.topics), bool)
        for row, chosen in enumerate(combinations(range(self.topics), self.per_document)):
            sets[row, list(chosen)] = True
        return sets

    def topic_count_law(self, length: int) -> Float[np.ndarray, " counts"]:
        """`P(a document of N words has words of exactly m topics)`, m = 0..T."""
        check_length(length, MOST_LENGTH)
        if self.dirichlet is None:
            raise ValueError("dirichlet is None; the law is that of a Dirichlet world")
        return law_of_topic_count(self.topics, self.dirichlet, length)


def _lengths(lengths: Any) -> tuple[int, int]:
    if not isinstance(lengths, list | tuple) or len(lengths) != 2:
        raise ValueError(f"lengths is {short(lengths)}; it must be a pair (low, high)")
    low, high = (check_length(size, MOST_LENGTH, "lengths") for size in lengths)
    if low > high:
        raise ValueError(f"lengths is {short(lengths)}; low must be at most high")
    return low, high
