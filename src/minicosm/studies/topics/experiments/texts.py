"""A stand-in for natural text: a Transformer on overlapping topics, judged by topics that LDA fits."""

from typing import Any

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.training import fit_ensemble
from minicosm.worlds import OverlappingTopics, pair_attention, topic_pairs
from minicosm.worlds.topics.draws import draw_text

from ..trials import FOLD, Text
from .language import Measured, adam, fresh, objective_of, shape_of

LONG = 2  # documents are so many windows long
LENGTHS = (0.625, 1.0, 1.5, 2.0)  # of documents for evaluation, in windows
SHOWN = 3  # topics of Figure 2.3, and words of each


def run(config: Text, progress: Progress) -> TrialResult:
    """Train one model on one world; measure pairs of words, in it and in a copy that is not trained."""
    key = jax.random.fold_in(jax.random.key(config.seed), FOLD)
    world_key, start_key, train_key, data_key = jax.random.split(key, 4)
    world = OverlappingTopics.random(
        world_key, topics=config.topics, words=config.words, stop_words=config.stop_words,
        most=min(6, config.topics),
    )  # fmt: skip
    rng = np.random.default_rng(np.asarray(jax.random.bits(data_key, (4,))).tolist())
    corpus = draw_text(world, rng, config.documents, LONG * config.window)
    documents = [
        draw_text(world, rng, 1, max(2, int(LENGTHS[i % len(LENGTHS)] * config.window)))[0]
        for i in range(config.evaluated)
    ]
    windows = corpus.reshape(-1, config.window)
    models = fresh(shape_of(config, world.vocab), jax.random.split(start_key, 1))
    start = jax.tree.map(lambda leaf: leaf[0], models)
    models, history = fit_ensemble(
        objective_of([windows], config),
        models,
        adam(config.rate),
        config.steps,
        jax.random.split(train_key, 1),
        chunk=max(1, config.steps // 10),
        progress=lambda done, total, note="": progress(done, total, note),
    )
    trained = jax.tree.map(lambda leaf: leaf[0], models)
    progress(config.steps, config.steps, "topics by LDA")
    likelihood = fitted_topics(corpus, world, config, seed=int(rng.integers(2**31)))
    counts = np.stack([np.bincount(d, minlength=world.vocab) > 0 for d in corpus])
    together = together_of(counts, world)
    law = world.law()
    numbers: dict[str, Any] = {
        "loss": float(history["loss"][-1, 0]),
        "unigram entropy": float(-(law[law > 0] * np.log(law[law > 0])).sum()),
        "topics found": matched(likelihood, world),
        "uniform": uniform_attention(documents, likelihood, config),
    }
    for name, model in (("trained", trained), ("untrained", start)):
        progress(config.steps, config.steps, f"attention, {name}")
        measured = Measured(model, documents)
        numbers[name] = {
            str(size): {
                kind: measured.of(relation)
                for kind, relation in relations(likelihood, together, size).items()
            }
            for size in config.sizes
        }
        if name == "trained":
            nine = clear_words(likelihood, config.sizes[-1])
            shown = measured.cosine[np.ix_(nine.ravel(), nine.ravel())]
    topic = np.repeat(np.arange(len(nine)), nine.shape[1])
    same = (topic[:, None] == topic) & ~np.eye(len(topic), dtype=bool)
    apart = topic[:, None] != topic
    numbers["nine words"] = {
        "within": float(shown[same].mean()), "across": float(shown[apart].mean()),
        "words": nine.tolist(),
    }  # fmt: skip
    return TrialResult(numbers, {"nine": shown.astype(np.float32)})


def fitted_topics(
    corpus: np.ndarray, world: OverlappingTopics, config: Text, seed: int
) -> np.ndarray:
    """`[k, word]`: the likelihood of words in each topic that scikit-learn fits to counts of words. Stop
    words are left out and have zero."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    counts = np.stack([np.bincount(row, minlength=world.vocab) for row in corpus])
    counts[:, ~world.content] = 0
    model = LatentDirichletAllocation(
        n_components=config.topics, learning_method="online", max_iter=config.passes,
        random_state=seed, n_jobs=1,
    ).fit(csr_matrix(counts))  # fmt: skip
    found = model.components_ * world.content
    return found / found.sum(axis=1, keepdims=True)


def owned(likelihood: np.ndarray, size: int, *, one_topic: bool) -> np.ndarray:
    """`[word, k]`: topic k owns its `size` most likely words; with `one_topic` a word stays with the topic
    in which it is most likely."""
    members = np.zeros(likelihood.T.shape, bool)
    top = np.argsort(-likelihood, axis=1, kind="stable")[:, :size]
    members[top, np.arange(len(top))[:, None]] = True
    if one_topic:
        best = np.where(members, likelihood.T, -1.0).argmax(axis=1)
        members &= best[:, None] == np.arange(len(top))
    return members


def together_of(counts: np.ndarray, world: OverlappingTopics) -> np.ndarray:
    """In how many documents two different words, no stop words, stand together."""
    seen = counts.astype(np.float64)
    pairs = seen.T @ seen
    pairs[~world.content] = 0
    pairs[:, ~world.content] = 0
    np.fill_diagonal(pairs, 0)
    return pairs


def relations(likelihood: np.ndarray, together: np.ndarray, size: int) -> dict[str, np.ndarray]:
    """Pairs of words: of the same topic and of different ones, with one topic for each word (Table 2.3) and
    with several (2.4), and as many of those that stand together most as one topic has pairs (2.5)."""
    one = topic_pairs(owned(likelihood, size, one_topic=True))
    several = topic_pairs(owned(likelihood, size, one_topic=False))
    upper = np.triu_indices(len(together), 1)
    most = np.argsort(-together[upper], kind="stable")[: size * (size - 1) // 2]
    often = np.zeros(together.shape, bool)
    often[upper[0][most], upper[1][most]] = True
    return {
        "same": one.same, "different": one.different, "several, same": several.same,
        "several, different": several.different, "together": often | often.T,
    }  # fmt: skip


def clear_words(likelihood: np.ndarray, size: int) -> np.ndarray:
    """`[3, 3]`: of three topics the three words, among the `size` most likely, that are least likely to come
    from another topic; the topics are those whose third such word is clearest."""
    share = likelihood / np.maximum(likelihood.sum(axis=0), 1e-300)  # P(topic | word)
    words = []
    for k, row in enumerate(likelihood):
        top = np.argsort(-row, kind="stable")[: max(size, SHOWN)]
        words.append(top[np.argsort(-share[k, top], kind="stable")[:SHOWN]])
    clear = np.array([share[k, own].min() for k, own in enumerate(words)])
    return np.array([words[k] for k in np.argsort(-clear, kind="stable")[:SHOWN]])


def matched(likelihood: np.ndarray, world: OverlappingTopics) -> float:
    """The mean overlap `sum_x min(p(x), q(x))` of true topics with those found, matched one to one."""
    from scipy.optimize import linear_sum_assignment

    true = np.asarray(world.W, np.float64).T
    overlap = np.minimum(true[:, None], likelihood[None]).sum(axis=2)
    return float(overlap[linear_sum_assignment(-overlap)].mean())


def uniform_attention(
    documents: list[np.ndarray], likelihood: np.ndarray, config: Text
) -> dict[str, Any]:
    """Same over different attention if all positions attend uniformly: as it is, and debiased by length."""
    vocab = likelihood.shape[1]
    flat = [np.full((len(d), len(d)), 1 / len(d)) for d in documents]
    found: dict[str, Any] = {}
    for name, debias in (("raw", False), ("debiased", True)):
        pairs = pair_attention(flat, documents, vocab, debias=debias)
        ratios = []
        for size in config.sizes:
            relation = topic_pairs(owned(likelihood, size, one_topic=True))
            ratios.append(pairs.mean(relation.same) / pairs.mean(relation.different))
        found[name] = ratios
    return found
