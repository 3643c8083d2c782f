"""How far a model is from the exact next-token law: Theorem 2.2.1's sufficiency and Corollary 2.2.1."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.adaptation.checks import unshared
from minicosm.models import Transformer, TransformerTrace
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray, check_shape, check_size

from ..checks import COUNT, real
from ..signatures import checked
from ..theorem import Condition, Theorem
from . import balance
from .constructions import (
    depth_points,
    exact_dyck,
    geometric_dyck,
    read_stack,
    stack_directions,
    stack_laws,
    sufficient_conditions,
    uniform_dyck,
)
from .embeddings import (
    Kind,
    check_strings,
    pair_ids,
    printed_onehot,
    query_ids,
    token_depth_embedding,
    tokens_and_depths,
)
from .necessity import first_weights, keys_of, separation
from .weights import check_input_rows, with_identity_layers

ROUNDING = 1e-6
"""How far a next-token probability of a constructed model may be off, in double precision."""
PRINTED = 1e-3
"""How far off a construction as printed has to be to count as wrong."""


def reads_pairs(model: Transformer, world: Dyck) -> bool:
    """Whether the model reads brackets with their depths (else tokens), and a start id after them."""
    rows = model.config.vocab + model.config.extra_inputs
    if rows not in (world.pairs + 1, world.vocab + 1):
        raise ValueError(
            f"the model has {rows} input rows; it must have {world.vocab + 1} for tokens and a start "
            f"token or {world.pairs + 1} for brackets with their depths and a start token"
        )
    if model.config.vocab != world.vocab:
        raise ValueError(
            f"the model predicts {model.config.vocab} tokens; the world has {world.vocab}"
        )
    return rows == world.pairs + 1 and world.depth > 1


@checked(count=COUNT, length=COUNT)
def draw(world: Dyck, key: PRNGKeyArray, count: int, length: int) -> Int[Array, "count length"]:
    """Prefixes of the world."""
    check_size(f"count = {count} strings of length {length}", count * length)
    return _draw(world, key, count, length)


@eqx.filter_jit
def _draw(world: Dyck, key: PRNGKeyArray, count: int, length: int) -> Int[Array, "count length"]:
    return jax.vmap(lambda k: world.sample(k, length).tokens)(jax.random.split(key, count))


@checked()
def prediction_errors(
    model: Transformer, world: Dyck, strings: Int[AnyArray, "n T"]
) -> Float[np.ndarray, "n rows"]:
    """`[i, t]`: the largest error of a next-token probability after the first t = 0..T tokens of
    string i, in float64."""
    strings = check_strings("strings", strings, world)
    reads_pairs(model, world)
    with jax.enable_x64(True):
        return np.asarray(_errors(unshared(model), unshared(world), jnp.asarray(strings)))


@eqx.filter_jit
def _errors(model: Transformer, world: Dyck, strings: Int[Array, "n T"]) -> Float[Array, "n rows"]:
    pairs = reads_pairs(model, world)

    def one(tokens: Int[Array, " T"]) -> Float[Array, " rows"]:
        ids = world.token_depths(tokens) if pairs else tokens
        start = jnp.full(1, world.pairs if pairs else world.vocab, ids.dtype)
        given = jax.nn.softmax(model.next_logits(jnp.concatenate([start, ids])))
        exact = jnp.exp(world.next_logits(tokens, start=True))
        return jnp.abs(given - exact).max(axis=1)

    return jax.lax.map(one, strings)


# -- Theorem 2.2.1, sufficiency -------------------------------------------------------------------


def _predicts(model: Transformer, world: Dyck, within: float = ROUNDING) -> Callable[..., Theorem]:
    """A check on strings: the largest error of a probability after any of their prefixes."""

    def check(*, strings: Int[AnyArray, "n T"]) -> Theorem:
        errors = prediction_errors(model, world, strings)
        return Theorem.identity(
            "",
            float(errors.max(initial=0)),
            within=within,
            cases=errors.size,
            details={"by_length": np.maximum.accumulate(errors.max(axis=0, initial=0))},
        )

    return check


@checked()
def theorem_2_2_1(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    *,
    silent_types: Sequence[int] = (),
    printed_directions: bool = False,
) -> Theorem:
    """Sufficiency: with independent embeddings every balanced M belongs to a model that predicts
    exactly.

    `certify(strings=...)` runs the model on all prefixes of strings of tokens. With
    `printed_directions` the directions of the stack are those of the printed proof, which the
    residual stream leaks into.
    """
    conditions = sufficient_conditions(world, E, M, silent_types)
    name = "residual leak as printed" if printed_directions else "Theorem 2.2.1, sufficiency"
    if not all(condition.holds for condition in conditions):
        return Theorem(name, conditions)
    model = exact_dyck(
        world, E, M, silent_types=silent_types, printed_directions=printed_directions
    )
    within = PRINTED if printed_directions else ROUNDING
    return Theorem(name, conditions, construction=model, check=_predicts(model, world, within))


@checked()
def theorem_2_2_1_width(world: Dyck) -> Theorem:
    """The widest stage of the MLP of Theorem 2.2.1 has at most 2 (kD)^2 units."""
    E = token_depth_embedding(world)
    widths = [stage.width for stage in read_stack(world, E, stack_directions(world, E), 0.1)]
    share = max(widths) / (world.types * world.depth) ** 2
    named = {f"stage {i + 1}": width for i, width in enumerate(widths)}
    return Theorem.inequality(
        "Theorem 2.2.1, width",
        2 - share,
        within=0.0,
        details={"types": world.types, "depth": world.depth, "share": share, **named},
    )


@checked()
def residual_leak(
    world: Dyck, E: Float[np.ndarray, "inputs m"], *, printed: bool = False
) -> Theorem:
    """The directions of the stack are orthogonal to the embeddings of closed brackets of positive
    depth, so that the residual stream does not show on them."""
    balance.check_embedding(E, world)
    directions = stack_directions(world, E, printed=printed)
    leak = float(np.abs(E[query_ids(world)] @ directions.T).max(initial=0))
    return Theorem.identity("leak of the printed directions" if printed else "residual leak", leak)


@checked()
def independence_as_printed(
    world: Dyck, M: Float[np.ndarray, "m m"], W_V: Float[np.ndarray, "m m"]
) -> Theorem:
    """The hypothesis as printed, independence of the 2k + 1 embeddings at each depth, on one-hot
    tokens without their depth: `([()` and `[(()` hold the same brackets and end alike, but
    different brackets may close.

    M is projected to balance. The error is 1 if what the MLP reads is the same after both strings.
    """
    if world.types < 2 or world.depth < 3:
        raise ValueError(
            f"the world has {world.types} types and depth {world.depth}; two strings with the same brackets "
            "need at least 2 types and depth 3"
        )
    tokens, depths = tokens_and_depths(world)
    E = np.eye(world.vocab + 1)[np.append(tokens, world.vocab)]
    check_shape("M", M, (E.shape[1], E.shape[1]))
    M = balance.project(M, E, world)
    inner = range(1, world.depth)  # depths at which both open and closed brackets exist
    ranks = [np.linalg.matrix_rank(E[np.append(depths == d, True)]) for d in inner]
    pair = tuple(keys_of(world, np.array(s)) for s in ([0, 2, 0, 1], [2, 0, 0, 1]))
    apart = separation(pair, E, M, W_V)
    laws = stack_laws(world)[2]
    gap = float(np.linalg.norm(laws[0] - laws[1]))
    return Theorem.identity(
        "independence as printed",
        float(apart <= 1e-12 and gap > 0.1),
        within=0.0,
        conditions=(
            Condition(
                "independent embeddings at every depth",
                all(rank == 2 * world.types + 1 for rank in ranks),
                {"ranks": ranks},
            ),
            balance.balance_condition(M, E, world),
        ),
        details={"distance of inputs": apart, "distance of laws": gap},
    )


# -- embeddings (Eqs. 2.55 to 2.57) ---------------------------------------------------------------


@checked()
def onehot_as_printed(world: Dyck) -> Theorem:
    """Eq. 2.55 as printed is one-to-one; the error counts brackets that share a vector with another."""
    rows = printed_onehot(world)
    _, depths = tokens_and_depths(world)
    return Theorem.identity(
        "embedding 2.55 as printed",
        float(len(rows) - len(np.unique(rows, axis=0))),
        within=0.0,
        details={"depths": int(np.unique(depths).size), "printed slots": world.depth},
    )


@checked()
def embeddings_2_55_to_2_57(world: Dyck) -> Theorem:
    """With depth 0 and a start token, all rows differ and the ranks over brackets are 2kD, 2k + D,
    2k + 2."""
    k, D = world.types, world.depth
    wanted: dict[Kind, int] = {"onehot": 2 * k * D, "sum": 2 * k + D, "yao": 2 * k + 2}
    wrong = 0
    for kind, rank in wanted.items():
        rows = token_depth_embedding(world, kind)
        wrong += int(np.linalg.matrix_rank(rows[:-1])) != rank
        wrong += len(np.unique(rows, axis=0)) != world.pairs + 1
    return Theorem.identity("embeddings 2.55 to 2.57", float(wrong), within=0.0)


# -- Corollary 2.2.1 and other constructions ------------------------------------------------------


@checked()
def corollary_2_2_1(world: Dyck) -> Theorem:
    """Uniform attention in both layers predicts exactly; `certify(strings=...)` runs the model."""
    model = uniform_dyck(world)
    return Theorem("Corollary 2.2.1", construction=model, check=_predicts(model, world))


@checked()
def corollary_2_2_1_first_layer(
    world: Dyck, model: Transformer, tokens: Int[np.ndarray, " T"]
) -> Theorem:
    """The first layer of `uniform_dyck` turns tokens into one-hot pairs of token and depth, and
    attention is uniform in both layers. `distance` is how far apart the points are that its MLP
    reads, in 2k + 1 dimensions."""
    ids = np.append(world.pairs, pair_ids(world, tokens))
    check_input_rows(model, world.vocab + 1)
    if model.config.layers < 2 or model.config.width != world.pairs + 1:
        raise ValueError(
            f"the model has {model.config.layers} layers of width {model.config.width}; it must be "
            f"uniform_dyck of the world, with at least 2 layers of width {world.pairs + 1}"
        )
    with jax.enable_x64(True):
        trace = _trace(model, jnp.asarray(np.append(world.vocab, tokens)))
        hidden, attention = np.asarray(trace.hidden[1]), np.asarray(trace.attention[:2, 0])
    rows = np.tril(np.ones((len(ids),) * 2))
    uniform = rows / rows.sum(axis=1, keepdims=True)
    gap = np.abs(hidden - token_depth_embedding(world)[ids]).max()
    points = depth_points(world, world.vocab + 1)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return Theorem.identity(
        "Corollary 2.2.1, first layer",
        float(np.max([gap, np.abs(attention - uniform).max()])),
        cases=len(tokens),
        details={"distance": float(distances[~np.eye(len(points), dtype=bool)].min())},
    )


@checked(count=COUNT)
def identity_layers(model: Transformer, world: Dyck, count: int = 2) -> Theorem:
    """Section 2.2.5.2: an exact model with `count` more layers that do nothing is exact."""
    reads_pairs(model, world)
    deeper = with_identity_layers(model, count)
    return Theorem("identity layers", construction=deeper, check=_predicts(deeper, world))


@checked(rho=real(least=2))
def geometric_attention(world: Dyck, rho: float, strings: Int[np.ndarray, "n T"]) -> Theorem:
    """The largest logit of `geometric_dyck` is the bracket that may close, wherever one is open;
    the error counts positions where it is not. Its logits are balanced and its embeddings are
    dependent."""
    strings = check_strings("strings", strings, world)
    if world.types < 2:
        raise ValueError("the world has 1 type; it must have at least 2, so that there is a choice")
    model = geometric_dyck(world, rho)
    E, M, _ = first_weights(model)
    rank = int(np.linalg.matrix_rank(E))
    wrong = asked = 0
    margin = np.inf
    for tokens in strings:
        ids = np.append(world.pairs, pair_ids(world, tokens))
        with jax.enable_x64(True):
            logits = np.asarray(_next(model, jnp.asarray(ids)))[1:, 1::2]
        tops = np.asarray(_tops(unshared(world), jnp.asarray(tokens)))
        waiting = tops >= 0
        answers = tokens[tops[waiting]] // 2
        wrong += int((logits[waiting].argmax(axis=1) != answers).sum())
        asked += len(answers)
        ordered = np.sort(logits[waiting], axis=1)
        margin = min(margin, float((ordered[:, -1] - ordered[:, -2]).min(initial=np.inf)))
    return Theorem.identity(
        "geometric attention",
        float(wrong),
        within=0.0,
        cases=asked,
        conditions=(
            balance.balance_condition(M, E, world),
            Condition("dependent embeddings", rank < len(E), {"rank": rank}),
        ),
        details={"margin": margin},
    )


@eqx.filter_jit
def _trace(model: Transformer, ids: Int[Array, " T"]) -> TransformerTrace:
    return model.trace(ids)


@eqx.filter_jit
def _next(model: Transformer, ids: Int[Array, " T"]) -> Float[Array, "T vocab"]:
    return model.next_logits(ids)


@eqx.filter_jit
def _tops(world: Dyck, tokens: Int[Array, " T"]) -> Int[Array, " T"]:
    return world.stack_tops(tokens)
