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
    """The panels of a figure: the matrix of the first seed, and means over all of them."""

    def draw(results: Results) -> "Figure":
        fig = figure(8.8, 4.3)
        axes = fig.subplots(2, len(arms), height_ratios=(1.5, 1))
        for column, arm in enumerate(arms):
            heat(axes[0, column], results[arm].arrays["matrix"], arm.partition(", ")[2])
            ax = axes[1, column]
            means = [Estimate.of(statistic(results, arm, kind)) for kind in KINDS]
            bars(ax, means)
        axes[0, 0].set_ylabel("words, by topic")
        axes[1, 0].set_ylabel("mean entry")
        return fig

    return draw


def bars(ax: Any, means: list[Estimate]) -> None:
    """Own word, same topic, different topic, with intervals."""
    for place, (mean, colour) in enumerate(zip(means, PALETTE, strict=False)):
        half = mean.high - mean.value if np.isfinite(mean.high) else 0.0
        ax.bar(place, mean.value, yerr=half, color=colour, capsize=3, width=0.65)
    ax.axhline(0, lw=0.8, color="0.5")
    ax.set_xticks(range(len(means)), LABELS[: len(means)], fontsize=7)
    ax.grid(axis="x", visible=False)


def draw_descent(results: Results) -> "Figure":
    """The contrast of the value matrix over steps: seeds, and the closed form as a line."""
    found = results["stage 1"]
    steps = np.asarray(found.numbers["steps"], float)
    fig = figure(5.4, 3.3)
    ax = fig.subplots()
    for seed, path in enumerate(found.arrays["contrast"].T):
        label = "trained, each seed" if seed == 0 else None
        ax.plot(steps, path, color=PALETTE[0], lw=0.9, alpha=0.7, ls="-", label=label)
    ax.plot(steps, found.arrays["closed form"], color=PALETTE[1], ls="--", label="closed form")
    limit = found.numbers["exact"]["contrast"]
    ax.axhline(limit, color="0.5", lw=1, ls=":", label="optimum")
    ax.set_xscale("symlog", linthresh=100)
    ax.set_xlim(0, steps[-1])
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
