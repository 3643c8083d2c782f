"""Topics recovered from a corpus by its least-squares value matrix and by scikit-learn; pairs of words; a
user's corpus from end to end."""

import numpy as np
import pytest

from minicosm.lab import silent
from minicosm.studies.topics.experiments.texts import clear_words, owned, relations, together_of
from minicosm.studies.topics.trials import corpus
from minicosm.training.bags import bag_documents
from minicosm.worlds import (
    Corruption,
    OverlappingTopics,
    TopicWorld,
    recover_topics,
    topic_agreement,
)
from minicosm.worlds.topics.draws import corrupt_documents, draw_documents


def test_the_value_matrix_and_lda_find_the_same_topics():
    """On one corpus: the least-squares value matrix of uniform attention, and scikit-learn as a referee."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    world = TopicWorld(5, 6, dirichlet=0.2, lengths=(40, 60))
    rng = np.random.default_rng(3)
    tokens = draw_documents(world, rng, 600)
    bags = bag_documents(tokens, *corrupt_documents(Corruption(), rng, tokens, 30), 30)
    x = bags.counts / bags.counts.sum(axis=1, keepdims=True)
    labels = np.eye(31)[bags.labels] * (bags.labels > 0)[..., None]
    y = bags.masked + labels.sum(axis=1)
    y = y / y.sum(axis=1, keepdims=True)
    W = np.linalg.lstsq(x, y, rcond=None)[0].T[1:, 1:]
    ours = recover_topics(W, 5)
    counts = np.stack([np.bincount(row[row < 30], minlength=30) for row in tokens])
    lda = decomposition.LatentDirichletAllocation(5, max_iter=5, random_state=0).fit(counts)
    theirs = lda.components_.argmax(axis=0)
    assert topic_agreement(ours, world.labels) == (1, 1)
    assert topic_agreement(theirs, world.labels) == (1, 1)
    assert topic_agreement(ours, theirs) == (1, 1)


LIKELY = np.array(
    [[0.5, 0.3, 0.2, 0, 0, 0], [0, 0.1, 0.1, 0.4, 0.4, 0], [0.1, 0, 0, 0.1, 0.3, 0.5]]
)


def test_words_of_topics():
    several = owned(LIKELY, 2, one_topic=False)
    assert several.sum(axis=0).tolist() == [2, 2, 2] and several[4].tolist() == [False, True, True]
    one = owned(LIKELY, 2, one_topic=True)
    assert one[4].tolist() == [False, True, False] and one.sum() == 5
    # of each topic the words that are least likely elsewhere; the topic with the clearest third word first
    assert clear_words(LIKELY, 3).tolist() == [[0, 1, 2], [3, 4, 1], [5, 4, 0]]


def test_words_that_stand_together():
    W = np.array([[0.5, 0], [0.5, 0], [0, 0.5], [0, 0.5], [0, 0]])
    world = OverlappingTopics(W, [0, 0, 0, 0, 1.0], most=2)
    seen = np.array([[1, 1, 0, 0, 1], [1, 1, 0, 1, 1], [0, 0, 1, 1, 1]], bool)
    found = together_of(seen, world)
    assert found[0, 1] == 2 and found[2, 3] == 1 and found[4].sum() == 0 and np.trace(found) == 0
    likely = np.array([[0.6, 0.4, 0, 0, 0], [0, 0, 0.5, 0.5, 0]])
    related = relations(likely, found, 2)
    assert related["together"].sum() == 2 and related["together"][0, 1]
    assert related["same"][0, 1] and related["different"][0, 2] and not related["same"][4].any()


@pytest.mark.long
def test_a_corpus_of_ones_own_from_end_to_end(tmp_path):
    """Documents of two kinds of words, and a stop word: the measures run, and words of a topic are closer."""
    rng = np.random.default_rng(0)
    words = np.array([f"{kind}{i}" for kind in ("sea", "hill") for i in range(6)])
    for d in range(60):
        own = words[6 * (d % 2) + rng.integers(0, 6, 40)]
        own[::7] = "the"
        (tmp_path / f"{d}.txt").write_text(" ".join(own))
    (tmp_path / "topics.txt").write_text(" ".join(words[:6]) + "\n" + " ".join(words[6:]))
    trials = corpus("smoke", 0, corpus=str(tmp_path), others="leave", steps=150, window=20)
    trial = trials["corpus"]
    numbers = trial.run(trial.config, silent).numbers
    assert (numbers["words"], numbers["topics"], numbers["words in no topic"]) == (13, 2, 1)
    for one in numbers["trained"]:
        assert one["same"]["cosine"] > one["different"]["cosine"] + 0.3
    (tmp_path / "0.txt").write_text("the")
    changed = corpus("smoke", 0, corpus=str(tmp_path), others="leave")["corpus"]
    assert changed.config.content != trial.config.content
    refused = corpus("smoke", 0, corpus=str(tmp_path))["corpus"]
    with pytest.raises(ValueError, match=r"the word 'the' of .* is in no topic"):
        refused.run(refused.config, silent)
