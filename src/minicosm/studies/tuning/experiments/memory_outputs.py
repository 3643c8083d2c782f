"""What the exact model of a memory world puts out, and heads trained on it, for many worlds at once."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from minicosm.adaptation import (
    AttentionHead,
    HeadLoss,
    accuracy,
    attention_trainable,
    fresh_attention_head,
)
from minicosm.adaptation.heads import AnyArray
from minicosm.adaptation.logistic import whitened
from minicosm.adaptation.tuning import head_scores, seen
from minicosm.training import adam, fit_ensemble
from minicosm.training.fit import Reporter
from minicosm.worlds import MemoryHMM
from minicosm.worlds.hmm.chain import normalise

CHUNK = 250  # sequences whose messages are held at once


class MemoryOutputs(NamedTuple):
    """Exact answers about sequences whose first token is masked."""

    outputs: Float[
        Array, "w n T V"
    ]  # G_i at every position, in float32 unless `double` is asked for
    first: Float[AnyArray, "w n V"]  # G_1 in full precision
    mean: Float[AnyArray, "w n V"]  # the mean of G_i over positions
    memory: Float[AnyArray, "w n M"]  # P[M | x_2..x_T]


@partial(jax.jit, static_argnames=("double", "chunk"))
def memory_outputs(
    worlds: MemoryHMM, tokens: Int[AnyArray, "w n T"], *, double: bool = False, chunk: int = CHUNK
) -> MemoryOutputs:
    """All of them from one pass of messages per sequence; one memory cell."""
    observed = seen(tokens.shape[2], True)

    def one(pair: tuple[MemoryHMM, Array]) -> MemoryOutputs:
        world, tokens = pair
        columns = world.emission_columns().T

        def answer(x: Array) -> MemoryOutputs:
            tau = world.aggregate(world.embed(x, observed))  # (T, C, H)
            G = normalise(world.unlift(tau)) @ columns
            # Position 1 is masked, so tau_1 = P[M, H_1 | x].
            return MemoryOutputs(
                G if double else G.astype(jnp.float32),
                G[0],
                jnp.mean(G, axis=0),
                jnp.sum(tau[0], axis=1),
            )

        return jax.lax.map(answer, tokens, batch_size=chunk)

    return jax.lax.map(one, (worlds, tokens))


def white_outputs(outputs: Float[AnyArray, "w n T V"], train: int) -> Float[np.ndarray, "w n T V"]:
    """Outputs in coordinates in which they have unit covariance over the training sequences, and 1 in
    place of the direction that never varies (laws sum to one).

    A head is linear in the outputs, so it can be written in either. Gradient descent finds it in these:
    with soft emissions outputs vary so little that a head on them needs weights of many thousands.
    """
    count, _, length, vocab = outputs.shape
    white = whitened(np.reshape(outputs, (count, -1, vocab)), train * length)
    white[:, :, -1] = 1.0
    return white.reshape(outputs.shape)


def train_attention(
    rates: dict[str, float],
    outputs: Float[AnyArray, "w n T V"],
    tokens: Int[AnyArray, "w n T"],
    labels: Int[AnyArray, "w n"],
    train: int,
    test: int,
    key: PRNGKeyArray,
    *,
    steps: int,
    warmup: int,
    batch: int,
    progress: Reporter,
) -> dict[str, np.ndarray]:
    """Attention heads trained side by side by Adam in every world: their test accuracies.

    `rates` maps names to peak rates; a head whose name starts with "token" has values `Q[x_i] . g_i`.
    Training runs in float32: the outputs are probabilities and the heads start at zero.
    """
    count, vocab = outputs.shape[0], outputs.shape[3]
    with jax.enable_x64(False):
        keys = jax.random.split(key, count)
        heads = {
            name: fresh_attention_head(vocab, by_token=name.startswith("token")) for name in rates
        }
        trainable = {name: attention_trainable(head) for name, head in heads.items()}
        heads = jax.tree.map(
            lambda leaf: (
                jnp.tile(leaf, (count,) + (1,) * leaf.ndim) if isinstance(leaf, jax.Array) else leaf
            ),
            heads,
        )
        outputs = jnp.asarray(outputs, jnp.float32)
        short, answers = jnp.asarray(tokens, jnp.int32), jnp.asarray(labels, jnp.int32)
        trained, _ = fit_ensemble(
            HeadLoss(outputs[:, :train], short[:, :train], answers[:, :train], True, batch),
            heads,
            adam(rates, steps, warmup),
            steps,
            keys,
            chunk=max(1, steps // 8),
            progress=progress,
            trainable=trainable,
        )
        found = _test_heads(trained, outputs[:, -test:], short[:, -test:], answers[:, -test:])
    return {name: np.asarray(value, np.float64) for name, value in found.items()}


def _test_heads(
    heads: dict[str, AttentionHead], outputs: Array, tokens: Array, labels: Array
) -> dict[str, Array]:
    @eqx.filter_jit
    @eqx.filter_vmap(in_axes=eqx.if_array(0))
    def each(head: AttentionHead, outputs: Array, tokens: Array, labels: Array) -> Array:
        observed = seen(tokens.shape[1], True)
        return accuracy(head_scores(head, outputs, tokens, observed), labels)

    return {name: each(head, outputs, tokens, labels) for name, head in heads.items()}
