"""Transformers that predict a bounded Dyck language exactly, with explicit weights.

Each is an ordinary `Transformer` with weights in float64: run it under `jax.enable_x64(True)`. The
MLP g of a proof has six layers; it is three layers of the Transformer, of which the later two have
values zero and so are `x -> g_i(x)`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from minicosm.models import Transformer, variants
from minicosm.worlds import Dyck

from ..checks import real
from ..linear_algebra import rank_test
from ..signatures import checked
from ..theorem import Condition
from .balance import balance_condition, check_embedding, pair_logits
from .embeddings import (
    closed_ids,
    open_ids,
    query_ids,
    token_depth_embedding,
    tokens_and_depths,
)
from .relu import Stage, concatenated, index, interpolate, orthonormal, switch, which
from .weights import Attention, assemble, parts_of, silent_attention

LEAST = 1e-26
"""A Transformer's logits are finite: in place of probability 0 it has this one."""

# -- Theorem 2.2.1, sufficiency -------------------------------------------------------------------


def reading_direction(E: Float[np.ndarray, "inputs m"]) -> Float[np.ndarray, " m"]:
    """A unit vector v along which the embeddings of all ids lie equally spaced and in order."""
    ranks = np.arange(len(E)) - (len(E) - 1) / 2
    v = np.linalg.pinv(E) @ ranks
    return v / np.linalg.norm(v)


def stack_directions(
    world: Dyck, E: Float[np.ndarray, "inputs m"], *, printed: bool = False
) -> Float[np.ndarray, "slots m"]:
    """Orthonormal `b_n`, one for every type and depth of an open bracket, n = t D + s - 1.

    They are orthogonal to the vector of ones, to `reading_direction` and to the embeddings of all
    closed brackets of positive depth. As printed, the last is missing: then the residual stream,
    which holds the embedding of the last token, shows on the coordinates of brackets that are not
    open.
    """
    kept = [np.ones((1, E.shape[1])), reading_direction(E)[None]]
    if not printed:
        kept.append(E[query_ids(world)])
    return orthonormal(np.vstack(kept), world.types * world.depth)


def least_coordinate(
    world: Dyck, E: Float[np.ndarray, "inputs m"], M: Float[np.ndarray, "m m"]
) -> float:
    """The least of `exp(l_s) / sqrt(sum_s' exp(2 l_s'))` over queries b, stacks and depths s on the
    stack, where `l_s` is the logit at b of the open bracket of depth s; 1 if there is no query.

    The other depths are at their worst with the type of the largest logit, so no stacks are listed.
    """
    least = 1.0
    logits = E[open_ids(world)] @ M @ E[closed_ids(world)].reshape(-1, E.shape[1]).T
    logits = logits.reshape(world.types, world.depth, world.types, world.depth)
    for d in range(1, world.depth):
        at = logits[:, :d, :, d]  # type, depth s, type of the query of depth d
        at = at - at.max(axis=(0, 1))
        squares = np.exp(2 * at)
        worst = squares.max(axis=0)
        others = worst.sum(axis=0) - worst
        least = min(least, float(np.sqrt(squares / (squares + others)).min()))
    return least


