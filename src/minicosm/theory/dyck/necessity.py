"""Why balance is needed (Theorem 2.2.1, necessity): outputs after strings of any length, in closed form.

Without positions, what attention gives to the last token b of a string depends on how often each
bracket with its depth occurs before it: `sum_a n_a exp(e_a^T M e_b) W_V e_a`. Strings with 10^4
inserted pairs cost as much as short ones.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.adaptation.checks import unshared
from minicosm.models import Transformer, variants
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray, check_count

from ..theorem import IDENTITY, Condition, Theorem
from .balance import pair_logits, value_residuals
from .embeddings import closed_ids, open_ids, pair_ids
from .weights import Attention, assemble

Residual = Literal["outside", "inside"]


class Keys(NamedTuple):
    """A prefix as attention without positions sees it."""

    counts: Float[np.ndarray, " inputs"]  # of every bracket with its depth; the start token last
    query: int  # the id of the last token


def keys_of(world: Dyck, tokens: Int[AnyArray, " T"], *, start: bool = True) -> Keys:
    """Counts of a string, after a start token if `start`."""
    ids = pair_ids(world, tokens)
    counts = np.bincount(ids, minlength=world.pairs + 1).astype(np.float64)
    counts[world.pairs] = float(start)
    return Keys(counts, int(ids[-1]))


def pumped(world: Dyck, keys: Keys, times: int, *, type: int = 0, level: int = 1) -> Keys:
    """The prefix with `times` more matched pairs of this type at this level, 1..D."""
    check_count("times", times, least=0)
    if level not in range(1, world.depth + 1):
        raise ValueError(f"level is {level}; it must lie in 1..{world.depth}")
    counts = keys.counts.copy()
    counts[[open_ids(world)[type, level - 1], closed_ids(world)[type, level - 1]]] += times
    return keys._replace(counts=counts)


def twins(world: Dyck, opened: Sequence[int], last: int = 0) -> tuple[Keys, Keys]:
    """Two prefixes that differ in the type of the last bracket still open: brackets of the types
    `opened`, the last one of them also of the next type, and after it a pair of type `last`."""
    strings = []
    for shift in (0, 1):
        types = [*opened[:-1], (opened[-1] + shift) % world.types]
        strings.append(np.array([*(2 * t for t in types), 2 * last, 2 * last + 1]))
    first, second = (keys_of(world, tokens) for tokens in strings)
    return first, second


def unit(x: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """LN_0: mean zero and norm one, zero for a constant vector."""
    centred = x - x.mean()
    size = np.linalg.norm(centred)
    return centred / size if size > 0 else centred


def output(
    keys: Keys,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    residual: Residual = "outside",
) -> Float[np.ndarray, " m"]:
    """What the MLP of a layer reads: `LN_0(attention) + e(last)`, or `LN_0(attention + e(last))`
    with the residual inside the norm (Eq. 2.85)."""
    last = E[keys.query]
    logits = E @ M @ last
    weights = keys.counts * np.exp(logits - logits[keys.counts > 0].max())
    attended = (weights / weights.sum()) @ E @ W_V
    return unit(attended) + last if residual == "outside" else unit(attended + last)


def separation(
    pair: Sequence[Keys],
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    residual: Residual = "outside",
) -> float:
    """The distance of the outputs after two prefixes: what an MLP has to tell them apart by."""
    first, second = (output(keys, E, M, W_V, residual) for keys in pair)
    return float(np.linalg.norm(first - second))


def attention_model(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    residual: Residual = "outside",
) -> Transformer:
    """The layer without its MLP as a `Transformer`, whose last residual stream is `output`."""
    make = variants.theory if residual == "outside" else variants.residual_inside
    m = E.shape[1]
    config = make(world.vocab, width=m, inputs=len(E), mlp_width=0)
    head = Attention(np.asarray(M).T, np.eye(m), np.asarray(W_V), np.eye(m))
    return assemble(config, np.asarray(E), [head], [], np.eye(m, world.vocab))


def first_weights(model: Transformer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E, M and W_V of a constructed model in float64."""
    query, key, value = np.moveaxis(np.asarray(model.layers.attention.qkv)[0, :, :, 0], 1, 0)
    out = np.asarray(model.layers.attention.out)[0, 0]
    return np.asarray(model.token_embedding), model.config.scale * key @ query.T, value @ out


