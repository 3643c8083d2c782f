"""Pictures of recovery: from counts, and from language models."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure

from ...common.log_ticks import log_ticks
from .tasks import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def recovery_figure(results: Results) -> "Figure":
    """Distance from the true parameters against the number of triples: median and middle half of the data
    sets."""
    found = results["counting"]
    sizes, distances = np.array(found.config.sizes), found.arrays["distances"]
    fig = figure(4.8, 3.4)
    ax = fig.subplots()
    for row, task, colour, mark in zip(
        distances, found.numbers["tasks"], PALETTE, "os", strict=False
    ):
        low, middle, high = np.nanpercentile(row, (25, 50, 75), axis=0)
        ax.fill_between(sizes, low, high, color=colour, alpha=0.18, lw=0)
        ax.loglog(sizes, middle, marker=mark, color=colour, label=NAMES[task])
    ax.loglog(sizes, 20 / np.sqrt(sizes), ls="--", lw=1, color="0.5", label=r"$\propto n^{-1/2}$")
    ax.set_xlabel("triples that are counted")
    ax.set_ylabel("distance from the true parameters")
    ax.legend(fontsize=8)
    return fig


def drawn_figure(results: Results) -> "Figure":
    """Distance of the world fitted to every set of triples, with the mean and its interval, by length of the
    means."""
    found = results["drawn"]
    lengths, distances = found.config.lengths, found.arrays["distances"]
    fig = figure(4.6, 3.2)
    ax = fig.subplots()
    for place, row in enumerate(distances):
        mean = Estimate.of(row)
        spread = place - 0.12 + 0.24 * np.arange(len(row)) / max(len(row) - 1, 1)
        ax.plot(spread, row, "o", ms=4, alpha=0.6, mew=0, color=PALETTE[0])
        bars = [[mean.value - mean.low], [mean.high - mean.value]]
        ax.errorbar(place + 0.25, mean.value, yerr=bars, fmt="s", capsize=3, color=PALETTE[1])
    ax.axhline(0.15, ls="--", lw=1, color="0.5")
    ax.set_xticks(range(len(lengths)), [f"{length:g}" for length in lengths])
    ax.set_xlim(-0.5, len(lengths) - 0.5)
    ax.set_ylim(bottom=0)
    ax.grid(axis="x", visible=False)
    ax.set_xlabel("length of the three means")
    ax.set_ylabel("distance from the true parameters")
    return fig


def language_model_figure(results: Results) -> "Figure":
    """Recovered against true entries, and the distance against the tokens that were read."""
    found = results["models"]
    fig = figure(8.0, 3.4)
    left, right = fig.subplots(1, 2)
    left.plot([0, 1], [0, 1], lw=0.9, color="0.5")
    for name, colour, mark in (("O", PALETTE[0], "o"), ("T", PALETTE[1], "s")):
        true, read = found.arrays[name][:, 0].ravel(), found.arrays[name][:, 1].ravel()
        left.plot(
            true, read, mark, ms=4, alpha=0.6, mew=0, color=colour, label=f"entries of ${name}$"
        )
    left.set_xlabel("true")
    left.set_ylabel("read off the language model")
    left.legend(fontsize=8)
    tokens, distances = np.array(found.numbers["tokens"]), found.arrays["distances"]
    right.loglog(tokens, distances, lw=0.8, ls="-", alpha=0.35, color=PALETTE[0])
    middle = np.nanmedian(distances, axis=1)
    right.loglog(tokens, middle, marker="o", color=PALETTE[0], label="language model")
    if not found.config.exact:
        counted = np.nanmedian(found.arrays["counted"], axis=1)
        label = "counts of as many triples"
        right.loglog(tokens, counted, marker="s", ls="--", color=PALETTE[2], label=label)
    log_ticks(right.xaxis, tokens)
    if np.nanmin(distances) > 5e-3:
        log_ticks(right.yaxis, distances)
    right.set_xlabel("tokens read in training")
    right.set_ylabel("distance from the true parameters")
    targets = "exact targets" if found.config.exact else "sampled tokens"
    right.set_title(f"{targets}, worlds: {len(found.arrays['O'])}", fontsize=10)
    right.legend(fontsize=8)
    return fig