@checked()
def exact_dyck(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    *,
    silent_types: Sequence[int] = (),
    printed_directions: bool = False,
) -> Transformer:
    """Theorem 2.2.1: `next_logits(ids)` of ids of brackets with depths, after the start id `pairs`,
    are the logarithms of the next-token probabilities of every prefix (-59.9 for a token that cannot
    follow), for the embedding E and any balanced attention matrix M.

    All rows of E have to be linearly independent. Values are `b_n` for an open bracket and
    `-exp(a) b_n` for its match, a being `pair_logits`, so that matched pairs cancel and the output is
    `sum_s exp(l_s) b_n(s)` over the stack. `silent_types` have value zero at depth D, where M then
    need not be balanced; `printed_directions` leaves `stack_directions` as printed.
    """
    E, M = np.asarray(E, np.float64), np.asarray(M, np.float64)
    for condition in sufficient_conditions(world, E, M, silent_types):
        if not condition.holds:
            raise ValueError(condition.reason)
    m, k, D = E.shape[1], world.types, world.depth
    logits = pair_logits(M, E, world)
    a = logits.mean(axis=2) if logits.shape[2] else np.zeros((k, D))
    slots = np.eye(
        k * D, m
    )  # the value of a pair in coordinates, which `out` turns into directions
    values = np.zeros((len(E), m))
    values[open_ids(world).ravel()] = slots
    values[closed_ids(world).ravel()] = -np.exp(a).reshape(-1, 1) * slots
    for t in silent_types:
        values[[open_ids(world)[t, -1], closed_ids(world)[t, -1]]] = 0
    directions = stack_directions(world, E, printed=printed_directions)
    head = Attention(
        M.T, np.eye(m), np.linalg.pinv(E) @ values, np.pad(directions, ((0, m - k * D), (0, 0)))
    )
    stages = read_stack(world, E, directions, 0.9 * least_coordinate(world, E, M))
    config = variants.theory(
        world.vocab,
        width=m,
        inputs=len(E),
        layers=3,
        mlp_width=max(stage.width for stage in stages),
    )
    heads = [head, silent_attention(m), silent_attention(m)]
    return assemble(config, E, heads, stages, np.eye(m, world.vocab))


def sufficient_conditions(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    silent_types: Sequence[int] = (),
) -> tuple[Condition, Condition]:
    """What Theorem 2.2.1 asks for: all embeddings linearly independent, and M balanced, on pairs of
    depth D only for types that are not silent."""
    check_embedding(E, world)
    if any(t not in range(world.types) for t in silent_types):
        raise ValueError(f"silent_types are {silent_types}; types are 0..{world.types - 1}")
    rank = rank_test(E.T).rank
    heard = np.ones((world.types, world.depth), bool)
    heard[list(silent_types), -1] = False
    return (
        Condition(
            "independent embeddings",
            rank == len(E),
            {"rank": rank},
            f"the {len(E)} embeddings have rank {rank}; they must be linearly independent",
        ),
        balance_condition(M, E, world, which=heard),
    )


