"""Pictures that many claims share, in the house style of the lab."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def statement_figure(name: str, *, trial: str = "suite", scores: str = "") -> Any:
    """The errors of an identity over worlds, against the condition number where there is one; beside them
    the constructed score against the exact one in one world, if `scores` names an array of the trial."""

    def draw(results: Results) -> "Figure":
        found = rows(results, name, trial)
        fig = figure(7.2 if scores else 4.6, 3.0)
        axes = fig.subplots(1, 2 if scores else 1, squeeze=False)[0]
        if scores:
            _scores(axes[0], results[trial].arrays[scores])
        applied = [i for i, error in enumerate(found["error"]) if error is not None]
        condition = [found["condition"][i] for i in applied] if "condition" in found else None
        values = np.array([found["error"][i] for i in applied], float)
        errors(axes[-1], values, condition, found["tolerance"][0])
        return fig

    return draw


def _scores(ax: Any, scores: np.ndarray) -> None:
    ax.axhline(0, lw=0.6, color="0.5")
    ax.axvline(0, lw=0.6, color="0.5")
    ax.plot(scores[:, 0], scores[:, 1], ".", ms=3, alpha=0.6, color=PALETTE[0])
    ax.set_xlabel("exact score $\\mu \\cdot P$")
    ax.set_ylabel("score of the construction")
    ax.set_title("one world, sequences in scope", fontsize="medium")


def errors(ax: Any, values: np.ndarray, condition: Any, tolerance: float) -> None:
    """Errors of all worlds on a log scale (an error of zero is drawn at 1e-18)."""
    shown = np.maximum(values, 1e-18)
    if condition is not None:
        found = np.array(condition, float)
        ax.loglog(found, shown, ".", ms=4, alpha=0.7, color=PALETTE[1])
        if found.size and found.max() < 100 * found.min():  # else the labels of ticks run together
            middle = np.sqrt(found.min() * found.max())
            ax.set_xlim(middle / 12, 12 * middle)
        ax.set_xlabel("condition number of what is inverted")
    else:
        ax.semilogy(np.sort(shown), ".", ms=4, color=PALETTE[1])
        ax.set_xlabel("worlds, sorted")
    ax.axhline(tolerance, ls="--", lw=1, color="0.5")
    ax.text(0.02, tolerance, " tolerance", va="bottom", transform=ax.get_yaxis_transform())
    ax.set_ylim(1e-19, 10 * max(tolerance, float(shown.max(initial=0.0))))
    ax.set_ylabel("largest error")


def mean_and_half(values: Any) -> tuple[float, float]:
    """Mean and half width of the 95% interval, in per cent."""
    estimate = Estimate.of(100 * np.asarray(values, float))
    return estimate.value, estimate.high - estimate.value


def curve(ax: Any, x: Any, columns: list, label: str, **style: Any) -> None:
    """One mean with its interval per place."""
    mean, half = zip(*map(mean_and_half, columns), strict=True)
    ax.errorbar(x, mean, yerr=half, label=label, capsize=2.5, elinewidth=1, **style)


def percent_axis(ax: Any) -> None:
    """Percents up to 100 and a little room, from 90 or less, so that equal values are no zoomed noise."""
    ax.set_ylim(min(ax.get_ylim()[0], 90), 101)


def legend_right(ax: Any) -> None:
    """The legend to the right of the axes, where it hides nothing."""
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
