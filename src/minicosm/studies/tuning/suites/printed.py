"""Formulas as printed, beside what they should be."""

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory import all_sequences
from minicosm.theory.tuning import (
    full_row_rank_counterexample,
    message_form_gap,
    proportional_emission,
    pseudo_inverse_slip,
)
from minicosm.worlds import covered_world, full_rank_world

from ...common.ledger import Ledger
from .suite import Suite


def run(config: Suite, progress: Progress) -> TrialResult:
    """(C.1) with and without its division, the row-rank slip in the proof of Theorem 3.3, the left
    inverse in that of Theorem 3.6, and the emission law of Section 3.1."""
    ledger = Ledger()
    root = jax.random.key(config.seed)
    for i in range(config.worlds):
        progress(i, config.worlds, "printed formulas")
        key = jax.random.fold_in(root, i)
        rng = np.random.default_rng([config.seed, i])
        world = full_rank_world(key, hidden=4, vocab=4, sparse=False)
        gap = message_form_gap(world, all_sequences(4, 4))
        ledger.add("messages", right=gap.with_division, printed=gap.without_division)

        drawn = covered_world(key, hidden=8, vocab=4, star=3)
        u = np.isin(np.arange(8), drawn.sources).astype(float)
        v = np.where(np.isin(np.arange(8), drawn.star), rng.random(8), 0.0)
        slip = pseudo_inverse_slip(drawn.world, drawn.star, u, v)
        ledger.add("left-inverse", right=slip.right, printed=slip.printed)

        loose = proportional_emission(full_rank_world(key, hidden=3, vocab=6), rng.random(3))
        ledger.add(
            "proportional",
            freedom=loose.freedom,
            law_gap=loose.law_gap,
            equality_error=loose.equality_error,
        )
    found = full_row_rank_counterexample()
    ledger.add(
        "row-rank",
        row_rank=found.row_rank,
        column_rank=found.column_rank,
        output_gap=found.output_gap,
        score_first=found.scores[0],
        score_second=found.scores[1],
    )
    return ledger.result()
