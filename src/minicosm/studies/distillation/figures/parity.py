"""Learning curves, checkpoints and correlations of teachers and students of a sparse parity."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import curve, ever, learned, parity_config, phase, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "teacher": "0.25",
    "labels": PALETTE[1],
    "one-shot, warm": PALETTE[3],
    "progressive": PALETTE[0],
    "middle": PALETTE[2],
}
NAMES = {
    "teacher": "teacher",
    "labels": "labels",
    "one-shot, warm": r"final teacher, $\tau = 1$",
    "progressive": "progressive",
    "middle": "one checkpoint",
    "middle, tau .01": r"$\tau = 0.01$",
    "middle, tau 1": r"$\tau = 1$",
}


def _steps(results: Results) -> np.ndarray:
    return np.asarray(results["parity"].arrays["steps"], float) / 1000


def _lines(ax: Any, results: Results, arm: str, colour: Any, label: str, style: str = "-") -> None:
    """One thin line a seed, and the median."""
    found = 100 * curve(results, arm)
    ax.plot(_steps(results), found, color=colour, lw=0.6, ls="-", alpha=0.45)
    if found.shape[1]:
        ax.plot(_steps(results), np.median(found, axis=1), style, color=colour, lw=2.2, label=label)


def _accuracy(ax: Any) -> None:
    ax.set_xlabel("steps (thousands)")
    ax.set_ylim(45, 101)
    ax.axhline(90, color="0.7", lw=0.7, ls=":")


def curves_figure(results: Results) -> "Figure":
    """Accuracy against steps for each way of learning, side by side; thin lines are seeds, thick ones
    medians."""
    config = parity_config(results)
    arms = ("labels", "one-shot, warm", "progressive", "middle")
    fig = figure(8.4, 3.0)
    axes = fig.subplots(1, len(arms), sharey=True)
    for ax, arm in zip(axes, arms, strict=True):
        _lines(ax, results, "teacher", "0.45", f"teacher, width {config.teacher}")
        _lines(ax, results, arm, COLOURS[arm], f"student, width {config.student} (in colour)")
        ax.set_title(NAMES[arm], fontsize="medium")
        _accuracy(ax)
    axes[0].set_ylabel("accuracy (%)")
    lines, names = axes[-1].get_legend_handles_labels()
    fig.legend(lines, names, fontsize=7.5, loc="outside upper center", ncols=2)
    return fig


PLACES = ("before", "start", "middle", "end", "after")


def checkpoints_figure(results: Results) -> "Figure":
    """Steps of the student to 90% against where its one checkpoint was taken, each over the teacher's own."""
    fig = figure(5.2, 3.2)
    ax = fig.subplots()
    horizon = _steps(results)[-1] * 1000
    teacher = times(results, "teacher")
    for x, arm in enumerate((*PLACES, "labels", "one-shot, warm")):
        values = times(results, arm) / np.maximum(teacher, 1)
        reached = ever(results, arm)
        spread = x + np.linspace(-0.2, 0.2, max(len(values), 1))[: len(values)]
        colour = PALETTE[2] if arm == "middle" else PALETTE[0] if x < 5 else PALETTE[1]
        ax.plot(spread[reached], values[reached], "o", ms=4.5, color=colour)
        ax.plot(spread[~reached], (horizon / np.maximum(teacher, 1))[~reached], "^", ms=5, mfc="none",
                color=colour)  # fmt: skip
    ax.axhline(1, color="0.4", lw=1)
    ax.text(
        1.5, 1.02, "as fast as the teacher", ha="center", va="bottom", fontsize=7.5, color="0.35"
    )
    ax.axvline(4.5, color="0.8", lw=0.8)
    ax.set_yscale("log")
    _log_ticks(ax)
    names = ["before", "start", "middle", "end", "after", "labels", "final\nteacher"]
    ax.set_xticks(range(7), names)
    ax.set_ylabel(r"$t_{90}$ over the teacher's own")
    ax.set_xlabel("checkpoint that the student follows first (triangles: never)")
    return fig


