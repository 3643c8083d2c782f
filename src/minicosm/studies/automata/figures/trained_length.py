"""Accuracy by position, up to twice the length of training."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import legend_right, percent_axis
from ..experiment_readings import config_of
from .trained_depth import math_name
from .trained_shift import shown_members

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = ("-", "-", (0, (4, 2)), (0, (1, 1.5)))  # so that lines at 100% show under each other


def length_figure(results: Results) -> "Figure":
    """The mean of the members that have learned (of all, if none has), and each of them as a thin line."""
    fig = figure(7.2, 3.2)
    ax = fig.subplots()
    length = config_of(results, next(iter(results))).length
    for i, arm in enumerate(results):
        colour, line = PALETTE[i % len(PALETTE)], LINES[i % len(LINES)]
        rows = 100 * results[arm].arrays["positions"][shown_members(results, arm)]
        t = np.arange(1, rows.shape[1] + 1)
        for row in rows:
            ax.plot(t, row, color=colour, lw=0.7, ls="-", alpha=0.35)
        ax.plot(t, rows.mean(axis=0), color=colour, ls=line, label=math_name(arm))
    ax.axvline(length + 0.5, ls="--", lw=1, color="0.5")
    ax.text(length + 0.3, 0.02, "training ends ", ha="right", fontsize=8,
            transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xlabel("position $t$")
    ax.set_ylabel("states right (%)")
    percent_axis(ax)
    legend_right(ax)
    return fig
