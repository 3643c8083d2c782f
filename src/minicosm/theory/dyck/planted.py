"""Proposition 2.2.1: attention that looks meaningful and carries nothing.

The proposition says that for any key and query matrices there is a head for which the output is
constant: zero. More than that: any Transformer of the theory can be given one more layer with any
attention logits and the same output, by W_V = 0 and an MLP that is the identity,
`x = [I, -I] relu([I; -I] x)`. What its attention map shows is then up to whoever planted it.
"""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from minicosm.adaptation.checks import check_reals, unshared
from minicosm.models import Transformer, TransformerTrace
from minicosm.models.variants import theory
from minicosm.worlds import Dyck
from minicosm.worlds.arrays import AnyArray

from ..checks import POSITIVE, whole
from ..signatures import checked
from ..theorem import Theorem
from .embeddings import check_strings, tokens_and_depths
from .lipschitz import softmax
from .matrices import Matrices, layers_of, matrices_of, shape_of
from .weights import check_input_rows

LENGTH = whole(1, 2**20)
UNCHANGED = 1e-12
"""How far an output may move when a layer is planted, relative to its largest entry."""


@checked()
def zero_head(model: Transformer) -> Transformer:
    """The same model with W_Head = 0: Proposition 2.2.1 as it stands."""
    if model.output is None:
        raise ValueError("the model has no output matrix of its own; it must have tied=False")
    return eqx.tree_at(lambda m: m.output, model, np.zeros(np.shape(model.output)))


@checked()
def plant(model: Transformer, logits: Float[np.ndarray, "m n"], *, at: int = 0) -> Transformer:
    """The model with one more layer, in place `at`, whose logits are `x_key^T logits x_query`.

    Its value matrix is zero and its MLP the identity, so the output is the same.
    """
    given, config = matrices_of(model), model.config
    layers, m = config.layers, config.width
    if not 0 <= at <= layers:
        raise ValueError(f"at is {at}; the model has {layers} layers, so it must be in 0..{layers}")
    if logits.shape != (m, m):
        raise ValueError(f"logits have shape {logits.shape}; they must have shape ({m}, {m})")
    one = np.eye(m)
    added = Matrices(logits, one, np.zeros((m, m)), np.vstack([one, -one]), np.hstack([one, -one]))
    others = [place for place in range(layers + 1) if place != at]

    def insert(
        new: Float[np.ndarray, "r c"], old: Float[np.ndarray, "layers a b"]
    ) -> Float[np.ndarray, "more p q"]:
        whole = np.zeros((layers + 1, *np.maximum(new.shape, old.shape[1:])))
        whole[at, : new.shape[0], : new.shape[1]] = new
        whole[others, : old.shape[1], : old.shape[2]] = old
        return whole

    matrices = Matrices(*map(insert, added, given))
    shape = replace(
        config, layers=layers + 1, mlp_width=matrices.up.shape[1], head_width=matrices.key.shape[1]
    )
    empty = shape_of(shape)
    kept = eqx.tree_at(lambda m: m.layers, model, layers_of(matrices, empty.layers))
    return jax.tree.unflatten(jax.tree.structure(empty), jax.tree.leaves(kept))


@checked()
def proposition_2_2_1(model: Transformer, inputs: Float[np.ndarray, "n T m"]) -> Theorem:
    """For all key and query matrices there is a head, zero, for which the output is zero on every
    input."""
    check_inputs(model, inputs)
    with jax.enable_x64(True):
        output = np.asarray(_traces(zero_head(model), inputs).logits)
    return Theorem.identity(
        "Proposition 2.2.1", float(np.abs(output).max()), within=0.0, cases=len(inputs)
    )


def check_inputs(model: Transformer, inputs: Float[np.ndarray, "n T m"]) -> None:
    """Raise unless the inputs are vectors of the model's width."""
    if inputs.shape[2] != model.config.width:
        raise ValueError(
            f"inputs have {inputs.shape[2]} coordinates; the model's width is {model.config.width}"
        )


@checked()
def planted_layer(
    model: Transformer,
    logits: Float[np.ndarray, "m m"],
    inputs: Float[np.ndarray, "n T m"],
    *,
    at: int = 0,
) -> Theorem:
    """Stronger: a layer with any logits can be added in any place and changes no output.

    The error is the larger of the change of the output, relative to its largest entry, and of the
    distance of the planted map from the causal softmax of the logits.
    """
    check_inputs(model, inputs)
    with jax.enable_x64(True):
        before, after = (
            jax.tree.map(np.asarray, _traces(one, inputs))
            for one in (model, plant(model, logits, at=at))
        )
    change = np.abs(after.logits - before.logits).max() / np.abs(before.logits).max()
    stream, T = before.hidden[:, at], inputs.shape[1]
    wanted = np.einsum("nsa,ab,ntb->stn", stream, logits, stream)  # [key, query, sequence]
    future = np.tril(np.ones((T, T), bool), -1)[:, :, None]
    wanted = softmax(np.where(future, -1e300, wanted)).transpose(2, 1, 0)
    gap = np.abs(after.attention[:, at, 0] - wanted).max()
    return Theorem.identity(
        "planted layer", float(np.max([change, gap])), within=UNCHANGED, cases=len(inputs)
    )


@eqx.filter_jit
def _traces(model: Transformer, inputs: Float[AnyArray, "n T m"]) -> TransformerTrace:
    return jax.vmap(model.trace)(inputs)


