"""Strings of several densities: the tails on which models of one density err."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from ..arrays import check_reals
from ..mixture import Mixture
from .language import READ, FlipFlop, Select


class TailSample(NamedTuple):
    """A string, the density it is from, and what its reads say."""

    tokens: Int[Array, " T"]
    component: Int[Array, ""]
    memory: Int[Array, " pairs"]
    """The token of the symbol that is remembered at the end of the pair."""
    reads: Bool[Array, " pairs"]


class FlipFlopMixture(Mixture):
    """Each string is from one of `FFL(p_i)`; of the same length, with equal weights unless others are
    given. The source trains on FFL(.9), FFL(.98) and FFL(.1)."""

    def __init__(
        self,
        length: int,
        p_ignore: Any = (0.9, 0.98, 0.1),
        weights: Any = None,
        *,
        symbols: int = 2,
        select: Select = "last",
    ):
        rates = np.asarray(check_reals("p_ignore", p_ignore, (None,)), float)
        if not len(rates):
            raise ValueError("p_ignore is empty; it must have at least one number")
        worlds = [
            FlipFlop(length, p_ignore=float(p), symbols=symbols, select=select) for p in rates
        ]
        super().__init__(
            worlds, np.full(len(rates), 1 / len(rates)) if weights is None else weights
        )

    def _switch(self, which: Int[Array, ""], one: Any) -> Any:
        """What a world says; the law of instructions is data, so one program is enough for all worlds."""
        laws = jnp.stack([jnp.asarray(world.p) for world in self.worlds])
        return one(eqx.tree_at(lambda world: world.p, self.worlds[0], laws[which]))

    def sample(self, key: PRNGKeyArray, length: int | None = None) -> Any:
        """Draw a density, and a string of it."""
        tokens, component = super().sample(key, length)
        memory = self.worlds[0].memory(tokens)
        return TailSample(tokens, component, memory, tokens[::2] == READ)

    def parameters(self) -> dict[str, np.ndarray]:
        """The laws of instructions, and the weight of each."""
        return {
            "p": np.stack([np.asarray(world.p) for world in self.worlds]),
            "weights": np.asarray(self.weights),
        }
