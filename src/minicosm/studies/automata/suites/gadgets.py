"""Lookups, thresholds, attention that selects, and composition, on random tables: Lemmas 10 to 14."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import automata as theory

from ..trials import Gadgets

SHIFTS = np.linspace(-1, 1, 17)  # of points, as shares of the perturbation that is allowed


def run(config: Gadgets, progress: Progress) -> TrialResult:
    ledger = Ledger()
    rng = np.random.default_rng([config.seed, 10])
    for done in range(config.tables):
        progress(done, config.tables, "tables")
        points = _spaced(rng)
        values = rng.normal(size=(len(points), rng.integers(1, 4))) * 10 ** rng.uniform(-1, 1)
        ledger.add(theory.lemma_10(points, values, SHIFTS))
        ledger.add(theory.lemma_10_sizes(points, values))
        rows, values = _close(rng)
        ledger.add(theory.lemma_11(rows, values, SHIFTS))
        ledger.add(theory.lemma_11_sizes(rows, values))
        gap = float(10 ** rng.uniform(-3, 2))
        sides = gap * rng.choice([-1, 1], 20) * (1 + rng.exponential(size=20))
        sides[:2] = gap, -gap
        ledger.add(theory.lemma_12(gap, sides, SHIFTS))
        ledger.add(theory.lemma_12(gap, sides, SHIFTS, printed=True))
        ledger.add(theory.lemma_12_sizes(gap))
    for done in range(config.scores):
        progress(done, config.scores, "scores")
        length = int(rng.integers(1, 257))
        spread = 10 ** rng.uniform(-1, 2)
        ledger.add(theory.lemma_13(spread * rng.normal(size=length)))
    for points_on_circle in range(2, config.scores + 1):
        ledger.add(theory.proposition_2(points_on_circle))
        ledger.add(theory.proposition_2(points_on_circle, printed=True))
        ledger.add(theory.proposition_2_constant(points_on_circle))
    for states in range(2, 9):
        for hats in (True, False):
            pairs = 2**16 if states <= 4 else 4096  # all of them up to four states
            found = theory.lemma_14(states, hats=hats, count=pairs, seed=config.seed)
            ledger.add(found, hats=hats)
        ledger.add(theory.lemma_14_sizes(states))
    return ledger.result()


def _spaced(rng: np.random.Generator) -> np.ndarray:
    """Points on a line, the closest of them somewhere between a thousandth and 10 apart."""
    gaps = 10 ** rng.uniform(-3, 1) * (1 + rng.exponential(size=rng.integers(1, 40)))
    return np.cumsum(gaps) - rng.uniform(0, gaps.sum())


def _close(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A table on points of one to four coordinates that lie about 1 apart in some coordinate, and may lie as
    close as 1e-6 in others."""
    n, d_in = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    points = rng.integers(0, 4, (n, d_in)) + rng.choice([0, 1e-6, 0.01], (n, d_in))
    kept = np.unique(np.rint(points), axis=0, return_index=True)[1]
    return points[kept], rng.normal(size=(len(kept), int(rng.integers(1, 4))))
