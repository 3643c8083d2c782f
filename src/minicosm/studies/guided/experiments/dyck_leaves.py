"""Which strings a learned verifier is asked about, and who judges the others.

A verifier is trained on mistakes and on right prefixes of their lengths. Where the generator does not err it
has no example of that length, and its score there says nothing: as a rule it rejects all.
"""

from enum import IntEnum
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from minicosm.decoding import DyckVerifier, ProbeVerifier
from minicosm.worlds.arrays import AnyArray

from .dyck_generator import END

FEW = 0.01


class Leaves(IntEnum):
    """Who judges whole strings (all brackets are there) and those of lengths without examples."""

    LEARNED = 0
    """The probe, as any other string."""
    EXACT = 1
    """Whole ones have the score 1 if they are valid, else 0; others without examples have 1."""
    ACCEPTED = 2
    """Those without examples have the score 1, whole or not."""


class Judgement(NamedTuple):
    probe: PyTree
    perfect: PyTree
    whole: Bool[Array, " rows"]


class LearnedValue(eqx.Module):
    """A probe's score of strings that it knows, and of others what `leaves` says."""

    probe: ProbeVerifier
    perfect: DyckVerifier
    leaves: Int[AnyArray, ""]
    unknown: Bool[AnyArray, " rows"]
    """Whether the probe has no examples of this many tokens."""
    brackets: int = eqx.field(static=True)
    """Of a whole string."""

    @classmethod
    def of(
        cls,
        probe: ProbeVerifier,
        brackets: int,
        leaves: Leaves = Leaves.LEARNED,
        unknown: Bool[np.ndarray, " rows"] | None = None,
    ) -> "LearnedValue":
        perfect = DyckVerifier(2, brackets, END)
        if unknown is None:
            unknown = np.zeros(brackets + 2, bool)
        return cls(probe, perfect, np.asarray(leaves, np.int32), unknown, brackets)

    def at_leaves(self, leaves: Leaves) -> "LearnedValue":
        return LearnedValue.of(self.probe, self.brackets, leaves, np.asarray(self.unknown))

    def begin(self, room: int, source: PyTree) -> Judgement:
        whole = jnp.zeros(room + 1, bool)
        return Judgement(self.probe.begin(room, source), self.perfect.begin(room, source), whole)

    def read(
        self, memory: Judgement, n: Int[Array, ""], token: Int[Array, ""], source: PyTree
    ) -> Judgement:
        whole = (token == END) | (n + 1 >= self.brackets)
        here = jnp.arange(memory.whole.shape[0]) == n + 1
        return Judgement(
            self.probe.read(memory.probe, n, token, source),
            self.perfect.read(memory.perfect, n, token, source),
            jnp.where(here, whole, memory.whole),
        )

    def score(self, memory: Judgement, n: Int[Array, ""]) -> Float[Array, ""]:
        learned, exact = self.probe.score(memory.probe, n), self.perfect.score(memory.perfect, n)
        accepted = jnp.where(jnp.asarray(self.unknown)[n], jnp.ones_like(learned), learned)
        exact = jnp.where(memory.whole[n], exact.astype(learned.dtype), accepted)
        return jnp.stack([learned, exact, accepted])[self.leaves]


def unknown_lengths(mistakes: Int[np.ndarray, " n"], most: int) -> Bool[np.ndarray, " rows"]:
    """For 0..`most` tokens: whether fewer than a hundredth of the mistakes are of this length. Lengths below
    the shortest mistake, to which only the erasing of a prompt leads, count as known."""
    counts = np.bincount(mistakes, minlength=most + 1)[: most + 1]
    return (counts < FEW * len(mistakes)) & (np.arange(most + 1) > mistakes.min())
