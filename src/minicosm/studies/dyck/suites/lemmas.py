"""The ReLU networks of Lemmas 2.2.15 to 2.2.20 on random data of random sizes."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.dyck import Stage, relu_lemmas

from ..trials import Exact


def run(config: Exact, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for i in range(20 * config.draws):
        progress(i, 20 * config.draws, "ReLU networks")
        rng = np.random.default_rng([config.seed, 6, i])
        n, inputs, outputs = rng.integers(1, [9, 6, 4])
        ledger.add(
            relu_lemmas.lemma_2_2_15(rng.normal(size=(n, inputs)), rng.normal(size=(n, outputs)))
        )
        m = int(rng.integers(3, 12))
        ledger.add(
            relu_lemmas.lemma_2_2_16(
                rng.normal(size=(int(rng.integers(1, 20)), m)), rng.normal(size=m)
            )
        )
        bound = float(rng.uniform(0.5, 5))
        x = rng.uniform(0, bound, size=(n, n)) * rng.integers(0, 2, size=(n, n))
        ledger.add(relu_lemmas.lemma_2_2_17(x, np.arange(1.0, n + 1), bound))
        threshold = float(rng.uniform(0.05, 2))
        x = np.diag(threshold * (1 + rng.exponential(size=n)))
        ledger.add(relu_lemmas.lemma_2_2_18(x, threshold))
        _switch(ledger, rng)
        W = rng.normal(size=(n, n))
        ledger.add(relu_lemmas.lemma_2_2_20(2 * W / np.linalg.norm(W, 2), rng.normal(size=(5, n))))
    return ledger.result()


def _switch(ledger: Ledger, rng: np.random.Generator) -> None:
    """Random networks of one width."""
    K, width, inputs = (int(i) for i in rng.integers([2, 1, 1], [6, 6, 4]))
    shapes = ((inputs, width), (width,), (width, 1), (1,))
    stages = [Stage(*(rng.normal(size=shape) for shape in shapes)) for _ in range(K)]
    x = rng.uniform(0, 1, size=(20, inputs))
    ledger.add(relu_lemmas.lemma_2_2_19(stages, x))
    ledger.add(relu_lemmas.lemma_2_2_19(stages, x, printed=True))
