"""Beam search with a causal translator: the best sequences token by token, with passes counted."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from minicosm.models import Translator
from minicosm.worlds.arrays import AnyArray, check_count, check_size

from .sources import check_sources
from .trace import PADDING


class Beams(NamedTuple):
    """Targets of a batch, `width` for every source, the best first."""

    tokens: Int[Array, "batch width T"]
    """Without start and end, padded with `PADDING`."""
    lengths: Int[Array, "batch width"]
    log_probs: Float[Array, "batch width"]
    """Of the whole target, its end included; -inf where there are fewer targets than the beam is wide."""
    passes: Int[Array, " batch"]
    """Decoder passes, each over all beams, until no unfinished beam could become the best."""


def beam(
    model: Any,
    source: Int[AnyArray, "batch S"],
    visible: Bool[AnyArray, "batch S"],
    *,
    width: int = 5,
    longest: int,
) -> Beams:
    """Search for the most likely targets of at most `longest` tokens; width 1 is greedy decoding.

    At every step each beam is followed by every token, and the `width` most likely of all stay. A beam
    that has ended stays as it is. A row stops when its best beam has ended: log-probabilities only
    fall, so no other can pass it. (What is returned after the first beam may then be unfinished.)
    A beam of `longest` tokens must end.

    The model has `encode`, a memory of one source, and `by_token(width, longest)`, as `Translator` does:
    its `begin(memory)` is what is remembered before the start token, and its `step(past, place, parents,
    tokens)` gives the logits of what comes next and what is remembered then.
    """
    source, visible = check_sources(model, ("encode", "by_token"), source, visible)
    check_count("width", width)
    check_count("longest", longest)
    check_size(f"beams of width {width} and longest {longest}", len(source) * width * longest)
    if isinstance(model, Translator):
        model.check_length(longest + 1, decoder=True)
    return _search(model, source, visible, width, longest)


@eqx.filter_jit
def _search(
    model: Any,
    source: Int[AnyArray, "batch S"],
    visible: Bool[AnyArray, "batch S"],
    width: int,
    longest: int,
) -> Beams:
    end = model.vocab
    memory = jax.vmap(model.encode)(jnp.asarray(source), jnp.asarray(visible))
    batch, V = jnp.asarray(source).shape[0], end + 1
    decoder = model.by_token(width, longest)
    step = jax.vmap(decoder.step, (0, None, 0, 0))
    is_end = jnp.arange(V) == end
    stay = jnp.where(is_end, 0.0, -jnp.inf)
    take = jax.vmap(lambda rows, which: rows[which])

    def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
        t, past, parent, token, tokens, scores, ended, passes, live = state
        logits, past = step(past, t, parent, token)
        law = jnp.where((t < longest) | is_end, jax.nn.log_softmax(logits), -jnp.inf)
        following = jnp.where(ended[..., None], stay, law)
        total = (scores[..., None] + following).reshape(batch, -1)
        best, at = jax.lax.top_k(total, width)
        parent, token = at // V, at % V
        over = take(ended, parent) | (token == end)
        place = jnp.minimum(t, longest - 1)
        kept = take(tokens, parent)
        added = jnp.where(over, PADDING, token)
        longer = jnp.where(t < longest, kept.at[:, :, place].set(added), kept)
        still = live[:, None]
        tokens = jnp.where(still[..., None], longer, tokens)
        scores, ended = jnp.where(still, best, scores), jnp.where(still, over, ended)
        passes, live = passes + live, live & ~ended[:, 0]
        return t + 1, past, parent, token, tokens, scores, ended, passes, live

    kind = jnp.result_type(float)
    state = (
        jnp.int32(0), jax.vmap(decoder.begin)(memory), jnp.zeros((batch, width), jnp.int32),
        jnp.full((batch, width), end, jnp.int32),
        jnp.full((batch, width, longest), PADDING, jnp.int32),
        jnp.full((batch, width), -jnp.inf, kind).at[:, 0].set(0.0),
        jnp.zeros((batch, width), bool), jnp.zeros(batch, jnp.int32), jnp.ones(batch, bool),
    )  # fmt: skip
    state = jax.lax.while_loop(lambda s: (s[0] <= longest) & jnp.any(s[-1]), body, state)
    _, _, _, _, tokens, scores, _, passes, _ = state
    return Beams(tokens, (tokens != PADDING).sum(-1), scores, passes)
