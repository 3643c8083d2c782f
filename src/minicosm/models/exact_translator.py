"""The refinement that no training can beat: a fertility world's own posterior, as a translator."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from minicosm.worlds import Fertility
from minicosm.worlds.arrays import AnyArray

from .checks import check_ids, check_kind, check_number


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

    log_phrases: Float[np.ndarray, " phrases"]
    log_lengths: Float[np.ndarray, "sources lengths"]
    bonus: Float[np.ndarray, ""]
    """`log(1 + keep V / (1 - keep))`: how much more likely a token is where the noisy target has it."""
    orders: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    """Of every phrase, the places of a word's tokens in the order in which they stand."""
    vocab: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)

    def __init__(self, world: Fertility, keep: float = 0.0):
        check_kind("world", world, Fertility, "a Fertility world")
        check_number("keep", keep, least=0, below=1)
        T = world.longest_target
        laws = np.zeros((world.longest + 1, T))
        for L in range(1, world.longest + 1):
            law = world.length_law(L)[1:]
            laws[L, : len(law)] = law
        with np.errstate(divide="ignore"):
            self.log_phrases = np.log([p for _, p in world.phrases])
            self.log_lengths = np.log(laws)
        self.orders = tuple(order for order, _ in world.phrases)
        self.bonus = np.asarray(np.log1p(keep * world.vocab / (1 - keep)))
        self.vocab, self.longest = world.vocab, T

    def encode(self, source: Int[AnyArray, " S"], visible: Bool[AnyArray, " S"]) -> ExactMemory:
        source, visible = _checked("source", source, self.vocab, visible)
        visible = jnp.asarray(visible)
        return ExactMemory(jnp.where(visible, source, self.vocab), visible.sum())

    def length_logits(self, memory: ExactMemory) -> Float[Array, " lengths"]:
        """`log P(N = n | source)`; entry i is length i + 1."""
        check_kind("memory", memory, ExactMemory, "an ExactMemory, as encode returns")
        return jnp.asarray(self.log_lengths)[memory.length]

    def decode(
        self, tokens: Int[AnyArray, " T"], memory: ExactMemory, visible: Bool[AnyArray, " T"]
    ) -> Float[Array, "T V"]:
        """`log P(y_j = v | source, N, tokens)`, -inf where it is zero; a length that the source cannot
        have gives the uniform law."""
        check_kind("memory", memory, ExactMemory, "an ExactMemory, as encode returns")
        tokens, visible = map(jnp.asarray, _checked("tokens", tokens, self.vocab, visible))
        F = max(len(order) for order in self.orders)
        T, S = tokens.shape[0], memory.source.shape[0]
        kinds = tuple(enumerate(self.orders))
        phrases = memory.source[:, None] * F + jnp.arange(F)  # S F
        hit = jnp.where(tokens[:, None, None] == phrases, self.bonus, 0.0)  # T S F
        N, L = visible.sum(), memory.length

        def weight(s: Array, kind: int, order: tuple[int, ...]) -> Array:
            """[j]: log weight of word s being this kind of phrase and starting at target position j."""
            total = jnp.asarray(self.log_phrases)[kind]
            for at, place in enumerate(order):
                total = total + jnp.pad(hit[at:, s, place], (0, at))
            return jnp.where(jnp.arange(T) + len(order) <= N, total, -jnp.inf)

        def forward(row: Array, s: Array) -> tuple[Array, Array]:
            """From [j], log weight of the first s phrases having j tokens, to that of s + 1."""
            reached = jnp.full(T + 1, -jnp.inf)
            for kind, order in kinds:
                here = row[:T] + weight(s, kind, order)
                moved = jnp.pad(here, (len(order), 0), constant_values=-jnp.inf)[: T + 1]
                reached = jnp.logaddexp(reached, moved)
            return jnp.where(s < L, reached, row), row

        def backward(row: Array, s: Array) -> tuple[Array, Array]:
            """From [j], log weight of phrases s + 1.. filling the target from j on, to that of s.."""
            reached = jnp.full(T + 1, -jnp.inf)
            for kind, order in kinds:
                n = len(order)
                after = jnp.pad(row[n:], (0, n - 1), constant_values=-jnp.inf)
                there = after + weight(s, kind, order)
                reached = jnp.logaddexp(reached, jnp.append(there, -jnp.inf))
            return jnp.where(s < L, reached, row), row

        first = jnp.where(jnp.arange(T + 1) == 0, 0.0, -jnp.inf)
        last = jnp.where(jnp.arange(T + 1) == N, 0.0, -jnp.inf)
        _, before = jax.lax.scan(forward, first, jnp.arange(S))
        _, after = jax.lax.scan(backward, last, jnp.arange(S), reverse=True)

        def places(s: Array) -> Array:
            """[j, o]: log weight of y_j being token o of phrase s."""
            columns = [jnp.full(T, -jnp.inf)] * F
            for kind, order in kinds:
                n = len(order)
                ends = jnp.pad(after[s, n:], (0, n - 1), constant_values=-jnp.inf)
                whole = before[s, :T] + weight(s, kind, order) + ends  # starts at j
                for at, o in enumerate(order):
                    moved = jnp.pad(whole, (at, 0), constant_values=-jnp.inf)[:T]
                    columns[o] = jnp.logaddexp(columns[o], moved)
            return jnp.where(s < L, jnp.stack(columns, axis=1), -jnp.inf)

        found = jnp.moveaxis(jax.vmap(places)(jnp.arange(S)), 0, 1).reshape(T, S * F)
        # Every token stands in at most one phrase, so that its weight is that of one place.
        law = jnp.full((T, self.vocab + F), -jnp.inf)
        law = law.at[:, jnp.minimum(phrases.reshape(-1), self.vocab)].max(found)[:, : self.vocab]
        known = jnp.isfinite(law.max(axis=1, keepdims=True))
        return jnp.where(known, law, 0.0)


def _checked(
    name: str, tokens: Any, vocab: int, visible: Any
) -> tuple[Int[AnyArray, " T"], Bool[AnyArray, " T"]]:
    """Tokens and mask, both of which must be given."""
    if visible is None:
        raise TypeError(f"visible is None; it must say which of {name} are no padding")
    tokens, seen = check_ids(name, tokens, vocab, visible, "visible")
    assert seen is not None
    return tokens, seen
