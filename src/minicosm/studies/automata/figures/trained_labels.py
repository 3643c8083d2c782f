"""Accuracy with labels that are indirect or sparse."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..experiment_readings import accuracy
from .trained_depth import math_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def labels_figure(results: Results) -> "Figure":
    """One dot a member, and the floor of the position alone."""
    fig = figure(6.8, 0.9 + 0.42 * len(results))
    ax = fig.subplots()
    for row, arm in enumerate(results):
        values = 100 * accuracy(results, arm)
        floor = 100 * results[arm].numbers["position"]
        label = "a member" if row == 0 else None
        ax.plot(
            values, np.full(len(values), row), "o", ms=5, color=PALETTE[0], alpha=0.75, label=label
        )
        label = "position alone" if row == 0 else None
        ax.plot([floor], [row], "|", ms=16, mew=2, color=PALETTE[1], label=label)
    ax.axvline(99, ls="--", lw=1, color="0.5")
    ax.text(99, -0.62, "99% ", ha="right", fontsize=8)
    ax.set_yticks(range(len(results)), map(math_name, results))
    ax.set_ylim(len(results) - 0.5, -0.8)
    ax.set_xlim(None, 101)
    ax.set_xlabel("labels right (%)")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig
