"""Losses over attention weights, the ladder of losses, and trained attention."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure, rows

from ..readings import of_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONVENTIONS = {"full": "masked keys read", "printed": "as printed"}


def _landscape(results: Results, value: str) -> "Figure":
    """Where the loss lies between its least value and that of uniform attention, for every tau."""
    found = results["landscapes"]
    taus, axis = found.config.per_document, found.arrays["axis"]
    fig = figure(2.3 * len(taus) + 0.9, 4.9)
    axes = fig.subplots(2, len(taus), sharex=True, sharey=True, squeeze=False)
    image: Any = None
    for line, (keys, name) in zip(axes, CONVENTIONS.items(), strict=True):
        measured = rows(results, f"{value}, {keys}", "landscapes")
        for i, (ax, tau) in enumerate(zip(line, taus, strict=True)):
            grid = found.arrays[f"{value}, {keys}, {tau}"]
            least, uniform = measured["loss"][i], measured["uniform"][i]
            share = np.clip((grid - least) / (uniform - least), 0, 1.5)
            image = ax.pcolormesh(
                axis, axis, share.T, cmap="cividis", shading="auto", rasterized=True
            )
            ax.contour(axis, axis, share.T, [0.1], colors="w", linewidths=0.9)
            ax.set(xscale="log", yscale="log")
            ax.grid(False)
            ax.set_xticks([1e-4, 1, 1e4])
            ax.set_yticks([1e-4, 1, 1e4])
            _ridge(ax, axis, value, measured, i, found.config.words)
            ax.set_title(f"$\\tau = {tau}$, {name}", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("$\\alpha$")
    for ax in axes[:, 0]:
        ax.set_ylabel("$\\beta$")
    fig.colorbar(image, ax=axes, shrink=0.7, label="loss, 0: least, 1: uniform attention")
    return fig


def _ridge(ax: Any, axis: np.ndarray, value: str, measured: Any, i: int, v: int) -> None:
    """The exact optimum: a line of equal gamma, or of beta."""
    if value == "block":
        whole = v * measured["gamma"][i]  # (v - 1) alpha + beta
        part = np.logspace(-9, np.log10(0.5), 200)
        share = np.concatenate([part, 1 - part[::-1]])  # of alpha in it
        ax.plot(share * whole / (v - 1), (1 - share) * whole, color=PALETTE[1], lw=1.3, ls="-")
    else:
        ax.plot([axis[0], 1], [measured["beta"][i]] * 2, color=PALETTE[1], lw=1.3, ls="-")
    ax.set(xlim=(axis[0], axis[-1]), ylim=(axis[0], axis[-1]))


def draw_block_landscape(results: Results) -> "Figure":
    """Figure 2.8: orange is the exact ridge, white the region within 10% of the drop."""
    return _landscape(results, "block")


def draw_diagonal_landscape(results: Results) -> "Figure":
    """Figure 2.7: orange is the exact best beta, white the region within 10% of the drop."""
    return _landscape(results, "diagonal")


def draw_ladder(results: Results) -> "Figure":
    """Stage 1, then each value matrix with its best attention, then the best possible loss."""
    found = rows(results, "Loss ladder")
    fig = figure(6.0, 3.3)
    ax = fig.subplots()
    steps = ("Stage 1", "block", "diagonal", "Bayes")
    names = ("Stage 1:\nuniform attention", "block values,\nbest attention",
             "diagonal values,\nbest attention", "best possible")  # fmt: skip
    for at, tau in enumerate(found["tau"]):
        levels = [found[step][at] for step in steps]
        ax.plot(range(4), levels, marker="o", color=PALETTE[at], ls="-", label=f"$\\tau = {tau}$")
    ax.set_xticks(range(4), names, fontsize=8)
    ax.set_ylabel("squared loss")
    ax.legend()
    return fig


def draw_tables(arms: tuple[str, ...]) -> Any:
    """Mean attention to the same word, to its topic and to other topics, for every setting."""

    def draw(results: Results) -> "Figure":
        fig = figure(2.0 * len(arms) + 1.6, 3.2)
        ax = fig.subplots()
        kinds = ("same word", "same topic", "different topic")
        for at, (kind, colour) in enumerate(zip(kinds, PALETTE, strict=False)):
            for place, arm in enumerate(arms):
                values = of_seeds(results, arm, "attention", kind)
                mean = Estimate.of(values)
                x = place + 0.22 * (at - 1)
                ax.plot(np.full(len(values), x), values, ".", color=colour, ms=4, alpha=0.45, ls="")
                half = mean.high - mean.value if np.isfinite(mean.high) else 0.0
                ax.errorbar(
                    [x], [mean.value], yerr=[half], fmt="o", color=colour, ms=5, capsize=3,
                    label=kind if place == 0 else None,
                )  # fmt: skip
        cut = min(100, results[arms[0]].config.shortest)
        ax.axhline(1 / cut, color="0.5", lw=1, ls=":")
        ax.text(0.995, 1 / cut, "uniform", transform=ax.get_yaxis_transform(), ha="right", va="bottom",
                fontsize=8)  # fmt: skip
        ax.set_yscale("log")
        ax.set_xticks(range(len(arms)), [arm.partition(", ")[2] for arm in arms])
        ax.set_xlim(-0.5, len(arms) - 0.3)  # room for the label
        ax.set_ylabel("mean attention")
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return fig

    return draw