def _log_ticks(ax: Any) -> None:
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    ax.set_yticks([0.5, 1, 2, 3])
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())


def correlations_figure(results: Results) -> "Figure":
    """On the left correlations of one teacher with every variable; on the right the ratio of the mean
    correlations on and off the support by degree, medians over teachers, against steps over the middle of the
    transition."""
    config, arrays = parity_config(results), results["parity"].arrays
    fig = figure(8.2, 3.0)
    left, right = fig.subplots(1, 2)
    steps = _steps(results)
    variables = np.asarray(arrays["variables"], float)
    left.plot(steps, variables[:, config.k :], color="0.75", lw=0.6, ls="-")
    left.plot(steps, variables[:, : config.k], color=PALETTE[0], lw=1.5, ls="-")
    left.plot(steps, np.asarray(arrays["label"], float)[:, 0] / 5, color="0.3", ls=":", lw=1.2)
    starts, ends = (results["parity"].numbers[name][0] for name in ("start", "end"))
    if starts is not None and ends is not None:
        left.axvspan(starts / 1000, ends / 1000, color=PALETTE[2], alpha=0.15, lw=0)
    left.set_xlabel("steps (thousands)")
    left.set_ylabel(r"$|E\, p_1(x)\, x_j|$")
    left.set_title(
        "one teacher, its transition shaded: support (blue), others, label / 5 (dotted)", fontsize=7
    )
    middle = phase(results, "middle") / 1000
    where = np.linspace(0.2, 2.2, 60)
    for degree in range(1, np.shape(arrays["on"])[2] + 1):
        ratio = []
        for i, mid in zip(learned(results), middle, strict=True):
            on, off = (np.asarray(arrays[name], float)[:, i, degree - 1] for name in ("on", "off"))
            ratio.append(np.interp(where, steps / mid, on / off, left=np.nan, right=np.nan))
        if ratio:
            known = np.array(ratio)
            seen = ~np.isnan(known).any(axis=0)
            right.plot(where[seen], np.median(known[:, seen], axis=0), color=PALETTE[degree % 8],
                       lw=1.8, label=f"degree {degree}")  # fmt: skip
    right.axvline(1, color=PALETTE[2], lw=6, alpha=0.2)
    right.axhline(1, color="0.5", lw=0.8)
    right.set_yscale("log")
    right.set_xlabel("step over the middle of the teacher's transition")
    right.set_ylabel("on over off the support")
    if right.lines[:-2]:
        right.legend(fontsize=8)
    return fig


def _compared(results: Results, arms: dict[str, str]) -> "Figure":
    fig = figure(5.0, 3.3)
    ax = fig.subplots()
    for i, ((arm, name), colour) in enumerate(zip(arms.items(), ("0.25", *PALETTE), strict=False)):
        _lines(ax, results, arm, colour, name, "--" if i == 2 else "-")  # it may hide another
    _accuracy(ax)
    ax.set_ylabel("accuracy (%)")
    lines, names = ax.get_legend_handles_labels()
    fig.legend(lines, names, fontsize=7.5, loc="outside upper center", ncols=min(4, len(arms)))
    return fig


def widths_figure(results: Results) -> "Figure":
    """Learning curves from labels by width."""
    config = parity_config(results)
    return _compared(
        results,
        {
            "teacher": f"width {config.teacher}",
            "labels, wide": f"width {config.wide}",
            "labels": f"width {config.student}",
        },
    )


def temperatures_figure(results: Results) -> "Figure":
    """Learning curves with one checkpoint by temperature."""
    return _compared(
        results,
        {
            "teacher": "teacher",
            "middle": r"$\tau = 10^{-4}$",
            "middle, tau .01": r"$\tau = 10^{-2}$",
            "middle, tau 1": r"$\tau = 1$",
        },
    )


def edited_figure(results: Results) -> "Figure":
    """Learning curves from the checkpoint, from its low-degree part alone, and from the rest."""
    return _compared(
        results,
        {
            "teacher": "teacher",
            "middle": "checkpoint",
            "low degree alone": "its low-degree part",
            "low degree removed": "without it",
            "labels": "labels",
        },
    )
