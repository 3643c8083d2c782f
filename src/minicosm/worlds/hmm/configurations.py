"""Weights of the configurations of a memory: priors and likelihoods on very different scales."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

MAX_CONFIGURATIONS = 10_000


def check_configurations(values: int, cells: int) -> int:
    """The number of configurations `values ** cells`; raise, before computing it, if that is too many."""
    limit = 60
    count = values**cells if float(cells) * np.log2(float(values)) < limit else None
    if count is None or count > MAX_CONFIGURATIONS:
        many = f"{values}^{cells}" if count is None else str(count)
        raise ValueError(
            f"{cells} cells of {values} values have {many} configurations; "
            f"exact inference enumerates them and takes at most {MAX_CONFIGURATIONS}"
        )
    return count


def log_scale(prior: Float[Array, " C"], logs: Float[Array, "C *T"]) -> Float[Array, " *T"]:
    """The largest `log(prior) + logs` at each position (0 if all are -inf), a constant."""
    prior, logs = jax.lax.stop_gradient((prior, logs))
    top = jnp.max(jnp.log(prior).reshape(-1, *(1,) * (logs.ndim - 1)) + logs, axis=0)
    return jnp.where(jnp.isfinite(top), top, 0)


def weights_of(prior: Float[Array, " C"], logs: Float[Array, "C *T"]) -> Float[Array, "C *T"]:
    """`prior * exp(logs)` scaled so that the largest configuration at each position has weight one.

    The prior stays outside the logarithm, so that derivatives are finite where it is zero; there
    the exponent is cut off before it overflows.
    """
    limit = 0.9 * float(np.log(jnp.finfo(logs.dtype).max))
    grown = jnp.exp(jnp.minimum(logs - log_scale(prior, logs), limit))
    return prior.reshape(-1, *(1,) * (logs.ndim - 1)) * grown
