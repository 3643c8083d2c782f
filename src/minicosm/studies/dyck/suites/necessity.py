"""Why exact models need balance: strings pumped with matched pairs, and what else the proofs assume."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.random import Generator

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.models import Transformer, variants
from minicosm.theory import Theorem
from minicosm.theory.dyck import (
    balance,
    exact_dyck,
    exactness,
    necessity,
    pair_ids,
    token_depth_embedding,
    uniform_dyck,
    with_logits,
)
from minicosm.worlds import Dyck

from ..trials import Exact
from .worlds import balanced

NOISE = 0.1
Matrix = np.ndarray


def run(config: Exact, progress: Progress) -> TrialResult:
    """Strings pumped with matched pairs; values that are zero; the residual inside; no start token."""
    ledger = Ledger()
    world = Dyck()
    E = token_depth_embedding(world)
    for i in range(config.draws):
        progress(i, config.draws, "necessity of balance")
        rng = np.random.default_rng([config.seed, 1, i])
        M = balanced(world, E, 1.0, rng)
        _, _, V = necessity.first_weights(exact_dyck(world, E, M))
        ledger.add(necessity.theorem_2_2_1_necessity(world, E, M, V))
        _pump(ledger, world, E, M, V, rng)
        _silent(ledger, world, E, config, i, rng)
    _inside(ledger, world, E)
    _no_start(ledger, world, config)
    return ledger.result()


def _pump(ledger: Ledger, world: Dyck, E: Matrix, M: Matrix, V: Matrix, rng: Generator) -> None:
    """Distances of twins under pumping: exact, with M perturbed, with other values; and the closed form
    against explicit strings."""
    pair = necessity.twins(
        world, rng.integers(0, world.types, 3).tolist(), int(rng.integers(world.types))
    )
    type, level = int(rng.integers(world.types)), int(rng.integers(1, world.depth + 1))
    noisy, other = M + NOISE * rng.normal(size=M.shape), rng.normal(size=V.shape)
    exact, perturbed, unbalanced = (
        necessity.pumping(world, pair, E, logits, values, type=type, level=level)
        for logits, values in ((M, V), (noisy, V), (M, other))
    )
    ledger.measure("pumping, exact", spread=float(np.ptp(exact[:5])), distance=float(exact[0]))
    for name, distances in (("noise", perturbed), ("values", unbalanced)):
        steps = np.diff(np.log10(np.maximum(distances, 1e-300)))
        ledger.measure(f"pumping, {name}", slope=float(steps[-1]))
    ledger.picture(
        distances=np.stack([exact, perturbed, unbalanced]), pumped=np.array(necessity.PUMPED)
    )

    opened, closed = [0] * (level - 1), [1] * (level - 1)
    inner = [2 * type, 2 * type + 1] * (11 - level)
    tokens = np.array([*opened, *inner, *closed, 0, 2, 0, 2, 3])
    ids = np.append(world.pairs, pair_ids(world, tokens))
    for residual in ("outside", "inside"):
        model = necessity.attention_model(world, E, noisy, V, residual)
        with jax.enable_x64(True):
            explicit = np.asarray(_last_hidden(model, jnp.asarray(ids)))
        closed_form = necessity.output(necessity.keys_of(world, tokens), E, noisy, V, residual)
        ledger.add(Theorem.identity("closed form", float(np.abs(explicit - closed_form).max())))


@eqx.filter_jit
def _last_hidden(model: Transformer, ids: Int[Array, " T"]) -> Float[Array, " m"]:
    return model.hidden(model.embed(ids))[-1]


def _silent(ledger: Ledger, world: Dyck, E: Matrix, config: Exact, i: int, rng: Generator) -> None:
    """Values zero on pairs of depth D, where the logits are not balanced."""
    key = jax.random.fold_in(jax.random.key(config.seed), i)
    strings = np.asarray(exactness.draw(world, key, config.strings, 100))
    deep = _deep_pairs(world, 100)
    heard = np.ones((world.types, world.depth), bool)
    heard[:, -1] = False
    M = rng.normal(size=(len(E),) * 2)
    partly = balance.project(M, E, world, which=heard)
    silent = exact_dyck(world, E, partly, silent_types=tuple(range(world.types)))
    loud = with_logits(exact_dyck(world, E, balance.project(M, E, world)), partly)
    errors = [
        exactness.prediction_errors(silent, world, tokens).max() for tokens in (strings, deep)
    ]
    ledger.measure(
        "zero values",
        error=float(np.max(errors)),
        unbalanced=float(np.abs(balance.residuals(partly, E, world)).max()),
        heard_error=float(exactness.prediction_errors(loud, world, deep).max()),
    )


def _deep_pairs(world: Dyck, count: int) -> np.ndarray:
    """Strings of D - 1 open brackets, the last one of any type, and after them pairs of depth D."""
    opened = [0] * (world.depth - 2)
    return np.array(
        [
            [*opened, 2 * top, *[2 * t, 2 * t + 1] * count]
            for top in range(world.types)
            for t in range(world.types)
        ]
    )


def _inside(ledger: Ledger, world: Dyck, E: np.ndarray) -> None:
    """Uniform attention with the residual outside and inside the norm: three open brackets, then
    pairs."""
    zero = np.zeros((len(E),) * 2)
    _, _, V = necessity.first_weights(exact_dyck(world, E, zero))
    pair = necessity.twins(world, [0, 1, 0])
    for n in necessity.PUMPED[:5]:
        both = tuple(necessity.pumped(world, keys, n) for keys in pair)
        ledger.measure(
            "residual",
            length=2 * n + 5,
            outside=necessity.separation(both, E, zero, V),
            inside=necessity.separation(both, E, zero, V, "inside"),
        )


def _no_start(ledger: Ledger, world: Dyck, config: Exact) -> None:
    """Models without a start token: on a repeated bracket with any attention, and on p and p p with
    uniform attention in one and in two layers."""
    string = np.array([0, 2, 3, 1, 0, 1])
    ledger.add(necessity.doubled_string(uniform_dyck(world), string))
    for i in range(config.draws):
        for layers in (1, 2):
            shape = variants.theory(world.vocab, width=12, layers=layers, init_std=0.7)
            with jax.enable_x64(True):
                model = Transformer(shape, key=jax.random.key(config.seed + i))
            ledger.add(necessity.repeated_bracket(model, world))
            flat = necessity.uniform_attention(model)
            ledger.add(necessity.doubled_string(flat, string, printed=layers == 2))
