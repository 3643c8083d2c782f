"""Models trained to simulate the flip-flop automaton, and where their attention goes.

The numbers of a trial, each a list over members: `error`, share of wrong states where symbols keep with the
probability of training, `error_.9` and `error_.98`; `entropy`, mean entropy of a row of attention in nats;
`ideal`, `first`: share of the rows of symbols that keep whose largest weight (in the last layer, over its
heads) is on the latest setting, on the first; `mass`: mean weight of the latest setting in these rows;
`zeros`: share of the weights of the last layer up to the row's own position that are at most 1e-8;
`onset`: the first position of the probe after which the largest weight never returns to its setting (its
length, if it is there at the end), `end`: the weight there; `onset_two`, `end_two`: the same of the latest
setting of a probe with two, from it on; `norm` of all weights; `misled`, `influence`: among the rows of
symbols that keep whose output is right, the share whose largest weight, and whose largest weighted value, is
not on a setting of the right kind.

Arrays: `probe_maps`, `two_maps` `[member, t]`: the weight of the probe's latest setting in every row from it
on; `maps`, `string`: attention of every member on one short string, and that string; `said`: the states that
members say on it; `diversity` `[part of the training, member, layer]`: mean distance (Frobenius) of the
attention of two heads of a layer on it, zero where there is one.
"""

import zlib
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, TransformerConfig
from minicosm.training import (
    AttentionPenalty,
    Labelled,
    LabelObjective,
    LayerPenalty,
    adamw,
    fit_ensemble,
)
from minicosm.worlds import Semiautomaton, flip_flop
from minicosm.worlds.arrays import AnyArray

from ..experiment_trials import Simulated
from .models import stacked

BASE = 9_190_420
SHOWN = flip_flop.PROBE_A
ZERO = 1e-8
"""What counts as no attention, as in footnote 45 of the source."""


class Task(eqx.Module):
    """Symbols and, at every position, the state."""

    world: Semiautomaton

    def labelled(self, key: Any, length: int) -> Labelled:
        """One string."""
        symbols, states = self.world.sample(key, length)
        return Labelled(symbols, states, jnp.ones(length, bool))


def run(config: Simulated, progress: Progress, folder: Path) -> TrialResult:
    """Train all members together, then look; see the module."""
    models, history = train(config, progress, folder)
    numbers: dict[str, Any] = {}
    tests = {"": config.keep, "_.9": 0.9, "_.98": 0.98}
    for name, keep in tests.items():
        symbols, states = _strings(config, keep)
        numbers[f"error{name}"] = np.asarray(_errors(models, symbols, states)).tolist()
    symbols, states = _strings(config, config.keep)
    looked = jax.tree.map(np.asarray, _looked(models, symbols[:50], states[:50]))
    numbers |= {name: value.tolist() for name, value in looked.items()}
    arrays: dict[str, np.ndarray] = {"diversity": history["diversity"]}
    for name, probe in probes(config).items():
        latest = int(np.flatnonzero(probe)[-1])
        weights, best = (np.asarray(each)[:, latest:] for each in _probed(models, probe, latest))
        onset = [int(np.flatnonzero(row)[-1]) + 1 if row.any() else 0 for row in best]
        numbers |= {f"onset{name}": onset, f"end{name}": weights[:, -1].astype(float).tolist()}
        arrays[f"{name[1:] or 'probe'}_maps"] = weights
    numbers["norm"] = np.asarray(_norms(models)).astype(float).tolist()
    maps, said = _shown(models)
    arrays |= {"maps": np.asarray(maps), "said": np.asarray(said), "string": np.array(SHOWN)}
    return TrialResult(numbers, arrays)


