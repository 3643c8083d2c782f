"""Exact models: Theorem 2.2.1's sufficiency, Corollary 2.2.1, and where the printed proofs go wrong."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer
from minicosm.models.attention_patterns import mean_variation, random_variation, stack_score
from minicosm.theory.dyck import balance, necessity
from minicosm.theory.dyck.constructions import (
    depth_points,
    exact_dyck,
    geometric_dyck,
    least_coordinate,
    read_stack,
    stack_directions,
    stack_laws,
    uniform_dyck,
)
from minicosm.theory.dyck.embeddings import (
    Kind,
    pair_ids,
    printed_onehot,
    query_ids,
    token_depth_embedding,
    tokens_and_depths,
)
from minicosm.theory.dyck.exactness import draw, prediction_errors
from minicosm.theory.dyck.weights import with_identity_layers
from minicosm.worlds import Dyck

from ...common.ledger import Ledger
from .theory_size import PROBE, TheorySize, worlds

LENGTHS = (1, 2, 5, 28, 100, 500, 3000)
MODELS: tuple[tuple[float, Kind], ...] = (
    (0.0, "onehot"),
    (0.3, "onehot"),
    (1.0, "onehot"),
    (1.0, "random"),
)
OPTIMA = 40
SPREADS = (0.5, 1.0, 2.0, 4.0)


def balanced(world: Dyck, E: np.ndarray, sd: float, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian matrix projected to balance."""
    return balance.project(sd * rng.normal(size=(E.shape[1],) * 2), E, world)


