"""Attention of models that have learned a gridworld, beside that of the construction of Theorem 12."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Results, figure

from ..experiment_readings import config_of, even_choice, learned, wall_heads
from ..experiment_trials import GRID
from .attention_panels import attention_panel, path_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heads_figure(results: Results) -> "Figure":
    """The path of one string; attention of both layers of the construction, and of a trained member: the most
    even head of its first layer and the head of its last layer that looks at a wall."""
    arrays = results[GRID].arrays
    states, maps = arrays["path"], arrays["maps"]
    far = int(config_of(results, GRID).task.partition("_")[2]) - 1  # Grid_n has the states 0..n-1
    walls = (0, far)
    kept, found = learned(results, GRID), wall_heads(results, GRID)
    member = int(kept[0]) if len(kept) else 0
    head, wall = (int(found[name][0]) if len(kept) else 0 for name in ("head", "wall"))
    even = even_choice(results, GRID, member)
    panels = constructed(arrays["string"], states, far) | {
        f"trained: layer 1, head {even + 1}": maps[member, 0, even],
        f"trained: last layer, head {head + 1} (wall {walls[wall]})": maps[member, -1, head],
    }
    fig = figure(7.4, 8.2)
    grid = fig.add_gridspec(3, 2, height_ratios=[0.4, 1, 1])
    path_panel(fig.add_subplot(grid[0, :]), states, walls)
    axes = []
    for place, (title, pattern) in enumerate(panels.items()):
        ax = fig.add_subplot(grid[1 + place // 2, place % 2])
        image = attention_panel(ax, pattern, states, walls, title)
        if place % 2 == 0:
            ax.set_ylabel("reading position")
        axes.append(ax)
    fig.colorbar(image, ax=axes, shrink=0.5, extend="max").set_label("attention")
    return fig


def constructed(string: np.ndarray, states: np.ndarray, far: int) -> dict[str, np.ndarray]:
    """Attention of the network of Theorem 12, its padding left out. In the second layer head `far - q` and
    head `2 far - q` find the ends of the window that decides for the state q; shown is the one whose
    end is later, which is a visit to a wall (Lemma 22)."""
    from minicosm.theory.automata import theorem_12
    from minicosm.worlds import automata

    length = len(string)
    network = theorem_12(automata.gridworld(far + 1), length=length).construction
    first, second = (network.attention(string, layer=i) for i in (1, 2))
    rows = []
    for t, q in enumerate(states):
        ends = second[[far - q, 2 * far - q], t - length]
        rows.append(ends[np.argmax(ends.argmax(axis=1))])
    return {
        "constructed: layer 1 (the rest is on a pad)": first[0, -length:, -length:],
        "constructed: layer 2, the head that decides": np.array(rows)[:, -length:],
    }
