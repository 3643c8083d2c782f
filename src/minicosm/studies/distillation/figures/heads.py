"""Transformers of one width with few and with many heads: learning curves, and how many have learned."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from .. import head_readings as reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def concatenated_figure(results: Results) -> "Figure":
    """Heads that divide the width."""
    config = reading.heads_config(results)
    return _figure(results, {arm: config.width // getattr(config, arm) for arm in ("few", "many")})


def averaged_figure(results: Results) -> "Figure":
    """Heads that all have the width."""
    width = reading.heads_config(results).width
    return _figure(results, {"few": width, "many": width})


def _figure(results: Results, sizes: dict[str, int]) -> "Figure":
    """Accuracy against steps, thin lines are seeds and thick ones medians; and the share of runs that have
    had 90% by a step."""
    config, steps = reading.heads_config(results), reading.steps(results)
    fig = figure(8.4, 2.7)
    left, middle, right = fig.subplots(1, 3, sharex=True)
    for ax, arm, colour in ((left, "few", PALETTE[1]), (middle, "many", PALETTE[0])):
        heads, curve = getattr(config, arm), 100 * reading.curve(results, arm)
        name = f"{heads} head" + "s" * (heads > 1)
        ax.plot(steps, curve, color=colour, lw=0.6, ls="-", alpha=0.45)
        ax.plot(steps, np.median(curve, axis=1), color=colour, lw=2.2, ls="-")
        ax.axhline(90, color="0.7", lw=0.7, ls=":")
        ax.set_title(f"{name} of {sizes[arm]} dimensions", fontsize="medium")
        ax.set_ylim(45, 101)
        share = 100 * reading.reached(results, arm).mean(axis=1)
        right.step(steps, share, color=colour, where="post", label=name)
    middle.sharey(left)
    middle.tick_params(labelleft=False)
    left.set_ylabel("accuracy (%)")
    right.set_ylabel("runs with 90% (%)")
    right.set_title("by then at 90%", fontsize="medium")
    right.set_ylim(-2, 102)
    right.legend(fontsize=7.5)
    for ax in (left, middle, right):
        ax.set_xlabel("steps")
    return fig
