"""One-layer models trained on masked documents of disjoint topics: all seeds of one recipe."""

from typing import Any

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models import BagAttention
from minicosm.theory.topics import embedding_bias, mean_moments, value_after
from minicosm.training import (
    ARMS,
    Arm,
    BagLoss,
    draw_bags,
    fit_ensemble,
    mean_losses,
    stack_arms,
    stack_bags,
)
from minicosm.worlds import Corruption, TopicWorld, block_statistics, topic_pairs
from minicosm.worlds.topics.draws import draw_documents

from ..trials import FOLD, Common, Training

BERT = Corruption(0.15, 0.1, 0.1)
READ = 300  # documents on which attention is measured
CUT = 100  # words of them


def world_of(config: Common) -> TopicWorld:
    return TopicWorld(
        config.topics,
        config.words,
        dirichlet=config.dirichlet,
        lengths=(config.shortest, config.longest),
    )


def key_of(config: Any) -> jax.Array:
    return jax.random.fold_in(jax.random.key(config.seed), FOLD)


def run(config: Training, progress: Progress) -> TrialResult:
    """Train all seeds together; measure matrices, losses on held-out documents, and attention."""
    world = world_of(config)
    start_key, train_key, held_key, *data = jax.random.split(key_of(config), 3 + config.seeds)
    bags = stack_bags([draw_bags(world, BERT, key, config.documents) for key in data])
    arms = stack_arms(
        [arm_of(config, world, key) for key in jax.random.split(start_key, config.seeds)]
    )
    every = config.every or config.steps
    start = measured(arms.model, world)
    trained, history = fit_ensemble(
        BagLoss(bags, batch=config.batch),
        arms,
        ARMS,
        config.steps,
        jax.random.split(train_key, config.seeds),
        chunk=every,
        watch=lambda arms, _: watched(arms.model, world) if config.every else {},
        progress=lambda done, total, note="": progress(done, total, note),
    )
    models = trained.model
    numbers: dict[str, Any] = {
        "start": start,
        "end": measured(models, world),
        "held out": {
            name: values.tolist()
            for name, values in mean_losses(
                models, draw_bags(world, BERT, held_key, config.held_out), batch=50
            ).items()
        },
        "attention": attention(models, world, held_key, config),
    }
    arrays = {"matrix": np.asarray(matrices(models)[0], np.float32)}
    if (
        config.uniform
        and config.loss == "squared"
        and not (config.identity or config.output_biases)
    ):
        arrays["exact"] = best_value(config, world)[1:, 1:].astype(np.float32)
    if not config.one_hot:
        arrays["start"] = np.asarray(matrices(arms.model)[0], np.float32)
    if config.every:
        first = watched(arms.model, world)
        numbers["steps"] = [0, *history["step"].tolist()]
        for name, before in first.items():
            arrays[name] = np.concatenate([before[None], history[name]]).astype(np.float32)
        if config.loss == "squared" and config.optimiser == "SGD":
            numbers["exact"], arrays["closed form"] = stage1_of(config, world, numbers["steps"])
    return TrialResult(numbers, arrays)


def best_value(config: Training, world: TopicWorld) -> np.ndarray:
    """The best value matrix for uniform attention on documents of these lengths, without output biases:
    `C (M + penalty I)^-1`."""
    given = mean_moments(world, BERT, config.shortest, config.longest)
    return np.linalg.solve(given.M + config.penalty * np.eye(len(given.M)), given.C.T).T


def stage1_of(
    config: Training, world: TopicWorld, steps: list[int]
) -> tuple[dict[str, float], np.ndarray]:
    """Contrast and diagonal excess of the optimal value matrix for uniform attention on documents of these
    lengths, and the contrast after numbers of steps of gradient descent on the expected loss, from zero."""
    given = mean_moments(world, BERT, config.shortest, config.longest)
    best = block_statistics(best_value(config, world)[1:, 1:], world.labels)
    same = world.labels[:, None] == world.labels
    path = []
    for step in steps:
        words = value_after(given, config.rate, float(step))[1:, 1:]
        path.append(words[same].mean() - words[~same].mean())
    exact = {"contrast": best.contrast, "excess": best.diagonal - best.same}
    return exact, np.array(path, np.float32)


