"""Propositions 4 and 5 on random heads, and at the edge of what they say."""

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import flip_flop as theory
from minicosm.theory.flip_flop import PositionHead

from ..trials import Exact

SLOPES = (0.05, 0.1, 0.3, 0.5, 0.6, 0.69, 0.7, 1.0, 2.0)
BRUTE = 120
"""The length up to which heads are tried."""


def run(config: Exact, progress: Progress) -> TrialResult:
    ledger = Ledger()
    rng = np.random.default_rng([config.seed, 4])
    for i in range(config.heads):
        if i % 50 == 0:
            progress(i, config.heads, "heads")
        _soft(ledger, rng)
        W_Q, W_K = rng.normal(size=(2, 3, 4))
        head = PositionHead(W_Q, W_K, rng.normal(size=(3, 3)), 5.0)
        ledger.add(theory.proposition_5(head))
    for i in range(max(1, config.heads * 2 // 5)):
        if i % 50 == 0:
            progress(i, config.heads, "flat heads")
        ledger.add(theory.proposition_5_exact(flat_head(rng), BRUTE))
    for slope in SLOPES:
        ledger.add(theory.recency_dilution(slope, 200), slope=slope)
    for a in (0.0, 1e-3, 1e-2, 0.3, -0.3, -0.05, -0.02):
        longest = 2000 if a == 0 else 400
        ledger.add(theory.proposition_5_solution(7.0, a, longest), a=a)
    lengths = np.unique(np.round(np.geomspace(2, 4096, 40)).astype(int))
    bounds = [[theory.attention_bound(s, int(T)) for T in lengths] for s in (0.5, 1, 2, 3, 4)]
    found = ledger.result()
    arrays = {**found.arrays, "lengths": lengths, "bounds": np.array(bounds)}
    return TrialResult(found.numbers, arrays)


def _soft(ledger: Ledger, rng: np.random.Generator) -> None:
    d, T = int(rng.integers(1, 9)), int(rng.integers(2, 200))
    latents = rng.normal(size=(T, d))
    latents /= np.maximum(np.linalg.norm(latents, axis=1, keepdims=True), 1)
    ledger.add(theory.proposition_4(rng.normal(size=(d, d)) * rng.uniform(0, 3), latents))
    ledger.add(theory.proposition_4_tight(float(rng.uniform(0, 8)), T))
    sigma = float(rng.uniform(0, 2.5))
    scores = rng.uniform(-sigma, sigma, int(np.exp(2 * sigma)) + 2)
    ledger.add(theory.dilution(scores, rng.uniform(-3, 3, int(rng.integers(1, 50)))))


def flat_head(rng: np.random.Generator) -> PositionHead:
    """A head with `W_Qp^T W_Kp = 0`, of which each other condition is met about as often as not."""
    alpha, gamma = rng.uniform(-1, 1, 3), np.zeros(3)
    beta = rng.uniform(-0.2, 1)
    gamma[1] = beta + rng.choice([0, 1]) * rng.uniform(-0.02, 0.3)
    gamma[2] = gamma[1] + rng.choice([0, 0, 0.05])
    if rng.uniform() < 0.7:
        alpha[2] = alpha[1] + rng.uniform(-0.3, 0.3)
    W_Q, W_K = np.zeros((3, 4)), np.zeros((3, 4))
    W_Q[0, 0], W_K[0, :3] = 1, alpha
    W_Q[1, 0], W_K[1, 3] = 1, beta
    W_Q[2, 3], W_K[2, :3] = 1, gamma
    return PositionHead(W_Q, W_K, np.eye(3), 1.0)
