"""Decoding all positions at once, again and again: iterative refinement of a guessed target."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models import Translator
from minicosm.models.checks import check_callable
from minicosm.models.repeats import put_back, repeats
from minicosm.worlds.arrays import (
    AnyArray,
    check_count,
    check_flag,
    check_key,
    check_number,
    check_size,
    check_whole_numbers,
    is_concrete,
    short,
)

from .sources import check_sources
from .trace import PADDING


class Pass(NamedTuple):
    """One pass over one hypothesis, as a rejecter sees it."""

    tokens: Int[Array, " T"]
    """The most likely tokens of this pass."""
    before: Int[Array, " T"]
    """What the decoder read."""
    log_probs: Float[Array, " T"]
    """Of `tokens`, in this pass."""
    real: Bool[Array, " T"]
    """False after the hypothesis's length."""
    step: Int[Array, ""]
    """1 for the first pass."""
    steps: int
    """The most passes that there may be."""
    key: PRNGKeyArray


Rejecter = Callable[[Pass], Bool[Array, " T"]]
"""Which tokens of a pass are not taken: the next pass reads there what this one read."""


def keep_all(seen: Pass) -> Bool[Array, " T"]:
    """Reject nothing."""
    return jnp.zeros_like(seen.real)


def stutter(seen: Pass) -> Bool[Array, " T"]:
    """Reject a token that equals the one before it."""
    return repeats(seen.tokens)


def linear(seen: Pass) -> Bool[Array, " T"]:
    """Reject the share `1 - step / steps` of tokens that are least likely."""
    return _least_likely(seen, 1 - seen.step / seen.steps)


def constant(share: float) -> Rejecter:
    """Reject this share of tokens, the least likely ones, after every pass."""
    if check_number("share", share, 0) >= 1:
        raise ValueError(f"share is {share}; it must be at least 0 and less than 1")
    return lambda seen: _least_likely(seen, share)


def _least_likely(seen: Pass, share: float | Float[Array, ""]) -> Bool[Array, " T"]:
    count = jnp.floor(share * seen.real.sum() + 1e-6)
    ordered = jnp.argsort(jnp.where(seen.real, seen.log_probs, jnp.inf))
    return (jnp.argsort(ordered) < count) & seen.real


STEADY = (keep_all, stutter)
"""Rejecters that look at tokens alone: a pass that reads what the last one read repeats it."""


class Refinement(NamedTuple):
    """Targets of a batch and how they came about; K hypotheses for every source, S passes at most."""

    tokens: Int[Array, "batch T"]
    """The best hypothesis, with repeats of a token dropped, padded with `PADDING`."""
    lengths: Int[Array, " batch"]
    best: Int[Array, " batch"]
    """Which hypothesis."""
    passes: Int[Array, " batch"]
    """Decoder passes: those of the hypothesis that ran longest (all run at once)."""
    hypothesis_passes: Int[Array, "batch K"]
    """Passes until further ones would change nothing."""
    hypothesis_lengths: Int[Array, "batch K"]
    length_log_probs: Float[Array, "batch K"]
    """`log P(N | source)` of these lengths N, by `model.length_logits`."""
    inputs: Int[Array, "batch K S T"]
    """[..., s, :]: what pass s + 1 read."""
    outputs: Int[Array, "batch K S T"]
    """[..., s, :]: its most likely tokens; a hypothesis that has stopped stays as it was."""
    log_probs: Float[Array, "batch K S"]
    """[..., s]: the sum of the log-probabilities of these tokens in this pass."""
    scores: Float[Array, "batch K S"]
    """[..., s]: by which the best hypothesis is chosen; see `scored`."""

    def after(self, steps: int) -> "Refinement":
        """What would have come out after at most `steps` passes."""
        S = self.outputs.shape[2]
        if check_count("steps", steps) > S:
            raise ValueError(f"steps is {steps}; it must be from 1 to {S}")
        return self._after(steps)

    @eqx.filter_jit
    def _after(self, steps: int) -> "Refinement":
        ran, lengths, of_length, inputs, outputs, log_probs, scores = self[4:]
        cut = (array[:, :, :steps] for array in (inputs, outputs, log_probs, scores))
        return _chosen(jnp.minimum(ran, steps), lengths, of_length, *cut)

    def scored(self, *, alpha: float = 0.0, joint: bool = False) -> "Refinement":
        """The same hypotheses, of which the best is chosen by another score.

        The score of a hypothesis `y` of N tokens is `sum_j log p(y_j) / ((5 + N) / 6)^alpha`. If
        `joint`, `log P(N | source)` is added: with alpha 0 this is the log-probability of length and
        tokens together. Without it nothing speaks against a length that is too short: a decoder that
        was trained with true lengths answers it by the beginning of the target, and is as sure of
        every token.
        """
        number = jnp.asarray(check_number("alpha", alpha))  # an input, so that none compiles anew
        return self._scored(number, check_flag("joint", joint))

    @eqx.filter_jit
    def _scored(self, alpha: Float[Array, ""], joint: bool) -> "Refinement":
        ran, lengths, of_length, inputs, outputs, log_probs, _ = self[4:]
        scores = _scores(log_probs, lengths, of_length, alpha, joint)
        return _chosen(ran, lengths, of_length, inputs, outputs, log_probs, scores)


