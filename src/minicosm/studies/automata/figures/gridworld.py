"""A path in a gridworld, what Algorithm 1 reads off it, and the attention that does so."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINED = "trained"
"""The trial that holds the attention of a trained model on the same path, if there is one."""


def draw_path(results: Results) -> "Figure":
    """Above: free sums, true states, the shortest suffix with S + 1 distinct sums and the last wall. Below:
    what the heads of the compiled second layer attend to at the last position and at all; beside it a
    trained one."""
    arrays = results["suite"].arrays
    trained = results[TRAINED].arrays if TRAINED in results else None
    fig = figure(8.8, 5.6)
    grid = fig.add_gridspec(2, 2 if trained is not None else 1, height_ratios=[1.25, 1])
    path_over(fig.add_subplot(grid[0, :]), arrays)
    heads_over(fig.add_subplot(grid[1, 0]), arrays)
    if trained is not None:
        heads_map(fig.add_subplot(grid[1, 1]), trained["attention"], "a trained second layer")
    return fig


def path_over(ax: Any, arrays: Any) -> None:
    """Figure 3.13: free sums z, states q, the window, and the last wall."""
    sums, states = arrays["sums"], arrays["states"]
    first, at, wall = (int(v) for v in arrays["suffix"])
    front = len(sums) - len(states)
    t = np.arange(1, len(sums) + 1) - front  # the string begins at 1
    full = np.concatenate([np.zeros(front), states])
    ax.axvspan(first - front - 0.5, t[-1] + 0.5, color=PALETTE[4], alpha=0.16, lw=0)
    ax.plot(t, sums, "o-", ms=3.5, lw=1.2, color=PALETTE[2], label="free sum $z_t$")
    ax.plot(t, full, "s-", ms=3, lw=1.2, color=PALETTE[0], label="state $q_t$")
    for level in (0, int(states.max())):
        ax.axhline(level, lw=0.7, ls=":", color=PALETTE[0])
    low, high = sums[first - 1 :].min(), sums[first - 1 :].max()
    ax.plot([first - front - 0.5, t[-1] + 0.5], [low, low], "--", lw=0.8, color=PALETTE[2])
    ax.plot([first - front - 0.5, t[-1] + 0.5], [high, high], "--", lw=0.8, color=PALETTE[2])
    where = at - front
    ax.plot([where, where], [sums[at - 1], wall], "-", lw=1, color=PALETTE[1])
    ax.plot([where, where], [sums[at - 1], wall], "o", ms=8, mfc="none", color=PALETTE[1])
    ax.annotate(
        f"last wall: state {wall}", (where, wall), (where - 1.2, wall + 1.1), ha="right",
        color=PALETTE[1], fontsize=9, arrowprops={"arrowstyle": "-", "color": PALETTE[1], "lw": 0.8},
    )  # fmt: skip
    ax.text(
        first - front - 0.3, ax.get_ylim()[0], f"$t_{{uniq}}$: {high - low + 1} distinct sums from here on",
        ha="left", va="bottom", fontsize=8,
    )  # fmt: skip
    ax.set_xticks(t[front:], ["LR"[m] for m in arrays["path"]], fontsize=8)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(t[0] - 0.6, t[-1] + 0.6)
    ax.set_ylabel("place")
    ax.grid(False)
    ax.legend(fontsize=8, loc="upper left", ncols=2)


def heads_over(ax: Any, arrays: Any) -> None:
    """Of the last position: where each head of the second layer looks, head by head."""
    weights = arrays["attention"][:, -1]
    S = len(weights) // 2
    front = len(arrays["sums"]) - len(arrays["states"])
    edges = np.arange(weights.shape[1] + 1) - front + 0.5
    mesh = ax.pcolormesh(edges, np.arange(-S, S + 2) - 0.5, weights, cmap="Blues", vmin=0, vmax=1)
    ax.set_yticks(range(-S, S + 1), [f"$z_T{s:+d}$" if s else "$z_T$" for s in range(-S, S + 1)])
    ax.set_xticks(
        np.arange(1, len(arrays["path"]) + 1), ["LR"[m] for m in arrays["path"]], fontsize=8
    )
    ax.tick_params(length=0)
    ax.set_xlim(edges[0] - 0.1, edges[-1] + 0.1)
    ax.set_xlabel(
        "position attended to, from the last one; each row is a head and the sum that it looks for"
    )
    ax.grid(False)
    ax.set_title("the compiled second layer", fontsize=9)
    ax.figure.colorbar(mesh, ax=ax, pad=0.01, fraction=0.03, ticks=[0, 1])


def heads_map(ax: Any, weights: np.ndarray, title: str) -> None:
    """Of the last position: weights of every head of a model, `[head, position]`."""
    ax.imshow(weights, aspect="auto", cmap="Blues", vmin=0, vmax=1)
    ax.set(title=title, xlabel="position attended to", ylabel="head")
    ax.grid(False)
