"""Wrong reads with and without remedies, and of models of other sizes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import legend_right
from ..readings import config_of, learned
from .glitches import NAMES, rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def remedy_figure(results: Results) -> "Figure":
    """Dense against sparse error of every run, coloured by arm; hollow: has not learned."""
    fig = figure(6.4, 3.8)
    ax = fig.subplots()
    markers = "osD^vP*X"
    for i, arm in enumerate(results):
        (x, zero_x), (y, zero_y) = rates(results, arm, "dense"), rates(results, arm, "sparse")
        x, y = np.where(x > 0, x, zero_x), np.where(y > 0, y, zero_y)
        kept = np.isin(np.arange(len(x)), learned(results, arm))
        style: Any = {"marker": markers[i % len(markers)], "ls": "none", "ms": 5}
        colour = PALETTE[i % len(PALETTE)]
        ax.plot(x[kept], y[kept], color=colour, label=f"{arm} (T {config_of(results, arm).length})",
                **style)  # fmt: skip
        ax.plot(x[~kept], y[~kept], color=colour, mfc="none", **style)
    ax.set(xscale="log", yscale="log", xlabel="wrong reads, dense strings (share)",
           ylabel="wrong reads, sparse strings (share)")  # fmt: skip
    legend_right(ax)
    return fig


def size_figure(results: Results) -> "Figure":
    """Error of every run against the number of layers, coloured by width; hollow: has not learned."""
    fig = figure(7.2, 3.2)
    axes = fig.subplots(1, 2, sharey=True)
    widths = sorted({config_of(results, arm).width for arm in results})
    for ax, name in zip(axes, ("sparse", "dense"), strict=True):
        for arm in results:
            config, (found, zero) = config_of(results, arm), rates(results, arm, name)
            i = widths.index(config.width)
            kept = np.isin(np.arange(len(found)), learned(results, arm))
            apart = np.linspace(-0.06, 0.06, len(found)) + 0.15 * (i - (len(widths) - 1) / 2)
            x, y = config.layers + apart, np.where(found > 0, found, zero)
            style: Any = {"marker": "o", "ls": "none", "ms": 4, "color": PALETTE[i % len(PALETTE)]}
            ax.plot(x[kept], y[kept], **style)
            ax.plot(x[~kept], y[~kept], mfc="none", **style)
        ax.set(xlabel="layers", title=NAMES[name], yscale="log")
        ax.set_xticks(sorted({config_of(results, arm).layers for arm in results}))
    for i, width in enumerate(widths):
        axes[1].plot([], [], "o", ms=4, color=PALETTE[i % len(PALETTE)], label=f"width {width}")
    axes[0].set_ylabel("share of wrong reads (hollow: not learned)", fontsize="small")
    legend_right(axes[1])
    return fig
