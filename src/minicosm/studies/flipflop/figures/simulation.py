"""Where models of the automaton look."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import simulated, values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TINY = 1e-30
SYMBOLS = ("keep", "set 1", "set 2")


def drift_figure(results: Results) -> "Figure":
    """The weight of the only setting, against how far it is back, every run."""
    fig = figure(5.6, 3.2)
    ax = fig.subplots()
    for i, arm in enumerate(results):
        for row in np.asarray(results[arm].arrays["probe_maps"], float):
            ax.loglog(np.arange(1, len(row) + 1), np.maximum(row, TINY), lw=1, ls="-",
                      color=PALETTE[i % len(PALETTE)], alpha=0.8)  # fmt: skip
        ax.plot([], [], color=PALETTE[i % len(PALETTE)], ls="-", label=arm)
        ax.axvline(simulated(results, arm).length, ls="--", lw=1, color="0.5")
    ax.set(xlabel="position (dashed: length of training)", ylabel="weight on the only setting")
    ax.set_ylim(TINY / 10, 3)
    ax.legend(fontsize=8)
    return fig


def maps_figure(results: Results) -> "Figure":
    """Attention on one string: of the first run of every arm, the mean over heads of its last layer."""
    arms = list(results)
    fig = figure(2.4 * len(arms) + 0.8, 2.9)
    axes = fig.subplots(1, len(arms), squeeze=False)[0]
    for ax, arm in zip(axes, arms, strict=True):
        maps, string = results[arm].arrays["maps"], results[arm].arrays["string"]
        image = ax.imshow(maps[0, -1].mean(axis=0), vmin=0, vmax=1, interpolation="nearest")
        names = [("⊥", "σ₀", "σ₁")[s] for s in string]
        ax.set_xticks(range(len(names)), names, fontsize=7)
        ax.set_yticks(range(len(names)), names, fontsize=7)
        ax.set_title(f"{arm}\nerror {values(results, arm, 'error')[0]:.2g}", fontsize=8)
        ax.grid(visible=False)
    fig.colorbar(image, ax=axes, shrink=0.8)
    return fig


def entropy_figure(results: Results) -> "Figure":
    """Error against the mean entropy of a row of attention, every run."""
    fig = figure(5.2, 3.2)
    ax = fig.subplots()
    for i, arm in enumerate(results):
        ax.plot(values(results, arm, "entropy"), values(results, arm, "error"), "o", ms=5, ls="none",
                color=PALETTE[i % len(PALETTE)], label=arm)  # fmt: skip
    ax.axvline(0.7, ls="--", lw=1, color="0.5")
    ax.axhline(0.1, ls="--", lw=1, color="0.5")
    ax.set(xlabel="entropy of a row of attention (nats)", ylabel="wrong states (share)")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(-2e-5, 1)
    ax.legend(fontsize=8)
    return fig
