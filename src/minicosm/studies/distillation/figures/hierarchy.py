"""A tree of parities: blocks that spike in turn, and schedules with one or two checkpoints."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import curve, learned
from ..trials import SINGLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def blocks_figure(results: Results) -> "Figure":
    """Of one teacher: accuracy, and correlations with pairs of each block on the way to class 0."""
    result = results["hierarchy"]
    arrays, steps = result.arrays, np.asarray(result.arrays["steps"], float) / 1000
    seeds = learned(results, "hierarchy")
    seed = int(seeds[0]) if len(seeds) else 0
    fig = figure(5.4, 4.0)
    above, below = fig.subplots(2, 1, sharex=True)
    above.plot(steps, 100 * np.asarray(arrays["teacher_curve"], float)[:, seed], color="0.25")
    above.set_ylabel("accuracy (%)")
    above.set_title("one teacher; dotted: the peaks of the blocks", fontsize=8.5)
    blocks = np.asarray(arrays["blocks"], float)[:, seed]
    names = ["root's block", "its child's", *(f"level {i}" for i in range(3, blocks.shape[1]))]
    for j, name in enumerate(names[: blocks.shape[1] - 1]):
        below.plot(steps, blocks[:, j], color=PALETTE[j], lw=1.6, label=name)
    below.plot(steps, blocks[:, -1], color="0.6", lw=1, label="all other pairs")
    for name, colour in (("root", PALETTE[0]), ("child", PALETTE[1])):
        for ax in (above, below):
            ax.axvline(result.numbers[name][seed] / 1000, color=colour, lw=1, ls=":")
    below.set_xlabel("steps (thousands)")
    below.set_ylabel(r"mean $|E\, p(x)\, x_i x_j|$")
    below.legend(fontsize=7.5)
    return fig


def schedules_figure(results: Results) -> "Figure":
    """Accuracy of students at the end, by which checkpoints they followed."""
    arms = ("labels", *SINGLES, "two", "progressive")
    fig = figure(6.4, 3.0)
    ax = fig.subplots()
    for x, arm in enumerate(arms):
        last = 100 * curve(results, arm, "hierarchy")[-1]
        spread = x + np.linspace(-0.2, 0.2, max(len(last), 1))[: len(last)]
        colour = PALETTE[1] if x == 0 else PALETTE[0] if x <= len(SINGLES) else PALETTE[2]
        ax.plot(spread, last, "o", ms=4.5, color=colour)
    ax.axhline(99, color="0.6", lw=0.8, ls=":")
    names = ["labels", *(f"{name}" for name in SINGLES), "root and\nchild", "all"]
    ax.set_xticks(range(len(arms)), names, fontsize=8)
    ax.set_ylabel("accuracy at the end (%)")
    ax.set_xlabel("checkpoints that the student follows before the final one")
    return fig
