"""Attention of models that have learned a gridworld, beside that of a construction if one is given."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import Results, figure

from ..experiment_readings import config_of, even_choice, learned, wall_heads
from ..experiment_trials import GRID
from .attention_panels import attention_panel, path_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heads_figure(results: Results) -> "Figure":
    """The path of one string; the most even head of the first layer and the chosen heads of the last
    layer of two members."""
    return draw_heads(results)


def draw_heads(
    results: Results, constructed: dict[str, np.ndarray] | None = None, members: int = 2
) -> "Figure":
    """`heads_figure`, with maps of a construction on the same string first, by their titles."""
    arrays = results[GRID].arrays
    states, maps = arrays["path"], arrays["maps"]
    walls = (0, int(_last_wall(results)))
    kept = [int(i) for i in learned(results, GRID)[:members]] or [0]
    found = wall_heads(results, GRID)
    panels = [(pattern, title) for title, pattern in (constructed or {}).items()]
    for place, i in enumerate(kept):
        even = even_choice(results, GRID, i)
        panels.append((maps[i, 0, even], f"member {i + 1}: layer 1, head {even + 1}"))
        head = int(found["head"][place]) if len(found["head"]) else 0
        wall = walls[int(found["wall"][place])] if len(found["head"]) else 0
        title = f"member {i + 1}: last layer, head {head + 1} (wall {wall})"
        panels.append((maps[i, -1, head], title))
    columns = 2
    rows = -(-len(panels) // columns)
    fig = figure(7.4, 1.7 + 3.3 * rows)
    grid = fig.add_gridspec(rows + 1, columns, height_ratios=[0.4, *[1] * rows])
    path_panel(fig.add_subplot(grid[0, :]), states, walls)
    for place, (pattern, title) in enumerate(panels):
        ax = fig.add_subplot(grid[1 + place // columns, place % columns])
        attention_panel(ax, pattern, states, walls, title)
        if place % columns == 0:
            ax.set_ylabel("reading position")
    return fig


def _last_wall(results: Results) -> int:
    """The state at the far wall, from the name of the task: `Grid_n` has the states 0..n-1."""
    return int(config_of(results, GRID).task.partition("_")[2]) - 1