def probes(config: Simulated) -> dict[str, Int[np.ndarray, " T"]]:
    """One setting before symbols that keep, and two."""
    keep, between = (0,) * (config.probe - 1), (0,) * min(32, config.probe // 4)
    return {"": np.array((2, *keep)), "_two": np.array((1, *between, 2, *keep))}


def train(config: Simulated, progress: Progress, folder: Path) -> tuple[Any, Any]:
    """The trained members, stacked, and their history."""
    words: tuple[Any, ...] = (config.keep, config.penalty, config.layers, config.heads)
    words += ("first layer",) if config.first_layer else ()
    key = jax.random.fold_in(jax.random.key(BASE), config.seed)
    key = jax.random.fold_in(key, zlib.crc32(repr(words).encode()))
    weights_key, strings_key = jax.random.split(key)
    shape = TransformerConfig(
        3,
        layers=config.layers,
        heads=config.heads,
        width=config.width,
        max_length=config.length,
        causal=True,
        positions="linear",
        tied=False,
        init_std=config.init_std,
    )
    models = eqx.filter_vmap(lambda key: Transformer(shape, key=key))(
        jax.random.split(weights_key, config.members)
    )
    objective = LabelObjective(
        Task(_world(config.keep)),
        None,
        None,
        _penalty(config),
        length=config.length,
        batch=config.batch,
    )
    return fit_ensemble(
        stacked(objective, config.members),
        models,
        adamw(config.rate, config.steps, 50, decay="linear", clip=None,
              weight_decay=config.weight_decay),
        config.steps,
        jax.random.split(strings_key, config.members),
        chunk=max(1, config.steps // 10),
        progress=progress,
        watch=lambda models, done: {"diversity": diversity(_shown(models)[0])},
        checkpoint=folder / "training.npz",
    )  # fmt: skip


def _penalty(config: Simulated) -> AttentionPenalty | None:
    """None without one: keeping all attention doubles the time of a step."""
    if not config.penalty:
        return None
    weight = np.asarray(config.penalty, np.float32)
    return LayerPenalty(weight) if config.first_layer else AttentionPenalty(weight)


def diversity(maps: Float[AnyArray, "members layers H T T"]) -> Float[np.ndarray, "members layers"]:
    """The mean distance of two heads of a layer; zero where there is one."""
    rows = np.asarray(maps, float)
    first, second = np.triu_indices(rows.shape[2], 1)
    if not len(first):
        return np.zeros(rows.shape[:2])
    return np.sqrt(np.square(rows[:, :, first] - rows[:, :, second]).sum((-2, -1))).mean(axis=-1)


def _world(keep: float) -> Semiautomaton:
    """Without names, which would make another program of every density."""
    world = flip_flop.register(keep)
    return jax.tree.map(lambda leaf: np.asarray(leaf[0]), Semiautomaton.stack([world]))


def _strings(config: Simulated, keep: float) -> tuple[Any, Any]:
    """Test strings of a density, the same for all arms and seeds."""
    key = jax.random.fold_in(jax.random.key(BASE + 1), round(1000 * keep))
    return _drawn(_world(keep), jax.random.split(key, config.tests), config.length)


@eqx.filter_jit
def _drawn(world: Semiautomaton, keys: Any, length: int) -> Any:
    return jax.vmap(lambda key: tuple(world.sample(key, length)))(keys)


@eqx.filter_jit
def _errors(
    models: Any, symbols: Int[Array, "n T"], states: Int[Array, "n T"]
) -> Float[Array, " members"]:
    """The share of wrong states."""

    def member(model: Any) -> Array:
        said = jax.lax.map(
            lambda s: jnp.argmax(model.next_logits(s), axis=-1), symbols, batch_size=50
        )
        return jnp.mean(said != states)

    return eqx.filter_vmap(member, in_axes=(eqx.if_array(0),))(models)


@eqx.filter_jit
def _looked(models: Any, symbols: Int[Array, "n T"], states: Int[Array, "n T"]) -> dict[str, Array]:
    """What rows of attention look at; see the module."""
    T = symbols.shape[1]
    place, past = jnp.arange(T), np.tril(np.ones((T, T), bool))

    def one(model: Any, string: Array, path: Array) -> dict[str, Array]:
        trace = model.trace(string)
        rows = trace.attention
        entropy = -jnp.sum(rows * jnp.log(rows + 1e-9), axis=-1).mean()
        last = jax.tree.map(lambda leaf: leaf[-1], model.layers)
        read = last.attention_norm(model.config, trace.hidden[-2])
        values = jnp.einsum("te,ehd->thd", read, last.attention.qkv[:, 2])
        if last.attention.qkv_bias is not None:
            values = values + last.attention.qkv_bias[2]
        norms = jnp.linalg.norm(values, axis=-1).T  # [head, position]
        weight = rows[-1].max(axis=0)  # of the head that looks hardest, [t, j]
        influence = (rows[-1] * norms[:, None, :]).max(axis=0)
        keeps = string == 0
        latest = jax.lax.cummax(jnp.where(~keeps, place, -1))
        looked = jnp.argmax(weight, axis=-1)
        right = keeps & (jnp.argmax(trace.logits, axis=-1) == path)
        kind = string[looked] == path
        kind_of_influence = string[jnp.argmax(influence, axis=-1)] == path
        return {
            "entropy": entropy,
            "ideal": _share(looked == latest, keeps),
            "first": _share(looked == 0, keeps),
            "mass": jnp.sum(jnp.where(keeps, weight[place, latest], 0)) / jnp.sum(keeps),
            "zeros": _share(rows[-1] <= ZERO, jnp.broadcast_to(past, rows[-1].shape)),
            "misled": _share(~kind, right),
            "influence": _share(~kind_of_influence, right),
        }

    def member(model: Any) -> dict[str, Array]:
        each = jax.lax.map(lambda pair: one(model, *pair), (symbols, states), batch_size=10)
        return jax.tree.map(jnp.nanmean, each)

    return eqx.filter_vmap(member, in_axes=(eqx.if_array(0),))(models)


def _share(true: Array, among: Array) -> Array:
    """The share of what is true; NaN among nothing."""
    return jnp.sum(true & among) / jnp.sum(among)


@eqx.filter_jit
def _probed(models: Any, probe: Int[AnyArray, " T"], setting: int) -> tuple[Array, Array]:
    """The weight of the setting at this position in every row of the last layer, of the head that looks at it
    hardest, and whether it is the largest of its row there."""

    def member(model: Any) -> tuple[Array, Array]:
        rows = model.trace(probe).attention[-1]
        best = jnp.argmax(rows, axis=-1) == setting
        return rows[:, :, setting].max(axis=0), best.any(axis=0)

    return eqx.filter_vmap(member, in_axes=(eqx.if_array(0),))(models)


@eqx.filter_jit
def _shown(models: Any) -> tuple[Float[Array, "members layers H T T"], Int[Array, "members T"]]:
    """Attention of all members on the short string, and what they say."""

    def member(model: Any) -> tuple[Array, Array]:
        trace = model.trace(np.array(SHOWN))
        return trace.attention, jnp.argmax(trace.logits, axis=-1)

    return eqx.filter_vmap(member, in_axes=(eqx.if_array(0),))(models)


@eqx.filter_jit
def _norms(models: Any) -> Float[Array, " members"]:
    """The 2-norm of all weights of each member."""
    leaves = jax.tree.leaves(eqx.filter(models, eqx.is_inexact_array))
    return jnp.sqrt(sum(jnp.sum(leaf.reshape(leaf.shape[0], -1) ** 2, axis=1) for leaf in leaves))
