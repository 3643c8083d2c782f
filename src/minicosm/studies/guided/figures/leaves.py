"""How far the law of VGB's leaves is from the wanted one."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {
    "exact": "exact\nvalues",
    "kappa 4": "errors\nup to ×4\ninside",
    "sigma 0.5": "normal errors\nof the log\ninside",
    "leaves too": "errors at\nthe leaves\ntoo",
}
LEAST = 1e-18  # what is drawn for zero


def leaves_figure(results: Results) -> "Figure":
    """The error of the law in closed form, world by world, by the errors of the values; beside it a walk
    that stays in place wherever a proposal is rejected, whose leaves have another law."""
    found = rows(results, "law of the leaves")
    fig = figure(7.2, 3.7)
    ax = fig.subplots()
    rng = np.random.default_rng(0)
    for place, kind in enumerate(KINDS):
        errors = [
            error
            for error, values in zip(found["error"], found["values"], strict=True)
            if values == kind and error is not None
        ]
        x = place + 0.6 * (rng.random(len(errors)) - 0.5)
        ax.plot(x, np.maximum(errors, LEAST), "o", ms=2.5, mew=0, alpha=0.6, color=PALETTE[0])
    other = rows(results, "holding with a constant envelope")["off_target"]
    x = len(KINDS) + 0.6 * (rng.random(len(other)) - 0.5)
    ax.plot(x, np.maximum(other, LEAST), "s", ms=3, mew=0, color=PALETTE[1])
    tolerance = found["tolerance"][0]
    ax.axhline(tolerance, ls="--", lw=1, color="0.5")
    ax.text(0.01, 1.5 * tolerance, "tolerance", fontsize=9, transform=ax.get_yaxis_transform())
    ax.axvline(len(KINDS) - 0.5, lw=0.8, color="0.5")
    ax.text(len(KINDS) - 0.58, 2, "VGB", ha="right", va="bottom", color=PALETTE[0])
    ax.text(len(KINDS) - 0.42, 2, "another walk", ha="left", va="bottom", color=PALETTE[1])
    ax.set_yscale("log")
    ax.set_ylim(LEAST / 3, 1)
    powers = range(-15, 1, 3)
    ax.set_yticks([LEAST, *(10.0**n for n in powers)], ["0", *(f"$10^{{{n}}}$" for n in powers)])
    ax.minorticks_off()
    ax.set_xlim(-0.5, len(KINDS) + 0.5)
    labels = [*KINDS.values(), "constant\nenvelope,\nerrors inside"]
    ax.set_xticks(range(len(labels)), labels)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("distance from the stated law")
    return fig
