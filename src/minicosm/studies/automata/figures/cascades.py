"""Pictures of automata: depths of constructions, a decomposition, and words that flow through states."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import depth_cells, in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "one step a layer": "one step\na layer",
    "Theorem 10": "any automaton\n(Theorem 10)",
    "Lemma 15": "counter\n(Lemma 15)",
    "Lemma 16": "memory\n(Lemma 16)",
    "Theorem 12": "gridworld\n(Theorem 12)",
    "Theorem 11": "solvable\n(Theorem 11)",
}


def draw_depth_matrix(results: Results) -> "Figure":
    """Layers of every construction for every automaton; a cross where a condition fails."""
    found = rows(results, "depths")
    cells = depth_cells(results)
    automata, constructions = in_order(found["automaton"]), in_order(found["construction"])
    T = found["length"][0]
    fig = figure(7.4, 0.9 + 0.32 * len(automata))
    ax = fig.subplots()
    shades = np.full((len(automata), len(constructions)), np.nan)
    for i, name in enumerate(automata):
        for j, construction in enumerate(constructions):
            depth, exact = cells[name, construction]
            if depth is None:
                ax.text(j, i, "×", ha="center", va="center", color=PALETTE[4], fontsize=11)
                continue
            shades[i, j] = np.log2(max(depth, 1))
            dark = shades[i, j] < 0.55 * np.log2(T)
            ax.text(
                j,
                i,
                f"{depth}" if exact else f"{depth} wrong",
                ha="center",
                va="center",
                color="white" if dark else "black",
            )
    ax.imshow(shades, aspect="auto", cmap="cividis", vmin=0, vmax=np.log2(T))
    ax.set_xticks(range(len(constructions)), [TITLES[name] for name in constructions])
    ax.set_yticks(range(len(automata)), [mathematics(name) for name in automata])
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.grid(False)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xlabel(f"layers at T = {T}; × where the automaton is outside the class", fontsize=9)
    return fig


def mathematics(name: str) -> str:
    """The name of an automaton, typeset."""
    base, mark, index = name.partition("_")
    if not mark:
        return name
    letter = f"\\mathrm{{{base}}}" if len(base) > 1 else base
    return f"${letter}_{{{index.replace(',', '{,}')}}}$"


# -- a decomposition ---------------------------------------------------------------------------------


def draw_decomposition(results: Results) -> "Figure":
    """Image sets of two automata by height, each above its tiles, and the components that they make."""
    fig = figure(8.6, 3.4)
    axes = fig.subplots(1, 2)
    titles = {"grid": "gridworld of four places", "abab": "(abab)*"}
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        _image_sets(ax, results, name)
        ax.set_title(title)
    return fig


def _image_sets(ax: Any, results: Results, name: str) -> None:
    arrays = results["suite"].arrays
    members, heights = arrays[f"{name} members"], arrays[f"{name} heights"]
    classes, edges = arrays[f"{name} classes"], arrays[f"{name} edges"]
    top = int(heights.max())
    place = {}
    for height in range(top + 1):
        # Sets of one height from left to right by their states.
        own = sorted(
            np.flatnonzero(heights == height), key=lambda P: np.flatnonzero(members[P]).mean()
        )
        for i, P in enumerate(own):
            place[P] = (i - (len(own) - 1) / 2) * (1.25 if height else 1.0), height
    for P, tile in edges:
        (x0, y0), (x1, y1) = place[P], place[tile]
        ax.plot([x0, x1], [y0 - 0.16, y1 + 0.16], color="0.6", lw=0.9, ls="-", zorder=1)
    big = in_order(classes[np.argsort(-heights, kind="stable")].tolist())
    colours = {c: PALETTE[i % 4] for i, c in enumerate(big)}
    for P, (x, y) in place.items():
        text = "".join(str(q) for q in np.flatnonzero(members[P]))
        colour = colours[classes[P]] if heights[P] else "0.5"
        box = {"boxstyle": "round,pad=0.28", "fc": "none", "ec": colour, "lw": 1.4}
        ax.text(x, y, text, ha="center", va="center", fontsize=9, bbox=box, zorder=2)
    parts = rows(results, f"{name} components")
    right = max(x for x, _ in place.values()) + 0.9
    for level in in_order(parts["level"]):
        at = [i for i, other in enumerate(parts["level"]) if other == level]
        text = "; ".join(_component(parts, i) for i in at)
        ax.text(right, top - level + 1, text, ha="left", va="center", fontsize=9)
    ax.set(xlim=(-right - 0.2, right + 2.3), ylim=(-0.5, top + 0.5))
    ax.axis("off")


def _component(parts: Any, i: int) -> str:
    order = parts["order"][i]
    group = "resets only" if order == 1 else f"group of {order}, resets"
    return f"{parts['tiles'][i]} tiles: {group}"


# -- words -------------------------------------------------------------------------------------------


def draw_flows(results: Results) -> "Figure":
    """Where one word takes every state: walls and resets let paths meet, a group keeps them apart."""
    titles = {
        "gridworld": ("gridworld: walls merge paths", "LR"),
        "memory": ("memory: a write merges all", "⊥0123"),
        "dihedral": ("$D_6$: paths never meet", "ar"),
    }
    fig = figure(8.8, 3.2)
    for ax, (name, (title, letters)) in zip(fig.subplots(1, 3), titles.items(), strict=True):
        flow = results["suite"].arrays[f"flow {name}"]
        word = results["suite"].arrays[f"word {name}"]
        steps = np.arange(len(flow))
        n = flow.shape[1]
        for q in range(n):  # a little apart, so that paths that have met stay visible
            apart = 0.07 * (q - (n - 1) / 2)
            ax.plot(steps, flow[:, q] + apart, "-", color=PALETTE[q % 5], lw=1.5, alpha=0.9)
        ax.set_title(title, fontsize=10)
        ax.set_xticks(steps[1:] - 0.5, [letters[s] for s in word], fontsize=7)
        ax.set_yticks(range(n))
        ax.grid(False)
        ax.tick_params(length=0)
        ax.set_xlabel("the word, symbol by symbol")
    fig.axes[0].set_ylabel("state")
    return fig
