"""Why exact models need balance: strings pumped with matched pairs, and what else the proofs assume."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, variants
from minicosm.theory.dyck import balance, necessity
from minicosm.theory.dyck.constructions import exact_dyck, uniform_dyck
from minicosm.theory.dyck.embeddings import (
    closed_ids,
    open_ids,
    pair_ids,
    query_ids,
    token_depth_embedding,
    tokens_and_depths,
)
from minicosm.theory.dyck.exactness import draw, prediction_errors
from minicosm.theory.dyck.weights import with_logits
from minicosm.worlds import Dyck

from ...common.ledger import Ledger
from .theory_size import TheorySize

PUMPED = (0, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


def run(config: TheorySize, progress: Progress) -> TrialResult:
    """Strings pumped with matched pairs; values that are zero; the residual inside; no start token."""
    ledger = Ledger()
    world = Dyck()
    E = token_depth_embedding(world)
    for i in range(config.draws):
        progress(i, config.draws, "necessity of balance")
        rng = np.random.default_rng([config.seed, 1, i])
        M = balance.project(rng.normal(size=(len(E),) * 2), E, world)
        _pump(ledger, world, E, M, rng)
        _values(ledger, world, E, M, rng)
        _silent(ledger, world, E, config, i, rng)
    _inside(ledger, world, E)
    _no_start(ledger, world, config)
    return ledger.result()


def _pump(ledger: Ledger, world: Dyck, E: np.ndarray, M: np.ndarray, rng) -> None:
    """Distances of twins under pumping: exact, with M perturbed, with other values; and the closed form
    against explicit strings."""
    _, _, V = necessity.first_weights(exact_dyck(world, E, M))
    pair = necessity.twins(
        world, rng.integers(0, world.types, 3).tolist(), int(rng.integers(world.types))
    )
    where = {"type": int(rng.integers(world.types)), "level": int(rng.integers(1, world.depth + 1))}
    noisy, other = M + 0.1 * rng.normal(size=M.shape), rng.normal(size=V.shape)

    def along(M, V):
        strings = [
            tuple(necessity.pumped(world, keys, n, **where) for keys in pair) for n in PUMPED
        ]
        return np.array([necessity.separation(both, E, M, V) for both in strings])

    exact, perturbed, unbalanced = along(M, V), along(noisy, V), along(M, other)
    ledger.add("pumping-exact", spread=float(np.ptp(exact[:5])), distance=float(exact[0]))
    ledger.add("pumping-noise", **_slopes(perturbed))
    ledger.add("pumping-values", **_slopes(unbalanced))
    ledger.picture(distances=np.stack([exact, perturbed, unbalanced]), pumped=np.array(PUMPED))

    level = where["level"] - 1
    opened, closed = [0] * level, [1] * level
    inner = [2 * where["type"], 2 * where["type"] + 1] * (10 - level)
    tokens = np.array([*opened, *inner, *closed, 0, 2, 0, 2, 3])
    ids = np.append(world.pairs, pair_ids(world, tokens))
    for residual in ("outside", "inside"):
        model = necessity.attention_model(world, E, noisy, V, residual)
        with jax.enable_x64(True):
            explicit = np.asarray(_last_hidden(model, jnp.asarray(ids)))
        closed_form = necessity.output(necessity.keys_of(world, tokens), E, noisy, V, residual)
        ledger.add("closed-form", error=float(np.abs(explicit - closed_form).max()))


def _slopes(distances: np.ndarray) -> dict[str, float]:
    steps = np.diff(np.log10(np.maximum(distances, 1e-300)))
    return {"early": float(steps[3]), "late": float(steps[-1]), "at 10^4": float(distances[4])}


@eqx.filter_jit
def _last_hidden(model: Transformer, ids):
    return model.hidden(model.embed(ids))[-1]


def _values(ledger: Ledger, world: Dyck, E: np.ndarray, M: np.ndarray, rng) -> None:
    """Eq. 2.50 at an exact optimum: matched values are antiparallel and their ratio is the logits'."""
    _, _, V = necessity.first_weights(exact_dyck(world, E, M))
    values = E @ V
    values = values - values.mean(axis=1, keepdims=True)
    first, second = values[open_ids(world)], values[closed_ids(world)]
    sizes = [np.linalg.norm(v, axis=-1) for v in (first, second)]
    cosines = np.sum(first * second, axis=-1) / (sizes[0] * sizes[1])
    logits = balance.pair_differences(E, world) @ M @ E[query_ids(world)].T
    ratio = np.log(sizes[1] / sizes[0])[..., None]
    with jax.enable_x64(True):
        S = float(jnp.abs(balance.value_residuals(E, M, V, world)).max())
    gap = float(np.abs(logits - ratio).max())
    ledger.add("value-balance", error=max(S, float(np.abs(cosines + 1).max()), gap))


