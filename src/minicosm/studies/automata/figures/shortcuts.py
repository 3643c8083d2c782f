"""Layers against lengths, and a scan of one word."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import depth_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "one step a layer": "one step a layer: $T$",
    "Theorem 10": r"Theorem 10: $\lceil \log_2 T \rceil$",
    "Theorem 11": "Theorem 11 (cascade)",
    "Theorem 12": "Theorem 12 (gridworld): 2",
}
SHADES = ("#c9cdf8", "#9aa2f2", "#6470ea", "#2f3aa8")  # of states 0..3


def draw_depths(results: Results) -> "Figure":
    """Left: layers of four constructions of one gridworld; right: what the layers of a scan hold."""
    fig = figure(8.8, 3.5)
    left, right = fig.subplots(1, 2, width_ratios=[1, 1.25])
    for (name, line), colour, mark in zip(
        depth_lines(results).items(), PALETTE, "osD^", strict=False
    ):
        lengths, depths, run = map(np.array, zip(*line, strict=True))
        shown = np.maximum(depths, 0.5)  # Theorem 10 needs no layer at T = 1
        left.plot(lengths, shown, "-", color=colour, lw=1.4)
        for done, face in ((run, colour), (~run, "none")):
            left.plot(
                lengths[done], shown[done], mark, ms=4.5, color=colour, mfc=face, ls="none",
                label=LABELS[name] if face == colour else None,
            )  # fmt: skip
    left.set_xscale("log", base=2)
    left.set_yscale("log", base=2)
    left.set_xlabel("length T")
    left.set_ylabel("layers")
    left.set_yticks([0.5, 1, 2, 8, 32, 128, 512], ["0", "1", "2", "8", "32", "128", "512"])
    left.set_xticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1024"])
    left.minorticks_off()
    left.legend(fontsize=8, loc="upper left", title="filled: every state was right")
    left.get_legend().get_title().set_fontsize(8)
    _scan(right, results["suite"].arrays["scan"], results["suite"].arrays["word"])
    return fig


def _scan(ax: Any, functions: np.ndarray, word: np.ndarray) -> None:
    """A column of squares for every function from states to states; lines say which two a layer composes."""
    levels, length, n = functions.shape
    tall, side = 1.55, 0.3
    for level in range(levels):
        for t in range(length):
            for q in range(n):
                corner = (t - side / 2, level * tall + (q - n / 2) * side)
                shade = SHADES[int(functions[level, t, q])]
                ax.add_patch(_square(corner, side, shade))
            back = t - 2 ** (level - 1) if level else -1
            if level and back >= 0:
                low, high = (level - 1) * tall + n / 2 * side, level * tall - n / 2 * side
                for source in (back, t):
                    ax.plot([source, t], [low, high], "-", color=PALETTE[4], lw=0.7, zorder=0)
    top = (levels - 1) * tall + n / 2 * side
    for t in range(length):
        ax.text(t, -n / 2 * side - 0.12, "LR"[word[t]], ha="center", va="top", fontsize=9)
        state = int(functions[-1, t, 0])
        ax.text(t, top + 0.08, str(state), ha="center", va="bottom", fontsize=9)
    for level in range(levels):
        count = 2**level
        text = "one symbol" if count == 1 else f"{count} symbols"
        ax.text(-0.75, level * tall, text, ha="right", va="center", fontsize=8)
    ax.text(-0.75, top + 0.08, "state", ha="right", va="bottom", fontsize=8)
    ax.text(-0.75, -n / 2 * side - 0.12, "word", ha="right", va="top", fontsize=8)
    for q, shade in enumerate(SHADES):
        ax.add_patch(_square((length - 0.1, (q + 0.5) * side), side, shade))
        ax.text(length + 0.3, (q + 1) * side, f"to {q}", va="center", fontsize=8)
    ax.set(xlim=(-2.7, length + 1.1), ylim=(-n / 2 * side - 0.6, top + 0.5))
    ax.set_title("the function of the last symbols, layer by layer", fontsize=9)
    ax.axis("off")


def _square(corner: tuple[float, float], side: float, shade: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, side, side, fc=shade, ec="white", lw=0.6)
