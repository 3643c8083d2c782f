"""Many documents and their masks at once, in NumPy: compiling a draw takes longer than all of them."""

import numpy as np
from jaxtyping import Bool, Int

from ..corruption import Corruption
from .overlapping import OverlappingTopics
from .world import TopicWorld


def draw_documents(
    world: TopicWorld, rng: np.random.Generator, count: int, length: int | None = None
) -> Int[np.ndarray, "count N"]:
    """Documents of the law of `TopicWorld.sample`, padded with the id V."""
    low, most = (length, length) if length is not None else (world.lengths or (1, 1))
    T = world.topics
    if world.per_document is not None:
        order = rng.random((count, T)).argsort(axis=1)
        theta = (order < world.per_document) / world.per_document
    else:
        # Gamma numbers of a small shape underflow; in logs, g(alpha) = g(alpha + 1) u^(1/alpha).
        alpha = world.dirichlet
        assert alpha is not None
        logs = np.log(rng.gamma(alpha + 1, size=(count, T)))
        logs += np.log1p(-rng.random((count, T))) / alpha
        theta = np.exp(logs - logs.max(axis=1, keepdims=True))
        theta /= theta.sum(axis=1, keepdims=True)
    steps = theta.cumsum(axis=1)[:, :-1]
    topic = np.zeros((count, most), np.int64)
    place = rng.random((count, most))
    for t in range(T - 1):
        topic += place >= steps[:, t : t + 1]
    tokens = topic * world.words + rng.integers(0, world.words, (count, most))
    lengths = rng.integers(low, most + 1, count)
    return np.where(np.arange(most) < lengths[:, None], tokens, world.vocab)


def corrupt_documents(
    corruption: Corruption,
    rng: np.random.Generator,
    tokens: Int[np.ndarray, "count N"],
    vocab: int,
) -> tuple[Int[np.ndarray, "count N"], Bool[np.ndarray, "count N"], Bool[np.ndarray, "count N"]]:
    """What is shown, where the mask is not, and what was chosen, by the law of `Corruption.corrupt`."""
    real = tokens < vocab
    chosen = (rng.random(tokens.shape) < corruption.chosen) & real
    while (none := ~chosen.any(axis=1) & real.any(axis=1)).any():
        again = rng.random((int(none.sum()), tokens.shape[1])) < corruption.chosen
        chosen[none] = again & real[none]
    how = rng.random(tokens.shape)
    random = chosen & (how >= corruption.kept) & (how < corruption.kept + corruption.random)
    shown = np.where(random, rng.integers(0, vocab, tokens.shape), tokens)
    return shown, ~(chosen & (how >= corruption.kept + corruption.random)), chosen


def draw_text(
    world: OverlappingTopics, rng: np.random.Generator, count: int, length: int
) -> Int[np.ndarray, "count N"]:
    """Documents of the law of `OverlappingTopics.sample`."""
    K = world.topics
    sizes = np.minimum(1 + rng.poisson(world.extra, count), world.most)
    chosen = rng.random((count, K)).argsort(axis=1) < sizes[:, None]
    weights = np.where(chosen, rng.exponential(size=(count, K)), 0)
    theta = weights / weights.sum(axis=1, keepdims=True)
    stop = world.stop_share * np.asarray(world.stop, np.float64)
    laws = (1 - world.stop_share) * theta @ np.asarray(world.W, np.float64).T + stop
    steps = laws.cumsum(axis=1)
    place = rng.random((count, length)) * steps[:, -1:]
    return np.stack([np.searchsorted(steps[d], place[d], "right") for d in range(count)])
