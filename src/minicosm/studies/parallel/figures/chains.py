"""Pictures of chains: decay, steps to a mode, and what one pass does."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (1, 2.5, 4, 5, 7)  # from 7 on nothing changes


def rate_figure(results: Results) -> "Figure":
    """KL against steps in the counterexample, with both bounds."""
    found = rows(results, "rare bits")
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    ax.semilogy(found["steps"], found["ratio"], "o-", color=PALETTE[0], label="exact")
    ax.semilogy(found["steps"], found["corrected"], "--", color=PALETTE[2], label="$(1-1/C)^t$")
    ax.semilogy(
        found["steps"], found["printed"], ":", color=PALETTE[1], label="$e^{-2t/C}$, printed"
    )
    ax.set_xlabel("steps")
    ax.set_ylabel("KL, relative to the start")
    ax.set_yticks([1, 0.3, 0.1, 0.03], ["1", "0.3", "0.1", "0.03"])
    ax.minorticks_off()
    ax.legend(fontsize=8)
    return fig


def hitting_figure(results: Results) -> "Figure":
    """Steps to R_1 against k for every J: exact lines under simulated points with bars of half a
    deviation; to the right, the chance that the independent sampler arrives."""
    found = results["hitting"]
    couplings, budget = found.config.couplings, found.config.budget
    exact, steps = found.arrays["exact"], found.arrays["steps"]
    fig = figure(8.8, 3.8)
    left, right = fig.subplots(1, 2, width_ratios=(1.9, 1))
    k = np.arange(1, exact.shape[1] + 1)
    shown = [i for i, J in enumerate(couplings) if J in SHOWN]
    for at, i in enumerate(shown):
        J, runs = couplings[i], steps[i]
        colour, style = PALETTE[at % 5], "-" if at < 5 else "--"
        left.plot(k, exact[i], color=colour, lw=1.2, ls=style)
        mean, half = runs.mean(axis=1), 0.5 * runs.std(axis=1)
        low = np.minimum(half, mean - np.maximum(mean - half, 0.8))
        left.errorbar(
            k + 0.07 * (at - (len(shown) - 1) / 2),
            mean,
            yerr=(low, half),
            fmt="osD^vP"[at],
            ms=4,
            capsize=1.5,
            elinewidth=0.8,
            color=colour,
            label=f"{J:g}" if J < 7 else f"{J:g} and more",
        )
    left.axhline(budget, ls=":", lw=1, color="0.5")
    left.set_yscale("log")
    left.set_ylim(0.7, 2.2 * budget)
    left.set_xticks(k)
    left.set_xlabel("positions resampled together, k")
    left.set_ylabel("steps to the larger mode")
    left.set_title("k-Gibbs: points simulated, lines exact")
    left.legend(title="coupling J", title_fontsize=8, fontsize=8)
    at_coupling, hit = found.arrays["curve"]
    right.semilogy(at_coupling, hit, "-", color=PALETTE[3], lw=1.2, label="exact")
    share = (found.arrays["parallel"] < budget).mean(axis=1)
    seen = share > 0
    right.plot(np.array(couplings)[seen], share[seen], "o", color=PALETTE[3], label="simulated")
    right.plot(
        np.array(couplings)[~seen], np.full((~seen).sum(), 3 / steps.shape[2]), "v", mfc="none",
        color=PALETTE[3], label=f"none of {steps.shape[2]} arrived:\nbelow 3/{steps.shape[2]} (95%)",
    )  # fmt: skip
    right.set_xlabel("coupling J")
    right.set_ylabel(f"P(arrives in {budget} steps)")
    right.set_title("independent parallel")
    right.legend(fontsize=8)
    return fig


def separation_figure(results: Results) -> "Figure":
    """Mean steps to the larger mode against the size of the clique."""
    found = rows(results, "growth")
    fig = figure(5.6, 3.4)
    ax = fig.subplots()
    c = found["clique"]
    for name, colour, mark, label in (
        ("independent", PALETTE[1], "s", "independent parallel"),
        ("half", PALETTE[2], "D", "k-Gibbs, k = c/2"),
        ("together", PALETTE[0], "o", "k-Gibbs, k = c"),
    ):
        ax.semilogy(c, found[name], marker=mark, ms=4, ls="-", color=colour, label=label)
    ax.set_xlabel("spins in the clique, c ($J_0 = h_G = 0.5$)")
    ax.set_ylabel("mean steps to the larger mode")
    ax.legend(fontsize=8)
    return fig


def one_pass_figure(results: Results) -> "Figure":
    """Distance from the law after each pass, for three worlds and three chains."""
    found = rows(results, "one pass")
    worlds = list(dict.fromkeys(zip(found["J"], found["h"], strict=True)))
    chains = list(dict.fromkeys(found["chain"]))
    titles = ("one dominant mode", "two unequal modes", "two equal modes")
    fig = figure(8.8, 3.0)
    axes = fig.subplots(1, len(worlds), sharey=True)
    for ax, (J, h), title in zip(axes, worlds, titles, strict=True):
        for chain, colour, mark in zip(chains, PALETTE, "osD", strict=False):
            passes, away = (
                where(found, name, J=J, h=h, chain=chain) for name in ("passes", "distance")
            )
            ax.plot(passes, away, marker=mark, ms=4, color=colour, label=chain)
        ax.set_title(f"{title}\nJ = {J:g}, h = {h:g}", fontsize=9)
        ax.set_xlabel("passes")
    axes[0].set_ylabel("total variation from the law")
    axes[0].set_ylim(0, 1.05)
    axes[-1].legend(fontsize=8)
    return fig


def stutter_figure(results: Results) -> "Figure":
    """One source of eight words: what each target position believes, what it says, and a translation."""
    from matplotlib.patheffects import withStroke

    arrays = results["suite"].arrays
    laws, decoded, truth = arrays["laws"], arrays["decoded"], arrays["truth"]
    N, tokens = laws.shape
    names = [f"{chr(97 + t // 2)}{'₁₂'[t % 2]}" for t in range(tokens)]
    fig = figure(7.4, 4.4)
    ax = fig.subplots()
    image = ax.imshow(laws.T, vmin=0, vmax=1, aspect="auto")
    same = decoded[1:] == decoded[:-1]
    repeated = np.append(False, same) | np.append(same, False)
    ax.plot(
        np.arange(N)[~repeated], decoded[~repeated], "o", mfc="none", mec=PALETTE[2], mew=1.6, ms=9,
        label="most likely",
    )  # fmt: skip
    ax.plot(
        np.arange(N)[repeated], decoded[repeated], "s", mfc="none", mec=PALETTE[1], mew=1.8, ms=9,
        label="most likely, repeated",
    )  # fmt: skip
    ax.plot(
        np.arange(N), truth, "x", color="w", mew=1.4, ms=5, label="a most likely translation",
        path_effects=[withStroke(linewidth=2.6, foreground="0.15")],
    )  # fmt: skip
    ax.grid(False)
    ax.set_xticks(range(N), [f"{i + 1}\n{names[d]}" for i, d in enumerate(decoded)])
    ax.set_yticks(range(tokens), names, fontsize=7)
    ax.set_xlabel("target position and what one pass says there")
    ax.set_ylabel("target tokens of the source words a..h")
    fig.colorbar(image, ax=ax, shrink=0.8, label="exact probability")
    legend = ax.legend(fontsize=7, loc="lower left", facecolor="0.35", frameon=True, labelcolor="w")
    legend.get_frame().set_alpha(0.9)
    return fig
