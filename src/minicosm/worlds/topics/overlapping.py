"""A stand-in for natural text: overlapping topics, documents of few topics, and stop words everywhere."""

from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_distribution,
    check_key,
    check_length,
    check_number,
    check_positive,
    check_size,
    parameter,
    stochastic,
)


class OverlapSample(NamedTuple):
    """One document and its topics."""

    tokens: Int[Array, " N"]
    mixture: Float[Array, " K"]


class OverlappingTopics(eqx.Module):
    """A document has `min(1 + Poisson(extra), most)` of K topics, with uniformly drawn weights; each
    position is a stop word with probability `stop_share`, else a word of one of its topics.

    `W[x, k] = P(word = x | topic = k)` over all words, stop words (the last ones) included, which have
    probability zero there; `stop[x]` is the law of stop words. It is drawn from and has no exact posterior.
    """

    W: AnyArray
    stop: AnyArray
    stop_share: float = eqx.field(static=True)
    extra: float = eqx.field(static=True)
    most: int = eqx.field(static=True)

    def __init__(
        self, W: Any, stop: Any, *, stop_share: float = 0.3, extra: float = 1.5, most: int = 6
    ):
        self.W = stochastic("W", W, (None, None))
        self.stop = parameter("stop", stop, (self.W.shape[0],))
        check_distribution("stop", self.stop, columns=False)
        self.stop_share = float(check_number("stop_share", stop_share, 0, 1))
        self.extra = float(check_number("extra", extra, 0, 1e6))
        if check_count("most", most) > self.W.shape[1]:
            raise ValueError(
                f"most is {most}; there are {self.W.shape[1]} topics, it must be at most as many"
            )
        self.most = int(most)

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        topics: int = 20,
        words: int = 350,
        stop_words: int = 50,
        sparsity: float = 0.05,
        zipf: float = 0.7,
        **fields: Any,
    ) -> Self:
        """Topics from `Dirichlet(sparsity * words * z)`, where `z` is a Zipf law `r^-zipf` in random order:
        some words are frequent in all topics. Stop word r has weight `1/r`."""
        for name, size in (("topics", topics), ("words", words), ("stop_words", stop_words)):
            check_count(name, size)
        check_size(
            f"words = {words} and stop_words = {stop_words} of topics = {topics}",
            (words + stop_words) * topics,
            2**24,
        )
        check_positive("sparsity", sparsity)
        check_number("zipf", zipf, 0, 10)
        order_key, topic_key = jax.random.split(check_key(key))
        ranks = 1 + jax.random.permutation(order_key, words)
        law = (1.0 * ranks) ** (-float(zipf))
        law = law / law.sum()
        drawn = np.asarray(
            jax.random.dirichlet(topic_key, float(sparsity) * words * law, (topics,)), np.float64
        )
        W = np.zeros((words + stop_words, topics))
        W[:words] = (drawn / drawn.sum(axis=1, keepdims=True)).T
        stop = np.zeros(words + stop_words)
        stop[words:] = 1 / np.arange(1, stop_words + 1)
        return cls(W, stop / stop.sum(), **fields)

    @property
    def vocab(self) -> int:
        return self.W.shape[0]

    @property
    def topics(self) -> int:
        return self.W.shape[1]

    @property
    def content(self) -> Any:
        """Which words are no stop words."""
        return np.asarray(self.stop) == 0

    def law(self) -> Float[np.ndarray, " V"]:
        """The law of a word when nothing is known of its document."""
        topics = np.asarray(self.W, np.float64).mean(axis=1)
        return (1 - self.stop_share) * topics + self.stop_share * np.asarray(self.stop, np.float64)

    def sample(self, key: PRNGKeyArray, length: int) -> OverlapSample:
        check_length(length, 2**16)
        count_key, set_key, weight_key, word_key = jax.random.split(check_key(key), 4)
        count = jnp.minimum(1 + jax.random.poisson(count_key, self.extra), self.most)
        chosen = jax.random.permutation(set_key, self.topics) < count
        weights = jnp.where(chosen, jax.random.exponential(weight_key, (self.topics,)), 0)
        mixture = weights / weights.sum()
        law = (1 - self.stop_share) * (jnp.asarray(self.W) @ mixture)
        law = law + self.stop_share * jnp.asarray(self.stop)
        tokens = jax.random.categorical(word_key, jnp.log(law), shape=(length,))
        return OverlapSample(tokens, mixture)
