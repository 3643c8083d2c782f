"""Least squares from many starts at once: Levenberg's and Marquardt's method, compiled and batched."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from minicosm.models.checks import shown
from minicosm.worlds.arrays import check_length, check_reals

LAMBDA = 1.0  # the first damping
MOST_STEPS = 10**6
SOLVED = 1e-15  # largest residual at which nothing is left to do
CHANGE, STILL = (
    1e-14,
    20,
)  # share of the sum of squares below which a step changes nothing, and how many end it


class Fitted(NamedTuple):
    """Parameters from every start, and the largest residual there."""

    parameters: Float[Array, "starts p"]
    residual: Float[Array, " starts"]


def least_squares(
    residuals: Callable[[Float[Array, " p"]], Float[Array, " n"]],
    starts: Float[Any, "starts p"],
    *,
    steps: int = 200,
) -> Fitted:
    """Minimise `|residuals(theta)|^2` by at most `steps` steps from each start.

    A step solves `(J^T J + lambda I) delta = -J^T r`; where the sum of squares falls it is taken and lambda
    divided by 3, otherwise lambda is doubled; 20 steps in a row that change nothing end it. `residuals` may
    be an Equinox module, whose arrays are then inputs of the compiled program. Computations have the
    precision of the starts: for residuals at rounding give them in float64 under `jax.enable_x64(True)`.
    """
    if not callable(residuals) or isinstance(residuals, type):
        raise TypeError(f"residuals is {shown(residuals)}; it must be a function of parameters")
    check_length(steps, MOST_STEPS, "steps")
    array = jnp.asarray(check_reals("starts", starts))
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"starts have shape {array.shape}; they must have shape (starts, p)")
    array = array.astype(jnp.result_type(array.dtype, jnp.float32))
    try:
        shape = eqx.filter_eval_shape(residuals, array[0])
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(
            f"residuals raised {type(error).__name__} at parameters of shape {array.shape[1:]}"
        ) from error
    if not isinstance(shape, jax.ShapeDtypeStruct) or shape.ndim != 1 or shape.shape[0] < 1:
        raise ValueError(
            f"residuals returns {shown(shape)}; it must return one array of numbers with one axis"
        )
    return _fitted(residuals, array, jnp.asarray(steps))


@eqx.filter_jit
def _fitted(residuals: Any, starts: Array, steps: Array) -> Fitted:
    def one(start: Array) -> Fitted:
        def linearised(theta: Array) -> tuple[Array, Array, Array]:
            r = residuals(theta)
            J = jax.jacfwd(residuals)(theta)
            return r, J.T @ J, J.T @ r

        def go_on(carry: Any) -> Array:
            i, _, _, _, r, still = carry
            return (i < steps) & (jnp.max(jnp.abs(r)) > SOLVED) & (still < STILL)

        def step(carry: Any) -> Any:
            i, theta, damping, (H, g), r, still = carry
            delta = jnp.linalg.solve(H + damping * jnp.eye(len(g), dtype=H.dtype), -g)
            moved = theta + jnp.where(jnp.isfinite(delta), delta, 0)
            new, new_H, new_g = linearised(moved)
            before, after = jnp.sum(r**2), jnp.sum(new**2)
            better = after < before
            still = jnp.where(before - after > CHANGE * before, 0, still + 1)
            pick = lambda a, b: jnp.where(better, a, b)  # noqa: E731
            damping = jnp.clip(pick(damping / 3, damping * 2), 1e-20, 1e12)
            return (
                i + 1,
                pick(moved, theta),
                damping,
                (pick(new_H, H), pick(new_g, g)),
                pick(new, r),
                still,
            )

        r, H, g = linearised(start)
        zero = jnp.asarray(0)
        first = (zero, start, jnp.asarray(LAMBDA, start.dtype), (H, g), r, zero)
        _, theta, _, _, r, _ = jax.lax.while_loop(go_on, step, first)
        return Fitted(theta, jnp.max(jnp.abs(r)))

    return jax.vmap(one)(starts)
