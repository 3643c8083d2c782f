"""The inequalities that Theorem 2.2.3 rests on, on random inputs."""

import numpy as np
from jaxtyping import Float

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.dyck import Matrices, lipschitz, prune_mlp

from ..trials import Inequalities


def run(config: Inequalities, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for trial in range(config.trials):
        if trial % 100 == 0:
            progress(trial, config.trials, "random inputs")
        _one(ledger, np.random.default_rng([config.seed, trial]))
    for trial in range(config.mlps):
        _mlp(ledger, np.random.default_rng([config.seed, trial, 1]))
    return ledger.result()


def _one(ledger: Ledger, rng: np.random.Generator) -> None:
    n, small, constant = int(rng.integers(2, 9)), 10 ** rng.uniform(-4, 1), 10 ** rng.uniform(-2, 0)
    x = rng.normal(size=n) * 10 ** rng.uniform(-1, 1)
    y = x + small * rng.uniform(-1, 1, size=n)
    if rng.random() < 0.5:  # few entries move as far as they may: the worst case
        y = x + small * np.where(np.arange(n) == rng.integers(n), 1, -1)
    ledger.add(lipschitz.lemma_2_2_8(x, y))
    ledger.add(lipschitz.lemma_2_2_10(x, y, constant))
    ledger.add(lipschitz.lemma_2_2_12(x, n + 4, constant))

    N = int(rng.integers(1, 9))
    P, Q = _unit(rng, n, n), _unit(rng, n, n)
    X = _columns(rng, n, N, 4.0)
    share = rng.uniform()
    A = (1 - share) * lipschitz.softmax(X.T @ Q @ X) + share * rng.dirichlet(np.ones(N), size=N).T
    B = P @ X + small * rng.normal(size=(n, N))
    for result in lipschitz.lemma_2_2_11(P, X, Q, A, B, constant):
        ledger.add(result)

    depth = int(rng.integers(1, 3))
    layer = Matrices(*(_unit(rng, n, n) for _ in range(5)))
    X = _columns(rng, n, N, 4.0 * depth)
    Y = X + small * rng.normal(size=(n, N))
    Y = Y / np.maximum(1, np.linalg.norm(Y, axis=0) / (4 * depth))
    for factor in (130.0, 200.0):
        ledger.add(lipschitz.lemma_2_2_13(layer, X, Y, constant, depth=depth, factor=factor))
    _compose(ledger, rng, n)


def _compose(ledger: Ledger, rng: np.random.Generator, n: int) -> None:
    """Lemma 2.2.5 on linear maps with norms and errors of very different sizes."""
    growth, steep, first, second = map(float, 10 ** rng.uniform(-2, 1, size=4))
    turn = np.linalg.qr(rng.normal(size=(3, n, n)))[0]
    g1, g2 = growth * turn[0], steep * turn[1]
    f1, f2 = g1 + first * turn[2], g2 + second * turn[1]
    ledger.add(
        lipschitz.lemma_2_2_5(
            (lambda x: f1 @ x, lambda x: f2 @ x), (lambda x: g1 @ x, lambda x: g2 @ x),
            rng.normal(size=n), growth=growth, lipschitz=steep, first=first, second=second,
        )
    )  # fmt: skip


def _mlp(ledger: Ledger, rng: np.random.Generator) -> None:
    """Lemma 2.2.6 on pruned MLPs with weights of norm up to 2 sqrt(2)."""
    first, second = (8**0.5 * _unit(rng, *shape) for shape in ((6, 3), (3, 6)))
    width, inner = 12, 600
    up, down = (rng.uniform(-1, 1, size=(2, *shape)) for shape in ((inner, width), (width, inner)))
    none = np.zeros((2, 1, width))
    block = Matrices(none, none, np.zeros((2, width, width)), up, down)
    same = np.arange(3)
    pruned, (one, two) = prune_mlp(first, second, block, rows=same, columns=same)
    x = rng.normal(size=(width, 500))
    x[3:] = 0
    ledger.add(lipschitz.lemma_2_2_6(first, second, pruned, (one, two), x))


def _unit(rng: np.random.Generator, *shape: int) -> Float[np.ndarray, "r c"]:
    """A Gaussian matrix scaled to spectral norm 1."""
    drawn = rng.normal(size=shape)
    return drawn / np.linalg.norm(drawn, 2)


def _columns(rng: np.random.Generator, m: int, N: int, most: float) -> Float[np.ndarray, "m N"]:
    """Columns with norms up to `most`."""
    drawn = rng.normal(size=(m, N))
    return drawn / np.linalg.norm(drawn, axis=0) * rng.uniform(0, most, size=N)
