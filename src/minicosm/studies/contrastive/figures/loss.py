"""Pictures of what a loss says about a kernel."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import where

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def kernels_figure(results: Results) -> "Figure":
    """Divergence against excess loss of random kernels, and the share of the bound that it takes."""
    excess, divergence, bound = results["suite"].arrays["kernels"][:, ::4]  # enough to see
    fig = figure(8.0, 3.3)
    left, right = fig.subplots(1, 2)
    left.loglog(excess, divergence, ".", ms=2.5, alpha=0.5, color=PALETTE[0])
    line = np.geomspace(excess.min(), excess.max(), 2)
    left.loglog(line, 8 * line, lw=1.1, ls="--", color="0.5", label="8 × excess")
    left.set_xlabel("excess contrastive loss")
    left.set_ylabel("KL(true, learned)")
    left.legend(fontsize=8)
    right.loglog(bound, divergence, ".", ms=2.5, alpha=0.5, color=PALETTE[1])
    most = float(np.quantile(bound, 0.98))  # a few bounds are larger by many powers of ten
    line = np.geomspace(divergence.min(), 10 * divergence.max(), 2)
    right.loglog(line, line, lw=1.1, color="0.5", label="equal")
    right.set_xlim(bound.min() / 2, most)
    right.set_xlabel("bound of Theorem 2")
    right.set_ylabel("KL(true, learned)")
    right.legend(fontsize=8)
    return fig


def ratio_figure(results: Results) -> "Figure":
    """The scaled ratio of Theorem 3 against the gap, for a local contrast law and for fixed ones."""
    found = rows(results, "scaled ratio")
    fig = figure(4.8, 3.3)
    ax = fig.subplots()
    names = {"local": r"$N(x, 2\eta)$", "N(0, 1)": "$N(0, 1)$", "N(0, 4)": "$N(0, 4)$"}
    for (name, label), colour, mark in zip(names.items(), PALETTE, "osD", strict=False):
        gap, ratio = (where(found, column, contrast=name) for column in ("gap", "ratio"))
        ax.loglog(gap, ratio, marker=mark, color=colour, label=label)
    ax.set_xlabel(r"gap $\eta$")
    ax.set_ylabel(r"$E|p - p_*| \, (\eta / \mathrm{excess})^{1/2}$")
    ticks = [0.3, 0.5, 1, 2, 5]
    ax.set_yticks(ticks, [str(t) for t in ticks])
    ax.minorticks_off()
    ax.legend(title="contrast law", fontsize=8, title_fontsize=8)
    return fig
