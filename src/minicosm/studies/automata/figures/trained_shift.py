"""Parity away from the law and the length of training."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import percent_axis
from ..experiment_readings import config_of, learned
from ..experiment_trials import PARITY, PARITY_LSTM, PARITY_RECENCY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {PARITY: PALETTE[0], PARITY_LSTM: PALETTE[2], PARITY_RECENCY: PALETTE[1]}
LINES = {PARITY: "-", PARITY_LSTM: "-", PARITY_RECENCY: (0, (3, 2))}
NAMES = {PARITY: "Transformer", PARITY_LSTM: "LSTM", PARITY_RECENCY: "scratchpad and recency"}


def shown_members(results: Results, arm: str) -> np.ndarray:
    """The members that have learned, or all if none has."""
    kept = learned(results, arm)
    return kept if len(kept) else np.arange(config_of(results, arm).members)


def _chances(ax: Any, results: Results) -> None:
    for arm in results:
        chances = config_of(results, arm).chances
        rows = 100 * np.asarray(results[arm].numbers["chances"], float)[shown_members(results, arm)]
        for row in rows:
            ax.plot(chances, row, color=COLOURS[arm], lw=0.7, ls="-", alpha=0.5)
        ax.plot(
            chances, rows.mean(axis=0), marker="o", ms=3, ls=LINES[arm], color=COLOURS[arm],
            label=NAMES[arm],
        )  # fmt: skip
    ax.axvline(0.5, ls="--", lw=1, color="0.5")
    ax.set_xlabel("chance of a one")
    ax.set_ylabel("states right (%)")
    percent_axis(ax)
    ax.legend(loc="lower left")


def _lengths(ax: Any, results: Results) -> None:
    length = config_of(results, PARITY).length
    for arm in results:
        rows = 100 * results[arm].arrays["positions"][shown_members(results, arm)]
        t = np.arange(1, rows.shape[1] + 1)
        for row in rows:
            ax.plot(t, row, color=COLOURS[arm], lw=0.7, ls="-", alpha=0.4)
        ax.plot(t, rows.mean(axis=0), color=COLOURS[arm], ls=LINES[arm], label=NAMES[arm])
    ax.axvline(length + 0.5, ls="--", lw=1, color="0.5")
    ax.text(length + 0.9, 97, "longer than\nin training", va="top", fontsize=8)
    ax.set_xlabel("position $t$")
    percent_axis(ax)


def _cells(ax: Any, results: Results) -> Any:
    arrays = results[PARITY].arrays
    cells = 100 * arrays["cells"][shown_members(results, PARITY)].mean(axis=0)
    length = len(cells)
    picture = ax.imshow(
        cells.T, origin="lower", cmap="cividis", vmin=0, vmax=100, aspect="auto",
        extent=(0.5, length + 0.5, -0.5, length + 0.5),
    )  # fmt: skip
    edges = np.repeat(np.arange(0.5, length + 1), 2)[1:-1]  # of the columns, each twice
    once = arrays["expected"] >= 1
    for end, side in ((once.argmax(axis=1), -0.5), (length - once[:, ::-1].argmax(axis=1), 0.5)):
        ax.plot(edges, np.repeat(end + side, 2), color=PALETTE[1], lw=1.8, ls="-")
    ax.set_xticks(range(5, length + 1, 5))
    ax.set_yticks(range(0, length + 1, 5))
    ax.set_xlabel("position $t$")
    ax.set_ylabel("ones among the first $t$")
    ax.grid(False)
    return picture


def chances_figure(results: Results) -> "Figure":
    """Accuracy against the chance of a one; thin lines are members."""
    fig = figure(5.4, 3.2)
    _chances(fig.subplots(), results)
    return fig


def counts_figure(results: Results) -> "Figure":
    """Accuracy against the number of ones in the string."""
    fig = figure(5.4, 3.2)
    ax = fig.subplots()
    rows = 100 * results[PARITY].arrays["by_ones"][shown_members(results, PARITY)]
    ones = np.arange(rows.shape[1])
    for row in rows:
        ax.plot(ones, row, color=PALETTE[0], lw=0.7, ls="-", alpha=0.5)
    ax.plot(ones, rows.mean(axis=0), "o-", ms=3, color=PALETTE[0])
    ax.set_xticks(range(0, rows.shape[1], 5))
    ax.set_xlabel(f"ones in a string of {rows.shape[1] - 1}, at random places")
    ax.set_ylabel("states right (%)")
    percent_axis(ax)
    return fig


def brittle_figure(results: Results) -> "Figure":
    """Against the chance of a one, against the position, and by position and number of ones, with the contour
    of what training shows once."""
    fig = figure(10.6, 3.3)
    axes = fig.subplots(1, 3, width_ratios=[1, 1, 1.1])
    _chances(axes[0], results)
    _lengths(axes[1], results)
    picture = _cells(axes[2], results)
    titles = (
        "other chances",
        "longer strings",
        "Transformer, by count; line: seen once in training",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=9)
    fig.colorbar(picture, ax=axes[2]).set_label("states right (%)")
    return fig
