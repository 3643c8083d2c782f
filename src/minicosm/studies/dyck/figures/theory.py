"""Pictures of exact models: their attention, their errors, and what pumping does."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from .maps import attention_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBE = np.repeat([2, 3, 0, 1], 4)  # [[[[]]]](((())))


def pumping(results: Results) -> "Figure":
    """Distance of twin prefixes against the number of inserted pairs, log-log."""
    arrays = results["suite"].arrays
    pumped, distances = arrays["pumped"], arrays["distances"]
    fig = figure(5.6, 3.4)
    ax = fig.subplots()
    labels = ("balanced", "noise of sd 0.1 on the logits", "balanced logits, other values")
    for row, label, colour, mark in zip(distances, labels, PALETTE, "osD", strict=False):
        ax.loglog(np.maximum(pumped, 1), row, marker=mark, ms=4, color=colour, label=label)
    last = distances[1, -1] * pumped[-1]
    ax.loglog(pumped[2:], 3 * last / pumped[2:], ":", lw=1, color="0.5", label="slope $-1$")
    ax.set_xlabel("matched pairs inserted (1 stands for none)")
    ax.set_ylabel("distance of the two outputs")
    ax.legend(fontsize=8)
    return fig


def residual(results: Results) -> "Figure":
    """Distance of twin prefixes under uniform attention, residual outside and inside the norm."""
    distances = rows(results, "residual")
    fig = figure(5.0, 3.2)
    ax = fig.subplots()
    ax.loglog(
        distances["length"], distances["outside"], "o-", color=PALETTE[0], label="outside the norm"
    )
    ax.loglog(
        distances["length"], distances["inside"], "s-", color=PALETTE[1], label="inside the norm"
    )
    ax.set_xlabel("length of the prefix")
    ax.set_ylabel("distance of the two outputs")
    ax.legend(title="residual", fontsize=8)
    return fig


def lengths(results: Results) -> "Figure":
    """Largest error of a next-token probability up to each length."""
    arrays = results["suite"].arrays
    labels = (
        "uniform attention",
        "balanced, sd 0.3",
        "balanced, sd 1",
        "random embedding, sd 1",
        "uniform, both layers",
    )
    fig = figure(6.6, 3.4)
    ax = fig.subplots()
    for row, label, colour, mark in zip(arrays["errors"], labels, PALETTE, "osD^v", strict=True):
        shown = np.maximum(row, 1e-17)
        ax.loglog(arrays["lengths"], shown, marker=mark, ms=4, color=colour, label=label)
    ax.axhline(1e-6, ls="--", lw=1, color="0.5")
    ax.text(arrays["lengths"][0], 1e-6, " tolerance", va="bottom", fontsize=8)
    ax.set_xlabel("length of the prefix, up to")
    ax.set_ylabel("largest error")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def attention(results: Results) -> "Figure":
    """Attention of a uniform and of random balanced exact models over one string, the last bracket still
    open after every closed one marked; depths below the string."""
    patterns = results["suite"].arrays["patterns"]
    fig = figure(2.5 * len(patterns), 3.1)
    axes = fig.subplots(1, len(patterns), squeeze=False)[0]
    for ax, pattern, title in zip(axes, patterns, ("uniform", "sd 1", "sd 2", "sd 4"), strict=True):
        attention_map(ax, pattern, PROBE, title, start=False)
    axes[0].set_ylabel("query")
    axes[0].set_xlabel("key, with its depth")
    return fig


def variation(results: Results) -> "Figure":
    """Mean variation of exact models against the spread of their attention matrix."""
    models = rows(results, "exact models")
    spreads = sorted(set(models["spread"]))
    values = np.array(models["variation"]).reshape(
        len(spreads), -1
    )  # spreads come one after another
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    ax.plot(models["spread"], models["variation"], ".", ms=6, color=PALETTE[0])
    ax.plot(spreads, values.mean(axis=1), color=PALETTE[0])
    random = rows(results, "random patterns")["formula"][1]
    ax.axhline(random, ls="--", lw=1, color="0.5")
    ax.text(0.5, random, " random patterns", va="bottom", fontsize=8)
    ax.set_xscale("log")
    ax.set_xticks(spreads, [f"{sd:g}" for sd in spreads])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("spread of the attention matrix before projection")
    ax.set_ylabel("mean variation")
    return fig
