"""Where models of the automaton look."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import simulated, values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TINY = 1e-30
SYMBOLS = ("keep", "set 1", "set 2")


def drift_figure(results: Results) -> "Figure":
    """The weight of the latest setting against how far it is back, every run: one setting, and two."""
    fig = figure(7.6, 3.2)
    axes = fig.subplots(1, 2, sharey=True)
    titles = {"probe_maps": "one setting", "two_maps": "two settings: the second"}
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        for i, arm in enumerate(results):
            for row in np.asarray(results[arm].arrays[name], float):
                ax.loglog(np.arange(1, len(row) + 1), np.maximum(row, TINY), lw=1, ls="-",
                          color=PALETTE[i % len(PALETTE)], alpha=0.8)  # fmt: skip
            ax.plot([], [], color=PALETTE[i % len(PALETTE)], ls="-", label=arm)
            ax.axvline(simulated(results, arm).length, ls="--", lw=1, color="0.5")
        ax.set(xlabel="symbols from it on (dashed: length of training)", title=title)
        ax.set_ylim(TINY / 10, 3)
    axes[1].text(
        0.02, 0.07, "at the bottom: up to $10^{-30}$", fontsize=7, transform=axes[1].transAxes
    )
    axes[0].set_ylabel("weight on the latest setting")
    axes[0].legend(fontsize=8)
    return fig


def norms_figure(results: Results) -> "Figure":
    """The norm of all weights of every run; and how different the heads of a layer are in the course of
    training: the mean distance of two of them on a short string, mean over runs."""
    fig = figure(2.3 * len(results) + 3.0, 3.0)
    left, *axes = fig.subplots(1, len(results) + 1)
    for i, arm in enumerate(results):
        norms = values(results, arm, "norm")
        x = i + np.linspace(-0.2, 0.2, len(norms))
        left.plot(x, norms, "o", ms=4, ls="none", color=PALETTE[i % len(PALETTE)])
    left.set_xticks(range(len(results)), [arm.replace(", ", "\n") for arm in results], fontsize=8)
    left.set(ylabel="norm of all weights", xlim=(-0.6, len(results) - 0.4))
    left.grid(axis="x", visible=False)
    for ax, arm in zip(axes, results, strict=True):
        found = np.asarray(results[arm].arrays["diversity"], float)
        steps = np.linspace(0, simulated(results, arm).steps, len(found) + 1)[1:]
        for layer in range(found.shape[2]):
            ax.plot(steps, found[:, :, layer].mean(axis=1), "o-", ms=3, label=f"layer {layer + 1}",
                    color=PALETTE[layer % len(PALETTE)])  # fmt: skip
        ax.set(xlabel="steps")
        ax.set_title(arm, fontsize="medium")
    top = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(0, top)
    axes[0].set_ylabel("distance of two heads")
    axes[0].legend(fontsize=8, loc="lower right")
    return fig


def maps_figure(results: Results) -> "Figure":
    """Attention on one string, the largest of the heads of the last layer: of the first run of every arm, and
    of its first run with many wrong states. The largest weight of each row is boxed; where the state is
    wrong, the row's name is red."""
    from matplotlib.patches import Rectangle

    shown = [(arm, run) for arm in results for run in _runs(values(results, arm, "error"))]
    fig = figure(2.3 * len(shown) + 1.2, 2.9)
    axes = fig.subplots(1, len(shown), squeeze=False)[0]
    for ax, (arm, run) in zip(axes, shown, strict=True):
        maps, string = results[arm].arrays["maps"], results[arm].arrays["string"]
        rows = maps[run, -1].max(axis=0)
        image = ax.imshow(rows, vmin=0, vmax=1, interpolation="nearest")
        for t, j in enumerate(rows.argmax(axis=1)):
            ax.add_patch(Rectangle((j - 0.5, t - 0.5), 1, 1, fill=False, ec=PALETTE[1], lw=1.2))
        names = [("⊥", "σ₀", "σ₁")[s] for s in string]
        ax.set_xticks(range(len(names)), names, fontsize=7)
        ax.set_yticks(range(len(names)), names, fontsize=7)
        latest = np.maximum.accumulate(np.where(string > 0, np.arange(len(string)), 0))
        for label, wrong in zip(
            ax.get_yticklabels(), results[arm].arrays["said"][run] != string[latest], strict=True
        ):
            label.set_color("red" if wrong else "black")
        error = values(results, arm, "error")[run]
        ax.set_title(f"{arm}\nrun {run + 1}, error {error:.2g}", fontsize=8)
        ax.set_xlabel("symbol looked at", fontsize=8)
        ax.grid(visible=False)
    axes[0].set_ylabel("symbol that looks", fontsize=8)
    fig.colorbar(image, ax=axes, shrink=0.8, label="weight")
    return fig


def _runs(errors: np.ndarray) -> list[int]:
    """The first run, and the first with more than a tenth of wrong states."""
    return sorted({0, *np.flatnonzero(errors > 0.1)[:1].tolist()})


def entropy_figure(results: Results) -> "Figure":
    """Error against the mean entropy of a row of attention, every run."""
    fig = figure(5.2, 3.2)
    ax = fig.subplots()
    for i, arm in enumerate(results):
        ax.plot(values(results, arm, "entropy"), values(results, arm, "error"), "o", ms=5, ls="none",
                alpha=0.5, color=PALETTE[i % len(PALETTE)], label=arm)  # fmt: skip
    ax.axvline(0.7, ls="--", lw=1, color="0.5")
    ax.axhline(0.1, ls="--", lw=1, color="0.5")
    ax.set(xlabel="entropy of a row of attention (nats)", ylabel="wrong states (share)")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set_ylim(-2e-5, 1)
    ax.legend(fontsize=8)
    return fig
