"""The picture of mixing coefficients and their bounds."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"OU": "Ornstein-Uhlenbeck", "log cosh": r"$x^2/2 + \log\cosh 2x$"}


def mixing_figure(results: Results) -> "Figure":
    """Mixing coefficients of points against time, and of pairs against the number of gaps, with their
    bounds."""
    fig = figure(8.0, 3.3)
    left, right = fig.subplots(1, 2)
    found = rows(results, "mixing")
    for (name, label), colour, mark in zip(NAMES.items(), PALETTE, "os", strict=False):
        time, beta, bound = (where(found, c, world=name) for c in ("time", "beta", "bound"))
        left.loglog(time, beta, marker=mark, color=colour, label=label)
        left.loglog(time, np.minimum(bound, 1), ls="--", lw=1.1, color=colour)
    left.set_ylim(1e-4, 1.5)
    left.set_xlabel("time $t$")
    left.set_ylabel(r"$\beta(t)$")
    left.set_title(r"points; dashed: $B (\pi t)^{-1/2}$", fontsize=10)
    left.legend(fontsize=8)
    pairs = rows(results, "Lemma 3")
    for (name, label), colour, mark in zip(NAMES.items(), PALETTE, "os", strict=False):
        fields = {"world": name, "gap": 0.3, "contrast": "Stationary", "applies": True}
        time = [2 * i * 0.3 for i in where(pairs, "i", **fields)]
        right.loglog(time, where(pairs, "pairs", **fields), marker=mark, color=colour, label=label)
        right.loglog(time, where(pairs, "bound", **fields), ls="--", lw=1.1, color=colour)
    ticks = [0.6, 1.2, 1.8, 3.0, 4.8]
    right.set_xticks(ticks, [f"{t:g}" for t in ticks])
    right.minorticks_off()
    right.set_xlabel(r"time $2 i \eta$")
    right.set_ylabel(r"$\beta_S(2 i \eta)$")
    right.set_title(r"pairs, $\eta = 0.3$; dashed: $B (\pi (2i - 1) \eta)^{-1/2}$", fontsize=10)
    return fig