def refine(
    model: Any,
    source: Int[AnyArray, "batch S"],
    visible: Bool[AnyArray, "batch S"],
    key: PRNGKeyArray,
    *,
    steps: int,
    candidates: int = 5,
    lengths: Int[AnyArray, "batch K"] | None = None,
    longest: int | None = None,
    rejecter: Rejecter = stutter,
    alpha: float = 0.0,
    joint: bool = False,
    start: Int[AnyArray, "batch K T"] | None = None,
) -> Refinement:
    """Translate a batch of sources, each as several hypotheses of different lengths.

    The lengths are the `candidates` most likely ones of `model.length_logits`, or those given. A
    hypothesis starts as uniformly random tokens (or as `start`); a pass replaces all tokens by the most
    likely ones of `model.decode`. Between passes, those that `rejecter` rejects go back to what the
    pass had read. Refinement ends after `steps` passes, or when further ones would change nothing: the
    next would read what the last one read (or, for rejecters that look at more than tokens, a pass
    returned what it read). The best hypothesis has the highest score in its last pass: the sum of its
    tokens' log-probabilities, which `alpha` and `joint` change as `Refinement.scored` says.

    Row i uses `fold_in(key, i)`: it does not depend on the others.
    """
    source, visible = check_sources(model, ("encode", "length_logits", "decode"), source, visible)
    key = check_key(key)
    check_count("steps", steps)
    check_count("candidates", candidates)
    if longest is None and not hasattr(model, "config"):
        raise ValueError("longest is None; this model does not say how long targets may be")
    T = model.config.lengths if longest is None else check_count("longest", longest)
    batch, K = len(source), candidates
    if lengths is not None:
        lengths = jnp.asarray(
            check_whole_numbers("lengths", lengths, 1, T, (batch, None)), jnp.int32
        )
        if not (K := lengths.shape[1]):
            raise ValueError(f"lengths has shape {lengths.shape}; a source needs at least one")
    what = f"{K} candidates for each source, of length {T} (longest), in {steps} steps"
    check_size(what, batch * K * T * steps)
    if isinstance(model, Translator):
        model.check_length(T, decoder=True)
    check_callable("rejecter", rejecter, "rejecter(seen)")
    if start is not None:
        start = check_whole_numbers("start", start, -(2**31), 2**31 - 1, (batch, K, T))
        if lengths is not None and is_concrete(start, lengths):
            real = np.arange(T) < np.asarray(lengths)[..., None]
            check_whole_numbers("start", np.where(real, start, 0), 0, model.vocab - 1)
    number, joint = jnp.asarray(check_number("alpha", alpha)), check_flag("joint", joint)
    return _refined(
        model, source, visible, key, steps, candidates, lengths, T, rejecter, number, joint, start
    )


