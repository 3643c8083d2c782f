"""The refinement that no training can beat: a fertility world's own posterior, as a translator."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.fertility import Fertility


class ExactMemory(NamedTuple):
    """A source as it is."""

    source: Int[AnyArray, " S"]
    length: Int[Array, ""]


class ExactRefiner(eqx.Module):
    """What a parallel decoder computes that is trained to perfection on noisy targets.

    The noise keeps a token with probability `keep` and puts a uniformly random one in its place
    otherwise. `decode` gives `log P(y_j = v | source, N, noisy target)` by a recursion over (source
    place, target position); with `keep = 0` these are the marginals, the best product law of one pass.
    It has the methods of a `Translator` that refinement asks for.
    """

    log_q: Float[np.ndarray, " F"]
    log_lengths: Float[np.ndarray, "sources lengths"]
    bonus: Float[np.ndarray, ""]
    """`log(1 + keep V / (1 - keep))`: how much more likely a token is where the noisy target has it."""
    vocab: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)

    def __init__(self, world: Fertility, keep: float = 0.0):
        if world.swap:
            raise ValueError(
                f"swap is {world.swap}; phrases that may be turned round are not known"
            )
        if not 0 <= keep < 1:
            raise ValueError(f"keep is {keep}; it must be at least 0 and less than 1")
        T = world.longest_target
        laws = np.zeros((world.longest + 1, T))
        for L in range(1, world.longest + 1):
            law = world.length_law(L)[1:]
            laws[L, : len(law)] = law
        with np.errstate(divide="ignore"):
            self.log_q, self.log_lengths = np.log(world.q), np.log(laws)
        self.bonus = np.asarray(np.log1p(keep * world.vocab / (1 - keep)))
        self.vocab, self.longest = world.vocab, T

    def encode(self, source: Int[AnyArray, " S"], visible: Bool[AnyArray, " S"]) -> ExactMemory:
        visible = jnp.asarray(visible)
        return ExactMemory(jnp.where(visible, source, self.vocab), visible.sum())

    def length_logits(self, memory: ExactMemory) -> Float[Array, " lengths"]:
        """`log P(N = n | source)`; entry i is length i + 1."""
        return jnp.asarray(self.log_lengths)[memory.length]

    def decode(
        self, tokens: Int[AnyArray, " T"], memory: ExactMemory, visible: Bool[AnyArray, " T"]
    ) -> Float[Array, "T V"]:
        """`log P(y_j = v | source, N, tokens)`, -inf where it is zero; a length that the source cannot
        have gives the uniform law."""
        tokens, visible = jnp.asarray(tokens), jnp.asarray(visible)
        F, T, S = len(self.log_q), tokens.shape[0], memory.source.shape[0]
        phrases = memory.source[:, None] * F + jnp.arange(F)  # S F
        hit = jnp.where(tokens[:, None, None] == phrases, self.bonus, 0.0)  # T S F
        N, L = visible.sum(), memory.length

        def weight(s, n):
            """[j]: log weight of phrase s with n + 1 tokens that starts at target position j."""
            own = hit[:, s]
            total = jnp.asarray(self.log_q)[n]
            for o in range(n + 1):
                total = total + jnp.pad(own[o:, o], (0, o))
            return jnp.where(jnp.arange(T) + n < N, total, -jnp.inf)

        def forward(row, s):
            """From [j], log weight of the first s phrases having j tokens, to that of s + 1."""
            reached = jnp.full(T + 1, -jnp.inf)
            for n in range(F):
                here = row[:T] + weight(s, n)
                moved = jnp.pad(here, (n + 1, 0), constant_values=-jnp.inf)[: T + 1]
                reached = jnp.logaddexp(reached, moved)
            return jnp.where(s < L, reached, row), row

        def backward(row, s):
            """From [j], log weight of phrases s + 1.. filling the target from j on, to that of s.."""
            reached = jnp.full(T + 1, -jnp.inf)
            for n in range(F):
                after = jnp.pad(row[n + 1 :], (0, n), constant_values=-jnp.inf)
                there = after + weight(s, n)
                reached = jnp.logaddexp(reached, jnp.append(there, -jnp.inf))
            return jnp.where(s < L, reached, row), row

        first = jnp.where(jnp.arange(T + 1) == 0, 0.0, -jnp.inf)
        last = jnp.where(jnp.arange(T + 1) == N, 0.0, -jnp.inf)
        _, before = jax.lax.scan(forward, first, jnp.arange(S))
        _, after = jax.lax.scan(backward, last, jnp.arange(S), reverse=True)

        def places(s):
            """[j, o]: log weight of y_j being token o of phrase s."""
            columns = []
            for o in range(F):
                column = jnp.full(T, -jnp.inf)
                for n in range(o, F):
                    ends = jnp.pad(after[s, n + 1 :], (0, n), constant_values=-jnp.inf)
                    whole = before[s, :T] + weight(s, n) + ends  # starts at j
                    moved = jnp.pad(whole, (o, 0), constant_values=-jnp.inf)[:T]
                    column = jnp.logaddexp(column, moved)
                columns.append(column)
            return jnp.where(s < L, jnp.stack(columns, axis=1), -jnp.inf)

        found = jnp.moveaxis(jax.vmap(places)(jnp.arange(S)), 0, 1).reshape(T, S * F)
        # Every token stands in at most one phrase, so that its weight is that of one place.
        law = jnp.full((T, self.vocab + F), -jnp.inf)
        law = law.at[:, jnp.minimum(phrases.reshape(-1), self.vocab)].max(found)[:, : self.vocab]
        known = jnp.isfinite(law.max(axis=1, keepdims=True))
        return jnp.where(known, law, 0.0)
