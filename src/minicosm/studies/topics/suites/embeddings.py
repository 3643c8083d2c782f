"""Embeddings under uniform attention: Theorem 2.1.1 on random worlds, by construction and by search."""

from typing import Any

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import topics
from minicosm.worlds import TopicWorld

from ..trials import Worlds
from .worlds import corruption, generator, key, world

STARTS = 20


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger, rng = Ledger(), generator(config, 2)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds")
        w, masking = world(rng, 6, 4, least_topics=3), corruption(rng)
        kinds: list[dict[str, Any]] = [{}, {"shift": float(rng.uniform(0, 1))}, {"diagonal": True}]
        for fields in kinds:
            ledger.add(topics.theorem_2_1_1(w, masking, **fields).certify())
        ledger.add(topics.embedding_example(w, masking))
        ledger.add(topics.embedding_example(w, masking, as_printed=True))
        T = w.topics
        for d in (T, T + 2):
            ledger.add(topics.theorem_2_1_1_found(w, masking, d, key(config, 10 + d, i)))
        for d in range(1, T + 1):
            at = key(config, 30 + d, i)
            ledger.add(topics.theorem_2_1_1_found(w, masking, d, at, as_printed=True))
            ledger.add(topics.embedding_rank(w, masking, d, at))
    starts = STARTS if config.worlds > 2 else 2
    fixed = TopicWorld(5, 4, per_document=2)
    for start in range(starts):
        progress(start, starts, "starts")
        masking = corruption(rng)
        ledger.add(topics.nonnegative_across(fixed, masking, 7, key(config, 60, start)))
    return ledger.result()
