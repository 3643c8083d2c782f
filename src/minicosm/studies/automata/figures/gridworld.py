"""A path in a gridworld, what Algorithm 1 reads off it, and the attention that does so."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_path(results: Results) -> "Figure":
    """Above: free sums, true states, the shortest suffix with S + 1 distinct sums and the last wall. Below:
    where the heads of the compiled second layer look from the last position. Trained attention is drawn
    with the claims on heads."""
    arrays = results["suite"].arrays
    fig = figure(8.8, 5.4)
    above, below = fig.subplots(2, 1, height_ratios=[1.35, 1])
    path_over(above, arrays)
    heads_over(below, arrays)
    return fig


def path_over(ax: Any, arrays: Any) -> None:
    """Figure 3.13: free sums z, states q, the window, and the last wall."""
    sums, states = arrays["sums"], arrays["states"]
    first, at, wall = (int(v) for v in arrays["suffix"])
    front = len(sums) - len(states)
    t = np.arange(1, len(sums) + 1) - front  # the string begins at 1
    full = np.concatenate([np.zeros(front), states])
    ax.axvspan(first - front - 0.5, t[-1] + 0.5, color=PALETTE[4], alpha=0.16, lw=0)
    for level in (0, int(states.max())):
        ax.axhline(level, lw=0.8, ls=":", color=PALETTE[0], zorder=1)
    ax.plot(t, sums, "o-", ms=3.5, lw=1.2, color=PALETTE[2])
    ax.plot(t, full, "s-", ms=3, lw=1.2, color=PALETTE[0])
    low, high = sums[first - 1 :].min(), sums[first - 1 :].max()
    for level in (low, high):
        span = [first - front - 0.5, t[-1] + 0.5]
        ax.plot(span, [level, level], "--", lw=0.9, color=PALETTE[2])
    where = at - front
    ax.plot([where, where], [sums[at - 1], wall], "-", lw=1, color=PALETTE[1])
    ax.plot([where, where], [sums[at - 1], wall], "o", ms=8, mfc="none", color=PALETTE[1])
    right = t[-1] + 0.8
    ax.text(
        right, full[-1], f"state $q_T = {int(full[-1])}$", color=PALETTE[0], va="center", fontsize=9
    )
    ax.text(right, sums[-1], "free sum $z_T$", color=PALETTE[2], va="center", fontsize=9)
    ax.text(where, wall + 0.35, "last wall", color=PALETTE[1], ha="center", va="bottom", fontsize=9)
    distinct = f"the shortest suffix with {high - low + 1} distinct sums"
    middle = (first - front + t[-1]) / 2
    ax.text(middle, sums.min() - 0.1, distinct, ha="center", va="top", fontsize=8)
    ax.text(t[0] - 0.4, 0.25, "pads", ha="left", va="bottom", fontsize=8)
    ax.set_xticks(t[front:], ["LR"[m] for m in arrays["path"]], fontsize=8)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(t[0] - 0.6, t[-1] + 4.8)
    ax.set_ylim(sums.min() - 0.9, states.max() + 1.2)
    ax.set_ylabel("place")
    ax.grid(False)


def heads_over(ax: Any, arrays: Any) -> None:
    """Where each head of the second layer looks from the last position: in grey the heads whose sum was never
    reached, with a frame the two ends of the window."""
    weights, sums = arrays["attention"][:, -1], arrays["sums"]
    S = len(weights) // 2
    front = len(sums) - len(arrays["states"])
    t = np.arange(1, len(sums) + 1) - front
    offsets = np.arange(-S, S + 1)
    first = int(arrays["suffix"][0]) - 1
    ends = (int(sums[first:].min()), int(sums[first:].max()))
    for row, offset in zip(weights, offsets, strict=True):
        value = int(sums[-1]) + offset
        colour = PALETTE[0] if value in sums else PALETTE[4]
        for place, weight in zip(t, row, strict=True):
            if weight > 0.01:
                frame = PALETTE[1] if value in ends and value in sums else "none"
                ax.scatter(
                    place, offset, s=70, marker="s", color=colour, alpha=float(weight),
                    edgecolors=frame, linewidths=1.6,
                )  # fmt: skip
    ax.axvspan(first + 1 - front - 0.5, t[-1] + 0.5, color=PALETTE[4], alpha=0.16, lw=0)
    ax.set_yticks(offsets, [f"$z_T{o:+d}$" if o else "$z_T$" for o in offsets])
    ax.set_xticks(t[front:], ["LR"[m] for m in arrays["path"]], fontsize=8)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(t[0] - 0.6, t[-1] + 4.8)
    ax.set_ylim(-S - 0.7, S + 0.7)
    ax.set_ylabel("head, by its sum")
    ax.set_xlabel("position that the head attends to, from the last one (compiled second layer)")
    never = [o for o in offsets if int(sums[-1]) + o not in sums]
    if len(never):
        ax.text(
            t[-1] + 0.8,
            float(np.mean(never)),
            "never reached",
            color=PALETTE[4],
            va="center",
            fontsize=9,
        )
    ax.grid(axis="x", visible=False)