def run(config: TheorySize, progress: Progress) -> TrialResult:
    """Prediction errors of constructed models by length, embedding, attention and world."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    world = Dyck()
    onehot = token_depth_embedding(world)
    strings = np.asarray(draw(world, root, config.strings, config.longest))
    lengths = [n for n in LENGTHS if n <= config.longest]
    rng = np.random.default_rng([config.seed, 2])
    curves: list[np.ndarray] = []

    def judge(statement: str, model: Transformer) -> None:
        progress(len(curves), 6, "exact models by length")
        errors = prediction_errors(model, world, strings)
        ledger.add(statement, error=float(errors.max()), sequences=errors.size)
        worst = np.maximum.accumulate(errors.max(axis=0))
        curves.append(worst[lengths])

    for sd, kind in MODELS:
        E = token_depth_embedding(world, kind, seed=config.seed)
        judge("sufficiency", exact_dyck(world, E, balanced(world, E, sd, rng)))
    both = uniform_dyck(world)
    judge("corollary", both)
    ledger.picture(errors=np.array(curves), lengths=np.array(lengths))

    short = np.asarray(draw(world, root, config.strings, 28))
    model = exact_dyck(world, onehot, balanced(world, onehot, 1.0, rng))
    deeper = with_identity_layers(model, 2)
    ledger.add("identity-layers", error=float(prediction_errors(deeper, world, short).max()))
    deeper = with_identity_layers(both, 2)
    ledger.add("identity-layers", error=float(prediction_errors(deeper, world, short).max()))

    for other in worlds(config)[1:]:
        progress(5, 6, f"{other.types} types, depth {other.depth}")
        drawn = np.asarray(draw(other, root, config.strings, min(config.longest, 300)))
        E = token_depth_embedding(other)
        model = exact_dyck(other, E, balanced(other, E, 1.0, rng))
        ledger.add("sizes", error=float(prediction_errors(model, other, drawn).max()))
        ledger.add(
            "corollary-sizes",
            error=float(prediction_errors(uniform_dyck(other), other, drawn).max()),
        )
    _first_layer(ledger, world, both, short)
    _geometric(ledger, config, root)
    return ledger.result()


@eqx.filter_jit
def _trace(model: Transformer, ids):
    return model.trace(ids)


def _first_layer(ledger: Ledger, world: Dyck, model: Transformer, strings: np.ndarray) -> None:
    """What the first layer of the corollary puts out, its attention, and how far apart its points are."""
    E = token_depth_embedding(world)
    for tokens in strings:
        ids = np.append(world.pairs, pair_ids(world, tokens))
        with jax.enable_x64(True):
            trace = _trace(model, jnp.asarray(np.append(world.vocab, tokens)))
            hidden, attention = np.asarray(trace.hidden[1]), np.asarray(trace.attention[:2, 0])
        rows = np.tril(np.ones((len(ids),) * 2))
        uniform = rows / rows.sum(axis=1, keepdims=True)
        onehot = np.eye(world.vocab + 1)[np.append(world.vocab, tokens)]
        ledger.add(
            "first-layer",
            error=float(np.abs(hidden - E[ids]).max()),
            attention=float(np.abs(attention - uniform).max()),
            printed_sum=float(np.abs(attention[0] @ onehot - np.cumsum(onehot, axis=0)).max()),
        )
    for width in (world.vocab + 1, world.pairs + 1):
        points = depth_points(world, width)
        gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
        ledger.add(
            "first-layer-points", distance=float(gaps[~np.eye(len(points), dtype=bool)].min())
        )


def _geometric(ledger: Ledger, config: TheorySize, root) -> None:
    """The argmax over closed tokens against the type on top of the stack, at every position with one."""
    for k, D, rho in ((2, 4, 3.0), (2, 4, 2.0), (3, 6, 2.0)):
        world = Dyck(k, D)
        model = geometric_dyck(world, rho)
        length = min(config.longest, 500)
        wrong = asked = 0
        margin = np.inf
        for tokens in np.asarray(draw(world, root, 5 * config.strings, length)):
            ids = np.append(world.pairs, pair_ids(world, tokens))
            with jax.enable_x64(True):
                logits = np.asarray(_next(model, jnp.asarray(ids)))[1:, 1::2]
            tops = np.asarray(_tops(world, jnp.asarray(tokens)))
            open_ = tops >= 0
            answers = tokens[tops[open_]] // 2
            wrong += int((logits[open_].argmax(axis=1) != answers).sum())
            asked += len(answers)
            ordered = np.sort(logits[open_], axis=1)
            margin = min(margin, float((ordered[:, -1] - ordered[:, -2]).min()))
        E, M, _ = necessity.first_weights(model)
        ledger.add(
            "geometric",
            error=wrong,
            sequences=asked,
            margin=margin,
            unbalanced=float(np.abs(balance.residuals(M, E, world)).max()),
            rank_missing=len(E) - int(np.linalg.matrix_rank(E)),
        )


@eqx.filter_jit
def _tops(world: Dyck, tokens):
    return world.stack_tops(tokens)


@eqx.filter_jit
def _next(model: Transformer, ids):
    return model.next_logits(ids)


def printed(config: TheorySize, progress: Progress) -> TrialResult:
    """The sufficiency proof and the embeddings as printed."""
    ledger = Ledger()
    world = Dyck()
    strings = np.asarray(draw(world, jax.random.key(config.seed), config.strings, 28))
    for i in range(config.draws):
        progress(i, config.draws, "proofs as printed")
        rng = np.random.default_rng([config.seed, 3, i])
        E = rng.normal(size=(world.pairs + 1,) * 2)
        M = balanced(world, E, 0.05, rng)
        for name, as_printed in (("leak", False), ("leak-printed", True)):
            directions = stack_directions(world, E, printed=as_printed)
            ledger.add(
                name,
                leak=float(np.abs(E[query_ids(world)] @ directions.T).max()),
                threshold=least_coordinate(world, E, M),
                error=float(
                    prediction_errors(
                        exact_dyck(world, E, M, printed_directions=as_printed), world, strings
                    ).max()
                ),
            )
        _independence(ledger, world, rng)
    for k, D in ((2, 4), (3, 2), (1, 3)):
        numbers = [t * D + d for t in range(1, k + 1) for d in range(1, D + 1)]
        ledger.add("index-printed", outside=sum(n > k * D for n in numbers))
        other = Dyck(k, D)
        rows = printed_onehot(other)
        collisions = len(rows) - len(np.unique(rows, axis=0))
        _, depths = tokens_and_depths(other)
        slots = np.unique(depths).size
        ledger.add(
            "onehot-printed", collisions=collisions, expected=k, slots=slots, printed_slots=D
        )
    for k, D in ((2, 4), (3, 8), (3, 3)):
        other = Dyck(k, D)
        wanted: dict[Kind, int] = {"onehot": 2 * k * D, "sum": 2 * k + D, "yao": 2 * k + 2}
        tables = {kind: token_depth_embedding(other, kind) for kind in wanted}
        ranks = {kind: int(np.linalg.matrix_rank(rows[:-1])) for kind, rows in tables.items()}
        distinct = all(len(np.unique(rows, axis=0)) == other.pairs + 1 for rows in tables.values())
        ledger.add("ranks", holds=ranks == wanted and distinct)
    for k, D in ((2, 4), (3, 4), (2, 8)):
        other = Dyck(k, D)
        E = token_depth_embedding(other)
        widths = [stage.width for stage in read_stack(other, E, stack_directions(other, E), 0.1)]
        ledger.add("widths", widths=widths, share=max(widths) / (k * D) ** 2, types=k, depth=D)
    return ledger.result()


def _independence(ledger: Ledger, world: Dyck, rng: np.random.Generator) -> None:
    """Embeddings that ignore the depth are independent at every depth; two strings with the same brackets
    then look the same to any attention."""
    tokens, depths = tokens_and_depths(world)
    E = np.eye(world.vocab + 1)[np.append(tokens, world.vocab)]
    M = balanced(world, E, 1.0, rng)
    V = rng.normal(size=M.shape)
    pair = tuple(necessity.keys_of(world, np.array(s)) for s in ([0, 2, 0, 1], [2, 0, 0, 1]))
    level = np.append(depths == 1, True)
    laws = stack_laws(world)[2]
    ledger.add(
        "independence-printed",
        rank=int(np.linalg.matrix_rank(E[level])),
        wanted=2 * world.types + 1,
        unbalanced=float(np.abs(balance.residuals(M, E, world)).max()),
        separation=necessity.separation(pair, E, M, V),
        laws=float(np.linalg.norm(laws[0] - laws[1])),
    )


def optima(config: TheorySize, progress: Progress) -> TrialResult:
    """Forty exact models per spread of M: their errors, and how their attention varies on the probe."""
    ledger = Ledger()
    world = Dyck()
    E = token_depth_embedding(world)
    probe = pair_ids(world, PROBE)
    strings = np.asarray(draw(world, jax.random.key(config.seed), 4, 100))
    pictures = [np.tril(np.ones((16, 16))) / np.arange(1, 17)[:, None]]
    for sd in SPREADS:
        for i in range(config.draws):
            progress(i, config.draws, f"exact optima, sd {sd:g}")
            rng = np.random.default_rng([config.seed, 4, i])
            patterns, worst = [], 0.0
            for j in range(OPTIMA):
                model = exact_dyck(world, E, balanced(world, E, sd, rng))
                with jax.enable_x64(True):
                    patterns.append(np.asarray(_trace(model, jnp.asarray(probe)).attention[0, 0]))
                if j < 10:
                    worst = max(worst, float(prediction_errors(model, world, strings).max()))
                    worst = max(worst, float(prediction_errors(model, world, PROBE[None]).max()))
            rates = stack_score(np.array(patterns)[:, None], world, PROBE[None]).rate
            ledger.add(
                f"variation {sd:g}",
                variation=float(mean_variation(np.array(patterns))),
                error=worst,
                stack_like=float(np.mean(rates > 0.9)),
            )
            if i == 0 and sd >= 1:
                pictures.append(patterns[0])
    rng = np.random.default_rng([config.seed, 5])
    for n in (5, 16, 20):
        rows = [rng.dirichlet(np.ones(i + 1), size=(2, 1000 * config.draws)) for i in range(n)]
        total = np.sum([np.sum((a - b) ** 2, axis=-1) for a, b in rows], axis=0)
        ledger.add(
            "random-variation",
            formula=random_variation(n),
            measured=float(total.mean()),
            deviation=float(
                abs(total.mean() - random_variation(n)) / (total.std() / len(total) ** 0.5)
            ),
            spread=float(total.std()),
        )
    ledger.picture(patterns=np.array(pictures))
    return ledger.result()
