"""Wrong reads of trained models: by run, by distance, by what stands between, and where a head looked."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..experiment_trials import CROSSED
from ..readings import SETS, config_of, interval, learned, reads, wrong

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"inside": "as in training", "sparse": "sparser", "dense": "denser"}
TOKENS = ("w", "r", "i", "0", "1")
BELOW = -3e-6  # where an axis begins that has a place for exact zeros


def rates(results: Results, arm: str, name: str) -> tuple[np.ndarray, float]:
    """The error of every run, and where zero is drawn: below one wrong read."""
    count = reads(results, arm, name)
    return wrong(results, arm, name) / count, 0.2 / count


def swarm_figure(results: Results) -> "Figure":
    """Error on the three sets, one dot a run, with exact 95% intervals; hollow dots have not learned; runs
    without an error stand at the bottom."""
    fig = figure(7.4, 3.4)
    _swarm(fig.subplots(1, 3), results)
    return fig


def _swarm(axes: Any, results: Results) -> None:
    arms = list(results)
    floor = min(rates(results, arm, name)[1] for arm in arms for name in SETS)
    for ax, name in zip(axes, SETS, strict=True):
        for i, arm in enumerate(arms):
            found, _ = rates(results, arm, name)
            kept = np.isin(np.arange(len(found)), learned(results, arm))
            x = i + np.linspace(-0.25, 0.25, len(found))
            y = np.where(found > 0, found, floor)
            colour = PALETTE[i % len(PALETTE)]
            low, high = interval(wrong(results, arm, name), reads(results, arm, name))
            ax.vlines(x, np.maximum(low, floor), high, color=colour, lw=0.8, alpha=0.5)
            ax.plot(x[kept], y[kept], "o", ms=4, color=colour, ls="none")
            ax.plot(x[~kept], y[~kept], "o", ms=4, mfc="none", color=colour, ls="none")
        ax.axhspan(floor / 1.6, floor * 1.6, color="0.5", alpha=0.15, lw=0)
        ax.set_yscale("log")
        ax.set_ylim(floor / 5, 1)
        ax.set_xlim(-0.6, len(arms) - 0.4)
        names = [f"{arm} (T {config_of(results, arm).length})" for arm in arms]
        ax.set_xticks(range(len(arms)), names, rotation=25, ha="right", fontsize=8)
        ax.set_title(NAMES[name], fontsize="medium")
        ax.grid(axis="x", visible=False)
    for ax in axes[1:]:
        ax.tick_params(labelleft=False)
    axes[0].set_ylabel("share of wrong reads")
    axes[0].text(0.97, floor / 4.5, "grey: no wrong read", ha="right", va="bottom", fontsize=7,
                 transform=axes[0].get_yaxis_transform())  # fmt: skip
    if any(len(learned(results, arm)) < len(rates(results, arm, "inside")[0]) for arm in arms):
        axes[-1].text(0.97, 0.98, "open: has not learned", ha="right", va="top", fontsize=7,
                      transform=axes[-1].transAxes)  # fmt: skip


def seeds_figure(results: Results) -> "Figure":
    """One dot a run; and, where they were trained, dense errors of crossed seeds: models of a row read the
    same strings, models of a column start alike."""
    if CROSSED not in results:
        return swarm_figure(results)
    fig = figure(8.4, 3.4)
    axes = fig.subplots(1, 4, width_ratios=[1, 1, 1, 1.6])
    _swarm(axes[:3], results)
    found, floor = rates(results, CROSSED, "dense")
    side = int(len(found) ** 0.5)
    grid = np.log10(np.maximum(found[: side * side], floor)).reshape(side, side)
    image = axes[3].imshow(grid, interpolation="nearest")
    axes[3].set(xlabel="start", ylabel="strings", xticks=range(side), yticks=range(side))
    axes[3].set_title("crossed seeds, denser: log$_{10}$ error", fontsize="medium")
    axes[3].grid(visible=False)
    fig.colorbar(image, ax=axes[3], shrink=0.8)
    return fig


def distance_figure(results: Results) -> "Figure":
    """Error against the distance to the write, sparse and dense strings, all runs that have learned; beside
    it, attention of both layers on a string with a wrong read."""
    arm = next(iter(results))
    arrays, config = results[arm].arrays, config_of(results, arm)
    shown = "maps" in arrays and arrays["maps"].size
    fig = figure(9.2 if shown else 5.0, 3.4)
    axes = fig.subplots(
        1, 2 if shown else 1, squeeze=False, width_ratios=[1, 1.25][: 1 + bool(shown)]
    )[0]
    kept = learned(results, arm)
    kept = kept if len(kept) else np.arange(config.members)
    for name, colour in (("sparse", PALETTE[0]), ("dense", PALETTE[1])):
        found = np.asarray(arrays[f"distances_{name}"], float)[kept, 0].sum(axis=0)
        every = len(kept) * np.asarray(arrays[f"all_distances_{name}"], float)[0]
        x, rate = _binned(found, every, first=1)
        axes[0].plot(x, rate, "o-", color=colour, label=NAMES[name])
    axes[0].set(xscale="log", xlabel="pairs between write and read", ylabel="share of wrong reads")
    axes[0].set_yscale("symlog", linthresh=1e-5)
    axes[0].set_ylim(BELOW, 1)
    axes[0].legend(fontsize=8)
    if shown:
        _attention(axes[1], arrays)
    return fig


def distractor_figure(results: Results) -> "Figure":
    """Error on dense and sparse strings against the number of writes before the read, and of pairs since its
    write that have the other bit; all runs that have learned."""
    arm = next(iter(results))
    arrays, config = results[arm].arrays, config_of(results, arm)
    fig = figure(7.4, 3.2)
    kept = learned(results, arm)
    kept = kept if len(kept) else np.arange(config.members)
    titles = ("writes before the read", "opposite bits since its write")
    for which, (ax, title) in enumerate(zip(fig.subplots(1, 2, sharey=True), titles, strict=True)):
        for name, colour in (("sparse", PALETTE[0]), ("dense", PALETTE[1])):
            found = np.asarray(arrays[f"distractors_{name}"], float)[kept, which].sum(axis=0)
            every = len(kept) * np.asarray(arrays[f"all_distractors_{name}"], float)[which]
            x, rate = _binned(found, every, first=0)
            ax.plot(x, rate, "o-", color=colour, label=NAMES[name])
        ax.set(xlabel=title)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_yscale("symlog", linthresh=1e-5)
        ax.set_ylim(BELOW, 1)
    fig.axes[0].set_ylabel("share of wrong reads")
    fig.axes[0].legend(fontsize=8)
    return fig


def _binned(found: Any, every: Any, first: int) -> tuple[list[float], list[float]]:
    """Centres of bins that grow geometrically, and the share of wrong reads in each; entry 0 counts reads at
    `first`."""
    edges = np.unique(np.round(np.geomspace(1, len(found) + 1, 14)).astype(int))
    parts = [slice(a - 1, b - 1) for a, b in pairwise(edges)]
    centres = [float(np.sqrt(a * (b - 1))) + first - 1 for a, b in pairwise(edges)]
    shares = [found[p].sum() / every[p].sum() if every[p].sum() else np.nan for p in parts]
    return centres, shares


def _attention(ax: Any, arrays: Any) -> None:
    """The row of the wrong read in every head, over the string up to it."""
    maps, string, place = arrays["maps"], arrays["string"], int(arrays["place"][0])
    layers, heads = maps.shape[:2]
    rows = maps[:, :, place, : place + 1].reshape(layers * heads, -1)
    first = max(0, place - 38)  # a pair begins there
    image = ax.imshow(rows[:, first:], aspect="auto", vmin=0, vmax=1, interpolation="nearest")
    heads_of = [f"layer {k // heads + 1}, head {k % heads + 1}" for k in range(len(rows))]
    ax.set_yticks(range(len(rows)), heads_of, fontsize=8)
    names = [TOKENS[t] for t in string[first : place + 1]]
    ax.set_xticks(range(len(names)), names, fontsize=6)
    writes = np.flatnonzero(string[: place + 1] == 0)
    latest = int(writes[-1]) - first
    if latest >= 0:
        ax.axvspan(latest - 0.5, latest + 1.5, fill=False, ec=PALETTE[1], lw=1.5)
    ax.set_xlabel("the string up to the read")
    ax.set_title("attention of a wrong read (latest write boxed)", fontsize="medium")
    ax.grid(visible=False)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="weight")


def curves_figure(results: Results) -> "Figure":
    """Wrong reads of every run in the course of training: inside (grey) and on dense strings."""
    arm = next(iter(results))
    arrays, config = results[arm].arrays, config_of(results, arm)
    fig = figure(6.4, 3.2)
    ax = fig.subplots()
    dense = np.asarray(arrays["curve_dense"], float)
    count = np.asarray(arrays["count_dense"], float)[: dense.shape[2]].sum()
    steps = np.linspace(config.steps / len(dense), config.steps, len(dense))
    for member in range(dense.shape[1]):
        ax.plot(steps, dense[:, member].sum(axis=1) / count, lw=1, color=PALETTE[1], alpha=0.7,
                ls="-")  # fmt: skip
        few = np.asarray(arrays["count_inside"], float)[: config.block].sum()
        ax.plot(steps, np.asarray(arrays["curve_inside"], float)[:, member] / few, lw=0.8,
                color="0.5", ls="-", alpha=0.6)  # fmt: skip
    ax.plot([], [], color=PALETTE[1], ls="-", label="denser strings")
    ax.plot([], [], color="0.5", ls="-", label="strings as in training")
    ax.set(xlabel="steps", ylabel="share of wrong reads")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(10 * BELOW, 1)
    ax.legend(fontsize=8)
    return fig
