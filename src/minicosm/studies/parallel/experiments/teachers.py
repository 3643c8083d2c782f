"""Where the pairs come from that translators are trained on."""

from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, PRNGKeyArray

from minicosm.worlds import Fertility, Translation

from ..trials import Data

LAWS = {"distilled": (0.5, 0.5), "undistilled": (0.5, 0.5), "peaked": (0.9, 0.1)}


class Teacher(eqx.Module):
    """Pairs of a world, with every target replaced by the most likely one of its length or as it is."""

    world: Fertility
    places: Int[np.ndarray, "L N T 2"]
    """[L, N, j]: source place and place in its phrase of token j of the most likely target."""
    replace: Bool[np.ndarray, ""]
    """An array, so that all data are one compiled program."""

    def __init__(self, world: Fertility, *, replace: bool):
        longest, T = world.longest, world.longest_target
        places = np.zeros((longest + 1, T + 1, T, 2), np.int32)
        for L in range(world.shortest, longest + 1):
            for N in np.flatnonzero(world.length_law(L) > 0):
                lengths = world.best_lengths(L, int(N))
                places[L, N, :N, 0] = np.repeat(np.arange(L), lengths)
                places[L, N, :N, 1] = np.concatenate([np.arange(n) for n in lengths])
        self.world, self.places, self.replace = world, places, np.array(replace)

    def sample(self, key: PRNGKeyArray) -> Translation:
        pair = self.world.sample(key)
        place = jnp.asarray(self.places)[pair.source_length, pair.target_length]
        best = pair.source[place[:, 0]] * self.world.phrase + place[:, 1]
        real = jnp.arange(best.shape[0]) < pair.target_length
        best = jnp.where(real, best, self.world.vocab).astype(pair.target.dtype)
        return pair._replace(target=jnp.where(self.replace, best, pair.target))


@lru_cache
def world_of(data: Data) -> Fertility:
    """The world of which the targets are drawn."""
    return Fertility(LAWS[data])


@lru_cache
def pairs_of(data: Data) -> Teacher:
    """What is trained on."""
    return Teacher(world_of(data), replace=data == "distilled")
