"""The attention heads of Theorem 4.3 in many worlds at once."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from minicosm.adaptation import AttentionHead
from minicosm.adaptation.heads import AnyArray
from minicosm.adaptation.tuning import seen
from minicosm.theory.tuning import star_states, theorem_4_3
from minicosm.theory.tuning.scope import sure_positions
from minicosm.worlds import MemoryHMM, PosteriorTask


class Constructed(NamedTuple):
    """Stacked worlds, tasks and heads of the worlds in which the theorem's conditions hold."""

    which: Int[np.ndarray, " w"]  # indices of these worlds among the given ones
    worlds: MemoryHMM | None
    heads: AttentionHead | None
    star: Bool[np.ndarray, "w H"]  # H*


def construct(
    worlds: list[MemoryHMM], mus: Float[np.ndarray, "w M"], *, mask_first: bool
) -> Constructed:
    """Theorem 4.3 for `mu . P[M_1 | x]` in each world."""
    found = [
        theorem_4_3(world, PosteriorTask(mu, "cell", mask_first=mask_first))
        for world, mu in zip(worlds, mus, strict=True)
    ]
    which = np.asarray([i for i, theorem in enumerate(found) if theorem.applies], int)
    if len(which) == 0:
        return Constructed(which, None, None, np.zeros((0, worlds[0].hidden), bool))
    star = [star_states(worlds[i], 0, found[i].conditions[0].witness) for i in which]
    return Constructed(
        which,
        jax.tree.map(lambda *leaves: np.stack(leaves), *[worlds[i] for i in which]),
        _stack([found[i].construction.head for i in which]),
        np.asarray(star),
    )


def _stack(heads: list[AttentionHead]) -> AttentionHead:
    def join(*leaves):
        return np.stack(leaves) if isinstance(leaves[0], np.ndarray | jax.Array) else leaves[0]

    return jax.tree.map(join, *heads)


@eqx.filter_jit
def in_R(
    worlds: MemoryHMM, star: Bool[AnyArray, "w H"], tokens: Int[AnyArray, "w n T"], mask_first: bool
) -> Bool[AnyArray, "w n"]:
    """Whether x is possible and some position is surely in H*, in every world."""
    observed = seen(tokens.shape[2], mask_first)

    def one(world, star, tokens):
        def answer(x):
            possible, sure = sure_positions(world, world.embed(x, observed), star)
            return possible & jnp.any(sure)

        return jax.vmap(answer)(tokens)

    return jax.vmap(one)(jax.tree.map(jnp.asarray, worlds), jnp.asarray(star), tokens)