@eqx.filter_jit
def _refined(
    model: Any,
    source: Int[AnyArray, "batch S"],
    visible: Bool[AnyArray, "batch S"],
    key: PRNGKeyArray,
    steps: int,
    candidates: int,
    lengths: Int[AnyArray, "batch K"] | None,
    T: int,
    rejecter: Rejecter,
    alpha: Float[Array, ""],
    joint: bool,
    start: Int[AnyArray, "batch K T"] | None,
) -> Refinement:
    memory = jax.vmap(model.encode)(jnp.asarray(source), jnp.asarray(visible))
    logits = jax.vmap(model.length_logits)(memory)
    if lengths is None:
        known = logits[:, :T]
        if candidates > known.shape[1]:
            raise ValueError(f"candidates is {candidates}; there are only {known.shape[1]} lengths")
        lengths = jax.lax.top_k(known, candidates)[1] + 1
    lengths = jnp.asarray(lengths)
    batch, K = lengths.shape
    law = jnp.take_along_axis(jax.nn.log_softmax(logits), lengths - 1, axis=1, mode="clip")
    of_length = jnp.where((lengths >= 1) & (lengths <= logits.shape[1]), law, -jnp.inf)
    real = jnp.arange(T) < lengths[..., None]
    keys = jax.vmap(lambda i: jax.random.split(jax.random.fold_in(key, i), K))(jnp.arange(batch))
    if start is None:

        def draw(key: PRNGKeyArray) -> Int[Array, " T"]:
            return jax.random.randint(jax.random.fold_in(key, 0), (T,), 0, model.vocab)

        start = jax.vmap(jax.vmap(draw))(keys)
    tokens = jnp.where(real, jnp.asarray(start), PADDING).astype(jnp.int32)

    def one_pass(
        memory: Any,
        tokens: Int[Array, " T"],
        real: Bool[Array, " T"],
        key: PRNGKeyArray,
        step: Int[Array, ""],
    ) -> tuple[Int[Array, " T"], Float[Array, ""], Int[Array, " T"]]:
        """One hypothesis: most likely tokens, their log-probability, and what the next pass reads."""
        law = jax.nn.log_softmax(model.decode(tokens, memory, real))
        new = jnp.where(real, jnp.argmax(law, axis=-1), PADDING).astype(tokens.dtype)
        log_probs = jnp.where(real, jnp.max(law, axis=-1), 0)
        seen = Pass(new, tokens, log_probs, real, step, steps, jax.random.fold_in(key, step))
        rejected = rejecter(seen)
        if getattr(rejected, "shape", None) != new.shape or rejected.dtype != bool:
            raise ValueError(
                f"rejecter returned {short(rejected)}; it must be True or False for every token"
            )
        return new, log_probs.sum(), put_back(new, tokens, rejected & real)

    over = jax.vmap(jax.vmap(one_pass, (None, 0, 0, 0, None)), (0, 0, 0, 0, None))

    def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
        s, tokens, live, ran, inputs, outputs, log_probs = state
        new, total, following = over(memory, tokens, real, keys, s + 1)
        last = jnp.maximum(s - 1, 0)
        new = jnp.where(live[..., None], new, outputs[:, :, last])
        total = jnp.where(live, total, log_probs[:, :, last])
        following = jnp.where(live[..., None], following, tokens)
        inputs, outputs = inputs.at[:, :, s].set(tokens), outputs.at[:, :, s].set(new)
        log_probs = log_probs.at[:, :, s].set(total)
        changed = following != tokens if rejecter in STEADY else new != tokens
        ran, moved = ran + live, jnp.any(changed, axis=-1)
        return s + 1, following, live & moved, ran, inputs, outputs, log_probs

    kind = jnp.result_type(float)
    empty = jnp.full((batch, K, steps, T), PADDING, tokens.dtype)
    state = (
        jnp.int32(0), tokens, jnp.ones((batch, K), bool), jnp.zeros((batch, K), jnp.int32),
        empty, empty, jnp.zeros((batch, K, steps), kind),
    )  # fmt: skip
    state = jax.lax.while_loop(lambda st: (st[0] < steps) & jnp.any(st[2]), body, state)
    done, _, _, ran, *kept = state
    late = jnp.arange(steps) >= done  # passes that were not needed repeat the last one
    held = jnp.where(late, done - 1, jnp.arange(steps))
    inputs, outputs, log_probs = (array[:, :, held] for array in kept)
    scores = _scores(log_probs, lengths, of_length, alpha, joint)
    return _chosen(ran, lengths, of_length, inputs, outputs, log_probs, scores)


def _scores(
    log_probs: Float[Array, "batch K S"],
    lengths: Int[Array, "batch K"],
    of_length: Float[Array, "batch K"],
    alpha: Float[Array, ""],
    joint: bool,
) -> Float[Array, "batch K S"]:
    """As `Refinement.scored` says."""
    scores = log_probs / (((5 + lengths) / 6) ** alpha)[..., None]
    return scores + of_length[..., None] if joint else scores


def _chosen(
    ran: Int[Array, "batch K"],
    lengths: Int[Array, "batch K"],
    of_length: Float[Array, "batch K"],
    inputs: Int[Array, "batch K S T"],
    outputs: Int[Array, "batch K S T"],
    log_probs: Float[Array, "batch K S"],
    scores: Float[Array, "batch K S"],
) -> Refinement:
    """The best hypothesis after the last pass, without its repeats."""
    best = jnp.argmax(scores[:, :, -1], axis=1)
    rows = jnp.arange(best.shape[0])
    tokens, kept = jax.vmap(drop_repeats)(outputs[rows, best, -1], lengths[rows, best])
    passes = ran.max(axis=1)
    return Refinement(
        tokens, kept, best, passes, ran, lengths, of_length, inputs, outputs, log_probs, scores
    )


def drop_repeats(
    tokens: Int[Array, " T"], length: Int[Array, ""]
) -> tuple[Int[Array, " T"], Int[Array, ""]]:
    """The sequence with every token that equals the one before it left out, and its length."""
    stays = (jnp.arange(tokens.shape[0]) < length) & ~repeats(tokens)
    at = jnp.where(stays, jnp.cumsum(stays) - 1, tokens.shape[0])
    packed = jnp.full(tokens.shape[0] + 1, PADDING, tokens.dtype).at[at].set(tokens)
    return packed[:-1], stays.sum()
