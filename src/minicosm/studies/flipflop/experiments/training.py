"""Models trained on the flip-flop language, all members of an arm at once, and their wrong reads.

The numbers of a trial: `wrong_<set>`, wrong reads of every member, and `reads_<set>`, how many there are, for
the sets inside (of the law of training), sparse and dense; `loss`, of training at the end; `optimum`
(generative mode): the least possible; `margins_<set>`: by how much wrong reads were wrong, in logits.

Arrays: `strings_<set>` `[member, string]`, wrong reads of each string; `count_<set>` `[string]`, its reads;
`distances_<set>`, `all_distances_<set>`, `rules_<set>`: see `glitches.record`. With several evaluations
`curve_inside` `[evaluation, member]`, wrong reads, and `curve_dense` `[evaluation, member, string]`. With
attention: `maps` `[layer, head, T, T]`, `string`, `place`: of the member with the fewest wrong reads inside
that errs on a dense string, that string, and where its read stands; empty if there is none.
"""

import zlib
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from minicosm.lab import Progress, TrialResult
from minicosm.models import Placement
from minicosm.training import LabelObjective, fit_ensemble
from minicosm.worlds import FlipFlop
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.flip_flop import FlipFlopMixture

from ..experiment_trials import Training
from . import glitches
from .models import DENSE, SPARSE, Generative, fresh, law, optimiser, penalty, placement, stacked

BASE = 9_190_419
"""Keys are folded into this one: no probe of the recipe has drawn them."""
FURTHER_WORDS = (
    "heads", "attention_dropout", "mlp_dropout", "gated", "betas", "weight_decay", "batch", "rate",
    "penalty_kind", "schedule", "penalty_start", "crossed",
)  # fmt: skip
"""Fields that are part of an arm's key where they are not the default."""


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
        counts, found = counted(config, models, tokens)
        numbers[f"wrong_{name}"] = counts["strings"].sum(axis=1).tolist()
        numbers[f"reads_{name}"] = int(counts["count"].sum())
        numbers[f"margins_{name}"] = found
        arrays |= {f"{key}_{name}": value for key, value in counts.items()}
    if config.attention:
        order = np.argsort(numbers["wrong_inside"], kind="stable")
        arrays |= look(config, models, order, arrays["strings_dense"])
    if config.evaluations > 1:
        arrays |= {name: history[name] for name in ("curve_inside", "curve_dense")}
    return TrialResult(numbers, arrays)


