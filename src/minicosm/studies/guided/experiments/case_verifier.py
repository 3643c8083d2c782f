"""Verifiers for test-case texts: probes on any layer of a generator, trained on its own mistakes."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from minicosm.adaptation.probes import deep_probe, linear_probe, probe_accuracy
from minicosm.models import CachedMemory
from minicosm.worlds.arrays import AnyArray
from minicosm.worlds.guided.case_texts import AppendCases

from ..trials import CaseGenerators
from .case_generator import HEADER, start_token


class StreamProbe(eqx.Module):
    """A network on the residual streams that a `CachedTransformer` keeps, all layers in one row.

    A probe of one layer has zeros in the rows of the others: probes of all layers are one program,
    and the layer that a probe was trained on is the one that it reads.
    """

    weights: tuple[Float[AnyArray, "_ _"], ...]
    biases: tuple[Float[AnyArray, " _"], ...]

    def probability(self, streams: Float[Array, "kept E"]) -> Float[Array, ""]:
        x = streams.reshape(-1)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (jax.nn.relu(x) if i else x) @ jnp.asarray(weight) + jnp.asarray(bias)
        return jax.nn.sigmoid(x[0])

    def begin(self, room: int, source: CachedMemory) -> Float[Array, " rows"]:
        return jnp.ones(room + 1, jnp.float32)

    def read(
        self,
        memory: Float[Array, " rows"],
        n: Int[Array, ""],
        token: Int[Array, ""],
        source: CachedMemory,
    ) -> Float[Array, " rows"]:
        here = jnp.arange(memory.shape[0]) == n + 1
        return jnp.where(here, self.probability(source.streams[:, n + 1]), memory)

    def score(self, memory: Float[Array, " rows"], n: Int[Array, ""]) -> Float[Array, ""]:
        return memory[n]


def on_layer(probe: Any, layer: int, layers: int) -> StreamProbe:
    """The probe of layer 1..`layers`."""
    first = np.asarray(probe.weights[0])
    width = first.shape[0]
    wide = np.zeros((layers * width, first.shape[1]), np.float32)
    wide[(layer - 1) * width : layer * width] = first
    return StreamProbe((wide, *probe.weights[1:]), tuple(probe.biases))


def blank_probe(config: CaseGenerators) -> StreamProbe:
    """One that knows nothing, where a verifier has to stand but does not speak."""
    weights = np.zeros((config.layers * config.width, 1), np.float32)
    return StreamProbe((weights,), (np.zeros(1, np.float32),))


class Examples(NamedTuple):
    """Prefixes of texts: of `tokens[i]` the first `lengths[i]` tokens, and whether they are right."""

    tokens: Int[np.ndarray, "n T"]
    lengths: Int[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]


@eqx.filter_jit
def read_texts(
    world: AppendCases, tokens: Int[AnyArray, "n T"]
) -> tuple[Bool[Array, "n T"], Bool[Array, "n T"], Bool[Array, "n T"], Int[Array, "n T"]]:
    """After each token: whether the line is viable; whether a line ends, whether it is correct, and
    the number of its case."""

    def one(text: Int[Array, " T"]) -> tuple[Array, ...]:
        lines = world.cases(text)
        return jax.vmap(world.viable)(world.states(text)), *lines

    return jax.lax.map(one, tokens, batch_size=min(100, len(tokens)))


def token_examples(
    world: AppendCases, tokens: Int[np.ndarray, "n T"], lengths: Int[np.ndarray, " n"], seed: int,
    most: int,
) -> Examples:  # fmt: skip
    """Prefixes that end in the first error of their text, and right ones of uniform length (after the
    header, and before the first error); as many of both kinds, at most `most`."""
    viable = np.asarray(read_texts(world, tokens)[0])
    places = np.arange(tokens.shape[1])
    wrong = ~viable & (places < lengths[:, None])
    first = np.where(wrong.any(axis=1), wrong.argmax(axis=1), lengths)
    bad = np.flatnonzero(first < lengths)
    rng = np.random.default_rng(seed)
    able = np.flatnonzero(first > HEADER)
    size = min(most, len(bad), len(able))
    if size == 0:
        raise ValueError(
            f"{len(tokens)} texts of the generator hold {len(bad)} errors and {len(able)} right "
            "beginnings; verifiers need some of both: take more texts or train it longer"
        )
    good = rng.choice(able, size, replace=False)
    bad = bad[:size]
    cut = rng.integers(HEADER + 1, first[good] + 1)
    rows = np.concatenate([bad, good])
    return Examples(
        tokens[rows],
        np.concatenate([first[bad] + 1, cut]),
        np.repeat([0, 1], [len(bad), len(good)]),
    )


def line_examples(
    world: AppendCases, tokens: Int[np.ndarray, "n T"], seed: int, most: int
) -> Examples:
    """Prefixes that end with a line, and whether it is correct; as many of both kinds, at most
    `most`."""
    _, ends, correct, _ = map(np.asarray, read_texts(world, tokens))
    rng = np.random.default_rng(seed)
    result = [np.argwhere(ends & (correct == label)) for label in (False, True)]
    size = min(most, *map(len, result))
    if size == 0:
        raise ValueError(
            f"the generator wrote {len(result[1])} correct lines and {len(result[0])} wrong ones in "
            f"{len(tokens)} texts; verifiers need some of both: take more texts or train it longer"
        )
    rows = np.concatenate([part[rng.choice(len(part), size, replace=False)] for part in result])
    return Examples(tokens[rows[:, 0]], rows[:, 1] + 1, np.repeat([0, 1], size))


@eqx.filter_jit
def streams(
    model: Any, start: int, tokens: Int[AnyArray, "n T"], lengths: Int[AnyArray, " n"]
) -> Float[Array, "n layers E"]:
    """The residual stream after every layer at the last token of each prefix."""

    def one(args: tuple[Array, Array]) -> Float[Array, "layers E"]:
        text, length = args
        ids = jnp.concatenate([jnp.full(1, start), text]).astype(jnp.int32)
        return model.trace(ids).hidden[1:, length]

    return jax.lax.map(one, (tokens, lengths), batch_size=min(50, len(lengths)))


class CaseVerifiers(NamedTuple):
    by_layer: dict[int, StreamProbe]
    by_depth: dict[int, StreamProbe]
    line: StreamProbe | None
    """For whole lines."""
    layer_accuracy: dict[int, float]
    depth_accuracy: dict[int, float]
    examples: int


def train_verifiers(
    config: CaseGenerators, model: Any, examples: Examples, lines: Examples | None,
    key: PRNGKeyArray, layer: int, depths: tuple[int, ...], width: int,
) -> CaseVerifiers:  # fmt: skip
    """Linear probes on every layer, deeper ones of this width on `layer`, and one for whole lines, if
    there are examples; accuracies are on a fifth of the examples that was held out."""
    layers = config.layers
    x = np.asarray(streams(model, start_token(config), examples.tokens, examples.lengths))
    y = examples.labels
    order = np.asarray(jax.random.permutation(key, len(y)))
    held = max(1, len(y) // 5)
    test, train = order[:held], order[held:]
    by_layer, accuracy = {}, {}
    for i in range(1, layers + 1):
        probe = linear_probe(x[train, i - 1], y[train])
        by_layer[i] = on_layer(probe, i, layers)
        accuracy[i] = probe_accuracy(probe, x[test, i - 1], y[test])
    by_depth, deep_accuracy = {}, {}
    for depth in depths:
        deep = deep_probe(x[train, layer - 1], y[train], depth, key, width=width)
        by_depth[depth] = on_layer(deep, layer, layers)
        deep_accuracy[depth] = probe_accuracy(deep, x[test, layer - 1], y[test])
    line = None
    if lines is not None:
        z = np.asarray(streams(model, start_token(config), lines.tokens, lines.lengths))
        line = on_layer(linear_probe(z[:, layer - 1], lines.labels), layer, layers)
    return CaseVerifiers(by_layer, by_depth, line, accuracy, deep_accuracy, len(y))
