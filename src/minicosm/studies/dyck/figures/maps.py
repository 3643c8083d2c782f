"""Attention maps, drawn over their string."""

from typing import Any

import numpy as np

from minicosm.lab import PALETTE

LABEL = 8  # size of the labels
OPEN, CLOSED = "([{<", ")]}>"


def bracket(token: int) -> str:
    """A bracket to print: type 0 is round, type 1 square."""
    return (CLOSED if token % 2 else OPEN)[token // 2 % 4]


def tops_of(tokens: np.ndarray) -> list[tuple[int, int]]:
    """(query, key) of every closed bracket of positive depth and the last bracket then open."""
    stack: list[int] = []
    tops = []
    for i, token in enumerate(tokens):
        if token % 2 == 0:
            stack.append(i)
            continue
        stack.pop()
        if stack:
            tops.append((i, stack[-1]))
    return tops


def _step(ax: Any, cells: int) -> int:
    """1 if there is room for a label at every cell of a square map, else at every second one, and so on."""
    points = 72 * min(ax.get_window_extent().size) / ax.figure.dpi
    return max(1, int(np.ceil(1.05 * LABEL * cells / points)))


def attention_map(
    ax: Any, pattern: np.ndarray, tokens: np.ndarray, title: str, *, start: bool = True
) -> None:
    """A map with the string below, each bracket with its depth, and left of it; boxes mark the
    stack's top. With `start` the first row and column are the start token's."""
    from matplotlib.patches import Rectangle

    ax.imshow(pattern, vmin=0, vmax=1, cmap="Blues", interpolation="nearest")
    for query, key in tops_of(tokens):
        box = Rectangle((key + start - 0.5, query + start - 0.5), 1, 1, fill=False, lw=0.9)
        box.set_edgecolor(PALETTE[1])
        ax.add_patch(box)
    depths = np.cumsum(np.where(tokens % 2, -1, 1))
    names = ["s"] * start + [bracket(int(token)) for token in tokens]
    levels = [""] * start + list(map(str, depths))
    both = [f"{n}\n{d}" for n, d in zip(names, levels, strict=True)]
    places = range(0, len(names), _step(ax, len(names)))
    ax.set_xticks(places, [both[i] for i in places])
    ax.set_yticks(places, [names[i] for i in places])
    ax.tick_params(length=0, labelsize=LABEL, pad=2)
    ax.grid(False)
    ax.set_title(title, fontsize=9)
