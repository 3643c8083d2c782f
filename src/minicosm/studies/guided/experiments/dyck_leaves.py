"""Who judges whole strings, where the verifier was trained on unfinished ones.

A string is whole once all its brackets are there, and with the end token after them. A verifier is trained on
mistakes and on right prefixes of their lengths; a generator that never errs in the last bracket leaves it
without an example of that length, and its score there says nothing.
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


class Leaves(IntEnum):
    """The score of a whole string."""

    LEARNED = 0
    """The probe's, as of any other string. No string that a probe is trained on need be whole."""
    EXACT = 1
    """1 if it is valid, else 0."""
    ACCEPTED = 2
    """1."""


class Judgement(NamedTuple):
    probe: PyTree
    perfect: PyTree
    whole: Bool[Array, " rows"]


class LearnedValue(eqx.Module):
    """A probe's score of unfinished strings, and of whole ones what `leaves` says."""

    probe: ProbeVerifier
    perfect: DyckVerifier
    leaves: Int[AnyArray, ""]
    brackets: int = eqx.field(static=True)
    """Of a whole string."""

    @classmethod
    def of(
        cls, probe: ProbeVerifier, brackets: int, leaves: Leaves = Leaves.LEARNED
    ) -> "LearnedValue":
        perfect = DyckVerifier(2, brackets, END)
        return cls(probe, perfect, np.asarray(leaves, np.int32), brackets)

    def at_leaves(self, leaves: Leaves) -> "LearnedValue":
        return LearnedValue(self.probe, self.perfect, np.asarray(leaves, np.int32), self.brackets)

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
        rules = jnp.stack([learned, exact.astype(learned.dtype), jnp.ones_like(learned)])
        return jnp.where(memory.whole[n], rules[self.leaves], learned)
