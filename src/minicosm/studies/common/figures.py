"""Pictures that many claims share, in the house style of the lab."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, figure

from .checks import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def identity_figure(trial: str, statement: str, tolerance: float, column: str = "error") -> Any:
    """Errors over worlds, against the condition number where there is one; beside them, if the trial
    kept any, the constructed score against the exact one in one world."""

    def draw(results: Results) -> "Figure":
        result = results[trial]
        rows = result.numbers[statement]
        scores = result.arrays.get("scores") if statement.startswith("theorem") else None
        fig = figure(7.2 if scores is not None else 4.6, 3.0)
        axes = fig.subplots(1, 2 if scores is not None else 1, squeeze=False)[0]
        if scores is not None:
            _scores(axes[0], scores)
        errors(axes[-1], np.array(rows[column], float), rows.get("condition"), tolerance)
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
        ax.loglog(np.array(condition, float), shown, ".", ms=4, alpha=0.7, color=PALETTE[1])
        ax.set_xlabel("condition number of what is inverted")
    else:
        ax.semilogy(np.sort(shown), ".", ms=4, color=PALETTE[1])
        ax.set_xlabel("worlds, sorted")
    ax.axhline(tolerance, ls="--", lw=1, color="0.5")
    ax.text(0.02, tolerance, " tolerance", va="bottom", transform=ax.get_yaxis_transform())
    ax.set_ylim(1e-19, max(10 * tolerance, 10 * float(shown.max())))
    ax.set_ylabel("largest error")


def mean_and_half(values: Any) -> tuple[float, float]:
    """Mean and half width of the 95% interval, in per cent."""
    estimate = Estimate.of(100 * np.asarray(values, float))
    return estimate.value, estimate.high - estimate.value


def curve(ax: Any, x: Any, columns: list, label: str, **style: Any) -> None:
    """One mean with its interval per place."""
    mean, half = zip(*map(mean_and_half, columns), strict=True)
    ax.errorbar(x, mean, yerr=half, label=label, capsize=2.5, elinewidth=1, **style)


def beside(ax: Any) -> None:
    """The legend to the right of the axes, where it hides nothing."""
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
