"""Models trained on the flip-flop language, all members of an arm at once, and their wrong reads.

The numbers of a trial: `wrong_<set>`, wrong reads of every member, and `reads_<set>`, how many there are, for
the sets inside (of the law of training), sparse and dense; `loss`, of training at the end; `optimum`
(generative mode): the least possible; `margins_<set>`: see `glitches`.

Arrays: `strings_<set>` `[member, string]`, wrong reads of each string; `count_<set>` `[string]`, its reads;
`distances_<set>`, `all_distances_<set>`, `rules_<set>`: see `glitches.record`. With several evaluations
`curve_inside` `[evaluation, member]`, wrong reads, and `curve_dense` `[evaluation, member, string]`. With
attention: `maps` `[layer, head, T, T]`, `string`, `place`: of the first member with a wrong read on a dense
string, that string, and where its read stands; empty if there is none.
"""

import zlib
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.lab import Progress, TrialResult
from minicosm.models import Placement
from minicosm.training import LabelObjective, fit_ensemble
from minicosm.worlds import FlipFlop

from ..experiment_trials import Training
from . import glitches
from .models import DENSE, SPARSE, Generative, fresh, law, optimiser, penalty, placement, stacked

BASE = 9_190_419
"""Keys are folded into this one: no probe of the recipe has drawn them."""


def run(config: Training, progress: Progress, folder: Path) -> TrialResult:
    """Train all members together, then count wrong reads; see the module."""
    models, history = train(config, progress, folder)
    numbers: dict[str, Any] = {"loss": history["loss"][-1].tolist()}
    if config.mode == "generative":
        world = FlipFlop(config.length, p_ignore=0.8)
        numbers["optimum"] = world.optimal_loss() / (config.length - 1)
    arrays: dict[str, np.ndarray] = {}
    for name in ("inside", "sparse", "dense"):
        tokens = strings(config, name)
        found = glitches.reads_of(tokens)
        wrong, margin = judged(config, models, tokens)
        numbers[f"wrong_{name}"] = wrong.sum(axis=(1, 2)).tolist()
        numbers[f"reads_{name}"] = int(found.reads.sum())
        numbers[f"margins_{name}"] = glitches.margins(margin, wrong)
        arrays[f"strings_{name}"] = wrong.sum(axis=2).astype(np.int16)
        arrays[f"count_{name}"] = found.reads.sum(axis=1).astype(np.int16)
        for key, value in glitches.record(found, wrong, tokens).items():
            arrays[f"{key}_{name}"] = value
        if name == "dense" and config.attention:
            arrays |= look(config, models, tokens, wrong)
    if config.evaluations > 1:
        arrays |= {name: history[name] for name in ("curve_inside", "curve_dense")}
    return TrialResult(numbers, arrays)


