"""Pictures of kernels that networks learned."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, TrialResult, figure

from ..readings import in_the_plane, on_the_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def densities_figure(results: Results) -> "Figure":
    """The law of the next observation from three anchors, at two gaps: true, learned by every seed, and one
    Euler step; beside them, divergences against the gap."""
    found, plane = (
        sorted(each, key=lambda result: result.config.gap)
        for each in (on_the_line(results), in_the_plane(results))
    )
    chosen = [found[0], found[-1]] if len(found) > 1 else found
    fig = figure(8.4, 3.2)
    axes = fig.subplots(1, len(chosen) + 1, squeeze=False)[0]
    for ax, result in zip(axes, chosen, strict=False):
        arrays = result.arrays
        x = arrays["points"]
        for i in range(len(arrays["truth"])):
            first = i == 0
            for learned in arrays["learned"]:
                ax.plot(x, learned[i], lw=0.7, ls="-", alpha=0.35, color=PALETTE[0])
            ax.plot([], [], color=PALETTE[0], label="learned" if first else None)
            ax.plot(
                x, arrays["truth"][i], lw=1.6, color="0.35", ls="-", label="true" if first else None
            )
            ax.plot(
                x, arrays["one_step"][i], lw=1.2, ls="--", color=PALETTE[1],
                label="one Euler step" if first else None,
            )  # fmt: skip
        ax.set_xlim(-3, 3)
        ax.set_ylim(0, 1.4 * ax.get_ylim()[1])  # room for the legend
        ax.set_xlabel("next observation")
        ax.set_title(f"gap {result.config.gap:g}", fontsize=10)
    axes[0].set_ylabel("density")
    axes[0].legend(fontsize=8, loc="upper right")
    ax = axes[-1]
    _divergences(ax, found, "")
    _divergences(ax, plane, ", plane", alpha=0.45)
    gaps = [result.config.gap for result in found]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(gaps, [f"{gap:g}" for gap in gaps])
    ax.minorticks_off()
    ax.set_xlabel(r"gap $\eta$")
    ax.set_ylabel("KL(true, ·)")
    ax.legend(fontsize=8)
    return fig


def _divergences(ax: Any, found: list[TrialResult], place: str, alpha: float = 1.0) -> None:
    if not found:
        return
    gaps = [result.config.gap for result in found]
    each = [Estimate.of(np.log(result.numbers["divergence"])) for result in found]
    middle = np.exp([e.value for e in each])
    bars = [middle - np.exp([e.low for e in each]), np.exp([e.high for e in each]) - middle]
    ax.errorbar(
        gaps, middle, yerr=bars, fmt="o-", capsize=2.5, color=PALETTE[0], alpha=alpha,
        label=f"learned{place}",
    )  # fmt: skip
    euler = [result.numbers["euler"] for result in found]
    ax.plot(gaps, euler, "s--", color=PALETTE[1], alpha=alpha, label=f"one Euler step{place}")


def contrast_figure(results: Results) -> "Figure":
    """Divergence and excess loss of every seed, by contrast law."""
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    marks = zip(results.items(), PALETTE, "os^v", strict=False)
    for (name, result), colour, mark in marks:
        ax.loglog(
            result.numbers["excess"],
            result.numbers["divergence"],
            mark,
            color=colour,
            label=f"{name} q",
        )
    ax.axhline(
        next(iter(results.values())).numbers["euler"],
        ls="--",
        lw=1.1,
        color="0.5",
        label="one Euler step",
    )
    ax.set_xlabel("excess contrastive loss")
    ax.set_ylabel("KL(true, learned)")
    gap = next(iter(results.values())).config.gap
    ax.set_title(f"gap {gap:g}", fontsize=10)
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig
