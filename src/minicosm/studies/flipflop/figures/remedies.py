"""Wrong reads with and without remedies, and of models of other sizes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import legend_right
from ..readings import config_of, learned
from .glitches import NAMES, rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 1.8
"""Half of the width of the band of runs without a wrong read, as a factor."""


def remedy_figure(results: Results) -> "Figure":
    """Dense against sparse error of every run, coloured by arm; hollow: has not learned. Runs without a wrong
    read stand in the grey bands, a little apart."""
    fig = figure(6.4, max(3.8, 0.19 * len(results) + 0.6))
    ax = fig.subplots()
    markers = "osD^vP*X"
    floors = {name: _floor(results, name) for name in ("dense", "sparse")}
    rng = np.random.default_rng(0)
    for i, arm in enumerate(results):
        x, y = (_shown(results, arm, name, floors[name], rng) for name in ("dense", "sparse"))
        kept = np.isin(np.arange(len(x)), learned(results, arm))
        style: Any = {"marker": markers[i % len(markers)], "ls": "none", "ms": 5}
        colour = PALETTE[i % len(PALETTE)]
        ax.plot(x[kept], y[kept], color=colour, label=f"{arm} (T {config_of(results, arm).length})",
                **style)  # fmt: skip
        ax.plot(x[~kept], y[~kept], color=colour, mfc="none", **style)
    ax.set(xscale="log", yscale="log", xlabel="wrong reads, dense strings (share)",
           ylabel="wrong reads, sparse strings (share)")  # fmt: skip
    _band(ax.axvspan, floors["dense"])
    _band(ax.axhspan, floors["sparse"])
    _key(ax)
    legend_right(ax)
    return fig


def _band(span: Any, floor: float) -> None:
    """Where runs without a wrong read stand."""
    span(floor / WIDE, floor * WIDE, color="0.5", alpha=0.15, lw=0)


def _key(ax: Any) -> None:
    """What open marks and grey bands are, in the legend."""
    ax.plot([], [], "o", ms=5, mfc="none", color="0.4", label="open: has not learned")
    ax.plot([], [], "s", ms=9, mew=0, color="0.5", alpha=0.25, label="grey: no wrong read")


def _floor(results: Results, name: str) -> float:
    """Where zero is drawn."""
    return min(rates(results, arm, name)[1] for arm in results)


def _shown(
    results: Results, arm: str, name: str, floor: float, rng: np.random.Generator | None = None
) -> np.ndarray:
    """The errors of an arm; zeros at the floor, spread over its band by `rng`."""
    found, _ = rates(results, arm, name)
    apart = 0 if rng is None else rng.uniform(-0.8, 0.8, len(found))
    return np.where(found > 0, found, floor * WIDE**apart)


def size_figure(results: Results) -> "Figure":
    """Error of every run against the number of layers, coloured by width; hollow: has not learned; in the
    grey band: no wrong read."""
    fig = figure(7.2, 3.2)
    axes = fig.subplots(1, 2, sharey=True)
    widths = sorted({config_of(results, arm).width for arm in results})
    floor = min(_floor(results, name) for name in ("sparse", "dense"))
    for ax, name in zip(axes, ("sparse", "dense"), strict=True):
        for arm in results:
            config, y = config_of(results, arm), _shown(results, arm, name, floor)
            i = widths.index(config.width)
            kept = np.isin(np.arange(len(y)), learned(results, arm))
            apart = np.linspace(-0.06, 0.06, len(y)) + 0.2 * (i - (len(widths) - 1) / 2)
            style: Any = {"marker": "o", "ls": "none", "ms": 4, "color": PALETTE[i % len(PALETTE)]}
            ax.plot((config.layers + apart)[kept], y[kept], **style)
            ax.plot((config.layers + apart)[~kept], y[~kept], mfc="none", **style)
        _band(ax.axhspan, floor)
        ax.set(xlabel="layers", title=NAMES[name], yscale="log")
        ax.set_xticks(sorted({config_of(results, arm).layers for arm in results}))
    for i, width in enumerate(widths):
        axes[1].plot([], [], "o", ms=4, color=PALETTE[i % len(PALETTE)], label=f"width {width}")
    axes[0].set_ylabel("share of wrong reads")
    _key(axes[1])
    legend_right(axes[1])
    return fig
