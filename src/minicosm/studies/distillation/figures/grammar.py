"""Teachers and students of a grammar: phases, reliance on neighbours, horizons and checkpoints."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..sentence_readings import drop, sentences_config, shortest, taught, top_accuracy
from ..trials import PLACES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def phases_figure(results: Results) -> "Figure":
    """The teachers' loss, and under it the median of L_robust for n = 2..5 (means over teachers); shaded is
    where the loss drops rapidly, from 10% to 80% of its drop (means over teachers that have learned)."""
    arrays = results["sentences"].arrays
    steps = np.asarray(arrays["steps"], float)
    fig = figure(5.4, 4.2)
    above, below = fig.subplots(2, 1, sharex=True)
    above.plot(steps, np.asarray(arrays["losses"], float), color="0.4", lw=0.9, ls="-")
    above.axhline(results["sentences"].numbers["bayes"], color=PALETTE[2], lw=1, ls="--")
    above.text(steps[-1], results["sentences"].numbers["bayes"], "exact", ha="right", va="bottom",
               fontsize=7.5, color=PALETTE[2])  # fmt: skip
    above.set_ylabel("loss (nats)")
    begin, end = (drop(results, share) * steps[-1] for share in (0.1, 0.8))
    if len(begin) and np.isfinite([*begin, *end]).all():
        for ax in (above, below):
            ax.axvspan(begin.mean(), end.mean(), color=PALETTE[2], alpha=0.15, lw=0)
        above.set_title("shaded: from 10% to 80% of the drop of the loss", fontsize=8.5)
    robust = np.asarray(arrays["robust"], float)
    for j in range(robust.shape[2]):
        below.plot(steps, robust[:, :, j].mean(axis=1), color=PALETTE[j], label=f"n = {j + 2}")
    below.set_xlabel("step of the teachers")
    below.set_ylabel("median $L_{robust}$")
    below.legend(fontsize=7.5, ncols=2)
    return fig


def horizons_figure(results: Results) -> "Figure":
    """Top-1 accuracy of students by horizon and way of learning, with the exact ceiling."""
    config, numbers = sentences_config(results), results["sentences"].numbers
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    for j, arm in enumerate(("labels", "one-shot", "progressive")):
        for i, horizon in enumerate(config.horizons):
            values = 100 * np.asarray(numbers["accuracy"][str(horizon)][arm], float)
            x = i + 0.22 * (j - 1) + np.linspace(-0.06, 0.06, len(values))
            label = arm if i == 0 else None
            ax.plot(x, np.sort(values), "o", ms=4, color=PALETTE[(1, 3, 0)[j]], label=label)
    ax.axhline(100 * numbers["ceiling"], color=PALETTE[2], lw=1, ls="--", label="exact")
    ax.set_xticks(range(len(config.horizons)), [f"{h} steps" for h in config.horizons])
    ax.set_xlim(-0.5, len(config.horizons) - 0.5)
    ax.set_ylabel("top-1 accuracy (%)")
    ax.legend(fontsize=7.5)
    return fig


def places_figure(results: Results) -> "Figure":
    """Top-1 accuracy at the shortest horizon against the step of the one checkpoint, with one-shot."""
    config, horizon = sentences_config(results), shortest(results)
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    steps = np.array(list(PLACES.values())) * config.teacher_steps
    if len(taught(results)):
        tops = np.array([100 * top_accuracy(results, place, horizon) for place in PLACES])
        ax.semilogx(steps, tops, ".", color=PALETTE[0], ms=5)
        ax.semilogx(steps, tops.mean(axis=1), "o-", color=PALETTE[0], label="one checkpoint")
        base = 100 * top_accuracy(results, "one-shot", horizon).mean()
        ax.axhline(base, color=PALETTE[3], lw=1.2, label="final teacher only")
        ax.legend(fontsize=7.5)
    ax.set_xticks(steps, [f"{step:g}" for step in steps])
    ax.minorticks_off()
    ax.set_xlabel("step of the checkpoint that is followed first")
    ax.set_ylabel(f"top-1 accuracy after {horizon} steps (%)")
    return fig
