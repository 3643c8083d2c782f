"""Value matrices: exact, trained, and on the way."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure, rows
from minicosm.studies.common.figures import errors

from ..readings import statistic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("diagonal", "same", "different")
LABELS = ("own\nword", "same\ntopic", "different\ntopic")


def heat(ax: Any, matrix: np.ndarray, title: str = "", words: int = 0) -> Any:
    """A matrix over words, ordered by topic, in colours that are symmetric around zero."""
    off = np.abs(matrix[~np.eye(len(matrix), dtype=bool)])
    top = float(np.quantile(off, 0.995)) or 1.0
    image = ax.imshow(matrix, cmap="PuOr_r", vmin=-top, vmax=top, interpolation="nearest")
    ax.grid(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(True)
    ax.set_title(title, fontsize=9)
    return image


def draw_stage1(results: Results) -> "Figure":
    """The block matrix of Theorem 2.1.2, and how closely the minimiser of least norm agrees with it."""
    fig = figure(7.2, 3.1)
    left, right = fig.subplots(1, 2, width_ratios=(1, 1.25))
    image = heat(left, results["suite"].arrays["block"], "$T = v = 10$, BERT's masking")
    fig.colorbar(image, ax=left, shrink=0.8)
    left.set_xlabel("words, by topic")
    found = rows(results, "Theorem 2.1.2")
    errors(right, np.array(found["error"], float), None, found["tolerance"][0])
    right.set_title("distance from the pseudoinverse", fontsize=9)
    return fig


def draw_values(arms: tuple[str, ...]) -> Any:
    """The panels of a figure: the matrix of the first seed, and means over all of them; where attention is
    uniform, the exact optimum of the squared loss besides, whose means are lines in the panel of SGD."""

    def draw(results: Results) -> "Figure":
        exact = [results[arm].arrays["exact"] for arm in arms if "exact" in results[arm].arrays]
        fig = figure(2.2 * (len(arms) + len(exact)), 4.3)
        axes = fig.subplots(2, len(arms) + len(exact), height_ratios=(1.5, 1))
        for column, arm in enumerate(arms):
            found = results[arm]
            heat(axes[0, column], found.arrays["matrix"], arm.partition(", ")[2])
            ax = axes[1, column]
            bars(ax, [Estimate.of(statistic(results, arm, kind)) for kind in KINDS])
            if "exact" in found.arrays:
                for place, level in enumerate(_levels(found.arrays["exact"], found.config.words)):
                    ax.plot(
                        [place - 0.42, place + 0.42], [level] * 2, color="black", lw=1.2, ls="--"
                    )
        for column, matrix in enumerate(exact, start=len(arms)):
            heat(axes[0, column], matrix, "exact, squared")
            levels = _levels(matrix, results[arms[0]].config.words)
            bars(axes[1, column], [Estimate(level, level, level, 1) for level in levels])
        axes[0, 0].set_ylabel("words, by topic")
        axes[1, 0].set_ylabel("mean entry")
        return fig

    return draw


def _levels(matrix: np.ndarray, words: int) -> tuple[float, ...]:
    """Means of the diagonal, of the rest of the topics, and of pairs of different topics."""
    topic = np.arange(len(matrix)) // words
    same, own = topic[:, None] == topic, np.eye(len(matrix), dtype=bool)
    return tuple(float(matrix[places].mean()) for places in (own, same & ~own, ~same))


def bars(ax: Any, means: list[Estimate]) -> None:
    """Own word, same topic, different topic, with intervals."""
    for place, (mean, colour) in enumerate(zip(means, PALETTE, strict=False)):
        half = mean.high - mean.value if np.isfinite(mean.high) else 0.0
        ax.bar(place, mean.value, yerr=half, color=colour, capsize=3, width=0.65)
    ax.axhline(0, lw=0.8, color="0.5")
    ax.set_xticks(range(len(means)), LABELS[: len(means)], fontsize=7)
    ax.grid(axis="x", visible=False)


def draw_descent(results: Results) -> "Figure":
    """The contrast of the value matrix over steps: seeds, and the closed form as a line, from the first
    measurement on."""
    found = results["stage 1"]
    later = np.asarray(found.numbers["steps"], float) > 0
    steps = np.asarray(found.numbers["steps"], float)[later]
    fig = figure(5.4, 3.3)
    ax = fig.subplots()
    for seed, path in enumerate(found.arrays["contrast"][later].T):
        label = "trained, each seed" if seed == 0 else None
        ax.plot(steps, path, color=PALETTE[0], lw=0.9, alpha=0.7, ls="-", label=label)
    closed = np.asarray(found.arrays["closed form"])[later]
    ax.plot(steps, closed, color=PALETTE[1], ls="--", label="closed form")
    limit = found.numbers["exact"]["contrast"]
    ax.axhline(limit, color="0.5", lw=1, ls=":", label="optimum")
    ax.set_xscale("log")
    ax.set(xlabel="steps", ylabel="same topic less different")
    ax.legend()
    return fig


def draw_diagonal(results: Results) -> "Figure":
    """A trained value matrix with a diagonal."""
    arm = "joint, squared"
    fig = figure(6.4, 3.1)
    left, right = fig.subplots(1, 2, width_ratios=(1.2, 1))
    image = heat(left, results[arm].arrays["matrix"], "squared loss, Adam 0.003, no penalty")
    fig.colorbar(image, ax=left, shrink=0.8, extend="both")
    bars(right, [Estimate.of(statistic(results, arm, kind)) for kind in KINDS])
    right.set_ylabel("mean entry")
    return fig
