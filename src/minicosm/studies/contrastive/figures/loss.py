"""Pictures of what a loss says about a kernel."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import CONTRASTS, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def optimum_figure(results: Results) -> "Figure":
    """The loss of the best classifier against the gap, by contrast law and potential, and the largest error
    of what it says of the kernel."""
    found = rows(results, "Lemma 1")
    fig = figure(8.2, 3.6)
    left, right = fig.subplots(1, 2)
    for i, (name, colour, mark) in enumerate(zip(CONTRASTS, PALETTE, "osD^", strict=False)):
        gap, loss, error = (
            np.array(found[column][i :: len(CONTRASTS)], float)
            for column in ("gap", "optimal loss", "error")
        )
        half = len(gap) // 2  # one potential after the other
        for part, style, fill in ((slice(half), "-", colour), (slice(half, None), "--", "none")):
            line = {"marker": mark, "mfc": fill, "color": colour}
            left.semilogx(
                gap[part], loss[part], style, label=None if fill == "none" else name, **line
            )
            aside = gap[part] * 1.12 ** (i - 1.5)  # else they hide each other
            right.loglog(aside, np.maximum(error[part], 1e-18), ls="", **line)
    left.axhline(0.25, lw=1, ls=":", color="0.5")
    left.text(0.02, 0.256, "a classifier that guesses", va="bottom", fontsize=9,
              transform=left.get_yaxis_transform())  # fmt: skip
    left.plot(
        [], [], "--", color="0.5", marker="o", mfc="none", label="in $x^2/2 + \\log\\cosh 2x$"
    )
    left.set_ylim(0, 0.29)
    left.set_ylabel("loss of the best classifier")
    right.axhline(found["tolerance"][0], ls="--", lw=1, color="0.5")
    right.text(0.02, found["tolerance"][0], "tolerance", va="bottom", fontsize=9,
               transform=right.get_yaxis_transform())  # fmt: skip
    right.set_ylim(1e-17, 1e-7)
    right.set_ylabel("largest error of the lemma")
    for ax in (left, right):
        ax.set_xticks(gaps := sorted(set(found["gap"])), [f"{each:g}" for each in gaps])
        ax.minorticks_off()
        ax.set_xlabel(r"gap $\eta$")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return fig


def kernels_figure(results: Results) -> "Figure":
    """Divergence against excess loss of random kernels, and the share of the bound that it takes."""
    excess, divergence, bound = results["suite"].arrays["kernels"][:, ::4]  # enough to see
    fig = figure(8.0, 3.3)
    left, right = fig.subplots(1, 2)
    left.loglog(excess, divergence, ".", ms=2.5, alpha=0.5, color=PALETTE[0])
    line = np.geomspace(excess.min(), excess.max(), 2)
    left.loglog(line, 8 * line, lw=1.1, ls="--", color="0.5", label="8 × excess")
    left.set_xlabel("excess contrastive loss")
    left.set_ylabel("KL(true, learned)")
    left.legend(fontsize=8)
    right.loglog(bound, divergence, ".", ms=2.5, alpha=0.5, color=PALETTE[1])
    most = float(np.quantile(bound, 0.98))  # a few bounds are larger by many powers of ten
    line = np.geomspace(divergence.min(), 10 * divergence.max(), 2)
    right.loglog(line, line, lw=1.1, color="0.5", label="equal")
    right.set_xlim(bound.min() / 2, most)
    right.set_xlabel("bound of Theorem 2")
    right.set_ylabel("KL(true, learned)")
    right.legend(fontsize=8)
    return fig


def ratio_figure(results: Results) -> "Figure":
    """The scaled ratio of Theorem 3 against the gap, for a local contrast law and for fixed ones."""
    found = rows(results, "scaled ratio")
    fig = figure(4.8, 3.3)
    ax = fig.subplots()
    names = {"local": r"$N(x, 2\eta)$", "N(0, 1)": "$N(0, 1)$", "N(0, 4)": "$N(0, 4)$"}
    for (name, label), colour, mark in zip(names.items(), PALETTE, "osD", strict=False):
        gap, ratio = (where(found, column, contrast=name) for column in ("gap", "ratio"))
        ax.loglog(gap, ratio, marker=mark, color=colour, label=label)
    ax.set_xlabel(r"gap $\eta$")
    ax.set_ylabel(r"$E|p - p_*| \, (\eta / \mathrm{excess})^{1/2}$")
    ticks = [0.3, 0.5, 1, 2, 5]
    ax.set_yticks(ticks, [str(t) for t in ticks])
    ax.minorticks_off()
    ax.legend(title="contrast law", fontsize=8, title_fontsize=8)
    return fig
