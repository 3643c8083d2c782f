"""Models here are tiny, so that nearly all of the tests' time is the compiler's."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_compilation() -> Iterator[None]:
    """Leave out the costly optimisations of programs that run once."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
