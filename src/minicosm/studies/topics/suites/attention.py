"""The attention family of Assumption 2.1.2: its weights, its losses, its place among all tables."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import topics
from minicosm.theory.topics.attention import VALUES, MaskKeys
from minicosm.worlds import TopicWorld

from ..trials import Worlds
from .worlds import BERT, corruption, generator, key

SIZES = ((3, 2), (5, 3), (2, 4), (4, 1))  # T, v: few shapes, as each is compiled
CONVENTIONS: tuple[MaskKeys, ...] = ("full", "printed")
REMARKS = 10  # pairs of weights in each world
TABLES = (
    TopicWorld(3, 2, per_document=2),
    TopicWorld(4, 2, per_document=2),
    TopicWorld(4, 3, per_document=2),  # with one topic weights grow without end, and none is best
)


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger, rng = Ledger(), generator(config, 3)
    for i in range(config.worlds):
        progress(i, config.worlds, "worlds")
        T, v = SIZES[i % len(SIZES)]
        w = TopicWorld(T, v, per_document=int(rng.integers(1, T)))
        masking = corruption(rng)
        alpha, beta = (float(x) for x in np.exp(rng.uniform(-2, 4, 2)))
        for value in VALUES:
            at = key(config, 1, i)
            ledger.add(topics.assumption_2_1_2(w, masking, alpha, beta, at, value))
            ledger.add(topics.attention_normaliser(w, masking, alpha, beta, value))
            ledger.add(topics.attention_normaliser(w, masking, alpha, beta, value, as_printed=True))
        for _ in range(REMARKS):
            gamma, share = float(np.exp(rng.uniform(-2, 5))), float(rng.random())
            for keys in CONVENTIONS:
                ledger.add(topics.remark_2_1_5(w, masking, gamma, share, keys))
    small = config.worlds < 5
    for T in (10**4,) if small else (10**4, 10**6, 10**8):
        tau = int(T**0.5)
        large = TopicWorld(T, 30, per_document=tau)
        for gamma in (tau, 5 * tau, (tau * T) ** 0.5, T, 50 * T):
            ledger.add(topics.equation_2_27(large, BERT, float(gamma)))
            ledger.add(topics.equation_2_27(large, BERT, float(gamma), as_printed=True))
    for i, w in enumerate(TABLES[:1] if small else TABLES):
        for value in VALUES:
            progress(i, len(TABLES), "searches over tables")
            starts = 1 if small else 4
            ledger.add(topics.symmetric_pattern(w, BERT, value, key(config, 2, i), starts))
    for tau in (2, 3, 4, 5):
        ledger.add(topics.loss_ladder(TopicWorld(10, 10, per_document=tau), BERT))
    return ledger.result()
