"""A parse tree with what students predict at which step, and learning curves by number of heads."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.log_ticks import log_ticks
from ..sentence_readings import sentences_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WAYS = ("labels", "one-shot", "progressive")
SHOWN = 6
"""Steps, at most, for which a row is drawn."""


def tree_figure(results: Results) -> "Figure":
    """The derivation of one sentence, and under each of its tokens the probability that students give it
    when it alone is hidden, after some steps, by way of learning; at the bottom that of the exact law."""
    config, arrays = sentences_config(results), results["sentences"].arrays
    tokens = np.asarray(arrays["tree_tokens"], int)
    exact = np.asarray(arrays["tree_exact"], float)
    length = int((tokens < exact.shape[1]).sum())
    said = np.asarray(arrays["tree_said"], float)
    steps = np.asarray(arrays["tree_steps"], int)
    rows = np.unique(np.linspace(0, len(steps) - 1, SHOWN).round().astype(int))
    truth = np.take_along_axis(said, tokens[None, None, :, None] % said.shape[3], axis=3)[..., 0]
    blocks = [truth[rows, j, :length] for j in range(len(WAYS))]
    best = exact[np.arange(length), tokens[:length]][None]
    fig = figure(8.6, 6.2)
    heights = [1.3, *([len(rows) / 6] * len(WAYS)), 0.2]
    axes = fig.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    _draw_tree(axes[0], config, arrays, tokens[:length], length)
    names = [f"{step} steps" for step in steps[rows]]
    for ax, block, way in zip(axes[1:-1], blocks, WAYS, strict=True):
        image = _draw_rows(ax, block, names)
        ax.set_ylabel(way)
    _draw_rows(axes[-1], best, ["exact law"])
    axes[-1].set_xlabel("token of the sentence")
    axes[-1].set_xticks(range(length), [str(token + 1) for token in tokens[:length]], fontsize=7.5)
    bar = fig.colorbar(image, ax=list(axes), fraction=0.025, pad=0.01)
    bar.set_label("probability of the token that was hidden")
    return fig


def _draw_rows(ax: Any, values: np.ndarray, names: list[str]) -> Any:
    image = ax.imshow(
        values, aspect="auto", cmap="viridis", vmin=0, vmax=1, interpolation="nearest"
    )
    ax.grid(visible=False)
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return image


def _draw_tree(ax: Any, config: Any, arrays: Any, tokens: np.ndarray, length: int) -> None:
    """Nodes of every height above the middle of their tokens, with lines to their children."""
    from minicosm.worlds import LayeredPCFG

    world = LayeredPCFG.named(config.grammar, config.below)
    symbols = np.asarray(arrays["tree_symbols"], int)
    ends = np.asarray(arrays["tree_boundaries"], bool)
    below = [(i, i, float(i)) for i in range(length)]
    for h in range(len(symbols)):
        nodes, first = [], 0
        for last in np.flatnonzero(ends[h, :length]):
            children = [child for child in below if first <= child[0] and child[1] <= last]
            middle = float(np.mean([child[2] for child in children]))
            for child in children:
                ax.plot([middle, child[2]], [h + 1, h], color="0.6", lw=0.8, ls="-", zorder=1)
            name = world.symbols(h + 2)[symbols[h, last]]
            ax.text(middle, h + 1, str(name), ha="center", va="center", fontsize=7.5, zorder=2,
                    bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"})  # fmt: skip
            nodes.append((first, int(last), middle))
            first = int(last) + 1
        below = nodes
    ax.set_ylim(-0.2, len(symbols) + 0.4)
    ax.set_axis_off()


def heads_figure(results: Results) -> "Figure":
    """Accuracy against steps from labels by number of heads; points mark 80% of the final accuracy."""
    config, arrays = sentences_config(results), results["sentences"].arrays
    steps = np.asarray(arrays["head_steps"], float)
    fig = figure(4.8, 3.0)
    ax = fig.subplots()
    for size, heads, colour in (
        ("small", config.student_heads, PALETTE[1]),
        ("large", config.teacher_heads, PALETTE[0]),
    ):
        top = 100 * np.asarray(arrays[f"head_top_{size}"], float)
        mean = top.mean(axis=1)
        ax.semilogx(steps, top, color=colour, lw=0.6, ls="-", alpha=0.45)
        ax.semilogx(steps, mean, color=colour, lw=2, ls="-", label=f"{heads} heads")
        mark = int(np.argmax(mean >= 0.8 * mean[-1]))
        ax.plot(steps[mark], mean[mark], "o", color=colour, ms=6)
    ax.plot([], [], "o", color="0.4", ms=6, label="80% of the last")
    log_ticks(ax.xaxis, steps)
    ax.set_xlabel("steps")
    ax.set_ylabel("top-1 accuracy (%)")
    ax.legend(fontsize=8)
    return fig
