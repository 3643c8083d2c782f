"""GPT-like students by height of the predicted ends, and students of a user's text."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..transformer_readings import NEXT, next_config, text_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"labels": PALETTE[1], "one-shot": PALETTE[3], "progressive": PALETTE[0]}


def heights_figure(results: Results) -> "Figure":
    """Top-1 accuracy of students by height and way of learning, with teachers and the exact ceiling; and the
    teachers' losses."""
    config, result = next_config(results), results[NEXT]
    fig = figure(8.0, 3.1)
    left, right = fig.subplots(1, 2)
    for i, height in enumerate(config.heights):
        numbers = result.numbers[str(height)]
        for j, (arm, colour) in enumerate(COLOURS.items()):
            values = 100 * np.asarray(numbers["accuracy"][arm], float)
            x = i + 0.2 * (j - 1) + np.linspace(-0.05, 0.05, len(values))
            left.plot(x, np.sort(values), "o", ms=4, color=colour, label=None if i else arm)
        teachers = 100 * np.asarray(numbers["teacher_accuracy"], float)
        left.plot(np.full(len(teachers), i + 0.36), teachers, "_", ms=10, color="0.3",
                  label=None if i else "teachers")  # fmt: skip
        left.hlines(100 * numbers["ceiling"], i - 0.42, i + 0.42, color=PALETTE[2], ls="--", lw=1.2,
                    label=None if i else "exact")  # fmt: skip
        part = slice(i * config.teachers, (i + 1) * config.teachers)
        losses = np.asarray(result.arrays["losses"], float)[:, part]
        steps = np.asarray(result.arrays["steps"], float)
        right.plot(steps, losses, color=PALETTE[i], lw=0.9, ls="-")
        right.plot([], [], color=PALETTE[i], ls="-", label=f"height {height}")
        right.axhline(numbers["bayes"], color=PALETTE[i], lw=1, ls="--")
    left.set_xticks(range(len(config.heights)), [f"height {h}" for h in config.heights])
    left.set_ylabel(f"top-1 accuracy after {config.steps} steps (%)")
    left.legend(fontsize=7.5)
    right.set_xlabel("step of the teachers (dashed: exact)")
    right.set_ylabel("loss (nats)")
    right.legend(fontsize=7.5)
    return fig


def teachers_figure(results: Results) -> "Figure":
    """Over the steps of the teachers, for each height: top-1 accuracy with that of the exact law, and the
    medians of L_close and L_robust (means over teachers) with those of the exact law."""
    config, result = next_config(results), results[NEXT]
    steps = np.asarray(result.arrays["steps"], float)
    fig = figure(3.0 * len(config.heights) + 1.4, 5.6)
    axes = fig.subplots(3, len(config.heights), sharex=True, sharey="row", squeeze=False)
    for i, height in enumerate(config.heights):
        part = slice(i * config.teachers, (i + 1) * config.teachers)
        numbers, column = result.numbers[str(height)], axes[:, i]
        top = 100 * np.asarray(result.arrays["top"], float)[:, part]
        column[0].plot(steps, top, color="0.4", lw=0.9, ls="-")
        column[0].axhline(100 * numbers["ceiling"], color=PALETTE[2], lw=1.2, ls="--")
        column[0].set_title(f"ends of height {height}", fontsize=9)
        for ax, name in zip(column[1:], ("close", "robust"), strict=True):
            medians = np.asarray(result.arrays[name], float)[:, part].mean(axis=1)
            for j, n in enumerate(np.asarray(result.arrays["grams"], int)):
                ax.plot(steps, medians[:, j], color=PALETTE[j], ls="-", label=f"n = {n}")
                ax.axhline(numbers[f"exact_{name}"][j], color=PALETTE[j], lw=0.8, ls="--")
        column[-1].set_xlabel("step of the teachers")
    axes[0, 0].set_ylabel("top-1 accuracy (%)")
    axes[1, 0].set_ylabel("median $L_{close}$")
    axes[2, 0].set_ylabel("median $L_{robust}$")
    lines, names = axes[1, 0].get_legend_handles_labels()
    fig.legend(
        lines,
        names,
        loc="outside right center",
        fontsize=8,
        title="dashed: exact",
        title_fontsize=8,
    )
    return fig


def text_figure(results: Results) -> "Figure":
    """Losses and L_robust of the teachers of a text, and accuracies of their students; empty without one."""
    fig = figure(8.4, 2.9)
    axes = fig.subplots(1, 3)
    if not results:
        for ax in axes:
            ax.set_axis_off()
        axes[1].text(0.5, 0.5, "no text was given", ha="center", transform=axes[1].transAxes)
        return fig
    config, result = text_config(results), results["sentences"]
    steps = np.asarray(result.arrays["steps"], float)
    axes[0].plot(steps, np.asarray(result.arrays["losses"], float), color="0.4", lw=0.9, ls="-")
    axes[0].axhline(result.numbers["floor"], color="0.7", ls=":", lw=1)
    axes[0].set_ylabel("loss (nats; dotted: entropy of words)")
    robust = np.asarray(result.arrays["robust"], float).mean(axis=1)
    for j in range(robust.shape[1]):
        axes[1].plot(steps, robust[:, j], color=PALETTE[j], label=f"n = {j + 2}")
    axes[1].set_ylabel("median $L_{robust}$")
    axes[1].legend(fontsize=7.5)
    for ax in axes[:2]:
        ax.set_xlabel("step of the teachers")
    found = result.numbers["accuracy"][str(min(config.horizons))]
    for x, (arm, colour) in enumerate(COLOURS.items()):
        values = 100 * np.asarray(found[arm], float)
        axes[2].plot(
            x + np.linspace(-0.15, 0.15, len(values)), np.sort(values), "o", ms=4, color=colour
        )
    axes[2].set_xticks(range(len(COLOURS)), list(COLOURS), fontsize=8)
    axes[2].set_ylabel("top-1 accuracy (%)")
    return fig
