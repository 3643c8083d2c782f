"""Pictures of what tasks identify: the atlas, twins side by side, and the reflected means."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {
    "x2|x1": r"$x_2 | x_1$",
    "x3|x1": r"$x_3 | x_1$",
    "pairs on 3": "all pairs on 3 tokens",
    "pairs on 8": "all pairs on 8 tokens",
    "x2,x3|x1": r"$x_2 \otimes x_3 | x_1$",
    "x1,x3|x2": r"$x_1 \otimes x_3 | x_2$",
    "x1,x2|x3": r"$x_1 \otimes x_2 | x_3$",
    "x3|x1,x2": r"$x_3 | x_1, x_2$",
    "x2|x1,x3": r"$x_2 | x_1, x_3$",
}
FORMULAS = {
    "x2|x1": r"$(k-1)^2$",
    "x3|x1": r"$(k-1)^2$",
    "pairs on 3": r"$(k-1)(k-2)/2$",
    "pairs on 8": r"$(k-1)(k-2)/2$",
}


def atlas_figure(results: Results) -> "Figure":
    """Unseen directions of every task at every size: a dot where there are none."""
    found = rows(results, "Atlas")
    sizes = list(dict.fromkeys(zip(found["d"], found["k"], strict=True)))
    tasks = list(dict.fromkeys(found["task"]))
    fig = figure(7.4, 3.7)
    ax = fig.subplots()
    cells = zip(found["task"], found["d"], found["k"], found["unseen"], strict=True)
    counts: dict[tuple[int, int], set[int]] = {}
    for task, d, k, count in cells:
        counts.setdefault((tasks.index(task), sizes.index((d, k))), set()).add(count)
    for (row, column), seen in counts.items():
        some = any(count > 0 for count in seen)
        colour = PALETTE[1] if some else PALETTE[2]
        ax.add_patch(_cell(column, row, colour, 0.28 if some else 0.12))
        text = " or ".join(map(str, sorted(seen)))
        ax.text(column, row, text, ha="center", va="center", fontsize=9)
    for row, task in enumerate(tasks):
        ax.text(len(sizes) - 0.35, row, FORMULAS.get(task, "0"), va="center", fontsize=9)
    ax.set_xlim(-0.5, len(sizes) + 1.1)
    ax.set_ylim(len(tasks) - 0.5, -0.5)
    ax.set_xticks(range(len(sizes)), [f"{d}, {k}" for d, k in sizes])
    ax.set_yticks(range(len(tasks)), [NAMES.get(task, task) for task in tasks])
    ax.set_xlabel("tokens, states")
    ax.set_title("directions of parameters that no predictor of the task shows")
    ax.grid(False)
    ax.tick_params(length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return fig


def _cell(x: float, y: float, colour: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, facecolor=colour, alpha=alpha, lw=0)


def table(
    ax: Any, matrix: np.ndarray, colour: str, largest: float, *, signed: bool = False
) -> None:
    """A matrix as shaded cells with its numbers."""
    rows_, columns = matrix.shape
    for i in range(rows_):
        for j in range(columns):
            value = float(matrix[i, j])
            shade = 0.75 * min(abs(value) / max(largest, 1e-300), 1.0)
            ax.add_patch(_cell(j, i, colour, shade))
            small = abs(value) < 5e-4
            text = "0" if small else f"{value:+.3f}" if signed else f"{value:.3f}"
            ax.text(
                j,
                i,
                text.replace("0.", ".", 1).replace("-", "−"),
                ha="center",
                va="center",
                fontsize=8,
            )
    ax.set_xlim(-0.5, columns - 0.5)
    ax.set_ylim(rows_ - 0.5, -0.5)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def twins_figure(results: Results) -> "Figure":
    """Two worlds that agree on all pairs: parameters and predictors, and how they differ."""
    arrays = results["suite"].arrays
    columns = {
        "emissions $O$": arrays["emissions"],
        "chain $T$": arrays["chains"],
        r"$P(x_2 | x_1)$": arrays["one"],
        r"$P(x_1, x_3 | x_2 = 1)$": arrays["two"],
    }
    fig = figure(7.8, 5.6)
    axes = fig.subplots(3, 4)
    for column, (name, (first, second)) in enumerate(columns.items()):
        top = float(np.abs(first).max())
        table(axes[0, column], first, PALETTE[0], top)
        table(axes[1, column], second, PALETTE[1], top)
        table(axes[2, column], second - first, PALETTE[4], top, signed=True)
        axes[0, column].set_title(name, fontsize=10, loc="center")
    for row, name in enumerate(("one world", "its twin", "difference")):
        axes[row, 0].set_ylabel(name)
    return fig


def middle_figure(results: Results) -> "Figure":
    """Unit means of two worlds, their equal predictors of two tokens and opposite ones of one."""
    arrays = results["suite"].arrays
    fig = figure(8.6, 2.6)
    left, first, second, right = fig.subplots(1, 4, width_ratios=(1.25, 1, 1, 1.25))
    turn = np.linspace(0, 2 * np.pi, 200)
    names = ("one world", "its twin")
    for ax in (left, right):
        ax.axhline(0, lw=0.6, color="0.5")
        ax.axvline(0, lw=0.6, color="0.5")
        ax.set_aspect("equal")
        ax.set_xlim(-1.3, 1.3)
        ax.set_ylim(-1.3, 1.3)
        ax.set_xticks([-1, 0, 1])
        ax.set_yticks([-1, 0, 1])
    left.plot(np.cos(turn), np.sin(turn), lw=0.8, color="0.5", ls=":")
    for M, colour, mark, name in zip(arrays["means"], PALETTE, "os", names, strict=False):
        left.plot(M[0], M[1], mark, color=colour, ms=8)
        left.text(M[0].mean(), 0.2, name.replace(" ", "\n"), color=colour, fontsize=8, ha="center")
        for i, (x, y) in enumerate(M.T):
            left.annotate(f"$\\mu_{i + 1}$", (x, y), (8, 6), textcoords="offset points")
    left.set_title("means", fontsize=9, loc="center")
    top = float(np.abs(arrays["middle"]).max())
    for ax, matrix, colour, name in zip(
        (first, second), arrays["middle"], PALETTE, names, strict=False
    ):
        table(ax, matrix, colour, top, signed=True)
        ax.set_title(rf"$E[x_1 \otimes x_3 | x_2]$, {name}", fontsize=9, loc="center")
    for vector, colour, name in zip(arrays["ends"], PALETTE, names, strict=False):
        right.annotate(
            "", vector, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2}
        )
        away = (0, 0.35 if vector[1] > 0 else -0.45)
        right.text(*(vector + away), name, color=colour, fontsize=8, ha="center")
    right.set_title(r"$E[x_1 | x_2]$", fontsize=9, loc="center")
    return fig
