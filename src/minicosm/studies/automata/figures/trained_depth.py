"""Accuracy by task and depth, and training curves."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..experiment_readings import accuracy, config_of, table_cells, theory_depth

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def math_name(text: str) -> str:
    """A text in which names such as `D_6` have their index set below."""

    def typeset(found: re.Match) -> str:
        letters, index, power = found.groups()
        return rf"$\mathrm{{{letters}}}_{{{index}}}" + (f"^{{{power}}}$" if power else "$")

    return re.sub(r"([A-Za-z]+)_(\d+(?:,\d+)?)(?:\^(\d+))?", typeset, text)


def depth_figure(results: Results) -> "Figure":
    """Tasks by depth: the median member's accuracy, with the best one's below it; on the left what the
    position and the last symbols tell exactly, on the right the depth of the shallowest construction of the
    source, which is framed where it was trained."""
    cells = table_cells(results)
    depths = sorted({depth for row in cells.values() for depth in row})
    first = config_of(results, next(iter(next(iter(cells.values())).values())))
    floors = ["position", *(f"last {w}" for w in first.windows)]
    shown = np.full((len(cells), len(floors) + 1 + len(depths)), np.nan)
    fig = figure(1.9 + 0.72 * (shown.shape[1] + 2), 0.9 + 0.55 * len(cells))
    ax = fig.subplots()
    texts: dict[tuple[int, int], str] = {}
    for i, (task, row) in enumerate(cells.items()):
        numbers = results[next(iter(row.values()))].numbers
        for j, value in enumerate((numbers["position"], *numbers["window"])):
            shown[i, j], texts[i, j] = 100 * value, f"{100 * value:.0f}"
        for depth, arm in row.items():
            values, j = 100 * accuracy(results, arm), len(floors) + 1 + depths.index(depth)
            shown[i, j] = np.median(values)
            texts[i, j] = f"{np.median(values):.1f}\nbest {np.max(values):.1f}"
        deep, where = theory_depth(task, first.length)
        ax.text(shown.shape[1] - 0.35, i, f"{deep} ({where})", va="center", fontsize=7.5)
        if deep in row:
            _frame(ax, len(floors) + 1 + depths.index(deep), i)
    picture = ax.imshow(shown, vmin=0, vmax=100, cmap="cividis", aspect="auto")
    for (i, j), text in texts.items():
        ink = "white" if shown[i, j] < 60 else "black"
        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink)
    ax.set_xticks(
        [*range(len(floors)), *range(len(floors) + 1, shown.shape[1])],
        [*floors, *(f"L = {depth}" for depth in depths)],
    )
    ax.text(shown.shape[1] - 0.35, -0.75, "depth in theory", fontsize=7.5)
    ax.set_yticks(range(len(cells)), map(math_name, cells))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    ax.set_xlim(-0.5, shown.shape[1] + 1.6)
    bar = fig.colorbar(picture, ax=ax, shrink=0.8, pad=0.01)
    bar.set_label(f"states right (%), T = {first.length}")
    return fig


def _frame(ax: Any, column: int, row: int) -> None:
    """A frame around a cell."""
    from matplotlib.patches import Rectangle

    box = Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, lw=2, zorder=3)
    box.set_edgecolor(PALETTE[1])
    ax.add_patch(box)


def curves_figure(results: Results) -> "Figure":
    """Accuracy on fresh strings while training, one line a member."""
    fig = figure(6.8, 3.2)
    ax = fig.subplots()
    for arm, colour in zip(results, PALETTE, strict=False):
        curve = 100 * results[arm].arrays["curve"]
        steps = config_of(results, arm).steps * np.arange(1, len(curve) + 1) / len(curve)
        for i, member in enumerate(curve.T):
            label = f"{math_name(arm)}, T = {config_of(results, arm).length}" if i == 0 else None
            ax.plot(steps, member, color=colour, lw=1.1, ls="-", label=label)
    ax.set_xlabel("step")
    ax.set_ylabel("states right in training (%)")
    ax.set_ylim(None, 101)
    ax.legend(loc="lower right")
    return fig