@checked(max_length=LENGTH)
def copy_model(world: Dyck, *, max_length: int = 64) -> Transformer:
    """A model that copies brackets through its residual stream; its attention reads nothing.

    It reads tokens with their depth (`Dyck.token_depths`, the start token is `pairs`) as unit vectors
    and has one more coordinate for the position, `i / max_length`. Its output is 1 at the token read.
    """
    pairs, m = world.pairs, world.pairs + 2
    config = theory(
        world.vocab, width=m, inputs=pairs + 1, mlp_width=2 * m, mlp_bias=False,
        positions="linear", max_length=max_length,
    )  # fmt: skip
    one = np.eye(m)
    nothing = np.zeros((1, m, m))
    matrices = Matrices(
        nothing, nothing, nothing, np.vstack([one, -one])[None], np.hstack([one, -one])[None]
    )
    output = np.zeros((m, world.vocab))
    output[np.arange(pairs), np.arange(pairs) // world.depth] = 1
    model = shape_of(config)
    return eqx.tree_at(
        lambda m: (m.layers, m.token_embedding, m.position_direction, m.output),
        model,
        (layers_of(matrices, model.layers), np.eye(pairs + 1, m), one[-1], output),
    )


@checked(max_length=LENGTH)
def stack_pattern(world: Dyck, *, max_length: int = 64) -> Float[np.ndarray, "m m"]:
    """Logits by which every bracket attends to the last bracket that is open after it.

    It is the last open bracket of the query's own depth: depths are matched, and of several the
    latest wins through the position. Queries of depth 0 attend to the start token.
    """
    token, depth = tokens_and_depths(world)
    logits = np.zeros((world.pairs + 2, world.pairs + 2))
    opens = (token % 2 == 0)[:, None] & (depth[:, None] == depth)
    recency = 10.0 * max_length
    logits[: world.pairs, : world.pairs] = np.where(opens, recency + 20, 0)
    logits[world.pairs, : world.pairs] = np.where(depth == 0, recency + 20, 0)
    logits[-1, : world.pairs] = recency
    return logits


@checked(strength=POSITIVE)
def closed_pattern(world: Dyck, *, strength: float = 20.0) -> Float[np.ndarray, "m m"]:
    """Logits by which every position attends evenly to the closed brackets before it."""
    token, _ = tokens_and_depths(world)
    logits = np.zeros((world.pairs + 2, world.pairs + 2))
    logits[: world.pairs, :] = np.where(token % 2 == 1, strength, 0)[:, None]
    return logits


class Reading(NamedTuple):
    """What a model puts out and attends to on one string, the start token first."""

    output: Float[np.ndarray, "T vocab"]
    attention: Float[np.ndarray, "layers T T"]


@checked()
def read(model: Transformer, world: Dyck, tokens: Int[np.ndarray, " n"]) -> Reading:
    """Run a model over pairs on a string, in double precision."""
    tokens = check_strings("tokens", tokens, world)
    check_input_rows(model, world.pairs + 1)
    with jax.enable_x64(True):
        trace = _read(unshared(model), unshared(world), tokens)
        return Reading(np.asarray(trace.logits), np.asarray(trace.attention)[:, 0])


@eqx.filter_jit
def _read(model: Transformer, world: Dyck, tokens: Int[AnyArray, " n"]) -> TransformerTrace:
    return model.trace(jnp.pad(world.token_depths(tokens), (1, 0), constant_values=world.pairs))


@eqx.filter_jit
def _tops(world: Dyck, tokens: Int[AnyArray, " n"]) -> Int[Array, " n"]:
    return world.stack_tops(tokens)


def check_map(attention: Float[np.ndarray, "T T"], tokens: Int[np.ndarray, " n"]) -> None:
    """Raise unless it is what tokens after a start token attend to."""
    size = len(tokens) + 1
    if attention.shape != (size, size):
        raise ValueError(
            f"attention has shape {attention.shape}; {len(tokens)} tokens after a start token have "
            f"({size}, {size})"
        )
    check_reals("attention", attention, least=0)
    if not (np.abs(attention.sum(axis=1) - 1) < 1e-4).all():
        raise ValueError("attention has a row that does not sum to 1; every row must")


@checked()
def top_score(
    world: Dyck, tokens: Int[np.ndarray, " n"], attention: Float[np.ndarray, "T T"]
) -> float:
    """The mean attention on the last open bracket, over brackets after which one is open."""
    tokens = check_strings("tokens", tokens, world)
    check_map(attention, tokens)
    tops = np.asarray(_tops(world, tokens))
    queries = np.flatnonzero(tops >= 0)
    return float(attention[queries + 1, tops[queries] + 1].mean())


@checked()
def closed_score(tokens: Int[np.ndarray, " n"], attention: Float[np.ndarray, "T T"]) -> float:
    """The mean attention on closed brackets, over positions that can see one."""
    check_map(attention, tokens)
    if (tokens < 0).any() or not (tokens % 2 == 1).any():
        raise ValueError(
            f"tokens are {tokens.min()}..{tokens.max()}; they must be at least 0, one of them closed"
        )
    closed = np.concatenate([[False], tokens % 2 == 1])
    return float(attention[np.cumsum(closed) > 0][:, closed].sum(axis=1).mean())
