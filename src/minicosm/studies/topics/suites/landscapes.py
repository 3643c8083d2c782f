"""Figures 2.7 and 2.8: the loss over alpha and beta, and where it is nearly least."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.topics import attention_loss, best_attention
from minicosm.theory.topics.attention import VALUES, MaskKeys, Value
from minicosm.worlds import TopicWorld

from ..trials import Landscape
from .worlds import BERT

CONVENTIONS: tuple[MaskKeys, ...] = ("full", "printed")
NEAR = 0.1  # of the drop from uniform attention
KEPT = 100  # places on each axis of the pictures


def run(config: Landscape, progress: Progress) -> TrialResult:
    ledger = Ledger()
    axis = np.logspace(-4, 7, config.grid)
    pictures: dict[str, np.ndarray] = {"axis": axis[:: -(-config.grid // KEPT)]}
    for n, tau in enumerate(config.per_document):
        world = TopicWorld(config.topics, config.words, per_document=tau)
        for keys in CONVENTIONS:
            progress(n, len(config.per_document), f"tau = {tau}")
            for value in VALUES:
                grid = _loss(world, axis[:, None], axis[None], value, keys)
                thin = -(-config.grid // KEPT)
                pictures[f"{value}, {keys}, {tau}"] = grid[::thin, ::thin].astype(np.float32)
                measure = _block if value == "block" else _diagonal
                ledger.measure(f"{value}, {keys}", tau=tau, **measure(world, axis, grid, keys))
    ledger.picture(**pictures)
    return ledger.result()


def _loss(world: TopicWorld, alpha: Any, beta: Any, value: Value, keys: MaskKeys) -> Any:
    """At positions that show a word; the first axis is alpha's."""
    alpha, beta = np.asarray(alpha, float), np.asarray(beta, float)
    return attention_loss(world, BERT, alpha, beta, value, keys, total=False)


def _edges(function: Any, best: float, limit: float) -> tuple[float, float]:
    """Where a loss of the logarithm, least at `best`, passes the limit below and above."""

    def above(x: float) -> float:
        return float(function(np.exp(x))) - limit

    low, high = np.log(best), np.log(best)
    while above(low) < 0:
        low -= 0.5
    while above(high) < 0:
        high += 0.5
    return (
        float(np.exp(brentq(above, low, low + 0.5))),
        float(np.exp(brentq(above, high - 0.5, high))),
    )


def _runs(near: np.ndarray) -> int:
    """In how many pieces the true places of a row lie."""
    return int((np.diff(np.concatenate([[0], near.astype(int)])) == 1).sum())


def _block(world: TopicWorld, axis: np.ndarray, grid: np.ndarray, keys: MaskKeys) -> dict[str, Any]:
    """The interval of gamma in which the loss is nearly least, and whether the grid knows gamma alone."""
    best = best_attention(world, BERT, "block", keys, total=False)
    uniform = float(_loss(world, 1.0, 1.0, "block", keys))
    limit = best.loss + NEAR * (uniform - best.loss)
    low, high = _edges(lambda g: _loss(world, g, g, "block", keys), best.topic, limit)
    v = world.words
    gamma = ((v - 1) * axis[:, None] + axis[None]) / v
    inside = (gamma > low) & (gamma < high)
    sure = np.abs(grid - limit) > 1e-12  # not on the edge
    fine = np.logspace(-4, 9, 4000)
    return {
        "gamma": best.topic,
        "loss": best.loss,
        "uniform": uniform,
        "low": low,
        "high": high,
        "pieces": _runs(_loss(world, fine, fine, "block", keys) <= limit),
        "exceptions": int(((grid <= limit) != inside)[sure].sum()),
        "near": int((grid <= limit).sum()),
    }


def _diagonal(
    world: TopicWorld, axis: np.ndarray, grid: np.ndarray, keys: MaskKeys
) -> dict[str, Any]:
    """The interval of beta in which the loss is nearly least, at the best alpha."""
    best = best_attention(world, BERT, "diagonal", keys, total=False)
    uniform = float(_loss(world, 1.0, 1.0, "diagonal", keys))
    limit = best.loss + NEAR * (uniform - best.loss)
    low, high = _edges(lambda b: _loss(world, best.alpha, b, "diagonal", keys), best.beta, limit)
    fine = np.logspace(-4, 9, 4000)
    small = _loss(world, np.logspace(-4, 0, 200), best.beta, "diagonal", keys)
    near = grid <= limit
    ratios = np.broadcast_to(axis[:, None] / axis[None], grid.shape)[near]
    a, b, v = BERT.a, BERT.b, world.words
    tau = world.per_document
    assert tau is not None
    return {
        "alpha": best.alpha,
        "beta": best.beta,
        "loss": best.loss,
        "uniform": uniform,
        "low": low,
        "high": high,
        "pieces": _runs(_loss(world, best.alpha, fine, "diagonal", keys) <= limit),
        "flatness": float(small.max() - small.min()),
        "largest ratio": float(ratios.max()) if ratios.size else float("nan"),
        "over lower bound": best.beta / ((a + b) / 100 * v * tau),
        "under upper bound": float(
            a / (np.sqrt(v - 1) - 1 - a) * (a + b) / b * v * world.topics / best.beta
        ),
        "alpha over its bound": best.alpha * a * (v - 1) / best.beta,
    }
