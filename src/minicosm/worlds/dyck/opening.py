"""The probabilities that a bracket opens, from what the user gives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays import AnyArray, is_concrete, parameter, short


def opening_law(given: Any, depth: int) -> AnyArray:
    """p(0), ..., p(D) from one number or all of them."""
    if not isinstance(given, list | tuple) and np.ndim(given) == 0:
        if not is_concrete(given):
            return jnp.concatenate([jnp.ones(1), jnp.full(depth - 1, given), jnp.zeros(1)])
        number = isinstance(given, int | float | np.number | np.ndarray | jax.Array)
        if not number or not 0 <= given <= 1:
            raise ValueError(f"open_probability is {short(given)}; it must lie in [0, 1]")
        return np.array([1.0, *[float(given)] * (depth - 1), 0.0])
    opening = parameter("open_probability", given, (depth + 1,))
    if is_concrete(opening):
        if (opening > 1).any():
            d = int(np.argmax(opening > 1))
            raise ValueError(f"open_probability[{d}] is {opening[d]:g}; it must lie in [0, 1]")
        if opening[0] != 1:
            raise ValueError(
                f"open_probability[0] is {opening[0]:g}; it must be 1, nothing is open to be closed"
            )
        if opening[depth] != 0:
            raise ValueError(
                f"open_probability[{depth}] is {opening[depth]:g}; "
                f"it must be 0, brackets nest at most {depth} deep"
            )
    return opening
