"""How much a language model relies on the neighbours of a position: two measures.

Of a masked model (`reliance`)

    L_robust = TV(law with only i masked, law with the whole window masked)
    L_close  = TV(law with only i masked, law with only the window visible and i masked)

The window of n around i is `max(i - ceil((n-1)/2), 0) .. min(i + floor((n-1)/2), last)`.

Of a causal model (`causal_reliance`), with the window `i - n + 1 .. i - 1` of the n - 1 tokens before i,

    L_robust = TV(law given all tokens before i, law without the window but for the token i - 1)
    L_close  = TV(law given all tokens before i, law given the window only)

Tokens are hidden where attention is computed, so that positions do not shift.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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


def causal_reliance(
    model: Any,
    tokens: Int[AnyArray, " T"],
    at: Int[AnyArray, ""] | int,
    sizes: Sequence[int],
    *,
    start: int | None = None,
    height: int = 1,
) -> Float[Array, "2 sizes"]:
    """`L_robust` and `L_close` of a causal model of the token at a position, 1 or later, for several sizes
    n >= 2 of the window. `start` and `height` are those of `causal_laws`; a start token is outside every
    window."""
    rows = check_whole_numbers("tokens", tokens, 0, 2**31 - 1, (None,))
    if len(rows) < 2:
        raise ValueError(f"tokens has {len(rows)} entries; there must be two or more")
    if not isinstance(sizes, list | tuple) or not sizes:
        raise ValueError(f"sizes is {brief(sizes)}; it must be a list of sizes of windows")
    counts = [check_count(f"sizes[{i}]", n, least=2) for i, n in enumerate(sizes)]
    place = jnp.asarray(check_whole_numbers("at", at, 1, len(rows) - 1, ()))
    where = jnp.arange(len(rows))
    before = where < place
    windows = [before & (where > place - min(n, len(rows) + 1)) for n in counts]
    seen = [before, *(before & (~near | (where == place - 1)) for near in windows), *windows]
    starts = jnp.arange(1 + 2 * len(counts)) < 1 + len(
        counts
    )  # hidden where only the window is seen
    laws = causal_laws(
        model, rows, place, jnp.stack(seen), start=start, start_seen=starts, height=height
    )
    return jnp.reshape(jnp.sum(jnp.abs(laws[1:] - laws[0]), axis=1) / 2, (2, len(counts)))


def causal_laws(
    model: Any,
    tokens: Int[AnyArray, " T"],
    at: Int[AnyArray, ""] | int,
    observed: Bool[AnyArray, "m T"],
    *,
    start: int | None = None,
    start_seen: Bool[AnyArray, " m"] | None = None,
    height: int = 1,
) -> Float[Array, "m V"]:
    """What a causal model says of the token at a position, for each row of `observed`: which tokens before it
    are seen. Later ones never are.

    A model is a Transformer with `embed` and `logits`, which reads the token `start` first if there is one
    (`start_seen`: whether that is seen, by default always); a `LayeredPCFG`, whose law is that of tokens that
    end a node of this height; or a world of sequences of one length with `embed` and `predict`.
    """
    check_answers("model", model, "embed")
    if start is not None:
        check_count("start", start, least=0)
    rows = jnp.asarray(check_whole_numbers("tokens", tokens, 0, 2**31 - 1, (None,)))
    length = len(rows)
    place = jnp.asarray(check_whole_numbers("at", at, 1, length - 1, ()))
    count = np.shape(observed)[0] if np.ndim(observed) == 2 else 1
    masks = jnp.asarray(check_mask("observed", observed, (count, length), "tokens"))
    masks = masks & (jnp.arange(length) < place)
    if hasattr(model, "boundary_laws"):
        check_whole_numbers("tokens", rows, 0, model.vocab)  # V is the padding
        return jax.vmap(lambda seen: model.boundary_laws(rows, height, seen)[place])(masks)
    if hasattr(model, "logits"):
        return _attention_laws(model, rows, place, masks, start, start_seen)
    check_answers("model", model, "predict")
    where = jnp.reshape(place, 1)
    return jax.vmap(lambda seen: model.predict(model.embed(rows, seen), where)[0])(masks)


def _attention_laws(
    model: Any, tokens: Array, at: Array, masks: Bool[Array, "m T"], start: int | None, start_seen: Any
) -> Float[Array, "m V"]:  # fmt: skip
    """The laws of a Transformer, with what is hidden left out of attention. The last token before the
    position is the one that reads, and reads itself."""
    if start is None:
        inputs, last, visible = tokens, at - 1, masks
    else:
        first = jnp.full(1, start, tokens.dtype)
        inputs, last = jnp.concatenate([first, tokens[:-1]]), at
        known = np.ones(len(masks), bool) if start_seen is None else start_seen
        seen = jnp.asarray(check_mask("start_seen", known, (len(masks),), "observed"))
        visible = jnp.concatenate([seen[:, None], masks[:, :-1]], axis=1)
    visible = visible | (jnp.arange(len(inputs)) == last)
    rows = model.embed(inputs)
    say = jax.vmap(lambda seen: model.logits(rows, jnp.reshape(last, 1), visible=seen)[0])
    return jax.nn.softmax(say(visible), axis=-1)
