"""Pictures of groups."""

import re
from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_group_depths(results: Results) -> "Figure":
    """Depth of compiled groups against their order, under the bound."""
    found = rows(results, "Theorem 16, recursion")
    order, depth = np.array(found["order"], float), np.array(found["depth"], float)
    fig = figure(6.2, 3.6)
    ax = fig.subplots()
    around = np.geomspace(2, max(order.max(), 4), 50)
    ax.plot(around, 3 * np.log2(around), "--", color=PALETTE[4], label="bound $3 \\log_2 |G|$")
    ax.plot(order, depth, "o", color=PALETTE[0], label="compiled")
    places = sorted(set(zip(order, depth, strict=True)))
    for i, at in enumerate(places):
        names = [
            n for n, *place in zip(found["group"], order, depth, strict=True) if tuple(place) == at
        ]
        near = i and abs(np.log2(at[0] / places[i - 1][0])) < 0.7 and at[1] == places[i - 1][1]
        ax.annotate(
            ", ".join(map(typeset, names)),
            at,
            xytext=(0, 6 if near else -7),
            textcoords="offset points",
            ha="center",
            va="bottom" if near else "top",
            fontsize=7,
        )
    ax.set_xscale("log", base=2)
    ax.set(xlabel="order of the group", ylabel="layers", ylim=(0, None), xlim=(1.7, None))
    ax.legend(fontsize=8, loc="upper left")
    return fig


def typeset(name: str) -> str:
    """The name of a group: `C_2 x C_3` with subscripts."""
    parts = [part for piece in name.split(" x ") for part in piece.split(" × ")]
    indexed = [re.sub("_([0-9]+)", r"_{\1}", part) for part in parts]
    return "×".join(f"${part}$" for part in indexed)
