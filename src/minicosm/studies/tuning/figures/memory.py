"""Theorem 4.3 on exact models of worlds with memory."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ...common.figures import errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def theorem_4_3_figure(results: Results) -> "Figure":
    """Labels that the head gets wrong, world by world, on sequences in R and on the others; and its largest
    error on those in R."""
    inside, outside = rows(results, "Theorem 4.3"), rows(results, "outside R")
    fig = figure(8.0, 3.5)
    left, right = fig.subplots(1, 2)
    sequences, skipped = (np.array(inside[name], float) for name in ("sequences", "skipped"))
    share = 100 * (1 - skipped / sequences)
    for found, label, colour, mark in (
        (outside, r"$x \notin R$", PALETTE[1], "s"),
        (inside, r"$x \in R$", PALETTE[0], "o"),
    ):
        wrong, compared = (np.array(found[name], float) for name in ("disagreements", "compared"))
        at = compared > 0
        rate = 100 * wrong[at] / compared[at]
        left.plot(share[at], rate, mark, ms=3.5, mew=0, alpha=0.7, color=colour, label=label)
    left.set_xlabel("sampled sequences in $R$ (%)")
    left.set_ylabel("labels that are wrong (%)")
    left.set_ylim(-4, 104)
    left.legend()
    values = np.array([np.nan if error is None else error for error in inside["error"]], float)
    errors(right, values, inside["condition"], inside["tolerance"][0])
    right.set_ylabel(r"largest error, $x \in R$")
    return fig
