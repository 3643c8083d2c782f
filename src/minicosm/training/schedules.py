"""Learning rates that warm up and decay, and the optimisers built on them.

Asked for the same optimiser twice, the functions return the same object, so that `fit` does not
compile its loop again.
"""

from functools import cache
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree
from optax.contrib import MuonDimensionNumbers as Axes

from minicosm.models import Transformer
from minicosm.models.checks import check_count, check_number, shown

Decay = Literal["linear", "cosine"]


def warmup_linear(peak: float, steps: int, warmup: int) -> optax.Schedule:
    """Learning rate 0 to `peak` over `warmup` steps, then linearly to 0 at `steps`."""
    peak, steps, warmup = _checked("peak", peak, steps, warmup)
    return optax.join_schedules(
        [
            optax.linear_schedule(0.0, peak, warmup),
            optax.linear_schedule(peak, 0.0, max(steps - warmup, 1)),
        ],
        [warmup],
    )


def warmup_cosine(peak: float, steps: int, warmup: int) -> optax.Schedule:
    """Learning rate 0 to `peak` over `warmup` steps, then to 0 at `steps` along a half cosine:
    `peak (1 + cos(pi (i - warmup) / (steps - warmup))) / 2` at step i."""
    peak, steps, warmup = _checked("peak", peak, steps, warmup)
    return optax.join_schedules(
        [
            optax.linear_schedule(0.0, peak, warmup),
            optax.cosine_decay_schedule(peak, max(steps - warmup, 1)),
        ],
        [warmup],
    )


def adam(rates: PyTree, steps: int, warmup: int) -> optax.GradientTransformation:
    """Adam with `warmup_linear`; `rates` is the peak rate, or a tree of them whose leaves stand for
    whole subtrees of the parameters (`{"head": 0.01, "prompt": 0.3}`)."""

    leaves, tree = jax.tree.flatten(rates)
    if not leaves:
        raise ValueError(f"rates is {shown(rates)}; it must be a number or a tree of numbers")
    for path, rate in jax.tree.leaves_with_path(rates):
        _checked("rates" + jax.tree_util.keystr(path), rate, steps, warmup)
    return _adam(tuple(leaves), tree, steps, warmup)


@cache
def _adam(leaves: tuple, tree: Any, steps: int, warmup: int) -> optax.GradientTransformation:
    rates = jax.tree.unflatten(tree, leaves)

    def scale(updates: PyTree, params: PyTree = None) -> PyTree:
        return jax.tree.map(
            lambda rate, part: jax.tree.map(lambda u: -rate * u, part), rates, updates
        )

    return optax.chain(
        optax.scale_by_adam(),
        optax.scale_by_schedule(warmup_linear(1.0, steps, warmup)),
        optax.stateless(scale),
    )


def adamw(
    peak: float,
    steps: int,
    warmup: int,
    *,
    decay: Decay = "cosine",
    clip: float | None = 1.0,
    weight_decay: float = 0.01,
) -> optax.GradientTransformation:
    """AdamW for pretraining: warm-up, `decay` to 0 at `steps`, and gradients whose norm over all
    parameters exceeds `clip` scaled down to it (None: never)."""
    peak, steps, warmup = _checked("peak", peak, steps, warmup)
    _check_decay(decay)
    if clip is not None:
        clip = check_number("clip", clip, above=0)
    weight_decay = check_number("weight_decay", weight_decay, least=0)
    return _adamw(peak, steps, warmup, decay, clip, weight_decay)


@cache
def _adamw(
    peak: float, steps: int, warmup: int, decay: Decay, clip: float | None, weight_decay: float
) -> optax.GradientTransformation:
    schedule = _SCHEDULES[decay](peak, steps, warmup)
    optimiser = optax.adamw(schedule, weight_decay=weight_decay)
    return optimiser if clip is None else optax.chain(optax.clip_by_global_norm(clip), optimiser)


def adafactor(
    peak: float, steps: int, warmup: int, *, floor: float = 1e-5
) -> optax.GradientTransformation:
    """Adafactor as T5X sets it (relative steps, factored second moments that decay as `1 - t^-0.8`,
    no momentum), with a rate from `floor` to `peak` over `warmup` steps and back along a half cosine."""
    peak, steps, warmup = _checked("peak", peak, steps, warmup)
    if warmup >= steps:
        raise ValueError(f"warmup is {warmup}; it must be less than steps, {steps}")
    return _adafactor(peak, steps, warmup, check_number("floor", floor, least=0))


@cache
def _adafactor(peak: float, steps: int, warmup: int, floor: float) -> optax.GradientTransformation:
    schedule = optax.warmup_cosine_decay_schedule(floor, peak, warmup, steps, floor)
    return optax.adafactor(schedule, decay_rate=0.8, clipping_threshold=1.0)


def ngd(rate: float) -> optax.GradientTransformation:
    """Normalised gradient descent: steps of length `rate` along the gradient over all parameters, none
    where it is zero. `optax.normalize_by_update_norm` adds 1e-6 to the norm, which makes it plain descent
    where gradients are smaller; this does not."""
    return _ngd(check_number("rate", rate, least=0))


@cache
def _ngd(rate: float) -> optax.GradientTransformation:
    return optax.chain(optax.stateless(normalised), optax.scale_by_learning_rate(rate))


def normalised(gradient: PyTree, params: PyTree = None) -> PyTree:
    """The gradient divided by its norm, zero where it is zero. Divided by its largest entry first, so that no
    square underflows."""
    most = jax.tree.reduce(jnp.maximum, jax.tree.map(lambda g: jnp.max(jnp.abs(g)), gradient))
    scaled = jax.tree.map(lambda g: g / jnp.where(most > 0, most, 1), gradient)
    norm = optax.tree.norm(scaled)
    return jax.tree.map(lambda g: g / jnp.where(norm > 0, norm, 1), scaled)


def muon(
    peak: float, steps: int, warmup: int, *, rest: float, decay: Decay = "cosine"
) -> optax.GradientTransformation:
    """For a `Transformer`: Muon with rate `peak` on the matrices of its layers, Adam with rate `rest`
    on everything else, both with warm-up and `decay` to 0 at `steps`.

    Muon replaces the momentum of a matrix by the nearest orthogonal one, so that all its directions
    move alike (Jordan et al., 2024). Queries, keys and values are matrices from the width to all heads.
    """
    _check_decay(decay)
    peak, steps, warmup = _checked("peak", peak, steps, warmup)
    return _muon(peak, steps, warmup, check_number("rest", rest, least=0), decay)


@cache
def _muon(
    peak: float, steps: int, warmup: int, rest: float, decay: Decay
) -> optax.GradientTransformation:
    schedule = _SCHEDULES[decay]
    return optax.contrib.muon(
        schedule(peak, steps, warmup),
        adam_learning_rate=schedule(rest, steps, warmup),
        muon_weight_dimension_numbers=_matrices,
    )


def _checked(name: str, rate: Any, steps: Any, warmup: Any) -> tuple[float, int, int]:
    """A peak rate, the steps, and those of the warm-up, of which there are at most as many."""
    steps, warmup = check_count("steps", steps), check_count("warmup", warmup, least=0)
    return check_number(name, rate, least=0), steps, min(warmup, steps)


def _check_decay(decay: Any) -> None:
    if not isinstance(decay, str) or decay not in _SCHEDULES:
        raise ValueError(f"decay is {shown(decay)}; it must be one of {', '.join(_SCHEDULES)}")


_SCHEDULES = {"linear": warmup_linear, "cosine": warmup_cosine}


def _matrices(model: Transformer) -> PyTree:
    """Input and output axes of the matrices in the layers, and None for every other array."""
    axes = jax.tree.map(lambda _: None, model)
    matrices = [
        (lambda m: m.layers.attention.qkv, Axes(1, (3, 4))),
        (lambda m: m.layers.attention.out, Axes((1, 2), 3)),
    ]
    if model.layers.mlp is not None:
        matrices += [
            (lambda m: m.layers.mlp.up, Axes(1, 2)),
            (lambda m: m.layers.mlp.down, Axes(1, 2)),
        ]
    for where, how in matrices:
        axes = eqx.tree_at(where, axes, how, is_leaf=lambda leaf: leaf is None)
    return axes