def _silent(ledger: Ledger, world: Dyck, E: np.ndarray, config: TheorySize, i: int, rng) -> None:
    """Values zero on pairs of depth D, where the logits are not balanced."""
    strings = np.asarray(
        draw(world, jax.random.fold_in(jax.random.key(config.seed), i), config.strings, 100)
    )
    deep = _deep_pairs(world, 100)
    M = rng.normal(size=(len(E),) * 2)
    for name, silent in (
        ("silent", range(world.types)),
        ("silent-half", range(world.types // 2, world.types)),
    ):
        heard = np.ones((world.types, world.depth), bool)
        heard[list(silent), -1] = False
        partly = balance.project(M, E, world, which=heard)
        model = exact_dyck(world, E, partly, silent_types=tuple(silent))
        values = E @ necessity.first_weights(model)[2]
        values = values - values.mean(axis=1, keepdims=True)
        tokens, _ = tokens_and_depths(world)
        listed = np.linalg.norm(
            values[:-1][tokens < world.types], axis=1
        )  # the first k of 2k tokens
        loud = with_logits(exact_dyck(world, E, balance.project(M, E, world)), partly)
        ledger.add(
            name,
            error=max(float(prediction_errors(model, world, s).max()) for s in (strings, deep)),
            unbalanced=float(np.abs(balance.residuals(partly, E, world)).max()),
            heard_error=float(prediction_errors(loud, world, deep).max()),
            least_listed_value=float(listed.min()),
        )


def _deep_pairs(world: Dyck, count: int) -> np.ndarray:
    """Strings of D - 1 open brackets, the last one of any type, and behind them pairs of depth D."""
    opened = [0] * (world.depth - 2)
    return np.array(
        [
            [*opened, 2 * top, *[2 * t, 2 * t + 1] * count]
            for top in range(world.types)
            for t in range(world.types)
        ]
    )


def _inside(ledger: Ledger, world: Dyck, E: np.ndarray) -> None:
    """Uniform attention with the residual outside and inside the norm: three open brackets, then pairs."""
    zero = np.zeros((len(E),) * 2)
    _, _, V = necessity.first_weights(exact_dyck(world, E, zero))
    pair = necessity.twins(world, [0, 1, 0])
    for n in (0, 10, 100, 1000, 10_000):
        pumped = tuple(necessity.pumped(world, keys, n) for keys in pair)
        ledger.add(
            "residual",
            length=2 * n + 5,
            outside=necessity.separation(pumped, E, zero, V),
            inside=necessity.separation(pumped, E, zero, V, "inside"),
        )


def _no_start(ledger: Ledger, world: Dyck, config: TheorySize) -> None:
    """Models without a start token: on a repeated bracket with any attention, and on p and p p with uniform
    attention in one and in two layers."""
    repeated = np.zeros(world.depth, int)
    string = np.array([0, 2, 3, 1, 0, 1])
    with jax.enable_x64(True):
        laws = np.exp(np.asarray(world.next_logits(repeated)))
        built = uniform_dyck(world)
        twice = np.concatenate([string, string])
        gap = _outputs(built, string)[-1] - _outputs(built, twice)[-1]
        ledger.add("repeat-construction", error=float(np.abs(gap).max()))
        for i in range(config.draws):
            key = jax.random.key(config.seed + i)
            for layers in (1, 2):
                shape = variants.theory(world.vocab, width=12, layers=layers, init_std=0.7)
                model = Transformer(shape, key=key)
                out = _outputs(model, repeated)
                laws_gap = float(np.abs(laws - laws[0]).max())
                ledger.add("repeated", error=float(np.abs(out - out[0]).max()), laws=laws_gap)
                qkv = np.array(model.layers.attention.qkv)
                qkv[:, :, :2] = 0
                uniform = eqx.tree_at(lambda t: t.layers.attention.qkv, model, qkv)
                gap = _outputs(uniform, string)[-1] - _outputs(uniform, twice)[-1]
                ledger.add(f"repeat-{layers}", error=float(np.abs(gap).max()))


@eqx.filter_jit
def _next(model: Transformer, tokens):
    return model.next_logits(tokens)


def _outputs(model: Transformer, tokens: np.ndarray) -> np.ndarray:
    return np.asarray(_next(model, jnp.asarray(tokens)))
