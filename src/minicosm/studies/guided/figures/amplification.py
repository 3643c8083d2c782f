"""Pictures of error amplification, of mixing, and of VGB's flow on a small tree."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAIN, FIRST, WALK = PALETTE[1], PALETTE[0], PALETTE[2]


def amplification(results: Results) -> "Figure":
    """KL to the wanted law against the horizon in four worlds: plain guidance, the first leaf, y^(T)."""
    fig = figure(8.6, 5.2)
    axes = fig.subplots(2, 2)
    titles = {
        "biased coin": "biased coin, bias 0.5",
        "delayed": "delayed value, weight 3",
        "independent errors": "independent errors, $\\sigma = 0.5$",
        "noisy Dyck": "noisy Dyck, feasibility as value",
    }
    for ax, (name, title) in zip(axes.flat, titles.items(), strict=True):
        data = _arrays(results, name)
        for key, colour, mark, label in (
            ("plain", PLAIN, "s", "plain guidance"),
            ("first", FIRST, "o", "first leaf of VGB"),
        ):
            _line(ax, data["H"], data[key], colour, mark, label)
        walk = _arrays(results, "walk")
        on = walk["family"] == name
        ax.plot(
            walk["H"][on], walk["kl"][on], "^-", ms=4, color=WALK, label="$y^{(T)}$, $T = 6 H^2$"
        )
        sizes = np.unique(data["H"])
        ax.set_xscale("log", base=2)
        ax.set_xticks(shown := sizes[:: 1 + len(sizes) // 8], [str(size) for size in shown])
        ax.minorticks_off()
        ax.set_yscale("log")
        ax.set_title(title)
        ax.set_xlabel("horizon $H$")
    for ax in axes[:, 0]:
        ax.set_ylabel("KL($\\pi^*$ || law), nats")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    return fig


def _arrays(results: Results, name: str) -> dict[str, np.ndarray]:
    """The columns that the suite wrote down under a name."""
    return {column: np.array(values) for column, values in rows(results, name).items()}


def _line(
    ax: Any, sizes: np.ndarray, values: np.ndarray, colour: str, mark: str, label: str
) -> None:
    """The mean at every size; single draws as dots where there are several."""
    every = np.unique(sizes)
    means = [values[sizes == size].mean() for size in every]
    if len(every) < len(sizes):
        ax.plot(sizes, values, ".", ms=3, alpha=0.35, color=colour)
    ax.plot(every, means, "-", marker=mark, ms=4, color=colour, label=label)


def monte_carlo(results: Results) -> "Figure":
    """The same with values from rollouts, for both numbers of rollouts."""
    data = _arrays(results, "Monte-Carlo values")
    fig = figure(5.4, 3.4)
    ax = fig.subplots()
    for N, style in ((500, "-"), (10_000, "--")):
        for key, colour, mark, label in (
            ("plain", PLAIN, "s", "plain guidance"),
            ("first", FIRST, "o", "first leaf"),
        ):
            on = data["N"] == N
            sizes = np.unique(data["H"])
            means = [data[key][on & (data["H"] == H)].mean() for H in sizes]
            ax.plot(data["H"][on], data[key][on], ".", ms=3, alpha=0.3, color=colour)
            ax.plot(
                sizes, means, style, marker=mark, ms=4, color=colour, label=f"{label}, N = {N:,}"
            )
    ax.set_yscale("log")
    ax.set_xticks([6, 8, 10])
    ax.set_xlabel("horizon $H$")
    ax.set_ylabel("KL($\\pi^*$ || law), nats")
    fig.legend(loc="outside right center", fontsize=8)
    return fig


def mixing_curves(results: Results) -> "Figure":
    """Total variation against steps, to the stationary law and of leaves to the wanted law, with bounds."""
    arrays = results["suite"].arrays
    fig = figure(9.0, 3.4)
    axes = fig.subplots(1, 3, sharey=True)
    labels = (
        ("all nodes", PALETTE[0], "-"),
        ("given a leaf", PALETTE[2], "-"),
        ("bound by the gap", PALETTE[1], "--"),
        ("by canonical paths", PALETTE[3], "--"),
        ("in closed form", PALETTE[4], "--"),
    )
    for ax, H in zip(axes, (4, 6, 8), strict=True):
        for row, (label, colour, style) in zip(arrays[f"curve {H}"], labels, strict=True):
            shown = np.where(np.isfinite(row) & (row > 1e-7), row, np.nan)
            ax.plot(np.arange(len(row)), shown, style, lw=1.4, color=colour, label=label)
        ax.axhline(0.05, lw=0.8, ls=":", color="0.5")
        ax.set_yscale("log")
        ax.set_ylim(1e-6, 20)
        ax.set_title(f"$H = {H}$")
        ax.set_xlabel("steps $T$")
    axes[0].set_ylabel("total variation")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=5, fontsize=8)
    return fig


def stationary_flow(results: Results) -> "Figure":
    """The tree of four bits: edges as wide as the flow they carry, nodes as large as their mass."""
    arrays = results["suite"].arrays
    mu, edge, parent, level = (arrays[name] for name in ("mu", "edge", "parent", "level"))
    height = int(level.max())
    place = np.zeros(len(mu))
    for h in range(height + 1):
        on = np.flatnonzero(level == h)
        place[on] = (np.arange(len(on)) + 0.5) / len(on)
    fig = figure(7.2, 3.6)
    ax = fig.subplots()
    for node in range(1, len(mu)):
        up = parent[node]
        ax.plot(
            [place[up], place[node]], [-level[up], -level[node]], "-",
            lw=26 * edge[node] / edge[1:].max() * 0.5, color=PALETTE[4], alpha=0.6,
            solid_capstyle="butt", zorder=1,
        )  # fmt: skip
    image = ax.scatter(place, -level, s=3000 * mu, c=mu, cmap="cividis", zorder=2)
    for node in range(1, len(mu)):
        bit = (node - 1) % 2
        x = (place[node] + place[parent[node]]) / 2
        shift = 0.006 if place[node] >= place[parent[node]] else -0.006
        ax.text(
            x + shift, -level[node] + 0.5, str(bit), fontsize=7,
            ha="left" if shift > 0 else "right", va="center",
        )  # fmt: skip
    ax.set_yticks(-np.arange(height + 1), [str(h) for h in range(height + 1)])
    ax.set_ylabel("tokens")
    ax.set_xticks([])
    ax.grid(False)
    ax.set_ylim(-height - 0.35, 0.35)
    fig.colorbar(image, ax=ax, label="stationary mass", shrink=0.8)
    return fig
