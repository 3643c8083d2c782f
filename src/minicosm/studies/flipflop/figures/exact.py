"""Exact networks and heads: errors against constants and lengths, bounds on attention, first failures."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ...common.figures import legend_right

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGMAS = (0.5, 1, 2, 3, 4)
CONSTANTS = ("2.2 T", "2.5 T", "3 T", "2 T ln(8 T)")


def constants_figure(results: Results) -> "Figure":
    """The network of Proposition 3 on dense strings, for several sizes c of its scores: the least margin of a
    read, in logits, and the share of wrong reads, against the length. Marks are nested, as the curves of all
    but one are the same."""
    fig = figure(7.6, 3.0)
    left, right = fig.subplots(1, 2)
    config, arrays = results["suite"].config, results["suite"].arrays
    for i, name in enumerate(CONSTANTS):
        style: Any = {"marker": "o", "ms": (4, 13, 10, 7)[i], "mfc": PALETTE[0] if i == 0 else "none",
                      "lw": 1, "ls": "-", "color": PALETTE[i]}  # fmt: skip
        left.semilogx(config.lengths, arrays["margins"][i], label=f"c = {name}", **style)
        right.semilogx(config.lengths, 100 * arrays["ratios"][i], **style)
    left.axhline(0, ls="--", lw=1, color="0.5")
    left.set(xlabel="length $T$", ylabel="least margin of a read (logits)")
    left.set_ylim(-0.6, 0.6)
    right.set(xlabel="length $T$", ylabel="wrong reads (%)")
    right.set_ylim(-2, 50)
    left.legend(fontsize=8, loc="lower left", markerscale=0.5)
    return fig


def leak_figure(results: Results) -> "Figure":
    """The largest weight that a soft head of norm sigma can have, against the length."""
    fig = figure(5.2, 3.0)
    ax = fig.subplots()
    arrays = results["suite"].arrays
    for i, (sigma, row) in enumerate(zip(SIGMAS, arrays["bounds"], strict=True)):
        ax.semilogx(
            arrays["lengths"], row, color=PALETTE[i], ls="-", label=f"$\\sigma$ = {sigma:g}"
        )
    ax.set(xlabel="length $T$", ylabel="largest possible weight")
    ax.set_ylim(0, 1.02)
    legend_right(ax)
    return fig


def failure_figure(results: Results) -> "Figure":
    """The length by which random heads with curved positions fail, and that of the solution, disturbed."""
    fig = figure(7.2, 3.0)
    left, right = fig.subplots(1, 2)
    lengths = np.array(
        [x for x in rows(results, "Proposition 5")["length"] if x is not None], float
    )
    edges = np.unique(np.round(np.geomspace(2, lengths.max() + 1, 18))) - 0.5  # lengths are whole
    left.hist(lengths, bins=edges.tolist(), color=PALETTE[0])
    left.set(xscale="log", xlabel="length by which a head fails", ylabel="random heads")
    found = rows(results, "Proposition 5, a solution")
    a, first = np.array(found["a"], float), np.array(found["first failure"], float)
    for sign, colour, name in ((1, PALETTE[0], "a > 0"), (-1, PALETTE[1], "a < 0")):
        kept = np.sign(a) == sign
        right.loglog(np.abs(a[kept]), first[kept], "o", color=colour, label=name)
        x = np.geomspace(5e-4, 0.5, 50)
        y = np.sqrt(7 / x) + 0.5 if sign > 0 else 7 / x
        right.loglog(x, y, color=colour, ls="-", lw=1)
    right.plot([], [], color="0.5", ls="-", lw=1, label="as stated")
    right.set(xlabel="$|a|$, $a = W_{Qp}^\\top W_{Kp}$", ylabel="first failing length, C = 7")
    right.legend(fontsize=8)
    return fig
