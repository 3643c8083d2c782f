"""Probes: small networks on hidden states that tell right prefixes from wrong ones."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from minicosm.adaptation.logistic import logistic_regression
from minicosm.decoding import ProbeVerifier
from minicosm.worlds.arrays import AnyArray

RIDGE = 1e-2
"""On whitened features; few examples of many features are separable, and then it decides."""


def linear_probe(
    features: Float[AnyArray, "n E"], labels: Int[AnyArray, " n"], place: int | None = None
) -> ProbeVerifier:
    """The linear probe of largest penalised likelihood; label 1 is "correct"."""
    head = logistic_regression(features, labels, ridge=RIDGE)
    weights = np.asarray(head.weights, np.float32)[:, None]
    return ProbeVerifier((weights,), (np.asarray(head.bias, np.float32)[None],), place)


def held_out_accuracy(
    features: Float[AnyArray, "n E"],
    labels: Int[AnyArray, " n"],
    orders: Int[AnyArray, "repeats n"],
    train: int,
) -> Float[np.ndarray, " repeats"]:
    """Linear probes on the first `train` of each order, and their accuracies on the rest."""
    with jax.enable_x64(True):
        x, y = np.asarray(features, np.float64), np.asarray(labels)
        return np.asarray(_held_out(x, y, np.asarray(orders), train))


@partial(jax.jit, static_argnames="train")
def _held_out(
    x: Float[Array, "n E"], y: Int[Array, " n"], orders: Int[Array, "repeats n"], train: int
) -> Float[Array, " repeats"]:
    def one(order: Int[Array, " n"]) -> Float[Array, ""]:
        seen, rest = order[:train], order[train:]
        head = logistic_regression(x[seen], y[seen], ridge=RIDGE)
        score = x[rest] @ head.weights + head.bias
        return jnp.mean((score >= 0) == (y[rest] == 1))

    return jax.lax.map(one, orders)


def deep_probe(
    features: Float[AnyArray, "n E"],
    labels: Int[AnyArray, " n"],
    depth: int,
    key: PRNGKeyArray,
    *,
    width: int = 256,
    steps: int = 300,
    place: int | None = None,
) -> ProbeVerifier:
    """A probe of `depth` matrices with ReLU between, trained by AdamW on all examples at once.

    It is trained on features of mean 0 and variance 1, and its first matrix then made one for the
    features as they are.
    """
    x = np.asarray(features, np.float32)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    sizes = [np.shape(features)[1], *[width] * (depth - 1), 1]
    keys = jax.random.split(key, depth)
    weights = tuple(
        jax.random.normal(k, (a, b)) * np.sqrt(2 / a)
        for k, a, b in zip(keys, sizes, sizes[1:])  # noqa: B905
    )
    probe = ProbeVerifier(weights, tuple(jnp.zeros(b) for b in sizes[1:]), place)
    trained = _train(probe, (x - mean) / spread, jnp.asarray(labels), steps)
    first = np.asarray(trained.weights[0]) / spread[:, None]
    return ProbeVerifier(
        (first, *trained.weights[1:]),
        (trained.biases[0] - mean @ first, *trained.biases[1:]),
        place,
    )


@eqx.filter_jit
def _train(
    probe: ProbeVerifier, features: Float[Array, "n E"], labels: Int[Array, " n"], steps: int
) -> ProbeVerifier:
    optimiser = optax.adamw(3e-3, weight_decay=0.1)

    def loss(probe: ProbeVerifier) -> Float[Array, ""]:
        score = jnp.clip(jax.vmap(probe.probability)(features), 1e-6, 1 - 1e-6)
        return -jnp.mean(jnp.where(labels == 1, jnp.log(score), jnp.log(1 - score)))

    def step(carry: tuple[ProbeVerifier, Any], _: None) -> tuple[tuple[ProbeVerifier, Any], None]:
        probe, state = carry
        updates, state = optimiser.update(jax.grad(loss)(probe), state, probe)
        return (optax.apply_updates(probe, updates), state), None

    return jax.lax.scan(step, (probe, optimiser.init(probe)), None, length=steps)[0][0]


def probe_accuracy(
    probe: ProbeVerifier, features: Float[AnyArray, "n E"], labels: Int[AnyArray, " n"]
) -> float:
    x = np.asarray(features, np.float64)
    for i, (weight, bias) in enumerate(zip(probe.weights, probe.biases, strict=True)):
        x = (np.maximum(x, 0) if i else x) @ np.asarray(weight, np.float64) + np.asarray(bias)
    return float(((x[:, 0] >= 0) == (np.asarray(labels) == 1)).mean())


def silhouette(points: Float[np.ndarray, "n d"], clusters: Int[np.ndarray, " n"]) -> float:
    """The mean over points of `(b - a) / max(a, b)`: a is the mean distance to the others of its own
    cluster, b the least mean distance to another cluster; 0 for a cluster of one."""
    from scipy.spatial.distance import cdist

    distance = cdist(points, points)
    names = np.unique(clusters)
    member = clusters[:, None] == names
    size = member.sum(axis=0)
    total = distance @ member
    own = member.argmax(axis=1)
    rows = np.arange(len(points))
    a = total[rows, own] / np.maximum(size[own] - 1, 1)
    others = np.where(member, np.inf, total / size)
    b = others.min(axis=1)
    return float(np.where(size[own] > 1, (b - a) / np.maximum(np.maximum(a, b), 1e-30), 0).mean())


def best_silhouette(points: Float[np.ndarray, "n d"], seed: int, most: int = 6) -> float:
    """The largest silhouette of k-means with 2..`most` clusters."""
    from scipy.cluster.vq import kmeans2

    best = -1.0
    for k in range(2, most + 1):
        _, clusters = kmeans2(points, k, seed=seed, minit="++")
        if len(np.unique(clusters)) > 1:
            best = max(best, silhouette(points, clusters))
    return best


def principal_plane(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n 2"]:
    """The two principal coordinates."""
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    return u[:, :2] * s[:2]


def split_orders(keys: Key[Array, " repeats"], n: int) -> Int[Array, "repeats n"]:
    return jax.vmap(lambda k: jax.random.permutation(k, n))(keys)
