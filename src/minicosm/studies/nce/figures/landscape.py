"""Pictures of the landscape: the ring, the way from noise to data, sizes against R, condition numbers."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import ordered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOG_ROOT = 0.5 * math.log(2 * math.pi)
SEGMENTS = (4, 8, 12)


def map_figure(results: Results) -> "Figure":
    """Figure 4.1: `log10 |grad L|` over (b, c) at R = 10, with the region, the ring and two paths."""
    found = results["suite"].arrays
    b, c, R = found["map_b"], found["map_c"], 10.0
    fig = figure(7.2, 4.6)
    ax = fig.subplots()
    levels = np.arange(-10, 1.01, 0.5)
    shown = np.clip(found["map_gradient"].T, levels[0], levels[-1])
    image = ax.contourf(b, c, shown, levels=levels, cmap="cividis")
    line = np.linspace(R / 2, b[-1], 200)
    low, high = line * (R - line), line * np.minimum(line, R)
    ax.plot(line, np.clip(low + LOG_ROOT, c[0], c[-1]), "w--", lw=1)
    ax.plot(line, np.clip(high + LOG_ROOT, c[0], c[-1]), "w--", lw=1)
    angle = np.linspace(0, 2 * np.pi, 181)
    truth = np.array([R, R**2 / 2 + LOG_ROOT])
    for radius in (0.1 * R, 0.2 * R):
        ax.plot(
            *(truth[:, None] + radius * np.stack([np.cos(angle), np.sin(angle)])), color="w", lw=1.4
        )
    ax.plot(*found["map_ngd"].T, color=PALETTE[2], lw=1.8, label="NGD, 2000 steps of 0.1")
    ax.plot(*found["map_gd"].T, color=PALETTE[1], lw=2.2, label="GD, 2000 standard steps")
    ax.plot(*truth, "*", ms=11, color="w", mec="k", mew=0.6, label="data, $\\tau_*$")
    ax.plot(0, LOG_ROOT, "o", ms=6, color="w", mec="k", mew=0.6, label="noise, $\\tau_q$")
    ax.grid(False)
    ax.set(xlabel="b", ylabel="c", xlim=(b[0], b[-1]), ylim=(c[0], c[-1]))
    fig.colorbar(
        image, ax=ax, label="$\\log_{10}$ of the gradient's norm", ticks=np.arange(-10, 2, 2)
    )
    legend = ax.legend(
        loc="lower right", fontsize=8, frameon=True, facecolor="0.25", labelcolor="w"
    )
    legend.get_frame().set_alpha(0.85)
    return fig


def segment_figure(results: Results) -> "Figure":
    """Loss, gradient and curvature along the segment from noise to data, for both losses."""
    fig = figure(8.8, 3.2)
    axes = fig.subplots(1, 3, sharex=True)
    share = np.linspace(0, 1, 129)
    titles = ("loss", "norm of the gradient", "largest and least curvature")
    for R, colour in zip(SEGMENTS, PALETTE, strict=False):
        for kind, style in (("nce", "-"), ("exponential", "--")):
            loss, gradient, least, largest = results["suite"].arrays[
                f"segment_{kind}_{R:g}"
            ] / math.log(10)
            label = f"R = {R}" if kind == "nce" else None
            axes[0].plot(share, loss, style, color=colour, lw=1.5, label=label)
            axes[1].plot(share[:-1], gradient[:-1], style, color=colour, lw=1.5)
            axes[2].plot(share, largest, style, color=colour, lw=1.5)
            axes[2].plot(share, least, style, color=colour, lw=0.8, alpha=0.8)
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=10)
        ax.yaxis.set_major_formatter(_power)
    axes[1].legend(
        *axes[0].get_legend_handles_labels(), loc="lower left", fontsize=7, title_fontsize=7,
        title="solid NCE, dashed eNCE",
    )  # fmt: skip
    axes[1].set_xlabel("from the noise (0) to the data (1)")
    return fig


def _power(value: float, _: Any = None) -> str:
    return f"$10^{{{value:g}}}$"


def scaling_figure(results: Results) -> "Figure":
    """What is left of curvatures and gradients once their sizes are taken out, against R."""
    smooth, least, ring, printed = (
        rows(results, name) for name in ("Lemma 46", "Lemma 47", "Lemma 49", "Lemma 49 as printed")
    )
    fig = figure(8.4, 3.2)
    left, middle, right = fig.subplots(1, 3)
    R = ordered(smooth, "R")
    left.plot(R, ordered(smooth, "share"), "o-", ms=4, color=PALETTE[0])
    left.axhline(math.pi / 8, ls=":", lw=1, color="0.5")
    left.text(
        0.98, math.pi / 8 + 0.02, "$\\pi/8$", ha="right", transform=left.get_yaxis_transform()
    )
    left.set(ylim=(0, 1.05), title="$\\sigma_{\\max}$ over its bound")
    middle.semilogy(
        R,
        ordered(least, "c"),
        "o-",
        ms=4,
        color=PALETTE[2],
        label="over $2\\pi^3 R^{-5}\\varphi(R/2)$",
    )
    middle.semilogy(R, ordered(least, "printed size"), "s--", ms=4, color=PALETTE[1],
                    label="over $R^{-1} e^{-R^2/8}$, printed")  # fmt: skip
    middle.set(ylim=(1e-4, 3), title="$\\sigma_{\\min}$")
    middle.legend(fontsize=8, loc="lower left")
    far = [i for i, at in enumerate(ring["R"]) if at >= 8]
    for found, colour, style, label in (
        (ring, PALETTE[2], "o-", "over $e^{-0.5625 R^2/8}$"),
        (printed, PALETTE[1], "s--", "over $e^{-0.75 R^2/8}$, printed"),
    ):
        right.semilogy(
            [found["R"][i] for i in far], [found["scaled"][i] for i in far], style, ms=4,
            color=colour, label=label,
        )  # fmt: skip
    right.set(title="gradient in the ring")
    right.legend(fontsize=8)
    for ax in (left, middle, right):
        ax.set_xlabel("R")
    return fig


def condition_figure(results: Results) -> "Figure":
    """Condition numbers at the optimum, with their asymptotes."""
    found = rows(results, "condition numbers")
    fig = figure(4.8, 3.4)
    ax = fig.subplots()
    R = np.array(ordered(found, "R"), float)
    for name, label, colour, mark, asymptote in (
        ("nce", "NCE", PALETTE[1], "o", R**6 / (16 * math.pi**2)),
        ("exponential", "eNCE", PALETTE[0], "s", R**4 / 16),
    ):
        ax.loglog(R, ordered(found, name), mark, ms=5, color=colour, label=label)
        ax.loglog(R, asymptote, "--", lw=1, color=colour)
    ax.text(8, 8**6 / 158 * 5, "$R^6/16\\pi^2$", ha="right", color=PALETTE[1])
    ax.text(12, 12**4 / 16 / 6, "$R^4/16$", ha="left", color=PALETTE[0])
    ax.set(xlabel="R", ylabel="condition number at the optimum", ylim=(1, None))
    ax.set_xticks([at for at in (1, 2, 5, 10, 20) if at <= R[-1]], minor=False)
    ax.set_xticklabels([f"{at}" for at in (1, 2, 5, 10, 20) if at <= R[-1]])
    ax.minorticks_off()
    ax.legend()
    return fig


def tied_figure(results: Results) -> "Figure":
    """The least second derivative of the loss along normalised laws, against R."""
    found = rows(results, "tied partition, convexity")
    fig = figure(4.6, 3.0)
    ax = fig.subplots()
    ax.axhline(0, lw=0.8, color="0.5")
    ax.plot(ordered(found, "R"), ordered(found, "least"), "o-", ms=4, color=PALETTE[1])
    ax.set(xlabel="R", ylabel="least second derivative", title="along normalised laws")
    return fig
