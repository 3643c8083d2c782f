"""Pictures of samples of Ornstein-Uhlenbeck worlds beside what is exact."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ...common.log_ticks import log_ticks
from ..readings import scaled, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _points(ax: Any, x: Any, estimates: list, colour: str, mark: str, label: str) -> None:
    middle = [e.value for e in estimates]
    bars = [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]
    ax.errorbar(
        x, middle, yerr=bars, fmt=mark, ms=5, capsize=2.5, elinewidth=1, color=colour, label=label
    )


def gap_figure(results: Results) -> "Figure":
    """The largest difference of empirical and true risk against the length of the trajectory."""
    found = results["gap"]
    lengths, gaps = np.array(found.config.lengths, float), found.arrays["gaps"]
    fig = figure(4.6, 3.2)
    ax = fig.subplots()
    low, middle, high = np.percentile(gaps, (10, 50, 90), axis=0)
    ax.fill_between(lengths, low, high, alpha=0.18, lw=0, color=PALETTE[0])
    ax.loglog(lengths, middle, marker="o", color=PALETTE[0], label="median, middle 80%")
    line = middle[0] * np.sqrt(lengths[0] / lengths)
    ax.loglog(lengths, line, ls="--", lw=1, color="0.5", label=r"$\propto T^{-1/2}$")
    ax.set_xticks(lengths, [f"{n:g}" for n in lengths])
    ax.minorticks_off()
    log_ticks(ax.yaxis, [low, high])
    ax.set_xlabel("length $T$")
    ax.set_ylabel("largest difference of risks")
    ax.legend(fontsize=8)
    return fig


def length_figure(results: Results) -> "Figure":
    """`T KL / gap` against the length, with the exact limit."""
    found = results["length"]
    config, price = found.config, found.numbers["price"]
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    curve = [scaled(found.arrays["curve"][:, i], n, config.gap) for i, n in enumerate(config.curve)]
    _points(ax, config.curve, curve, PALETTE[0], "o", "one trajectory")
    for name, colour, mark, label in (
        ("path", PALETTE[2], "D", f"the same, {config.repeats} repeats"),
        ("independent", PALETTE[1], "s", "independent pairs"),
    ):
        _points(
            ax,
            [config.length],
            [scaled(found.arrays[name], config.length, config.gap)],
            colour,
            mark,
            label,
        )
    ax.axhline(price, ls="--", lw=1.1, color="0.5", label=f"exact limit, {price:.3f}")
    ax.set_xscale("log")
    ax.set_ylim(0)
    ax.set_xlabel("length $T$")
    ax.set_ylabel(r"$T \cdot KL / \eta$")
    ax.legend(fontsize=8)
    return fig


def shift_figure(results: Results) -> "Figure":
    """`T KL / gap` against the shift of the contrast law: simulated, and the exact limit."""
    found = results["shift"]
    config, values = found.config, found.arrays["divergences"]
    fig = figure(4.8, 3.3)
    ax = fig.subplots()
    ax.semilogy(config.shifts, found.numbers["prices"], color=PALETTE[1], label="exact limit")
    each = [
        scaled(values[:, i], config.shift_length, config.gap) for i in range(len(config.shifts))
    ]
    _points(ax, config.shifts, each, PALETTE[0], "o", f"simulated, T = {config.shift_length}")
    ax.set_xlabel("mean $m$ of the contrast law $N(m, 1)$")
    ax.set_ylabel(r"$T \cdot KL / \eta$")
    ax.legend(fontsize=8)
    return fig


def price_figure(results: Results) -> "Figure":
    """The price of contrast laws against the gap, and against the shift of their mean."""
    found, shifts = rows(results, "price by gap"), rows(results, "price by shift")
    fig = figure(8.0, 3.2)
    left, right = fig.subplots(1, 2)
    names = {"stationary": r"$q = \pi$", "local": r"$q = N(x, 2\eta)$"}
    for (name, label), colour, mark in zip(names.items(), PALETTE, "os", strict=False):
        gap, price, log_loss = (
            where(found, column, contrast=name) for column in ("gap", "price", "log_loss")
        )
        left.semilogx(gap, price, marker=mark, color=colour, label=label)
        left.semilogx(gap, log_loss, ls=":", lw=1.3, color=colour)
    left.axhline(8, ls="--", lw=1, color="0.5")
    left.set_ylim(0)
    left.set_xlabel(r"gap $\eta$")
    left.set_ylabel(r"$c = \lim T \cdot KL / \eta$")
    left.set_title("squared loss (dots: log loss)", fontsize=10)
    left.legend(fontsize=8)
    right.semilogy(shifts["shift"], shifts["price"], marker="o", color=PALETTE[2])
    right.set_xlabel("mean $m$ of the contrast law $N(m, 1)$")
    right.set_title(r"$\eta = 0.5$", fontsize=10)
    return fig
