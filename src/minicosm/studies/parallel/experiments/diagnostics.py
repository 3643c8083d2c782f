"""Attention between neighbours (Tables 4.4 and 4.5), and how far laws are from the exact ones."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from minicosm.models import Translator
from minicosm.models import stutter as dependence
from minicosm.models.exact_translator import ExactRefiner
from minicosm.worlds import Fertility

CHUNK = 50  # rows that are read at once


def attention(
    model: Translator,
    tests: Any,
    inputs: Int[np.ndarray, "n T"],
    outputs: Int[np.ndarray, "n T"],
    lengths: Int[np.ndarray, " n"],
) -> dict[str, Any]:
    """Of the last decoder layer in the pass that read `inputs` and gave `outputs`: every measure of
    dependence as (mean, deviation, pairs), where a pair stutters and elsewhere."""
    own, across = map(np.asarray, _weights(model, tests.source, tests.visible, inputs, lengths))
    found = {
        "self": dependence.self_attention_dependence(own, lengths),
        "cross": dependence.cross_attention_dependence(across, lengths, tests.source_lengths),
    }
    return {
        name: {
            group: {measure: list(spread) for measure, spread in spreads.items()}
            for group, spreads in dependence.by_stutter(measures, outputs, lengths).items()
        }
        for name, measures in found.items()
    }


def alignment(tests: Any, outputs: Int[np.ndarray, "n T"]) -> dict[str, Any]:
    """What cross-attention would show if it were the exact law of the source place that a target position
    comes from, given the true length: the two distances where `outputs` stutter and elsewhere."""
    n, T = outputs.shape
    laws = np.zeros((n, T, tests.source.shape[1]))
    for i, (L, N) in enumerate(zip(tests.source_lengths, tests.lengths, strict=True)):
        laws[i, :N, :L] = tests.world.posterior(int(L), int(N)).alignment
    found = {
        "tv mean": dependence.neighbour_tv(laws),
        "cosine mean": dependence.neighbour_cosine(laws),
    }
    return {
        group: {measure: list(spread) for measure, spread in spreads.items()}
        for group, spreads in dependence.by_stutter(found, outputs, tests.lengths).items()
    }


@eqx.filter_jit
def _weights(model: Any, source: Any, visible: Any, inputs: Any, lengths: Any) -> Any:
    def one(row: Any) -> Any:
        source, visible, tokens, length = row
        real = jnp.arange(tokens.shape[0]) < length
        trace = model.trace(tokens, model.encode(source, visible), real)
        return trace.self_attention[-1], trace.cross_attention[-1]

    rows = tuple(map(jnp.asarray, (source, visible, inputs, lengths)))
    return jax.lax.map(one, rows, batch_size=CHUNK)


def lengths(model: Any, tests: Any, count: int) -> tuple[Int[np.ndarray, "n K"], float]:
    """The `count` most likely lengths of every target, and how far the predicted law of the length is
    from the exact one, in total variation."""
    p, q = (
        np.asarray(_length_laws(one, tests.source, tests.visible))
        for one in (model, ExactRefiner(tests.world))
    )
    best = np.argsort(-p, axis=1, kind="stable")[:, :count] + 1
    return best.astype(np.int32), float(np.abs(p - q).sum(axis=1).mean() / 2)


@eqx.filter_jit
def _length_laws(model: Any, source: Any, visible: Any) -> Any:
    def one(source: Any, visible: Any) -> Any:
        return jax.nn.softmax(model.length_logits(model.encode(source, visible)))

    return jax.vmap(one)(jnp.asarray(source), jnp.asarray(visible))


def uncertainty(
    world: Fertility, source_lengths: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]
) -> tuple[float, int]:
    """What a product law that knows the length leaves open: the entropies of the exact marginals, summed
    over positions, mean over rows in nats; and how many rows have a length that their source cannot
    have, which are left out."""
    known = {}
    for L, N in {*zip(source_lengths.tolist(), lengths.tolist(), strict=True)}:
        law = world.length_law(L)
        if len(law) > N and law[N] > 0:
            p = world.product_decoder(L, N)
            known[L, N] = float(-(p * np.log(np.where(p > 0, p, 1))).sum())
    rows = zip(source_lengths.tolist(), lengths.tolist(), strict=True)
    found = [known[row] for row in rows if row in known]
    mean = float(np.mean(found)) if found else float("nan")
    return mean, len(lengths) - len(found)


def laws(model: Any, tests: Any, inputs: Int[np.ndarray, "n T"], keep: float) -> dict[str, float]:
    """One pass on noise, with the true length: the mean total variation of the model's law of a token
    from the exact marginal, and from the exact posterior given the noise, of which `keep` is thought to
    be right; and how many tokens each guesses right."""
    arrays = (tests.source, tests.visible, inputs, tests.lengths, tests.target)
    models = (model, ExactRefiner(tests.world), ExactRefiner(tests.world, keep))
    found = _laws(models, tuple(map(jnp.asarray, arrays)))
    names = (
        "law_tv", "posterior_tv", "one_pass_accuracy", "marginal_accuracy", "posterior_accuracy"
    )  # fmt: skip
    return {name: float(value) for name, value in zip(names, found, strict=True)}


@eqx.filter_jit
def _laws(models: Any, rows: Any) -> Any:
    def one(row: Any) -> Any:
        source, visible, tokens, length, target = row
        real = jnp.arange(tokens.shape[0]) < length
        law, *exact = (
            jax.nn.softmax(m.decode(tokens, m.encode(source, visible), real)) for m in models
        )
        away = [jnp.sum(jnp.where(real[:, None], jnp.abs(law - p), 0)) / 2 for p in exact]
        right = [jnp.sum(real & (jnp.argmax(p, axis=1) == target)) for p in (law, *exact)]
        return *away, *right, length

    sums = jax.tree.map(jnp.sum, jax.lax.map(one, rows, batch_size=CHUNK))
    return tuple(part / sums[-1] for part in sums[:-1])
