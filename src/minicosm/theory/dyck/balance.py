"""The balance condition (Definition 2.2.3) and how far a model is from it.

The logit of key a and query b is `e_a^T M e_b`; weights act from the right, so the value of a is
`e_a @ W_V`. Queries are closed brackets of depth 1..D-1. With P the projector that takes the mean away,

`u(a; b) = exp(e_a^T M e_b) P W_V e_a`

is what key a adds to the unnormalised attention output at b. The key comes first: Eqs. 2.49 to 2.53
print the arguments in the other order.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from minicosm.models import Transformer
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray

from ..signatures import checked
from ..theorem import Condition, Theorem
from .embeddings import closed_ids, open_ids, query_ids

BALANCED = 1e-8
"""How much `(e(open) - e(closed))^T M e(b)` may vary over queries, relative to its largest value
(or 1)."""


def check_embedding(E: Float[AnyArray, "inputs m"], world: Dyck) -> None:
    """Raise unless E has one row per pair and one for the start token."""
    if E.ndim != 2 or E.shape[0] != world.pairs + 1:
        raise ValueError(
            f"E has shape {E.shape}; the world needs {world.pairs + 1} rows, one for each of "
            f"{world.pairs} brackets with their depths and one for the start token"
        )


def check_which(which: Bool[np.ndarray, "types depth"] | None, world: Dyck) -> None:
    """Raise unless `which` is about the types and levels of the world."""
    if which is not None and which.shape != (world.types, world.depth):
        raise ValueError(
            f"which has shape {which.shape}; the world has {world.types} types and depth {world.depth}, so "
            f"it must have shape ({world.types}, {world.depth})"
        )


# -- balance of the logits (Eq. 2.47) -------------------------------------------------------------


def pair_differences(
    E: Float[np.ndarray, "inputs m"], world: Dyck
) -> Float[np.ndarray, "types depth m"]:
    """`[t, s - 1]`: open minus closed embedding of the matched pair of type t at level s = 1..D."""
    return E[open_ids(world)] - E[closed_ids(world)]


@checked()
def residuals(
    M: Float[np.ndarray, "m m"], E: Float[np.ndarray, "inputs m"], world: Dyck
) -> Float[np.ndarray, "types depth others"]:
    """`(e(open) - e(closed))^T M (e(b) - e(b_0))` for every matched pair and query b but the first, b_0.

    M is balanced iff all `kD (k(D-1) - 1)` of them are zero; D = 1 has no query and no condition.
    """
    check_embedding(E, world)
    queries = E[query_ids(world)]
    return pair_differences(E, world) @ M @ (queries[1:] - queries[:1]).T


def pair_logits(
    M: Float[np.ndarray, "m m"], E: Float[np.ndarray, "inputs m"], world: Dyck
) -> Float[np.ndarray, "types depth queries"]:
    """`(e(open) - e(closed))^T M e(b)` for every matched pair and query b; balance makes it
    constant in b."""
    return pair_differences(E, world) @ M @ E[query_ids(world)].T


@checked()
def balance_condition(
    M: Float[np.ndarray, "m m"],
    E: Float[np.ndarray, "inputs m"],
    world: Dyck,
    *,
    which: Bool[np.ndarray, "types depth"] | None = None,
) -> Condition:
    """Definition 2.2.3: whether M is balanced, up to rounding; with `which`, on the pairs of these
    types and levels. Its number is by how much the logits of a matched pair vary over queries."""
    check_embedding(E, world)
    check_which(which, world)
    logits = pair_logits(M, E, world)
    spread, largest = 0.0, 0.0
    if logits.shape[2]:
        spreads = np.ptp(logits, axis=2)
        spread = float((spreads if which is None else spreads[which]).max(initial=0))
        largest = float(np.abs(logits).max())
    return Condition(
        "balance (Definition 2.2.3)",
        spread <= BALANCED * max(1.0, largest),
        {"spread": spread},
        f"M is not balanced: (e(open) - e(closed))^T M e(b) varies by {spread:.2g} over closed brackets b of "
        "positive depth, it must not vary; use balance.project",
    )


@checked()
def project(
    M: Float[np.ndarray, "m m"],
    E: Float[np.ndarray, "inputs m"],
    world: Dyck,
    *,
    which: Bool[np.ndarray, "types depth"] | None = None,
) -> Float[np.ndarray, "m m"]:
    """The nearest balanced matrix in Frobenius norm, `M - Pi_Delta M Pi_Gamma`.

    Pi projects on the span of the pair differences and of the differences of queries. With `which`,
    only the pairs of these types and levels are balanced.
    """
    check_embedding(E, world)
    check_which(which, world)
    M, E = np.asarray(M, np.float64), np.asarray(E, np.float64)
    pairs = pair_differences(E, world)
    pairs = pairs.reshape(-1, E.shape[1]) if which is None else pairs[which]
    queries = E[query_ids(world)]
    return M - _projector(pairs) @ M @ _projector(queries[1:] - queries[:1])


def _projector(rows: Float[np.ndarray, "r m"]) -> Float[np.ndarray, "m m"]:
    return np.linalg.pinv(rows) @ rows if len(rows) else np.zeros((rows.shape[1],) * 2)


@checked()
def nearest_balanced(
    M: Float[np.ndarray, "m m"],
    E: Float[np.ndarray, "inputs m"],
    world: Dyck,
    other: Float[np.ndarray, "m m"],
) -> Theorem:
    """`project(M)` is balanced and stays as it is if projected again, and what was taken away is
    orthogonal to the balanced matrix `project(other)`: so no balanced matrix is nearer to M."""
    projected = project(M, E, world)
    left = np.abs(residuals(projected, E, world)).max(initial=0)
    again = np.abs(project(projected, E, world) - projected).max()
    size = float(np.linalg.norm(M)) or 1.0
    slant = abs(np.sum((M - projected) * project(other, E, world))) / size
    return Theorem.identity("balance projector", float(np.max([left, again, slant])))


def constraint_count(E: Float[np.ndarray, "inputs m"], world: Dyck) -> int:
    """How many independent linear conditions balance puts on M: rank of the pair differences times
    rank of the differences of queries."""
    queries = E[query_ids(world)]
    gaps = queries[1:] - queries[:1]
    pairs = pair_differences(E, world).reshape(-1, E.shape[1])
    return int(np.linalg.matrix_rank(pairs)) * (
        int(np.linalg.matrix_rank(gaps)) if gaps.size else 0
    )


@checked()
def balance_dimension(E: Float[np.ndarray, "inputs m"], world: Dyck) -> Theorem:
    """With independent embeddings balance is kD (k(D-1) - 1) independent linear conditions on M."""
    check_embedding(E, world)
    k, D, m = world.types, world.depth, E.shape[1]
    rank, count = int(np.linalg.matrix_rank(E)), constraint_count(E, world)
    return Theorem.identity(
        "balance dimension",
        float(abs(count - max(k * D * (k * (D - 1) - 1), 0))),
        within=0.0,
        conditions=(Condition("independent embeddings", rank == len(E), {"rank": rank}),),
        details={"free": m * m - count, "types": k, "depth": D},
    )


# -- balance of the values (Eqs. 2.50 to 2.53) ----------------------------------------------------


class Violation(NamedTuple):
    """`|S| / P` over query depth d - 1 = 1..D-1, level d' = 1..D, type i of the pair, type j of the
    query."""

    mean: Float[Array, ""]  # the balance violation beta
    largest: Float[Array, ""]
    ratios: Float[Array, "queries depth types types"]


def contributions(
    E: Float[AnyArray, "inputs m"],
    M: Float[AnyArray, "m m"],
    W_V: Float[AnyArray, "m w"],
    world: Dyck,
) -> Float[Array, "types queries inputs w"]:
    """`u(a; b)` for the query b of type j and depth d (axes 0 and 1), divided by the largest weight
    `exp(e_a^T M e_b)` over a, which no ratio and no normalised output depends on."""
    check_embedding(E, world)
    E, M, W_V = jnp.asarray(E), jnp.asarray(M), jnp.asarray(W_V)
    logits = jnp.einsum("jdm,am->jda", E[closed_ids(world)[:, 1:]] @ M.T, E)
    weights = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
    values = E @ W_V
    return weights[..., None] * (values - values.mean(axis=-1, keepdims=True))


@checked()
def value_residuals(
    E: Float[AnyArray, "inputs m"],
    M: Float[AnyArray, "m m"],
    W_V: Float[AnyArray, "m w"],
    world: Dyck,
) -> Float[Array, "queries depth types types w"]:
    """`S[d, d', i, j] = u(closed i, level d'; b) + u(open i, level d'; b)`: what one matched pair adds
    at the query b of type j and depth d = 1..D-1, on the scale of `contributions`."""
    u = contributions(E, M, W_V, world)
    pairs = u[:, :, open_ids(world)] + u[:, :, closed_ids(world)]  # j, d, i, d'
    return jnp.transpose(pairs, (1, 3, 2, 0, 4))


@checked()
def balance_violation(
    E: Float[AnyArray, "inputs m"],
    M: Float[AnyArray, "m m"],
    W_V: Float[AnyArray, "m w"],
    world: Dyck,
) -> Violation:
    """`|S| / P` of every matched pair at every query, in the precision of the arrays.

    `Q(j, d, t)` is the attention output after the string t of d - 1 open brackets and a pair of type j;
    with t* the string whose |Q| is least, P is the least |Q| over strings that end in another type
    than t*. P is zero where the values are: ratios are then infinite or NaN.
    """
    if world.types < 2 or world.depth < 2:
        raise ValueError(
            f"the world has {world.types} types and depth {world.depth}; the balance violation needs "
            "at least 2 of each, so that some closed bracket has to be remembered"
        )
    u = contributions(E, M, W_V, world)
    S = jnp.linalg.norm(value_residuals(E, M, W_V, world), axis=-1)
    P = jnp.stack([_least_output(u[:, d - 2], d, world) for d in range(2, world.depth + 1)])
    ratios = S / P[:, None, None, :]
    return Violation(ratios.mean(), ratios.max(), ratios)


def _least_output(u: Float[Array, "types inputs w"], d: int, world: Dyck) -> Float[Array, " types"]:
    """P of the queries of depth d - 1: the second smallest, over the last type, of the least |Q|."""
    opened, closed, own = open_ids(world), closed_ids(world), np.arange(world.types)
    Q = u[:, world.pairs] + u[own, opened[:, d - 1]] + u[own, closed[:, d - 1]]
    Q = Q[:, None]
    for s in range(d - 1):
        Q = (Q[:, :, None] + u[:, None, opened[:, s]]).reshape(world.types, -1, Q.shape[-1])
    by_last = jnp.linalg.norm(Q, axis=-1).reshape(world.types, -1, world.types).min(axis=1)
    return jnp.sort(by_last, axis=-1)[:, 1]


# -- models ---------------------------------------------------------------------------------------


class FirstLayer(NamedTuple):
    """What balance is about in a model that reads brackets with their depths."""

    E: Float[Array, "inputs m"]
    M: Float[Array, "m m"]
    W_V: Float[Array, "m m"]


@checked()
def first_layer(model: Transformer, world: Dyck) -> FirstLayer:
    """The embedding and, with the model's own scale of the logits, M and W_V of its first layer."""
    config = model.config
    rows = config.vocab + config.extra_inputs
    faults = {
        f"{rows} input rows": rows != world.pairs + 1,
        f"{config.heads} heads": config.heads != 1,
        f"{config.positions} positions": config.positions != "none",
        "biases in its attention": config.attention_bias,
        "a norm of its embeddings": config.has_embedding_norm,
        "a norm before its attention": config.norm == "pre",
    }
    for fault, present in faults.items():
        if present:
            raise ValueError(
                f"the model has {fault}; balance is measured on models that read the {world.pairs + 1} "
                "embeddings of brackets with depths and the start token, with one head and neither "
                "positions, attention biases nor a norm before it"
            )
    query, key, value = jnp.moveaxis(jnp.asarray(model.layers.attention.qkv)[0, :, :, 0], 1, 0)
    return FirstLayer(
        jnp.asarray(model.token_embedding),
        config.scale * key @ query.T,
        value @ jnp.asarray(model.layers.attention.out)[0, 0],
    )


@checked()
def of_model(model: Transformer, world: Dyck) -> Violation:
    """The balance violation of a model of one layer over brackets with their depths.

    Works under `jax.jit`, and on an ensemble with `eqx.filter_vmap(lambda m: of_model(m, world))`.
    """
    if model.config.layers != 1:
        raise ValueError(
            f"the model has {model.config.layers} layers; the balance violation is that of one layer "
            "over embeddings of brackets with their depths"
        )
    return balance_violation(*first_layer(model, world), world)