def theorem_2_2_1_necessity(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
) -> Theorem:
    """What exactness at all lengths makes of the weights (Eq. 2.50): `u(open; b) + u(closed; b) = 0`.

    The projected values of a matched pair are antiparallel, and its difference of logits is `ln(|P
    W_V e(closed)| / |P W_V e(open)|)` at every query b; hence M is balanced. The error is the
    largest deviation of the three. That the weights are those of an exact model is the caller's to
    know.
    """
    values = E @ W_V
    values = values - values.mean(axis=1, keepdims=True)
    first, second = values[open_ids(world)], values[closed_ids(world)]
    sizes = [np.linalg.norm(v, axis=-1) for v in (first, second)]
    least = float(min(size.min() for size in sizes))
    nonzero = Condition("P W_V e is nowhere zero", least > 0, {"least": least})
    many = Condition(
        "two types and depth two", min(world.types, world.depth) >= 2, {"types": world.types}
    )
    error = float("nan")
    if nonzero.holds and many.holds:
        cosines = np.sum(first * second, axis=-1) / (sizes[0] * sizes[1])
        ratio = np.log(sizes[1] / sizes[0])[..., None]
        with jax.enable_x64(True):
            S = float(jnp.abs(value_residuals(E, M, W_V, world)).max())
        gap = float(np.abs(pair_logits(M, E, world) - ratio).max())
        error = float(np.max([S, np.abs(cosines + 1).max(), gap]))
    return Theorem.identity("Theorem 2.2.1, necessity", error, conditions=(many, nonzero))


PUMPED = (0, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


def pumping(
    world: Dyck,
    pair: Sequence[Keys],
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    *,
    type: int = 0,
    level: int = 1,
) -> Float[np.ndarray, " times"]:
    """The distance of the outputs after two prefixes, for each number of inserted pairs in `PUMPED`."""
    strings = [[pumped(world, keys, n, type=type, level=level) for keys in pair] for n in PUMPED]
    return np.array([separation(both, E, M, W_V) for both in strings])


# -- the start token (footnote 12 of Corollary 2.2.1) ----------------------------------------------


def repeated_bracket(model: Transformer, world: Dyck) -> Theorem:
    """On one bracket repeated 1..D times a causal Transformer without positions and start token
    says the same at every position, whatever its attention; the laws of the world differ by
    `laws`."""
    tokens = np.zeros(world.depth, int)
    with jax.enable_x64(True):
        laws = np.exp(np.asarray(world.next_logits(tokens)))
        outputs = np.asarray(_outputs(unshared(model), jnp.asarray(tokens)))
    gap = float(np.abs(laws - laws[0]).max())
    return Theorem.identity(
        "a repeated bracket",
        float(np.abs(outputs - outputs[0]).max()),
        conditions=(Condition("the laws differ", gap > 0.1, {"by": gap}),),
        details={"laws": gap},
    )


def doubled_string(
    model: Transformer, tokens: Int[np.ndarray, " T"], *, printed: bool = False
) -> Theorem:
    """A model with uniform attention and no start token says the same after p and after p p.

    True of one layer, and of the constructed model without its start token; as printed, of two
    layers, it is false in general.
    """
    with jax.enable_x64(True):
        once, twice = (
            np.asarray(_outputs(unshared(model), jnp.asarray(np.tile(tokens, times))))[-1]
            for times in (1, 2)
        )
    return Theorem.identity(
        "p and p p as printed" if printed else "p and p p",
        float(np.abs(once - twice).max()),
        within=1e-3 if printed else IDENTITY,
    )


def uniform_attention(model: Transformer) -> Transformer:
    """The same model with queries and keys of zero."""
    qkv = np.array(model.layers.attention.qkv)
    qkv[:, :, :2] = 0
    return eqx.tree_at(lambda t: t.layers.attention.qkv, model, qkv)


@eqx.filter_jit
def _outputs(model: Transformer, tokens: Int[Array, " T"]) -> Float[Array, "T vocab"]:
    return model.next_logits(tokens)
