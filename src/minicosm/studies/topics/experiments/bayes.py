"""The least losses of the world that models are trained on: Bayes' predictor, and one that knows nothing."""

import jax
import numpy as np

from minicosm.lab import Estimate, Progress, TrialResult
from minicosm.worlds.topics.draws import corrupt_documents, draw_documents

from ..trials import Common
from .training import BERT, key_of, world_of


def run(config: Common, progress: Progress) -> TrialResult:
    """Mean losses of the exact predictor over chosen positions, with intervals by document."""
    world, count = world_of(config), config.held_out // 3 + 1
    bits = jax.random.bits(jax.random.fold_in(key_of(config), 1), (4,))
    rng = np.random.default_rng(np.asarray(bits).tolist())
    documents = draw_documents(world, rng, count)
    sums = []
    for d, (tokens, *seen) in enumerate(
        zip(documents, *corrupt_documents(BERT, rng, documents, world.vocab), strict=True)
    ):
        if d % 50 == 0:
            progress(d, count, "documents")
        real = tokens < world.vocab
        words, (shown, observed, chosen) = tokens[real], (part[real] for part in seen)
        law = world.bayes_predict(shown, observed, BERT)[chosen]
        right = law[np.arange(len(law)), words[chosen]]
        squared = 1 - 2 * right + (law**2).sum(axis=1)
        sums.append((-np.log(right).sum(), squared.sum(), len(right)))
    cross, square, positions = np.array(sums).T
    least = {}
    for name, losses in (("cross-entropy", cross), ("squared", square)):
        mean = losses.sum() / positions.sum()
        apart = Estimate.of(
            (losses - mean * positions) / positions.mean()
        )  # of a ratio, by document
        least[name] = [float(mean), float(mean + apart.low), float(mean + apart.high)]
    return TrialResult(
        {
            "Bayes": least,
            "uniform guess": {
                "cross-entropy": float(np.log(world.vocab)), "squared": 1 - 1 / world.vocab,
            },
        }
    )  # fmt: skip
