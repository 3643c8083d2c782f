"""The experiments on exact models beyond Figure 3."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ...common.figures import curve
from ..readings import HARDER, harder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rank_curve(results: Results) -> "Figure":
    """Accuracy of linear heads against the rank of the emissions."""
    n, ranks = results["rank"].numbers, results["rank"].config.ranks
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    for name, label, colour, style in (
        ("logistic", "best head (LR)", PALETTE[0], "o-"),
        ("constructed", "head of Theorem 3.3", PALETTE[2], "^--"),
        ("majority", "majority label", PALETTE[4], ":"),
    ):
        curve(ax, ranks, n[name], label, color=colour, fmt=style, ms=4)
    ax.set_xlabel("rank of W (6 states, 6 tokens)")
    ax.set_ylabel("test accuracy (%)")
    ax.set_xticks(ranks)
    ax.invert_xaxis()
    ax.legend(fontsize=8)
    return fig


def prompt_gap(results: Results) -> "Figure":
    """Accuracy of every world: head, trained prompt, constructed prompt."""
    n = results["gap"].numbers
    fig = figure(6.8, 3.2)
    axes = fig.subplots(1, 2, sharey=True)
    names = ("majority", "logistic", "trained", "constructed")
    labels = ("majority", "best head", "trained\nprompt", "Theorem\n3.6")
    for ax, family, title in zip(
        axes,
        ("covered", "uncovered"),
        ("Assumption 3.5 holds", "Assumption 3.5 fails"),
        strict=True,
    ):
        shown = names if family == "covered" else names[:3]
        columns = np.array([n[f"{family}_{name}"] for name in shown], float) * 100
        ax.plot(range(len(shown)), columns, "-", lw=0.6, alpha=0.35, color=PALETTE[4])
        for place, column in enumerate(columns):
            ax.plot([place] * len(column), column, ".", ms=5, alpha=0.7, color=PALETTE[place % 4])
        ax.set_xticks(range(len(shown)), labels[: len(shown)])
        ax.set_title(title)
    axes[0].set_ylabel("test accuracy (%), one line a world")
    return fig


def temperature(results: Results) -> "Figure":
    """Condition number and accuracy of heads against the temperature of the emissions."""
    n = results["heat"].numbers
    heats = results["heat"].config.temperatures
    fig = figure(7.2, 3.2)
    left, right = fig.subplots(1, 2)
    condition = np.minimum(np.array(n["condition"], float), 1e17)
    left.loglog(heats, condition, ".", ms=3, alpha=0.35, color=PALETTE[4])
    left.loglog(heats, np.median(condition, axis=1), "o-", ms=4, color=PALETTE[1], label="median")
    left.set_ylabel("cond(W)")
    left.legend(fontsize=8)
    for name, label, colour, style in (
        ("logistic", "best head (LR)", PALETTE[0], "o-"),
        ("constructed", "head of Theorem 3.3", PALETTE[2], "^--"),
        ("majority", "majority label", PALETTE[4], ":"),
    ):
        curve(right, heats, n[name], label, color=colour, fmt=style, ms=4)
    right.set_xscale("log")
    right.set_ylabel("test accuracy (%)")
    right.legend(fontsize=8)
    for ax in (left, right):
        ax.set_xlabel("emission temperature")
    return fig


def sharpness(results: Results) -> "Figure":
    """Error of softmax attention and labels it gets right, against the sharpness."""
    rates = results["suite"].config.lambdas
    found = [rows(results, f"lambda {rate:g}") for rate in rates]
    fig = figure(7.2, 3.2)
    left, right = fig.subplots(1, 2)
    for name, label, style in (("mean", "error", "o-"), ("bound", "bound", "--")):
        means = [np.mean(n[name]) for n in found]
        left.loglog(rates, np.maximum(means, 1e-17), style, ms=4, label=label)
    left.set_ylabel("mean difference from the hard head")
    curve(right, rates, [n["right"] for n in found], "softmax", color=PALETTE[0], fmt="o-", ms=4)
    hard = 100 * float(np.mean(rows(results, "hard head")["right"]))
    right.axhline(hard, ls="--", lw=1, color="0.5", label="hard")
    right.set_xscale("log")
    right.set_ylabel("labels right on R (%)")
    for ax in (left, right):
        ax.set_xlabel("sharpness λ")
        ax.legend(fontsize=8)
    return fig


def harder_memory(results: Results) -> "Figure":
    """Accuracy of each reader on the harder worlds, one group of marks per family and length."""
    fig = figure(7.4, 3.6)
    ax = fig.subplots()
    names = [name for name in HARDER if name != "majority"]
    markers = "os^vD*"
    for place, (name, marker) in enumerate(zip(names, markers, strict=True)):
        x = np.arange(len(results)) + (place - (len(names) - 1) / 2) * 0.11
        columns = list(harder(results, name).values())
        colour = PALETTE[place] if place < len(PALETTE) else "0.5"
        curve(ax, x, columns, HARDER[name], color=colour, fmt=marker, ms=4)
    ax.set_xticks(range(len(results)), list(harder(results, names[0])))
    ax.set_ylabel("test accuracy (%)")
    ax.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return fig