def train(config: Training, progress: Progress, folder: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The trained members, stacked, and their history."""
    weights_key, strings_key = jax.random.split(_key(config))
    models = fresh(config, _member_keys(config, weights_key, "start"))
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
        _member_keys(config, strings_key, "strings"),
        chunk=max(1, config.steps // max(config.evaluations, 10)),
        progress=progress,
        watch=watch if config.evaluations > 1 else None,
        checkpoint=folder / "training.npz",
    )


def _member_keys(config: Training, key: PRNGKeyArray, what: str) -> Key[Array, " members"]:
    """A key for every member; of crossed seeds, member `r m + c` has the r-th stream of strings and the c-th
    start."""
    if not config.crossed:
        return jax.random.split(key, config.members)
    m = int(config.members**0.5)
    row, column = np.divmod(np.arange(config.members), m)
    few = jax.random.split(key, -(-config.members // m))
    return few[column if what == "start" else row]


def _key(config: Training) -> PRNGKeyArray:
    """A key of the arm."""
    words = (
        config.model, config.length, config.law, config.mode, config.positions, config.layers,
        config.width, config.embedding_dropout, config.penalty, config.steps,
        *((name, getattr(config, name)) for name in FURTHER_WORDS
          if getattr(config, name) != getattr(Training, name)),
    )  # fmt: skip
    key = jax.random.fold_in(jax.random.key(BASE), config.seed)
    return jax.random.fold_in(key, zlib.crc32(repr(words).encode()))


def strings(config: Training, name: str) -> Int[np.ndarray, "n T"]:
    """The strings of a set: the same for all arms of a length and a law, and for all seeds."""
    count = getattr(config, name)
    words = (name, config.length, config.law if name == "inside" else "")
    key = jax.random.fold_in(jax.random.key(BASE + 1), zlib.crc32(repr(words).encode()))
    world = law(config)
    if name != "inside":
        world = FlipFlopMixture(config.length, (SPARSE if name == "sparse" else DENSE,) * 3)
    return np.asarray(_drawn(world, jax.random.split(key, count), config.length))


@eqx.filter_jit
def _drawn(world: Any, keys: Any, length: int) -> Int[Array, "n T"]:
    return jax.vmap(lambda key: world.sample(key, length).tokens)(keys)


def blocks(config: Training, tokens: Int[np.ndarray, "n T"]) -> list[Int[np.ndarray, "block T"]]:
    """The strings in parts of one size, so that one program judges sets of all sizes; the last is filled up
    with the first string."""
    short = -len(tokens) % config.block
    padded = np.concatenate([tokens, np.repeat(tokens[:1], short, axis=0)])
    return np.split(padded, len(padded) // config.block)


def judged(
    config: Training, models: Any, tokens: Int[np.ndarray, "block T"]
) -> tuple[Bool[np.ndarray, "members block P"], Float[np.ndarray, "members block P"]]:
    """Which reads of a block are wrong, and by how much the logit of the right token is above all others."""
    wrong, margin = _judged(models, placement(config), tokens)
    return np.asarray(wrong), np.asarray(margin)


def counted(
    config: Training, models: Any, tokens: Int[np.ndarray, "n T"]
) -> tuple[dict[str, np.ndarray], list[float]]:
    """Wrong reads of every string, the reads of each, what is known of them (`glitches.record`), and the mean
    margin by which wrong reads were wrong; a block at a time."""
    total: dict[str, Any] = {}
    wrong_strings, reads, margins = [], [], np.zeros(config.members)
    for i, part in enumerate(blocks(config, tokens)):
        wrong, margin = judged(config, models, part)
        kept = min(config.block, len(tokens) - i * config.block)
        wrong, part = wrong[:, :kept], part[:kept]
        found = glitches.reads_of(part)
        wrong_strings.append(wrong.sum(axis=2).astype(np.int16))
        reads.append(found.reads.sum(axis=1).astype(np.int16))
        margins -= np.where(wrong, margin[:, :kept], 0).sum(axis=(1, 2))
        for key, value in glitches.record(found, wrong, part).items():
            total[key] = total.get(key, 0) + value
    total["strings"] = np.concatenate(wrong_strings, axis=1)
    total["count"] = np.concatenate(reads)
    every = total["strings"].sum(axis=1)
    return total, [float(m / n) if n else float("nan") for m, n in zip(margins, every, strict=True)]


@eqx.filter_jit
def _judged(
    models: Any, where: Placement | None, tokens: Int[AnyArray, "n T"]
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
    order: Int[np.ndarray, " members"],
    wrong: Int[np.ndarray, "members n"],
) -> dict[str, np.ndarray]:
    """Attention of the first member in this order that errs, on the first dense string that it errs on."""
    erring = [member for member in order if wrong[member].any()]
    if not erring:
        nothing = np.zeros(0, int)
        return {"maps": np.zeros((0, 0, 0, 0)), "string": nothing, "place": nothing}
    member, chosen = erring[0], int(np.argmax(wrong[erring[0]] > 0))
    tokens = strings(config, "dense")
    part = blocks(config, tokens)[chosen // config.block]
    pair = int(np.argmax(judged(config, models, part)[0][member, chosen % config.block]))
    model = jax.tree.map(lambda leaf: leaf[member] if eqx.is_array(leaf) else leaf, models)
    trace = eqx.filter_jit(lambda m, s: m.trace(s, placement=placement(config)))(
        model, tokens[chosen]
    )
    return {
        "maps": np.asarray(trace.attention, np.float32),
        "string": tokens[chosen],
        "place": np.array([2 * pair, member]),
    }
