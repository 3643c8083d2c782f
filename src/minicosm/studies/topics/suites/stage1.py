"""Uniform attention: Lemma 2.1.1, Theorem 2.1.2 and gradient descent on random worlds."""

from typing import Any

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import topics
from minicosm.worlds import TopicWorld

from ..trials import Worlds
from .worlds import BERT, corruption, generator, key, world


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger, rng = Ledger(), generator(config, 1)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds")
        w, masking = world(rng), corruption(rng)
        size: dict[str, Any] = {"T": w.topics, "v": w.words, "tau": w.per_document}
        ledger.add(topics.proposition_2_1_1(w, masking), **size)
        ledger.add(topics.lemma_2_1_1(w, masking, key(config, 1, i)), **size)
        ledger.add(topics.lemma_2_1_1_only(w, masking, key(config, 2, i)), **size)
        ledger.add(topics.lemma_2_1_1_broken(w, masking, key(config, 3, i)), **size)
        ledger.add(topics.theorem_2_1_2(w, masking).certify(), **size)
        ledger.add(topics.theorem_2_1_2_ridge(w, masking), **size)
        ledger.add(topics.theorem_2_1_2_signs(w, masking), **size)
        alike = TopicWorld(w.topics, w.words, per_document=w.topics)
        ledger.add(topics.needs_several_documents(alike, masking), T=w.topics, v=w.words)
        most = float(np.linalg.eigvalsh(topics.moments(w, masking).M)[-1])
        ledger.add(topics.gradient_descent(w, masking, 0.4 / most, 50), **size)
    shown = TopicWorld(10, 10, per_document=3)
    ledger.picture(block=topics.block_value(shown, BERT)[1:, 1:].astype(np.float32))
    return ledger.result()
