"""The random worlds and masks that the suites look at."""

from collections.abc import Iterator

import jax
import numpy as np

from minicosm.worlds import Joint, MaskLaw
from minicosm.worlds.joint import random_ising

from ..trials import Worlds


def random_worlds(
    config: Worlds, *, longest: int = 5
) -> Iterator[tuple[np.random.Generator, Joint, np.ndarray, np.ndarray]]:
    """Ising worlds of 2 to `longest` spins with their statistics and parameters, and, every third time,
    a law over three tokens with random statistics: an exponential family of another kind."""
    for i in range(config.worlds):
        rng = np.random.default_rng([config.seed, i])
        if i % 3 < 2:
            length, coupling = int(rng.integers(2, longest + 1)), rng.uniform(0.1, 1)
            world = random_ising(key_of(config, i), length, coupling=coupling)
            yield rng, world.joint(), world.statistics(), world.parameters()
        else:
            length = int(rng.integers(2, 4))
            T, theta = rng.normal(size=(3**length, 4)), 0.5 * rng.normal(size=4)
            yield rng, Joint.from_weights(T @ theta, 3, length), T, theta


def key_of(config: Worlds, *numbers: int) -> jax.Array:
    """A key of its own for every list of numbers."""
    key = jax.random.key(config.seed)
    for number in numbers:
        key = jax.random.fold_in(key, number)
    return key


def random_cover(rng: np.random.Generator, length: int) -> MaskLaw:
    """Random blocks, overlapping or not, with random weights; every position is in one."""
    blocks = [
        np.flatnonzero(rng.random(length) < 0.5).tolist() for _ in range(int(rng.integers(1, 5)))
    ]
    missing = set(range(length)) - {i for block in blocks for i in block}
    blocks = [block for block in blocks if block] + ([sorted(missing)] if missing else [])
    return MaskLaw.blocks(length, blocks, rng.dirichlet(np.ones(len(blocks))))


def random_adaptive(rng: np.random.Generator, joint: Joint) -> MaskLaw:
    """Random masks that look at the sequence."""
    fixed = random_cover(rng, joint.length)
    weights = rng.dirichlet(np.ones(len(fixed.masks)), size=len(joint.probabilities))
    return MaskLaw(fixed.masks, weights)


def any_masks(rng: np.random.Generator, joint: Joint, which: int) -> MaskLaw:
    """Uniform-k, Bernoulli, random blocks or adaptive masks, in turn."""
    N = joint.length
    return (
        lambda: MaskLaw.uniform(N, int(rng.integers(1, N + 1))),
        lambda: MaskLaw.bernoulli(N, float(rng.uniform(0.1, 0.9))),
        lambda: random_cover(rng, N),
        lambda: random_adaptive(rng, joint),
    )[which % 4]()
