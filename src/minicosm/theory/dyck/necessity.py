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

from minicosm.adaptation.checks import check_whole, unshared
from minicosm.models import Transformer, variants
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray

from ..checks import whole
from ..signatures import checked
from ..theorem import IDENTITY, Condition, Theorem
from .balance import check_embedding, pair_logits, value_residuals
from .embeddings import closed_ids, open_ids, pair_ids
from .weights import Attention, assemble

Residual = Literal["outside", "inside"]


@checked()
class Keys(NamedTuple):
    """A prefix as attention without positions sees it."""

    counts: Float[np.ndarray, " inputs"]  # of every bracket with its depth; the start token last
    query: int  # the id of the last token

    def check(self) -> None:
        """Raise unless the counts are such, and the last token is among those counted."""
        if (self.counts < 0).any() or (self.counts != np.round(self.counts)).any():
            raise ValueError("counts has an entry that is no whole number of at least 0")
        check_whole("query", self.query, 0, len(self.counts) - 1)
        if self.counts[self.query] < 1:
            raise ValueError(
                f"counts[{self.query}] is 0, of the query; the last token is one of them"
            )


@checked()
def keys_of(world: Dyck, tokens: Int[AnyArray, " T"], *, start: bool = True) -> Keys:
    """Counts of a string, after a start token if `start`."""
    ids = pair_ids(world, tokens)
    counts = np.bincount(ids, minlength=world.pairs + 1).astype(np.float64)
    counts[world.pairs] = float(start)
    return Keys(counts, int(ids[-1]))


@checked(times=whole(0, 2**53))
def pumped(world: Dyck, keys: Keys, times: int, *, type: int = 0, level: int = 1) -> Keys:
    """The prefix with `times` more matched pairs of this type at this level, 1..D."""
    check_whole("type", type, 0, world.types - 1)
    check_whole("level", level, 1, world.depth)
    if len(keys.counts) != world.pairs + 1:
        raise ValueError(f"keys has {len(keys.counts)} counts; the world needs {world.pairs + 1}")
    counts = keys.counts.copy()
    counts[[open_ids(world)[type, level - 1], closed_ids(world)[type, level - 1]]] += times
    return keys._replace(counts=counts)


@checked()
def twins(world: Dyck, opened: Sequence[int], last: int = 0) -> tuple[Keys, Keys]:
    """Two prefixes that differ in the type of the last bracket still open: brackets of the types
    `opened`, the last one of them also of the next type, and after it a pair of type `last`."""
    check_whole("last", last, 0, world.types - 1)
    if world.types < 2 or not 1 <= len(opened) < world.depth:
        raise ValueError(
            f"opened has {len(opened)} types and the world {world.types} types and depth {world.depth}; "
            "there must be at least one opened, fewer than the depth, and two types"
        )
    for i, kind in enumerate(opened):
        check_whole(f"opened[{i}]", kind, 0, world.types - 1)
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


@checked()
def output(
    keys: Keys,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    residual: Residual = "outside",
) -> Float[np.ndarray, " m"]:
    """What the MLP of a layer reads: `LN_0(attention) + e(last)`, or `LN_0(attention + e(last))`
    with the residual inside the norm (Eq. 2.85)."""
    if len(keys.counts) != len(E):
        raise ValueError(f"keys has {len(keys.counts)} counts; E has {len(E)} rows, one for each")
    last = E[keys.query]
    logits = E @ M @ last
    weights = keys.counts * np.exp(logits - logits[keys.counts > 0].max())
    attended = (weights / weights.sum()) @ E @ W_V
    return unit(attended) + last if residual == "outside" else unit(attended + last)


@checked()
def separation(
    pair: Sequence[Keys],
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    residual: Residual = "outside",
) -> float:
    """The distance of the outputs after two prefixes: what an MLP has to tell them apart by."""
    check_pair(pair)
    first, second = (output(keys, E, M, W_V, residual) for keys in pair)
    return float(np.linalg.norm(first - second))


def check_pair(pair: Sequence[Keys]) -> None:
    """Raise unless two prefixes are given."""
    if len(pair) != 2:
        raise ValueError(f"pair has {len(pair)} prefixes; it must have 2")


@checked()
def attention_model(
    world: Dyck,
    E: Float[np.ndarray, "inputs m"],
    M: Float[np.ndarray, "m m"],
    W_V: Float[np.ndarray, "m m"],
    residual: Residual = "outside",
) -> Transformer:
    """The layer without its MLP as a `Transformer`, whose last residual stream is `output`."""
    check_embedding(E, world)
    make = variants.theory if residual == "outside" else variants.residual_inside
    m = E.shape[1]
    config = make(world.vocab, width=m, inputs=len(E), mlp_width=0)
    head = Attention(np.asarray(M).T, np.eye(m), np.asarray(W_V), np.eye(m))
    return assemble(config, np.asarray(E), [head], [], np.eye(m, world.vocab))


@checked()
def first_weights(model: Transformer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E, M and W_V of a constructed model in float64."""
    if model.config.heads != 1:
        raise ValueError(f"the model has {model.config.heads} heads; it must have one")
    query, key, value = np.moveaxis(np.asarray(model.layers.attention.qkv)[0, :, :, 0], 1, 0)
    out = np.asarray(model.layers.attention.out)[0, 0]
    return np.asarray(model.token_embedding), model.config.scale * key @ query.T, value @ out


@checked()
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
    check_embedding(E, world)
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


@checked()
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
    check_pair(pair)
    strings = [[pumped(world, keys, n, type=type, level=level) for keys in pair] for n in PUMPED]
    return np.array([separation(both, E, M, W_V) for both in strings])


# -- the start token (footnote 12 of Corollary 2.2.1) ----------------------------------------------


@checked()
def repeated_bracket(model: Transformer, world: Dyck) -> Theorem:
    """On one bracket repeated 1..D times a causal Transformer without positions and start token
    says the same at every position, whatever its attention; the laws of the world differ by
    `laws`."""
    check_reads(model, world.vocab - 1)
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


@checked()
def doubled_string(
    model: Transformer, tokens: Int[np.ndarray, " T"], *, printed: bool = False
) -> Theorem:
    """A model with uniform attention and no start token says the same after p and after p p.

    True of one layer, and of the constructed model without its start token; as printed, of two
    layers, it is false in general.
    """
    if (tokens < 0).any():
        raise ValueError(f"tokens hold {tokens.min()}; ids start at 0")
    check_reads(model, int(tokens.max()))
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


def check_reads(model: Transformer, token: int) -> None:
    """Raise unless the token is one that the model reads."""
    rows = model.config.vocab + model.config.extra_inputs
    if token >= rows:
        raise ValueError(f"the model reads the ids 0..{rows - 1}; tokens up to {token} are given")


@checked()
def uniform_attention(model: Transformer) -> Transformer:
    """The same model with queries and keys of zero."""
    qkv = np.array(model.layers.attention.qkv)
    qkv[:, :, :2] = 0
    return eqx.tree_at(lambda t: t.layers.attention.qkv, model, qkv)


@eqx.filter_jit
def _outputs(model: Transformer, tokens: Int[Array, " T"]) -> Float[Array, "T vocab"]:
    return model.next_logits(tokens)
