"""What a translator is trained on: refining a noisy target in stages, or the next token.

An objective is a loss for `fit`. It draws pairs from anything with `sample(key) -> Translation`: a
world, a teacher in it, or a fixed corpus (`Pairs`). Metrics are means over tokens, or over pairs.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models import Translator
from minicosm.models.checks import (
    check_count,
    check_flag,
    check_inside,
    check_key,
    check_whole,
    numbers_of,
    shown,
)
from minicosm.models.repeats import put_back, repeats
from minicosm.worlds import Translation
from minicosm.worlds.arrays import AnyArray, is_concrete

from .devices import over_batch


@runtime_checkable
class PairSource(Protocol):
    """Where sources with their targets come from, padded after their ends."""

    def sample(self, key: PRNGKeyArray) -> Translation: ...


class Pairs(eqx.Module):
    """A fixed corpus, of which a pair is drawn uniformly."""

    source: Int[AnyArray, "*stack pairs S"]
    source_length: Int[AnyArray, "*stack pairs"]
    target: Int[AnyArray, "*stack pairs T"]
    target_length: Int[AnyArray, "*stack pairs"]

    def __check_init__(self) -> None:
        rows = check_whole("source", self.source).shape[:-1]
        for name in ("source", "target"):
            tokens = check_whole(name, getattr(self, name))
            if tokens.ndim < 2 or tokens.shape[:-1] != rows:
                raise ValueError(
                    f"{name} has shape {tokens.shape}; source and target have a row of tokens for each "
                    "pair, and as many rows"
                )
            check_inside(name, tokens, 0, 2**31 - 1)
            lengths = check_whole(f"{name}_length", getattr(self, f"{name}_length"), rows)
            check_inside(f"{name}_length", lengths, 1, tokens.shape[-1])

    def sample(self, key: PRNGKeyArray) -> Translation:
        check_key("key", key)
        at = jax.random.randint(key, (), 0, self.source.shape[0])
        rows = (self.source, self.source_length, self.target, self.target_length)
        return Translation(*(jnp.asarray(row)[at] for row in rows))


class TranslationObjective(eqx.Module):
    """Next tokens: the mean over target tokens and ends of `- log P(next | source, what is before)`."""

    pairs: PairSource
    batch: int = eqx.field(static=True, default=64, kw_only=True)

    def __check_init__(self) -> None:
        check_count("batch", self.batch)
        if isinstance(self.pairs, type) or not callable(getattr(self.pairs, "sample", None)):
            raise TypeError(
                f"pairs is {shown(self.pairs)}; it must have sample(key), as a world or Pairs has"
            )

    def __call__(
        self, model: Translator, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        keys = over_batch(jax.random.split(key, self.batch))
        sums = jax.vmap(lambda k: self.one(model, k))(keys)
        return self.total(jax.tree.map(lambda entry: jnp.sum(entry, axis=0), sums))

    def one(self, model: Translator, key: PRNGKeyArray) -> dict[str, Array]:
        """The sums of one pair."""
        _check_drawing(model, key)
        draw, drop = jax.random.split(key)
        pair = self.pairs.sample(draw)
        T = pair.target.shape[0]
        end = model.vocab
        real = jnp.arange(T + 1) <= pair.target_length
        target = jnp.append(jnp.where(jnp.arange(T) < pair.target_length, pair.target, end), end)
        inputs = jnp.concatenate([jnp.full(1, end, target.dtype), target[:-1]])
        memory, drop = _encoded(model, pair, drop)
        logits = model.decode(inputs, memory, real, key=drop)
        return _sums(logits, target, real)

    def total(self, sums: dict[str, Array]) -> tuple[Float[Array, ""], dict[str, Array]]:
        sums = _sums_of(sums, "nats", "tokens", "right")
        loss = sums["nats"] / sums["tokens"]
        metrics = {"accuracy": sums["right"] / sums["tokens"], "tokens": sums["tokens"]}
        return loss, jax.lax.stop_gradient(metrics)


class RefinementObjective(TranslationObjective):
    """Refinement in stages, as in `L = mean_s L_s + L_length`.

    The first input keeps each target token with probability `keep` and has a uniformly random token
    in its place otherwise. Stage s predicts the target at every position; its most likely tokens are
    the input of stage s + 1, without a gradient through them. With `remask`, a token equal to the one
    before it goes back to what this stage read there.
    """

    stages: int = eqx.field(static=True, default=2, kw_only=True)
    keep: Float[AnyArray, "*stack"] = eqx.field(
        default=0.15, kw_only=True, converter=lambda share: _share(share)
    )
    remask: bool = eqx.field(static=True, default=True, kw_only=True)

    def __check_init__(self) -> None:
        check_count("stages", self.stages)
        check_flag("remask", self.remask)
        if not self.keep.size or not ((self.keep >= 0) & (self.keep <= 1)).all():
            raise ValueError(f"keep is {self.keep}; it must be a probability")

    def one(self, model: Translator, key: PRNGKeyArray) -> dict[str, Array]:
        _check_drawing(model, key)
        draw, noise, drop = jax.random.split(key, 3)
        pair = self.pairs.sample(draw)
        real = jnp.arange(pair.target.shape[0]) < pair.target_length
        tokens = corrupt(noise, pair.target, self.keep, model.vocab)
        memory, drop = _encoded(model, pair, drop)
        each = []
        for stage in range(self.stages):
            again = None if drop is None else jax.random.fold_in(drop, stage)
            logits = model.decode(tokens, memory, real, key=again)
            each.append(_sums(logits, pair.target, real))
            guess = jnp.argmax(logits, axis=-1).astype(tokens.dtype)
            tokens = put_back(guess, tokens, repeats(guess)) if self.remask else guess
        sums = jax.tree.map(lambda *entries: jnp.stack(entries), *each)
        law = jax.nn.log_softmax(model.length_logits(memory))
        return sums | {"length": -law[pair.target_length - 1], "pairs": jnp.ones(())}

    def total(self, sums: dict[str, Array]) -> tuple[Float[Array, ""], dict[str, Array]]:
        sums = _sums_of(sums, "nats", "tokens", "right", "length", "pairs")
        stages = sums["nats"] / sums["tokens"]
        length = sums["length"] / sums["pairs"]
        right = sums["right"] / sums["tokens"]
        metrics = {
            "first_stage": stages[0],
            "last_stage": stages[-1],
            "length": length,
            "accuracy": right[-1],
            "tokens": sums["tokens"].sum(),
        }
        return jnp.mean(stages) + length, jax.lax.stop_gradient(metrics)


def corrupt(
    key: PRNGKeyArray, tokens: Int[Array, " T"], keep: float | Float[AnyArray, ""], vocab: int
) -> Int[Array, " T"]:
    """Each token with probability `keep`, a uniformly random one of the vocabulary otherwise.
    Padding may be any token."""
    check_key("key", key)
    check_count("vocab", vocab)
    if vocab >= 2**31:
        raise ValueError(f"vocab is {vocab}; it must be less than 2^31")
    if is_concrete(keep):
        share = _share(keep)
        if share.shape != ():
            raise ValueError(f"keep has shape {share.shape}; it must be one probability")
        check_inside("keep", share, 0, 1)
    tokens = jnp.asarray(check_whole("tokens", tokens))
    if tokens.ndim != 1:
        raise ValueError(f"tokens has shape {tokens.shape}; one sequence has shape (T,)")
    which, what = jax.random.split(key)
    random = jax.random.randint(what, tokens.shape, 0, vocab, tokens.dtype)
    return jnp.where(jax.random.uniform(which, tokens.shape) < keep, tokens, random)


def _check_drawing(model: Any, key: Any) -> None:
    if isinstance(model, type) or not all(hasattr(model, m) for m in ("vocab", "encode", "decode")):
        raise TypeError(f"model is {shown(model)}; it must be a translator")
    check_key("key", key)


def _sums_of(sums: Any, *names: str) -> dict[str, Array]:
    """What `one` returns, summed: numbers by these names."""
    if not isinstance(sums, dict) or not set(names) <= set(sums):
        raise TypeError(f"sums are {shown(sums)}; they must have {', '.join(names)}")
    return {name: jnp.asarray(numbers_of(f"sums[{name!r}]", sums[name])) for name in sums}


def _share(keep: Any) -> Float[np.ndarray, "*stack"]:
    """Probabilities that tokens are kept, in float32."""
    return np.asarray(numbers_of("keep", keep, "probabilities"), np.float32)


def _encoded(
    model: Translator, pair: Translation, drop: PRNGKeyArray
) -> tuple[Any, PRNGKeyArray | None]:
    """The source as the decoder reads it, and the decoder's dropout key (None without dropout)."""
    visible = jnp.arange(pair.source.shape[0]) < pair.source_length
    if model.config.dropout == 0:
        return model.encode(pair.source, visible), None
    first, second = jax.random.split(drop)
    return model.encode(pair.source, visible, key=first), second


def _sums(
    logits: Float[Array, "T V"], target: Int[Array, " T"], real: Bool[Array, " T"]
) -> dict[str, Array]:
    """Cross-entropy, right tokens and tokens, summed over the real positions."""
    law = jax.nn.log_softmax(logits)
    at = jnp.where(real, target, 0)
    chosen = jnp.take_along_axis(law, at[:, None], axis=-1)[:, 0]
    right = jnp.argmax(logits, axis=-1) == at
    return {
        "nats": -jnp.sum(jnp.where(real, chosen, 0)),
        "right": jnp.sum(right & real).astype(law.dtype),
        "tokens": jnp.sum(real).astype(law.dtype),
    }
