"""Pictures of what constrained strings cost, without a verifier and with one."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def calls_figure(results: Results) -> "Figure":
    """Expected calls for one string of D fair bits against D, by sampler; beside them tokenwise rejection
    for the solutions of knapsacks, between its bounds."""
    fig = figure(8.4, 3.5)
    left, right = fig.subplots(1, 2, width_ratios=[1.15, 1])
    needle = rows(results, "Proposition 3.1.1")
    for column, label, colour, mark in (
        ("rejection", "rejection, no verifier", PALETTE[1], "s"),
        ("restart", "verifier, starting over", PALETTE[4], "^"),
        ("tokenwise", "verifier, token by token", PALETTE[0], "o"),
    ):
        left.semilogy(needle["D"], needle[column], "-", marker=mark, color=colour, label=label)
    left.set_xticks(range(2, max(needle["D"]) + 1, 2))
    left.set_xlabel("length $D$")
    left.set_ylabel("expected calls")
    left.set_title("one string of $D$ fair bits")
    left.legend()

    found = rows(results, "tokenwise calls of uniform bits")
    at = [i for i, applies in enumerate(found["applies"]) if applies]
    size, calls = (np.array([found[name][i] for i in at], float) for name in ("D", "tokenwise"))
    every = np.unique(size)
    for factor, label, colour in ((2, "$2D$", PALETTE[1]), (1, "$D$", PALETTE[2])):
        right.hlines(factor * every, every - 0.4, every + 0.4, color=colour, lw=1.6, label=label)
    aside = 0.6 * (np.random.default_rng(0).random(len(at)) - 0.5)  # else they hide each other
    right.plot(size + aside, calls, "o", ms=3, alpha=0.7, mew=0, color=PALETTE[0])
    right.set_ylim(0)
    right.set_xticks(range(2, int(size.max(initial=2)) + 1, 2))
    right.set_xlabel("length $D$")
    right.set_ylabel("expected calls, token by token")
    right.set_title("solutions of knapsacks")
    right.legend()
    return fig
