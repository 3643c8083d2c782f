"""The ReLU networks of Lemmas 2.2.15 to 2.2.20, corrected and as printed."""

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.dyck import relu

from ...common.ledger import Ledger
from .theory_size import TheorySize


def run(config: TheorySize, progress: Progress) -> TrialResult:
    """Every network on random data of random sizes; errors relative to the size of the values."""
    ledger = Ledger()
    for i in range(20 * config.draws):
        progress(i, 20 * config.draws, "ReLU networks")
        rng = np.random.default_rng([config.seed, 6, i])
        n, inputs, outputs = rng.integers(1, [9, 6, 4])
        points, values = rng.normal(size=(n, inputs)), rng.normal(size=(n, outputs))
        found = relu.interpolate(points, values)
        gap = relu.smallest_gap(points @ found.up[:, 0])
        ledger.add(
            "lemma-2.2.15",
            error=_error(found(points), values),
            width=found.width == 2 * n,
            condition=1.0 if np.isinf(gap) else 1 / gap,
        )
        _orthonormal(ledger, rng)
        _index_and_which(ledger, rng)
        _switch(ledger, rng)
        W = rng.normal(size=(n, n))
        W *= 2 / np.linalg.norm(W, 2)
        x, linear = rng.normal(size=(5, n)), relu.linear(W)
        norms = max(np.linalg.norm(linear.up, 2), np.linalg.norm(linear.down, 2))
        ledger.add(
            "lemma-2.2.20",
            error=_error(linear(x), x @ W.T),
            width=linear.width == 2 * n and norms <= 2 * np.sqrt(2) + 1e-12,
        )
        ledger.add("lemma-2.2.20-printed", defined=_defined(linear._replace(down=linear.down.T), x))
    return ledger.result()


def _error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max()))


def _defined(stage: relu.Stage, x: np.ndarray) -> bool:
    try:
        stage(x)
    except ValueError:
        return False
    return True


def _orthonormal(ledger: Ledger, rng: np.random.Generator) -> None:
    """n - 2 orthonormal vectors orthogonal to ones and v, whose span holds none of the given vectors."""
    n = int(rng.integers(3, 12))
    given, v = rng.normal(size=(int(rng.integers(1, 20)), n)), rng.normal(size=n)
    u = relu.orthonormal(np.stack([np.ones(n), v]), n - 2)
    wrong = max(np.abs(u @ u.T - np.eye(n - 2)).max(), np.abs(u @ np.ones(n)).max())
    outside = np.linalg.norm(given - given @ u.T @ u, axis=1).min()
    ledger.add("lemma-2.2.16", error=float(wrong), outside=float(outside))


def _index_and_which(ledger: Ledger, rng: np.random.Generator) -> None:
    n, bound = int(rng.integers(1, 9)), float(rng.uniform(0.5, 5))
    stage, y = relu.index(n, bound), np.arange(1, n + 1)
    x = rng.uniform(0, bound, size=(n, n)) * rng.integers(0, 2, size=(n, n))
    found = stage(np.column_stack([x, y]))[:, 0]
    ledger.add("lemma-2.2.17", error=_error(found, x[y - 1, y - 1]), width=stage.width == 2 * n)
    threshold = float(rng.uniform(0.05, 2))
    x = np.diag(threshold * (1 + rng.exponential(size=n)))
    fixed, printed = relu.which(n, threshold), relu.which_printed(n, threshold)
    ledger.add("lemma-2.2.18", error=_error(fixed(x)[:, 0], y), width=fixed.width == 2 * n)
    ledger.add("lemma-2.2.18-printed", error=float(np.abs(printed(x)[:, 0] - y).max()))


def _switch(ledger: Ledger, rng: np.random.Generator) -> None:
    """Random networks of one width; for the printed form also such without biases at the output."""
    K, width, inputs = (int(i) for i in rng.integers([2, 1, 1], [6, 6, 4]))
    stages = [
        relu.Stage(
            rng.normal(size=(inputs, width)), rng.normal(size=width),
            rng.normal(size=(width, 1)), rng.normal(size=1),
        )
        for _ in range(K)
    ]  # fmt: skip
    x = rng.uniform(0, 1, size=(20, inputs))
    bound = max(float(np.abs(x @ s.up + s.up_bias).max()) for s in stages)

    def errors(switch: relu.Stage, stages: list[relu.Stage]) -> float:
        found = [switch(np.column_stack([np.full(20, k + 1.0), x])) for k in range(K)]
        return max(_error(f, s(x)) for f, s in zip(found, stages, strict=True))

    fixed = relu.switch(stages, bound)
    ledger.add(
        "lemma-2.2.19", error=errors(fixed, stages), width=fixed.width == 2 * K * (width + 1)
    )
    plain = [s._replace(down_bias=np.zeros(1)) for s in stages]
    positive = [s._replace(up=np.abs(s.up), up_bias=np.abs(s.up_bias)) for s in stages]
    mild = [s._replace(down_bias=np.zeros(1)) for s in positive]
    high = max(float((x @ s.up + s.up_bias).max()) for s in positive)
    ledger.add(
        "lemma-2.2.19-printed",
        error=errors(relu.switch_printed(stages, bound), stages),
        without_biases=errors(relu.switch_printed(plain, bound), plain),
        positive=errors(relu.switch_printed(positive, high), positive),
        neither=errors(relu.switch_printed(mild, high), mild),
    )
