"""The picture of students with zero loss."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import ROUNDING, all_solved, worlds_of
from ..trials import PAIRWISE, TASKS
from .tasks import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def students_figure(results: Results) -> "Figure":
    """A strip for every task: how far each student with zero loss is from the world."""
    fig = figure(7.8, 3.6)
    ax = fig.subplots()
    rng = np.random.default_rng(0)
    labels = []
    for place, task in enumerate(TASKS):
        distances = np.maximum(all_solved(results, task), ROUNDING)
        started = sum(
            len(results[world].numbers[task]["residual"])
            for world in worlds_of(results)
            if task in results[world].numbers
        )
        labels.append(NAMES[task].replace("all ", "").replace(" tokens", ""))
        if not started:
            continue
        colour = PALETTE[1] if task in PAIRWISE else PALETTE[2]
        spread = place + rng.uniform(-0.28, 0.28, len(distances))
        ax.semilogy(spread, distances, ".", ms=3.5, alpha=0.5, color=colour)
        ax.text(place, 8, f"{len(distances)}/{started}", ha="center", fontsize=8)
    ax.axhline(0.01, ls="--", lw=0.9, color="0.5")
    ax.axhline(1e-6, ls=":", lw=0.9, color="0.5")
    ax.set_xticks(range(len(TASKS)), labels, fontsize=8.5)
    ax.set_xlim(-0.5, len(TASKS) - 0.5)
    ax.set_ylim(ROUNDING / 3, 60)
    ax.set_ylabel("distance from the true parameters")
    ax.set_title("students with zero loss, of all that were started")
    ax.grid(axis="x", visible=False)
    return fig
