"""What one pass of the exact product decoder says in a fertility world (Section 4.2.4)."""

from typing import NamedTuple

import numpy as np

from minicosm.models.stutter import neighbour_tv, stutter_pairs
from minicosm.worlds import Fertility

from ..signatures import checked


class ExactStutter(NamedTuple):
    """Means over sources and target lengths drawn from the truth, most likely tokens decoded."""

    rate: float  # share of neighbouring pairs that are equal
    apart_same: float  # total variation of the two alignment posteriors where they are
    apart_other: float  # and elsewhere
    correlation: float  # KL of the product decoder, nats
    entropy: float  # of the target given source and length, nats
    valid: float  # share of decoded targets that are translations


@checked()
def exact_stutter(world: Fertility) -> ExactStutter:
    """Stutter of one pass of the Bayes-optimal product decoder, by summing over both lengths."""
    pairs, apart = np.zeros(2), np.zeros(2)  # others, and pairs that are equal
    lost = valid = kept = 0.0
    for L in range(world.shortest, world.longest + 1):
        for N, p in enumerate(world.length_law(L)):
            if p <= 0:
                continue
            p = p / (world.longest - world.shortest + 1)
            found = world.posterior(L, N)
            best = found.tokens.reshape(N, -1).argmax(axis=1)
            same = stutter_pairs(best[None], np.array([N]))[0]
            away = neighbour_tv(found.alignment)
            pairs += p * np.array([(~same).sum(), same.sum()])
            apart += p * np.array([away[~same].sum(), away[same].sum()])
            lost += p * world.total_correlation(L, N)
            kept += p * found.entropy
            valid += p * np.isfinite(world.log_prob(np.arange(L), best))
    other, same_apart = apart / pairs
    rate = float(pairs[1] / pairs.sum())
    return ExactStutter(rate, float(same_apart), float(other), lost, kept, float(valid))