def train(config: Training, progress: Progress, folder: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The trained members, stacked, and their history."""
    weights_key, strings_key = jax.random.split(_key(config))
    models = fresh(config, jax.random.split(weights_key, config.members))
    clean = config.mode == "clean"
    objective = LabelObjective(
        law(config) if clean else Generative(law(config)),
        placement(config),
        None,
        penalty(config),
        length=config.length,
        batch=config.batch,
        at=tuple(range(0, config.length, 2) if clean else range(config.length - 1)),
        mean="strings",
    )

    def watch(models: Any, done: int) -> dict[str, np.ndarray]:
        inside, dense = (strings(config, name)[: config.block] for name in ("inside", "dense"))
        return {
            "curve_inside": judged(config, models, inside)[0].sum(axis=(1, 2)),
            "curve_dense": judged(config, models, dense)[0].sum(axis=2),
        }

    return fit_ensemble(
        stacked(objective, config.members),
        models,
        optimiser(config),
        config.steps,
        jax.random.split(strings_key, config.members),
        chunk=max(1, config.steps // max(config.evaluations, 10)),
        progress=progress,
        watch=watch if config.evaluations > 1 else None,
        checkpoint=folder / "training.npz",
    )


def _key(config: Training) -> PRNGKeyArray:
    """A key of the arm."""
    words = (
        config.model, config.length, config.law, config.mode, config.positions, config.layers,
        config.width, config.embedding_dropout, config.penalty, config.steps,
    )  # fmt: skip
    key = jax.random.fold_in(jax.random.key(BASE), config.seed)
    return jax.random.fold_in(key, zlib.crc32(repr(words).encode()))


def strings(config: Training, name: str) -> Int[np.ndarray, "n T"]:
    """The strings of a set: the same for all arms of a length and a law, and for all seeds."""
    count = getattr(config, name)
    words = (name, config.length, config.law if name == "inside" else "")
    key = jax.random.fold_in(jax.random.key(BASE + 1), zlib.crc32(repr(words).encode()))
    if name == "inside":
        world = law(config)
    else:
        world = FlipFlop(config.length, p_ignore=SPARSE if name == "sparse" else DENSE)
    return np.asarray(_drawn(world, jax.random.split(key, count), config.length))


@eqx.filter_jit
def _drawn(world: Any, keys: Any, length: int) -> Int[Array, "n T"]:
    return jax.vmap(lambda key: world.sample(key, length).tokens)(keys)


def judged(
    config: Training, models: Any, tokens: Int[np.ndarray, "n T"]
) -> tuple[Bool[np.ndarray, "members n P"], Float[np.ndarray, "members n P"]]:
    """Which reads are wrong, and by how much the logit of the right token is above all others; a block of
    strings at a time, so that one program judges sets of all sizes."""
    short = -len(tokens) % config.block
    padded = np.concatenate([tokens, np.repeat(tokens[:1], short, axis=0)])
    where = placement(config)
    parts = [
        _judged(models, where, padded[i : i + config.block])
        for i in range(0, len(padded), config.block)
    ]
    wrong, margin = (
        np.concatenate([np.asarray(part[k]) for part in parts], axis=1)[:, : len(tokens)]
        for k in (0, 1)
    )
    return wrong, margin


@eqx.filter_jit
def _judged(
    models: Any, where: Placement | None, tokens: Int[np.ndarray, "n T"]
) -> tuple[Bool[Array, "members n P"], Float[Array, "members n P"]]:
    at = np.arange(0, tokens.shape[1], 2)
    options = {} if where is None else {"placement": where}

    def one(model: Any, string: Array) -> tuple[Array, Array]:
        logits = model.logits(model.embed(string), at, **options)
        right = string[at + 1]
        mine = jnp.take_along_axis(logits, right[:, None], axis=-1)[:, 0]
        others = jnp.where(jnp.arange(5) == right[:, None], -jnp.inf, logits).max(axis=-1)
        wrong = (jnp.argmax(logits, axis=-1) != right) & (string[at] == 1)
        return wrong, mine - others

    def member(model: Any) -> tuple[Array, Array]:
        return jax.lax.map(lambda s: one(model, s), jnp.asarray(tokens), batch_size=50)

    return eqx.filter_vmap(member, in_axes=(eqx.if_array(0),))(models)


def look(
    config: Training,
    models: Any,
    tokens: Int[np.ndarray, "n T"],
    wrong: Bool[np.ndarray, "members n P"],
) -> dict[str, np.ndarray]:
    """Attention of the first member that has learned most and errs, on a string that it errs on."""
    where = np.argwhere(wrong)
    if not len(where):
        nothing = np.zeros(0, int)
        return {"maps": np.zeros((0, 0, 0, 0)), "string": nothing, "place": nothing}
    member, string, pair = where[0]
    model = jax.tree.map(lambda leaf: leaf[member] if eqx.is_array(leaf) else leaf, models)
    trace = eqx.filter_jit(lambda m, s: m.trace(s, placement=placement(config)))(
        model, tokens[string]
    )
    return {
        "maps": np.asarray(trace.attention, np.float32),
        "string": tokens[string],
        "place": np.array([2 * pair, member]),
    }