def read_stack(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    directions: Float[np.ndarray, "slots m"],
    threshold: float,
) -> tuple[Stage, Stage, Stage]:
    """The MLP g of Theorem 2.2.1 in three stages, which read x = LN(attention) + e(last token).

    1. x to the rank 1..2kD+1 of the last token's id, its depth d (0 for the start token), and for every
       depth s the type x_s = 1..k of the open bracket there (Lemmas 2.2.15, 2.2.18).
    2. To the rank and y = x_d, the type on top (Lemma 2.2.17); after open brackets and at depth 0,
       y is some number in [0, k (k + 1) / 2] that is not used.
    3. To the log probabilities: for every rank constant, or a function of y (Lemmas 2.2.15, 2.2.19).
    """
    k, D = world.types, world.depth
    tokens, depths = tokens_and_depths(world)
    ranks = np.arange(1.0, len(E) + 1)
    last = interpolate(E, np.column_stack([ranks, np.append(depths, 0)]), reading_direction(E))
    slots = directions.reshape(k, D, -1)
    first = concatenated([last, *(which(k, threshold).after(slots[:, s].T) for s in range(D))])

    bound = k * (k + 1) / 2 + 1
    passed = Stage(np.eye(D + 2, 1), np.zeros(1), np.ones((1, 1)), np.zeros(1))
    places = np.zeros((D + 2, D + 1))
    places[2:, :D] = np.eye(D)
    places[1, D] = 1
    second = concatenated([passed, index(D, bound).after(places)])

    laws = np.log(np.maximum(stack_laws(world), LEAST))
    readers = []
    for token, depth in zip(tokens, depths, strict=True):
        if token % 2 == 0 or depth == 0:
            readers.append(_constant(laws[depth, token // 2]))
        else:
            readers.append(interpolate(np.arange(1.0, k + 1)[:, None], laws[depth], np.ones(1)))
    readers.append(_constant(laws[0, 0]))
    return first, second, switch(readers, bound + 1)


@checked()
def stack_laws(world: Dyck) -> Float[np.ndarray, "levels types vocab"]:
    """`[d, t]`: the next-token law at depth d with type t on top (for d = 0 the same for every t)."""
    opening = np.asarray(world.opening, np.float64)
    laws = np.zeros((world.depth + 1, world.types, world.vocab))
    laws[:, :, ::2] = opening[:, None, None] * np.asarray(world.type_probabilities, np.float64)
    for t in range(world.types):
        laws[1:, t, 2 * t + 1] = 1 - opening[1:]
    return laws


def _constant(law: Float[np.ndarray, " vocab"]) -> Stage:
    return Stage(np.zeros((1, 0)), np.zeros(0), np.zeros((0, len(law))), law)


# -- Corollary 2.2.1: uniform attention -----------------------------------------------------------


def depth_points(world: Dyck, width: int) -> Float[np.ndarray, "inputs width"]:
    """`LN((d, 1, 0, ...)) + o_token` for every bracket with its depth d, and for the start token:
    what the first layer of `uniform_dyck` gives its MLP."""
    tokens, depths = tokens_and_depths(world)
    tokens, depths = np.append(tokens, world.vocab), np.append(depths, 0)
    sums = np.zeros((len(tokens), width))
    sums[:, 0], sums[:, 1] = depths, 1
    sums -= sums.mean(axis=1, keepdims=True)
    return (
        sums / np.linalg.norm(sums, axis=1, keepdims=True) + np.eye(world.vocab + 1, width)[tokens]
    )


@checked()
def uniform_dyck(world: Dyck) -> Transformer:
    """Corollary 2.2.1: from tokens after the start id `vocab`, with uniform attention in both layers,
    `next_logits` are the logarithms of the next-token probabilities.

    The first layer averages +1 for open, -1 for closed brackets and the share of the start token:
    `(depth, 1, 0, ...) / (n + 1)` after n tokens. Its norm removes the n + 1, and the MLP turns what is
    left, with the token, into the one-hot embedding of the pair. The second is `exact_dyck` with M = 0.
    """
    E = token_depth_embedding(world, "onehot")
    m = len(E)
    second = exact_dyck(world, E, np.zeros((m, m)))
    value = np.zeros((m, m))
    value[: world.vocab : 2, 0], value[1 : world.vocab : 2, 0], value[world.vocab, 1] = 1, -1, 1
    zero = np.zeros((m, m))
    heads, stages = parts_of(second)
    heads = [Attention(zero, zero, value, np.eye(m)), *heads]
    stages = [interpolate(depth_points(world, m), E), *stages]
    config = variants.theory(
        world.vocab, width=m, layers=4, mlp_width=max(stage.width for stage in stages)
    )
    return assemble(config, np.eye(world.vocab + 1, m), heads, stages, np.eye(m, world.vocab))


# -- geometric attention on the additive embedding ------------------------------------------------


@checked(rho=real(least=2))
def geometric_dyck(world: Dyck, rho: float = 3.0) -> Transformer:
    """Attention that grows with depth solves the type of the top of the stack with the embedding "sum".

    The logit of a key of depth d is `d ln rho` for every query, which is balanced; the value of an
    open bracket of type t is `x_t`, of a closed one `-rho x_t`. Behind any prefix the output is
    proportional to `sum_s rho^s x_{type at depth s}`, and for rho >= 2 its largest entry is the
    type on top.

    The model has no residual and no MLP. `next_logits(ids)` of ids of brackets with depths, after the
    start id `pairs`, are that sum with mean zero and norm one, `x_t` being the unit vector of the closed
    token of type t: the argmax over closed tokens is the bracket that may close. They are no law.
    """
    E = token_depth_embedding(world, "sum")
    m, vocab = E.shape[1], world.vocab
    by_depth = np.zeros(m)
    by_depth[vocab + 1 :] = np.log(rho) * np.arange(world.depth + 1)
    query, key = np.zeros((m, m)), np.zeros((m, m))
    query[: vocab + 1, 0], key[:, 0] = 1, by_depth
    value = np.zeros((m, m))
    for t in range(world.types):
        value[2 * t, 2 * t + 1], value[2 * t + 1, 2 * t + 1] = 1, -rho
    config = variants.theory(vocab, width=m, inputs=len(E), mlp_width=0, attention_residual=False)
    return assemble(config, E, [Attention(query, key, value, np.eye(m))], [], np.eye(m, vocab))