def arm_of(config: Training, world: TopicWorld, key: jax.Array) -> Arm:
    """The start of one seed."""
    model = BagAttention.random(key, words=world.vocab, one_hot=config.one_hot, std=config.start)
    frozen: list[Any] = []
    zero = np.zeros(model.key.shape, np.float32)
    fields: dict[str, Any] = {"key": model.key, "query": model.query, "value": model.value}
    if config.uniform:
        fields |= {"key": zero, "query": zero}
        frozen.append("attention")
    if config.identity:
        fields["value"] = np.eye(len(zero), dtype=np.float32)
        fields["output_bias"] = embedding_bias(world, BERT).astype(np.float32)
        frozen.append("value")
    if not config.output_biases:
        frozen += ["value_bias", "output_bias"]
    return Arm(
        BagAttention(model.embedding, **fields),
        rate=config.rate,
        adam=config.optimiser == "Adam",
        cross_entropy=config.loss == "cross-entropy",
        penalty=config.penalty,
        frozen=frozen,
    )


def matrices(models: BagAttention) -> np.ndarray:
    """Over words: the Gram matrix of the embeddings where these are trained, else the value matrix."""
    if models.embedding is None:
        return np.asarray(models.value, np.float64)[:, 1:, 1:]
    rows = np.asarray(models.embedding, np.float64)[:, :, 1:]
    return np.einsum("sdi,sdj->sij", rows, rows)


def measured(models: BagAttention, world: TopicWorld) -> dict[str, Any]:
    """Block statistics of every seed, by name, and how much larger the diagonal of the value matrix is than
    its other entries."""
    found = [block_statistics(matrix, world.labels) for matrix in matrices(models)]
    numbers: dict[str, Any] = {
        name: [getattr(one, name) for one in found] for name in found[0]._fields
    }
    value = np.abs(np.asarray(models.value, np.float64))
    own = np.eye(value.shape[1], dtype=bool)
    numbers["value diagonal over rest"] = [
        float(one[own].mean() / np.maximum(one[~own].mean(), 1e-12)) for one in value
    ]
    return numbers


def watched(models: BagAttention, world: TopicWorld) -> dict[str, np.ndarray]:
    """Norms of the matrices, and the contrast of the value matrix over words."""
    norms = {
        name: np.linalg.norm(np.asarray(getattr(models, name), np.float64), axis=(1, 2))
        for name in ("key", "query", "value")
    }
    value = np.asarray(models.value, np.float64)
    if models.embedding is None:
        same = world.labels[:, None] == world.labels
        words = value[:, 1:, 1:]
        norms["contrast"] = words[:, same].mean(axis=1) - words[:, ~same].mean(axis=1)
    return norms


def attention(
    models: BagAttention, world: TopicWorld, key: jax.Array, config: Training
) -> dict[str, list[float]]:
    """The mean attention between positions with the same word, with other words of the same topic, and with
    words of different topics, in documents that are not masked."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    size = min(CUT, config.shortest)
    tokens = draw_documents(world, rng, READ, size)
    counts = np.stack([np.bincount(row, minlength=world.vocab) for row in tokens]).astype(float)
    pairs = topic_pairs(world.labels)
    relations = {
        "same word": np.eye(world.vocab, dtype=bool),
        "same topic": pairs.same,
        "different topic": pairs.different,
    }
    tables = np.asarray(jax.jit(jax.vmap(BagAttention.scores))(models), np.float64)[:, 1:, 1:]
    found: dict[str, list[float]] = {name: [] for name in relations}
    together = counts.T @ counts  # [key, query]
    for table in tables:
        weights = np.exp(table - table.max(axis=0))
        read = (counts.T @ (counts / (counts @ weights))) * weights
        for name, relation in relations.items():
            found[name].append(float(read[relation].sum() / together[relation].sum()))
    return found
