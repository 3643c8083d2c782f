"""Documents of finite length: the diagonal of the optimum, moments by sampling, how many topics they have."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import topics
from minicosm.theory.topics.masked_documents import Keys
from minicosm.worlds import TopicWorld
from minicosm.worlds.topics.draws import corrupt_documents, draw_documents

from ..trials import Worlds
from .worlds import BERT, corruption, generator, world

SAMPLED = 40_000  # documents
DRAWN = 10_000
KEYS: tuple[Keys, ...] = ("all", "unchosen")


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger, rng = Ledger(), generator(config, 5)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds")
        w, masking = world(rng), corruption(rng)
        if rng.random() < 0.5:
            w = TopicWorld(w.topics, w.words, dirichlet=float(rng.uniform(0.05, 2)))
        length = int(rng.integers(2, 60))
        ledger.add(topics.limits_do_not_commute(w, masking, length), N=length)
        ledger.add(topics.own_word(w, masking, length), N=length)
    for keys in KEYS:
        _sampled(ledger, rng, keys, 2000 if config.worlds < 20 else SAMPLED)
    lda = TopicWorld(10, 10, dirichlet=0.1, lengths=(100, 150))
    tokens = draw_documents(lda, rng, DRAWN)
    topic = np.where(tokens < lda.vocab, tokens // lda.words, lda.topics)
    shares = np.stack([(topic == t).sum(axis=1) for t in range(lda.topics)], axis=1)
    present = (shares > 0).sum(axis=1)
    large = (shares > 0.05 * (tokens < lda.vocab).sum(axis=1, keepdims=True)).sum(axis=1)
    law = np.mean([lda.topic_count_law(n) for n in range(100, 151)], axis=0)
    ledger.measure(
        "topics in a document",
        exact=float(law[2:5].sum()),
        mean=float(law @ np.arange(len(law))),
    )
    ledger.picture(
        present=((present >= 2) & (present <= 4)), large=((large >= 2) & (large <= 4)), law=law
    )
    finite = topics.mean_moments(lda, BERT, 100, 150)
    W = np.linalg.solve(finite.M, finite.C.T).T
    ledger.picture(value=W[1:, 1:].astype(np.float32))
    return ledger.result()


def _sampled(ledger: Ledger, rng: np.random.Generator, keys: Keys, documents: int) -> None:
    """M and C of a small world by sampling, as means over entries that are equal by symmetry, in standard
    errors from the exact ones."""
    w, length = TopicWorld(3, 2, dirichlet=0.5), 8
    tokens = draw_documents(w, rng, documents, length)
    shown, observed, chosen = corrupt_documents(BERT, rng, tokens, w.vocab)
    V = w.vocab + 1
    ids = np.where(observed, shown + 1, 0)
    read = np.ones_like(chosen) if keys == "all" else ~chosen
    some = read.any(axis=1)
    x = np.stack([((ids == i) & read).sum(axis=1) for i in range(V)], axis=1)[some]
    x = x / x.sum(axis=1, keepdims=True)
    y = np.stack([((tokens + 1 == i) & chosen).sum(axis=1) for i in range(V)], axis=1)[some]
    y = y / y.sum(axis=1, keepdims=True)
    exact = topics.moments(w, BERT, length, keys)
    label = np.concatenate([[-1], w.labels])
    kinds = {
        "mask": (label[:, None] == -1) ^ (label == -1),
        "own": np.eye(V, dtype=bool) & (label >= 0),
        "same": (label[:, None] == label) & ~np.eye(V, dtype=bool),
        "different": (label[:, None] != label) & (label[:, None] >= 0) & (label >= 0),
    }
    for name, left, wanted in (("M", x, exact.M), ("C", y, exact.C)):
        for kind, places in kinds.items():
            means = np.array([np.outer(a, b)[places].mean() for a, b in zip(left, x, strict=True)])
            error = means.std(ddof=1) / len(means) ** 0.5
            off = abs(means.mean() - wanted[places].mean()) / error if error > 0 else 0.0
            ledger.measure("sampled moments", keys=keys, matrix=name, kind=kind, errors=float(off))
