"""What a Transformer's answer leaks of the support, over all inputs: the teachers of `attention`, asked
before their training and in the middle of their transition.

Numbers: `teacher`, `middle` as there; `inputs`: how many were asked, all 2^d up to d = 20, above that the
held-out ones. Arrays `on`, `off` `[moment, seed, degree - 1]`: mean `|E p(x) prod_{j in U} x_j|`, with p the
probability of class 0, over the monomials U on and off the support; at the start, and at the first step with
accuracy above .70 (NaN: never).
"""

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from minicosm.lab import Progress, TrialResult
from minicosm.theory.distillation import sign_cube, walsh_hadamard
from minicosm.theory.distillation.fourier import (
    MOST_DIMENSIONS,
    all_correlations,
    monomials,
    on_support,
)
from minicosm.training import stacked, transition
from minicosm.worlds import SparseParity

from ..transformer_trials import Attention

# `_teachers` is private there, but these must be the same teachers, and a copy of it might drift away. To
# rename it would give the trials of that module other addresses.
from .attention import LEVELS, _teachers, first_class, fresh, judged_on, key_of
from .mlps import nearest


def run(config: Attention, progress: Progress, folder: Path) -> TrialResult:
    world = SparseParity(config.d, config.k)
    held = judged_on(config, world)
    trajectory, history = _teachers(config, world, held, progress, folder)
    curve, steps, seeds = history["test"], trajectory.steps, range(config.seeds)
    middles = [transition(steps, curve[:, i], LEVELS).middle for i in seeds]
    at = [len(steps) - 1 if middle is None else nearest(steps, middle) for middle in middles]
    x = sign_cube(config.d) if config.d <= MOST_DIMENSIONS else held.x
    tokens = jnp.asarray((1 - x) / 2, jnp.int32)
    moments = (untrained(config), stacked([trajectory.member(i).take(at[i]) for i in seeds]))
    degrees = range(1, min(config.k, 4))
    on, off = np.zeros((2, len(moments), config.seeds, len(degrees)))
    for m, models in enumerate(moments):
        said = np.asarray(first_class(models, tokens))
        for j, degree in enumerate(degrees):
            on[m, :, j], off[m, :, j] = means(said, x, world.support, degree)
    unknown = [middle is None for middle in middles]
    on[1, unknown] = off[1, unknown] = np.nan
    numbers = {"teacher": curve[-1].tolist(), "middle": middles, "inputs": len(x)}
    return TrialResult(numbers, {"on": on, "off": off})


def untrained(config: Attention) -> object:
    """The teachers as their training begins."""
    start, _ = jax.random.split(key_of(config.seed, "teachers", "tokens"))
    return fresh(config, config.teacher_heads, jax.random.split(start, config.seeds))


def means(
    said: Float[np.ndarray, "members n"],
    x: Float[np.ndarray, "n d"],
    support: Sequence[int],
    degree: int,
) -> Float[np.ndarray, "2 members"]:
    """Mean `|E p prod x|` over the monomials of a degree on and off the support: by one transform if x is
    `sign_cube(d)`, else over the inputs that there are."""
    n, d = x.shape
    sets = monomials(d, degree)
    inside = on_support(sets, support)
    if n == 2**d:
        found = walsh_hadamard(said)[:, (1 << sets).sum(axis=1)]
    else:
        found = np.stack([all_correlations(p, x, degree) for p in said])
    return np.stack([np.abs(found[:, mask]).mean(axis=1) for mask in (inside, ~inside)])
