"""Labels at the positions of a string: simulation of automata, reads of a memory, scratchpads.

A world that has labels answers `labelled(key, length)` with a `Labelled`; whether labels are given at all
positions, at some chosen by chance, or at those of one kind is said by its weights. `LabelObjective` is the
loss of all of them. Its world and its placement are pytrees of arrays: with a leading axis of members they
are the arms of an experiment, which one compiled program of `fit_ensemble` trains.
"""

from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.models import Placement
from minicosm.worlds.arrays import (
    AnyArray,
    check_choice,
    check_count,
    check_key,
    check_kind,
    check_size,
    check_whole_numbers,
    short,
)

from .attention_penalty import AttentionPenalty
from .devices import over_batch
from .objectives import check_answers, dropout_options


class Labelled(NamedTuple):
    """A string and the labels of its positions, or of those that an objective asks for."""

    tokens: Int[Array, " T"]
    labels: Int[Array, " n"]
    weights: Float[Array, " n"] | Bool[Array, " n"]
    """How much each label counts; 0 where it is not given."""


@runtime_checkable
class LabelledWorld(Protocol):
    """A world whose strings have labels."""

    def labelled(self, key: PRNGKeyArray, length: int) -> Labelled:
        """One string with its labels; `length` is the number of its symbols, which may be fewer than its
        tokens where a scratchpad stands between them."""
        ...


class LabelObjective(eqx.Module):
    """Cross-entropy of the labels of a batch of strings, `-sum w log q(label)` over `sum w`.

    With mean "labels" both sums run over the batch; with "strings" over each string, and the loss is the
    mean over the strings that have a label. Metrics: "accuracy", the share (by weight) of labels that are
    the likeliest ones; "labels", how many are given; "tokens", how many tokens are read.

    `at` are the positions of the labels, None: all; a Transformer's last layer computes no others.
    `placement` goes to the model's `logits`. `penalty` is added, and the metric "penalty" is its mean; the
    model is then a Transformer, all of whose attention is computed. With `shift`, the positions of every
    batch begin at a whole number drawn uniformly from `0..shift`. The model has `embed` and `logits`.
    """

    world: LabelledWorld
    placement: Placement | None = None
    shift: Int[AnyArray, "*stack"] | int | None = None
    penalty: AttentionPenalty | None = None
    length: int = eqx.field(static=True, kw_only=True)
    """Symbols of a string."""
    batch: int = eqx.field(static=True, default=64, kw_only=True)
    at: tuple[int, ...] | None = eqx.field(static=True, default=None, kw_only=True)
    mean: Literal["labels", "strings"] = eqx.field(static=True, default="labels", kw_only=True)

    def __check_init__(self) -> None:
        if isinstance(self.world, type) or not callable(getattr(self.world, "labelled", None)):
            raise TypeError(f"world is {short(self.world)}; it must have `labelled(key, length)`")
        check_size(f"a batch of length {self.length}", check_count("length", self.length))
        size = check_count("batch", self.batch) * self.length
        check_size(f"batch = {self.batch} strings of {self.length} symbols", size)
        check_choice("mean", self.mean, ("labels", "strings"))
        if self.placement is not None:
            check_kind("placement", self.placement, Placement, "a Placement, or None")
        if self.penalty is not None:
            check_kind("penalty", self.penalty, AttentionPenalty, "an AttentionPenalty, or None")
        if self.shift is not None:
            check_whole_numbers("shift", self.shift, 0, 2**30)
            if self.placement is not None and self.placement.offset is not None:
                raise ValueError("shift draws an offset; placement.offset must then be None")
        if self.at is not None:
            check_kind("at", self.at, tuple, "a tuple of positions, or None")
            for place in self.at:
                check_count("a position in at", place, least=0)
            if not self.at:
                raise ValueError("at is (); it must have at least one position, or be None")

    def __call__(
        self, model: Any, key: PRNGKeyArray, step: Int[Array, ""] | int
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        check_answers(model, "embed")
        check_answers(model, "logits")
        key, placement = check_key(key), self.placement
        if self.shift is not None:
            shift_key, key = jax.random.split(key)
            offset = jax.random.randint(shift_key, (), 0, jnp.asarray(self.shift) + 1)
            base = Placement() if placement is None else placement
            placement = Placement(base.slopes, offset, base.rows)
        keys = over_batch(jax.random.split(key, self.batch))
        each: Any = jax.vmap(lambda k: self._one(model, k, placement))(keys)
        losses, right, weights, tokens, penalties = each
        if self.mean == "labels":
            loss = _mean(losses, weights)
        else:
            loss = _mean(jax.vmap(_mean)(losses, weights), jnp.any(weights > 0, axis=1))
        metrics = {
            "accuracy": _mean(right, weights),
            "labels": jnp.sum(weights > 0).astype(loss.dtype),
            "tokens": jnp.sum(tokens).astype(loss.dtype),
        }
        if self.penalty is not None:
            metrics["penalty"] = jnp.mean(penalties)
            loss = loss + self.penalty.factor(step) * metrics["penalty"]
        return loss, jax.lax.stop_gradient(metrics)

    def _one(
        self, model: Any, key: PRNGKeyArray, placement: Placement | None
    ) -> tuple[Float[Array, " n"], Bool[Array, " n"], Float[Array, " n"], Array, Array]:
        """Losses of the labels of one string, which are right, their weights, how many tokens it has, and the
        penalty."""
        draw_key, dropout_key = jax.random.split(key)
        tokens, labels, weights = self.world.labelled(draw_key, self.length)
        count = tokens.shape[0] if self.at is None else len(self.at)
        if labels.shape != (count,) or weights.shape != (count,):
            raise ValueError(
                f"world has labels of shape {labels.shape} and weights of shape {weights.shape}; there "
                f"are {count} positions to label"
            )
        if self.at is not None and np.max(self.at) >= tokens.shape[0]:
            raise ValueError(
                f"at has position {np.max(self.at)}; strings have the positions 0..{tokens.shape[0] - 1}"
            )
        at = None if self.at is None else np.asarray(self.at)
        options: dict[str, Any] = dict(dropout_options(model, dropout_key))
        if placement is not None:
            options["placement"] = placement
        if self.penalty is None:
            logits, penalty = model.logits(model.embed(tokens), at, **options), jnp.zeros(())
        else:
            check_answers(model, "trace")
            trace = model.trace(tokens, **options)
            logits = trace.logits if at is None else trace.logits[at]
            penalty = self.penalty.of(trace.attention)
        laws = jax.nn.log_softmax(logits, axis=-1)
        losses = -jnp.take_along_axis(laws, labels[:, None], axis=-1)[:, 0]
        right = jnp.argmax(logits, axis=-1) == labels
        count_read = jnp.asarray(tokens.shape[0])
        return losses, right, weights.astype(losses.dtype), count_read, penalty


def _mean(values: Float[Array, "*n"] | Bool[Array, "*n"], weights: AnyArray) -> Float[Array, ""]:
    """The weighted mean; zero where all weights are."""
    total = jnp.sum(weights)
    return jnp.sum(weights * values) / jnp.where(total > 0, total, 1)
