"""Latent Dirichlet allocation with any topics, exactly, for short documents."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..arrays import (
    AnyArray,
    check_count,
    check_key,
    check_length,
    check_positive,
    check_size,
    check_tokens,
    embed_rows,
    parameter,
    stochastic,
)
from .world import TopicPosterior, TopicSample

MOST_STATES = 2**18


class LDA(eqx.Module):
    r"""`theta ~ Dirichlet(alpha)` once per document, then every word from `W theta`.

    `W[x, k] = P(word = x | topic = k)`; topics may share words. Exact answers are sums over how many words
    each topic has (a lattice of `(N + 1)^(K - 1)` points), so documents must be short or topics few.
    """

    W: AnyArray
    alpha: AnyArray

    def __init__(self, W: Any, alpha: Any):
        self.W = stochastic("W", W, (None, None))
        self.alpha = parameter("alpha", alpha, (self.W.shape[1],))
        if not isinstance(self.alpha, jax.core.Tracer) and (np.asarray(self.alpha) == 0).any():
            raise ValueError("alpha has an entry 0; every entry must be positive")

    @classmethod
    def random(
        cls, key: PRNGKeyArray, *, topics: int, vocab: int, words: float = 0.5, mixture: float = 0.1
    ) -> Self:
        """Topics from a Dirichlet law with parameters `words`, documents from one with `mixture`."""
        check_size(
            f"vocab = {vocab} words of topics = {topics}",
            check_count("vocab", vocab) * check_count("topics", topics),
        )
        check_positive("words", words)
        check_positive("mixture", mixture)
        W = jax.random.dirichlet(check_key(key), jnp.full(vocab, float(words)), (topics,)).T
        return cls(W, np.full(topics, float(mixture)))

    @property
    def vocab(self) -> int:
        return self.W.shape[0]

    @property
    def topics(self) -> int:
        return self.W.shape[1]

    def sample(self, key: PRNGKeyArray, length: int) -> TopicSample:
        check_length(length, 2**16)
        mixture_key, word_key = jax.random.split(check_key(key))
        mixture = jax.random.dirichlet(mixture_key, jnp.asarray(self.alpha))
        logits = jnp.log(jnp.asarray(self.W) @ mixture)
        return TopicSample(jax.random.categorical(word_key, logits, shape=(length,)), mixture)

    def log_prob(self, tokens: Int[AnyArray, " N"]) -> Float[Array, ""]:
        r"""`log E[prod_i (W theta)_{x_i}]`."""
        tokens, _ = check_tokens(tokens, None, self.vocab)
        return self._sums(self._rows(tokens, None), jnp.ones(len(tokens), bool))[0]

    def posterior(
        self, tokens: Int[AnyArray, " N"], observed: Bool[AnyArray, " N"] | None = None
    ) -> TopicPosterior:
        """`E[theta | observed words]`; zero if they are impossible."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        seen = jnp.ones(len(tokens), bool) if observed is None else jnp.asarray(observed)
        return TopicPosterior(self._sums(self._rows(tokens, observed), seen)[1])

    def conditionals(
        self, tokens: Int[AnyArray, " N"], observed: Bool[AnyArray, " N"] | None = None
    ) -> Float[Array, "N V"]:
        """`[i, x] = (W E[theta | observed words but i])_x`."""
        tokens, observed = check_tokens(tokens, observed, self.vocab)
        seen = jnp.ones(len(tokens), bool) if observed is None else jnp.asarray(observed)
        rows = self._rows(tokens, observed)
        others = seen & ~jnp.eye(len(tokens), dtype=bool)
        mixtures = jax.vmap(lambda seen: self._sums(rows, seen)[1])(others)
        return mixtures @ jnp.asarray(self.W).T

    def _rows(self, tokens: Any, observed: Any) -> Float[Array, "N K"]:
        size = (len(tokens) + 1) ** (self.topics - 1)
        if size > MOST_STATES:
            raise ValueError(
                f"tokens are {len(tokens)} words of {self.topics} topics, which needs a lattice of {size} "
                f"points; at most {MOST_STATES} are allowed"
            )
        return embed_rows(jnp.asarray(self.W), tokens, observed)

    def _sums(
        self, rows: Float[Array, "N K"], seen: Bool[Array, " N"]
    ) -> tuple[Float[Array, ""], Float[Array, " K"]]:
        """Log probability and mean mixture, by `f_i(n) = sum_k rows[i, k] f_{i-1}(n - e_k)`: the weight of
        assignments with n_k words of topic k. The last topic has what the others leave."""
        N, K = rows.shape
        start = jnp.zeros((N + 1,) * (K - 1), rows.dtype).at[(0,) * (K - 1)].set(1)

        def shifted(f: Array, axis: int) -> Array:
            moved = jnp.roll(f, 1, axis)
            return moved.at[(slice(None),) * axis + (0,)].set(0)

        def step(carry: Any, item: Any) -> Any:
            f, scale = carry
            row, here = item
            new = row[K - 1] * f + sum(row[k] * shifted(f, k) for k in range(K - 1))
            f = jnp.where(here, new, f)
            top = f.max()
            safe = jnp.where(top > 0, top, 1)
            return (f / safe, scale + jnp.where(top > 0, jnp.log(safe), -jnp.inf)), None

        (f, scale), _ = jax.lax.scan(step, (start, jnp.zeros((), rows.dtype)), (rows, seen))
        total = seen.sum()
        axes = jnp.meshgrid(*[jnp.arange(N + 1)] * (K - 1), indexing="ij")
        n = jnp.stack([*axes, total - sum(axes, jnp.zeros(start.shape, total.dtype))])
        alpha = jnp.asarray(self.alpha, rows.dtype).reshape(-1, *(1,) * (K - 1))
        whole = n >= 0
        each = gammaln(jnp.where(whole, n, 0) + alpha) - gammaln(alpha)
        weights = jnp.where(whole.all(axis=0) & (f > 0), each.sum(axis=0) + jnp.log(f), -jnp.inf)
        top = weights.max()
        possible = top > -jnp.inf
        law = jnp.where(possible, jnp.exp(weights - jnp.where(possible, top, 0)), 0)
        mass = law.sum()
        A = alpha.sum()
        log = jnp.log(mass) + top + scale + gammaln(A) - gammaln(A + total)
        means = (law * (alpha + n)).reshape(K, -1).sum(axis=1) / (A + total)
        mixture = jnp.where(possible, means / jnp.where(mass > 0, mass, 1), 0)
        return jnp.where(possible, log, -jnp.inf), mixture
