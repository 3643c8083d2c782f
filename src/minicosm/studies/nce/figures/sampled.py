"""Pictures of descent from samples (Figure 4.2)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import NAMES, ends, misled, of_runs, selected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARMS = (
    (("nce", "gd"), PALETTE[1], "o-"),
    (("exponential", "gd"), PALETTE[4], "v-"),
    (("nce", "ngd"), PALETTE[2], "s-"),
    (("exponential", "ngd"), PALETTE[0], "^-"),
)


_STEPS = {"constant": "constant step", "decay": "step falls to 0"}


def _name(arm: tuple[str, str]) -> str:
    return ", ".join(NAMES[part] for part in arm)


def rates_figure(results: Results) -> "Figure":
    """Least distance after all updates against the constant step size, mean and deviation over seeds."""
    fig = figure(4.0 * len(results) + 0.6, 3.4)
    axes = fig.subplots(1, len(results), squeeze=False)[0]
    for ax, world in zip(axes, results, strict=True):
        rates = results[world].config.rates
        for arm, colour, style in ARMS:
            found = np.array([ends(results, world, *arm, rate) for rate in rates])
            ax.errorbar(
                rates, found.mean(axis=1), yerr=found.std(axis=1), fmt=style, ms=5, capsize=2.5,
                elinewidth=1, lw=1.4, color=colour, label=_name(arm),
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
        ax.minorticks_off()
        ax.set_ylim(0, None)
        ax.set(xlabel="step size", title=world)
    axes[0].set_ylabel(f"least distance, {results[next(iter(results))].config.updates} updates")
    axes[0].legend(fontsize=8, loc="lower left")
    return fig


def selected_figure(results: Results) -> "Figure":
    """Figure 4.2: distance against updates of the runs with the least fresh loss, for both schedules."""
    fig = figure(8.4, 5.2)
    grid = fig.subplots(2, len(results), squeeze=False, sharex=True)
    for row, schedule in zip(grid, ("constant", "decay"), strict=True):
        for ax, world in zip(row, results, strict=True):
            for arm, colour, _ in ARMS:
                curves = of_runs(results, world, "curves", *arm, schedule)
                _band(ax, curves, colour, _name(arm))
            ax.set_ylim(0, None)
            ax.set_title(f"{world}, {_STEPS[schedule]}", fontsize=10)
        row[0].set_ylabel("least distance so far")
    for ax in grid[-1]:
        ax.set_xlabel("updates")
    grid[0][0].legend(fontsize=8)
    return fig


def _band(ax: Any, curves: np.ndarray, colour: str, label: str) -> None:
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    steps = np.arange(len(mean))
    ax.plot(steps, mean, color=colour, lw=1.6, label=label)
    ax.fill_between(steps, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)


def fresh_figure(results: Results) -> "Figure":
    """Distance at the end against the loss on fresh samples, a point for every run."""
    last, fresh = (
        np.concatenate([of_runs(results, world, name, "nce", "ngd") for world in results], axis=1)
        for name in ("last", "fresh")
    )
    chosen = [
        np.concatenate(
            [selected(results, world, "nce", "ngd", "constant", name) for world in results]
        )
        for name in ("fresh", "last")
    ]
    rates = results[next(iter(results))].config.rates
    fig = figure(5.8, 3.6)
    ax = fig.subplots()
    floor = 1e-320
    for rate, x, y, colour in zip(rates, fresh, last, PALETTE, strict=False):
        ax.loglog(np.maximum(x, floor), y, "o", ms=5, color=colour, alpha=0.8, label=f"{rate:g}")
    ax.loglog(*(np.maximum(values, floor) for values in chosen), "o", ms=10, mfc="none", mec="black",
              mew=1, label="chosen")  # fmt: skip
    count = int(sum(np.nansum(misled(results, world)) for world in results))
    ax.set(xlabel="NCE loss on fresh samples", ylabel="distance to the truth at the end",
           title=f"misled in {count} of {last.shape[1]} seeds")  # fmt: skip
    ax.legend(
        title="step size",
        fontsize=8,
        title_fontsize=8,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
    )
    return fig
