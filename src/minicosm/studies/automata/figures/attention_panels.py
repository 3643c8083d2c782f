"""A path through a gridworld and the attention of a head to it, trained or constructed."""

from typing import Any

import numpy as np

from minicosm.lab import PALETTE

WALL_COLOURS = (PALETTE[0], PALETTE[1])
DARKEST = 0.5  # attention from which on a cell is black


def path_panel(ax: Any, states: np.ndarray, walls: tuple[int, int]) -> None:
    """The state after each symbol; visits to the walls in their colours."""
    t = np.arange(1, len(states) + 1)
    ax.step(t, states, where="mid", color="0.5", lw=1.2)
    for wall, colour in zip(walls, WALL_COLOURS, strict=True):
        here = states == wall
        ax.plot(t[here], states[here], "o", ms=4.5, color=colour)
    ax.set_yticks(range(walls[0], walls[1] + 1))
    ax.set_xlim(0.5, len(states) + 0.5)
    ax.set_xticks(range(5, len(states) + 1, 5))
    ax.set_ylabel("state")
    ax.set_xlabel("position $t$")


def attention_panel(
    ax: Any, pattern: np.ndarray, states: np.ndarray, walls: tuple[int, int], title: str
) -> Any:
    """A map, query below query; squares over it mark the visits to the walls, and circles in each row the
    latest earlier visit to each. Returns the image, for a bar of colours."""
    length = len(states)
    masked = np.where(np.tri(length, dtype=bool), pattern, np.nan)
    around = (0.5, length + 0.5, length + 0.5, 0.5)
    image = ax.imshow(
        masked, vmin=0, vmax=DARKEST, cmap="Greys", interpolation="nearest", extent=around
    )
    for wall, colour in zip(walls, WALL_COLOURS, strict=True):
        visits = 1 + np.flatnonzero(states == wall)
        ax.plot(visits, np.zeros(len(visits)), "s", ms=3.2, color=colour, clip_on=False)
        for t in range(1, length + 1):
            before = visits[visits < t]
            if len(before):
                ax.plot(before[-1], t, "o", ms=2.2, mfc="none", mew=0.8, color=colour)
    ax.set_ylim(length + 0.5, -0.6)
    ax.set_xlim(0.5, length + 0.5)
    ax.set_xticks(range(5, length + 1, 5))
    ax.set_yticks(range(5, length + 1, 5))
    ax.set_xlabel("attended position")
    ax.grid(False)
    ax.set_title(title, fontsize=9)
    return image
