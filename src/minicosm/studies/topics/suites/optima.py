"""Where the best attention is: Theorems 2.1.3 and 2.1.5 on random settings, and the limits."""

from typing import Any

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import topics
from minicosm.theory.topics.attention import MaskKeys
from minicosm.worlds import TopicWorld

from ..trials import Worlds
from .worlds import BERT, asymptotic, generator

LIMITS = ((10**5, 300, 30, 0.03), (10**7, 3000, 12, 0.01))  # T, tau, v, tolerance
CONVENTIONS: tuple[MaskKeys, ...] = ("full", "printed")


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger, rng = Ledger(), generator(config, 4)
    for i in range(config.worlds):
        progress(i, config.worlds, "settings")
        w, masking = asymptotic(rng)
        for keys in CONVENTIONS:
            size: dict[str, Any] = {
                "T": w.topics,
                "tau": w.per_document,
                "v": w.words,
                "keys": keys,
            }
            ledger.add(topics.theorem_2_1_3(w, masking, keys), **size)
            proof = topics.theorem_2_1_3(w, masking, keys, proof=True)
            ledger.add(proof, "Theorem 2.1.3, constant of the proof", **size)
            ledger.add(topics.theorem_2_1_5(w, masking, keys), **size)
    for T, tau, v, within in LIMITS:
        large = TopicWorld(T, v, per_document=tau)
        for keys in CONVENTIONS:
            ledger.add(topics.best_block_attention(large, BERT, within, keys), keys=keys)
            ledger.add(topics.best_diagonal_attention(large, BERT, within, keys), keys=keys)
    last = TopicWorld(LIMITS[-1][0], LIMITS[-1][2], per_document=LIMITS[-1][1])
    for keys in CONVENTIONS:
        best = topics.best_attention(last, BERT, "diagonal", keys, total=False)
        ledger.measure("limit of the loss", loss=best.loss, limit=BERT.random, keys=keys)
    settings = 60 if config.worlds >= 60 else config.worlds
    for i in range(settings):
        progress(i, settings, "BERT's masking")
        T = int(np.exp(rng.uniform(np.log(4), np.log(1e4))))
        w = TopicWorld(
            T,
            int(np.exp(rng.uniform(np.log(3), np.log(100)))),
            per_document=int(rng.integers(1, T)),
        )
        for keys in CONVENTIONS:
            size = {"T": w.topics, "tau": w.per_document, "v": w.words, "keys": keys}
            ledger.add(topics.same_topic_last(w, BERT, keys), **size)
    return ledger.result()
