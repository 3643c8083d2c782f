"""Keys and random worlds of the suites and experiments."""

from collections.abc import Iterator
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from minicosm.worlds import HMM, GaussianHMM, doubly_stochastic_world, gaussian_world

START = (
    2300  # seeds of this study begin here: criteria were written with runs on seeds near 0 in view
)


def key_of(config: Any, *numbers: int) -> PRNGKeyArray:
    """A key of its own for every list of numbers."""
    key = jax.random.key(START + config.seed)
    for number in numbers:
        key = jax.random.fold_in(key, number)
    return key


def discrete_worlds(
    config: Any, tag: int, sizes: tuple[tuple[int, int], ...], least: float
) -> Iterator[tuple[int, HMM]]:
    """Random worlds whose sizes `(d, k)` take turns."""
    for i in range(config.worlds):
        d, k = sizes[i % len(sizes)]
        yield (
            i,
            doubly_stochastic_world(key_of(config, tag, i), hidden=k, vocab=d, least=least),
        )


def gaussian_worlds(
    config: Any, tag: int, sizes: tuple[tuple[int, int], ...], *, unit: bool = True
) -> Iterator[tuple[int, GaussianHMM]]:
    """Random Gaussian worlds whose sizes `(d, k)` take turns."""
    for i in range(config.worlds):
        d, k = sizes[i % len(sizes)]
        yield i, gaussian_world(key_of(config, tag, i), hidden=k, dimension=d, unit=unit)
