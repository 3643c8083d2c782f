"""Gram matrices of embeddings, and what a width below the number of topics costs."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure, rows

from ..readings import statistic
from .matrices import KINDS, bars, heat

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_grams(results: Results) -> "Figure":
    """An untrained model, four trained ones, and the exact optimum; below them mean inner products."""
    arms = [arm for arm in results if arm.startswith("Figure 2.1")]
    config = results[arms[0]].config
    topic = np.repeat(np.arange(config.topics), config.words)
    exact = (topic[:, None] == topic) / (0.865 * config.words)
    fig = figure(10.4, 4.1)
    axes = fig.subplots(2, len(arms) + 2, height_ratios=(1.45, 1))
    heat(axes[0, 0], results[arms[1]].arrays["start"], "untrained")
    start = [Estimate.of(statistic(results, arms[1], kind, "start")) for kind in KINDS]
    bars(axes[1, 0], start)
    for column, arm in enumerate(arms, start=1):
        heat(axes[0, column], results[arm].arrays["matrix"], arm.partition(", ")[2])
        bars(axes[1, column], [Estimate.of(statistic(results, arm, kind)) for kind in KINDS])
    heat(axes[0, -1], exact, "exact optimum")
    level = float(exact[0, 0])
    bars(axes[1, -1], [Estimate(value, value, value, 1) for value in (level, level, 0.0)])
    axes[0, 0].set_ylabel("words, by topic")
    axes[1, 0].set_ylabel("mean inner product")
    return fig


def draw_rank(results: Results) -> "Figure":
    """Contrast over its limit against the share of dimensions, in all worlds, with the law."""
    found = rows(results, "Embeddings of less rank")
    known = [i for i, error in enumerate(found["error"]) if error is not None]
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    d, T, contrast = (np.array([found[n][i] for i in known], float) for n in ("d", "T", "contrast"))
    share = (d - 1) / (T - 1)
    top = np.array(_tops(d, T, contrast))
    ax.plot([0, 1], [0, 1], color="0.5", lw=1, ls="--", label="$(d-1)/(T-1)$")
    for at, t in enumerate(sorted(set(T))):
        mine = t == T
        ax.plot(
            share[mine], contrast[mine] / top[mine], "osD^v"[at % 5], ms=5, alpha=0.7, ls="",
            color=PALETTE[at % 5], label=f"T = {t:.0f}",
        )  # fmt: skip
    ax.set(xlabel="$(d-1)/(T-1)$", ylabel="contrast over that of $d = T$")
    ax.legend()
    return fig


def _tops(d: np.ndarray, T: np.ndarray, contrast: np.ndarray) -> list[float]:
    """For every row the contrast at d = T of its world; rows of a world stand together, d rising."""
    tops, start = [], 0
    for i in range(len(d)):
        if d[i] == T[i]:
            tops += [contrast[i]] * (i - start + 1)
            start = i + 1
    return tops
