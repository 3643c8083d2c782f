"""How much a masked language model relies on the neighbours of a position: two measures.

    L_robust = TV(law with only i masked, law with the whole window masked)
    L_close  = TV(law with only i masked, law with only the window visible and i masked)

The window of n around i is `max(i - ceil((n-1)/2), 0) .. min(i + floor((n-1)/2), last)`.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from minicosm.models.checks import check_mask
from minicosm.worlds.arrays import AnyArray, check_count, check_length, check_whole_numbers

from .checks import brief, check_answers


def window(n: int, at: Int[AnyArray, ""] | int, length: int) -> Bool[Array, " length"]:
    """Which positions are in the n-gram window around one; it includes the position."""
    room = check_length(length)
    size = min(check_count("n", n), 2 * room)  # a wider one is the whole sequence too
    place = jnp.asarray(check_whole_numbers("at", at, 0, room - 1, ()))
    where = jnp.arange(room)
    return (where >= place - size // 2) & (where <= place + (size - 1) // 2)


def reliance(
    model: Any,
    tokens: Int[AnyArray, " T"],
    at: Int[AnyArray, ""] | int,
    sizes: Sequence[int],
    visible: Bool[AnyArray, " T"] | None = None,
) -> Float[Array, "2 sizes"]:
    """`L_robust` and `L_close` of a model at a position, for several sizes n of the window, by one batch of
    predictions. The model has `embed` and `predict`; `visible` is False after the end."""
    check_answers("model", model, "embed", "predict")
    rows = check_whole_numbers("tokens", tokens, 0, 2**31 - 1, (None,))
    if not isinstance(sizes, list | tuple) or not sizes:
        raise ValueError(f"sizes is {brief(sizes)}; it must be a list of sizes of windows")
    length = rows.shape[0]
    if not length:
        raise ValueError("tokens are empty; there must be at least one")
    counts = [check_count(f"sizes[{i}]", n) for i, n in enumerate(sizes)]
    windows = [window(n, at, length) for n in counts]
    others = jnp.arange(length) != at
    seen = [others, *(~near for near in windows), *(near & others for near in windows)]
    options = {}
    if visible is not None:
        options["visible"] = check_mask("visible", visible, (length,), "tokens")
    place = jnp.reshape(jnp.asarray(at), 1)

    def law(observed: Bool[Array, " T"]) -> Float[Array, " V"]:
        return model.predict(model.embed(rows, observed), place, **options)[0]

    laws = jax.vmap(law)(jnp.stack(seen))
    return jnp.reshape(jnp.sum(jnp.abs(laws[1:] - laws[0]), axis=1) / 2, (2, len(sizes)))
