"""Transformers on a sparse parity: learning curves, leaks, and attention on the support."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import curve, learned
from ..transformer_readings import LEAKS, PARITY, attention_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {
    "labels": "labels",
    "one-shot, warm": r"final teacher, $\tau = 1$",
    "middle": "one checkpoint",
    "progressive": "progressive",
}


def _lines(ax: Any, steps: np.ndarray, found: np.ndarray, colour: Any, label: str) -> None:
    """One thin line a seed, and the median."""
    ax.plot(steps, 100 * found, color=colour, lw=0.6, ls="-", alpha=0.45)
    if found.shape[1]:
        ax.plot(steps, 100 * np.median(found, axis=1), color=colour, lw=2.2, label=label)


def times_figure(results: Results) -> "Figure":
    """Accuracy against steps for each way of learning; thin lines are seeds, thick ones medians."""
    config, arrays = attention_config(results), results[PARITY].arrays
    fig = figure(8.4, 3.0)
    axes = fig.subplots(1, len(NAMES), sharey=True)
    own, steps = (np.asarray(arrays[name], float) for name in ("steps", "student_steps"))
    for ax, (arm, name), colour in zip(axes, NAMES.items(), (1, 3, 2, 0), strict=True):
        heads = f"teacher, {config.teacher_heads} heads"
        _lines(ax, own, curve(results, "teacher", PARITY), "0.45", heads)
        label = f"student, {config.student_heads} head" + "s" * (config.student_heads > 1)
        label += " (in colour)"
        _lines(ax, steps, curve(results, arm, PARITY), PALETTE[colour], label)
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("steps")
        ax.set_ylim(45, 101)
        ax.axhline(90, color="0.7", lw=0.7, ls=":")
    axes[0].set_ylabel("accuracy (%)")
    if len(learned(results, PARITY)):
        lines, names = axes[-1].get_legend_handles_labels()
        fig.legend(lines, names, fontsize=7.5, loc="outside upper center", ncols=2)
    return fig


def _one(results: Results) -> int:
    """The first teacher that has learned, or the first."""
    kept = learned(results, PARITY)
    return int(kept[0]) if len(kept) else 0


def _transition(ax: Any, results: Results, i: int) -> None:
    start, end = (results[PARITY].numbers[name][i] for name in ("start", "end"))
    if start is not None and end is not None:
        ax.axvspan(start, end, color=PALETTE[2], alpha=0.15, lw=0)


def leaks_figure(results: Results) -> "Figure":
    """Mean correlations of each teacher on and off the support, degree 1, before training and in its
    transition; and the ratio of the two by degree."""
    arrays, kept = results[LEAKS].arrays, learned(results, LEAKS)
    on, off = (np.asarray(arrays[name], float)[:, kept] for name in ("on", "off"))
    fig = figure(8.0, 3.0)
    left, right = fig.subplots(1, 2)
    for means, colour in ((off, "0.6"), (on, PALETTE[0])):
        left.plot([0, 1], means[..., 0], color=colour, lw=0.9, ls="-", marker="o", ms=3)
    left.set_xticks([0, 1], ["before training", "transition"])
    left.set_xlim(-0.3, 1.3)
    left.set_ylabel(r"mean $|E\, p(x) \prod x_j|$")
    left.set_title("all teachers, degree 1: support (blue), others", fontsize=8.5)
    shift = np.linspace(-0.1, 0.1, max(1, len(kept)))
    for moment, name, colour in ((0, "before training", "0.6"), (1, "transition", PALETTE[0])):
        for degree in range(on.shape[2]):
            ratio = on[moment, :, degree] / off[moment, :, degree]
            label = name if degree == 0 else None
            at = degree + 1 + 0.35 * (moment - 0.5) + shift[: len(kept)]
            right.plot(at, ratio, color=colour, ls="", marker="o", ms=3, label=label)
    right.axhline(3, color="0.7", lw=0.7, ls=":")
    right.set_xticks(range(1, on.shape[2] + 1))
    right.set_xlabel("degree")
    right.set_ylabel("support / others")
    if len(kept):
        left.set_yscale("log")
        right.set_yscale("log")
    right.set_title("ratio of each teacher (dotted: 3)", fontsize=8.5)
    right.legend(fontsize=7.5)
    return fig


def attention_figure(results: Results) -> "Figure":
    """Of one teacher: the share of attention on every coordinate along paths through both layers, and its
    accuracy."""
    config, result = attention_config(results), results[PARITY]
    steps = np.asarray(result.arrays["steps"], float)
    i = _one(results)
    paths = np.asarray(result.arrays["paths"], float)[:, i]
    fig = figure(5.4, 3.2)
    ax = fig.subplots()
    ax.plot(steps, paths[:, config.k :], color="0.75", lw=0.8, ls="-")
    ax.plot(steps, paths[:, : config.k], color=PALETTE[0], lw=1.5, ls="-")
    _transition(ax, results, i)
    ax.set_xlabel("steps")
    ax.set_ylabel("attention (blue: the support)")
    ax.set_title("one teacher, its transition shaded", fontsize=8.5)
    other = ax.twinx()
    accuracy = 100 * np.asarray(result.arrays["teacher_curve"], float)[:, i]
    other.plot(steps, accuracy, color="0.3", ls="--", lw=1.2)
    other.set_ylabel("accuracy (%, dashed)")
    other.set_ylim(45, 101)
    return fig
