"""Figures of the trained models, in the house style of the lab."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure

from ...common.figures import legend_right
from ..readings import (
    FLOOR,
    config_of,
    cost_of_uniform,
    favourite,
    favourites,
    layer_variations,
    random_level,
)
from .maps import attention_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def present(results: Results, names: tuple[str, ...]) -> list[str]:
    """Those of the models that were trained; the smallest profile leaves some out."""
    return [name for name in names if name in results]


def _floors(axes: Any) -> None:
    """What the last token alone reaches, on all queries and on the hard ones."""
    for ax, title, floor in zip(axes, ("all queries", "hard queries"), (FLOOR, 0.5), strict=True):
        ax.axhline(floor, ls="--", lw=1, color="0.5")
        ax.text(0.02, floor, "last token alone", va="bottom", fontsize=8,
                transform=ax.get_yaxis_transform())  # fmt: skip
        ax.set_title(title, fontsize="medium")
    legend_right(axes[1])


def scatter_figure(*names: str) -> Any:
    """Accuracy at length 400-500 against the balance violation, one point per seed."""

    def draw(results: Results) -> "Figure":
        fig = figure(7.6, 3.4)
        axes = fig.subplots(1, 2, sharex=True)
        for name, colour in zip(present(results, names), PALETTE, strict=False):
            numbers = results[name].numbers
            for ax, column in zip(axes, ("long", "long_hard"), strict=True):
                ax.plot(numbers["beta"], numbers[column], "o", ms=4, color=colour, label=name)
        for ax in axes:
            ax.set_xlabel("balance violation")
        axes[0].set_ylabel("accuracy at length 400-500")
        _floors(axes)
        return fig

    return draw


def length_figure(*names: str) -> Any:
    """Closing accuracy against length, with the floor of the last token alone."""

    def draw(results: Results) -> "Figure":
        fig = figure(7.6, 3.4)
        axes = fig.subplots(1, 2, sharex=True)
        lengths: list[int] = []
        for name, colour in zip(present(results, names), PALETTE, strict=False):
            numbers = results[name].numbers
            lengths = [26, *numbers["curve_lengths"], sum(config_of(results, name).long) // 2]
            for ax, kind in zip(axes, ("", "_hard"), strict=True):
                rows = [numbers[f"within{kind}"], *numbers[f"curve{kind}"], numbers[f"long{kind}"]]
                means = [Estimate.of(row) for row in rows]
                ax.errorbar(
                    lengths, [e.value for e in means], yerr=[e.high - e.value for e in means],
                    fmt="o-", ms=4, color=colour, capsize=2.5, elinewidth=1, label=name,
                )  # fmt: skip
        for ax in axes:
            ax.set_xscale("log")
            ax.set_xticks(lengths, ["≤ 26", *map(str, lengths[1:])])
            ax.set_xticks([], minor=True)
            ax.set_xlabel("length")
        axes[0].set_ylabel("closing accuracy")
        _floors(axes)
        return fig

    return draw


def _probe(rows: int) -> np.ndarray:
    """`[[[[]]]](((())))`, as deep as its map has rows."""
    return np.repeat([2, 3, 0, 1], (rows - 1) // 4)


def heat_maps(*names: str, seeds: int = 3, layer: int = -1) -> Any:
    """Attention of a few seeds on the probe string, side by side; boxes mark the stack's top."""

    def draw(results: Results) -> "Figure":
        shown = present(results, names)
        fig = figure(8.6, 2.9 * len(shown))
        grid = fig.subplots(len(shown), seeds, squeeze=False)
        for name, row in zip(shown, grid, strict=True):
            maps = results[name].arrays["probe"]
            for seed, ax in enumerate(row):
                if seed >= len(maps):
                    ax.set_visible(False)
                    continue
                probe = _probe(maps.shape[-1])
                attention_map(ax, maps[seed, layer], probe, f"{name}, seed {seed + 1}")
        return fig

    return draw


def variation_figure(*names: str) -> Any:
    """Distances of every pair of seeds, and the mean of random attention."""

    def draw(results: Results) -> "Figure":
        fig = figure(5.2, 3.0)
        ax = fig.subplots()
        for place, (name, colour) in enumerate(zip(present(results, names), PALETTE, strict=False)):
            matrix = results[name].arrays["probe_distances"][0, -1]
            values = matrix[np.triu_indices(len(matrix), 1)]
            spread = np.linspace(-0.25, 0.25, len(values)) if len(values) > 1 else [0]
            ax.plot(place + np.array(spread), np.sort(values), ".", ms=4, color=colour)
        level = random_level(16)
        ax.axhline(level, ls="--", lw=1, color="0.5")
        ax.text(0.02, level, "random attention", va="bottom", fontsize=8,
                transform=ax.get_yaxis_transform())  # fmt: skip
        ax.set_xticks(range(len(present(results, names))), present(results, names))
        ax.set_ylabel("squared distance of pairs of seeds")
        return fig

    return draw


def layer_figure(*names: str, seeds: int = 2) -> Any:
    """Variation by layer, on a log scale, between the seeds that have learned; beside it maps of the
    top layer of the deepest models on the probe string."""

    def draw(results: Results) -> "Figure":
        shown = present(results, names)
        fig = figure(9.6, 3.6)
        ax, *others = fig.subplots(1, 1 + seeds, width_ratios=[1.4] + [1] * seeds)
        for name, colour in zip(shown, PALETTE, strict=False):
            means = [estimate.value for estimate in layer_variations(results, name)]
            ax.semilogy(np.arange(len(means)) + 1, means, "o-", color=colour, label=name)
        level = random_level(19)
        ax.axhline(level, ls="--", lw=1, color="0.5")
        ax.text(0.98, level, "random attention", va="bottom", ha="right", fontsize=8,
                transform=ax.get_yaxis_transform())  # fmt: skip
        ax.set_xticks([1, 2, 3])
        ax.set_xlabel("layer")
        ax.set_ylabel("variation between seeds")
        ax.legend(fontsize=8)
        deepest = max(shown, key=lambda name: config_of(results, name).layers)
        maps = results[deepest].arrays["probe"]
        for seed, other in enumerate(others):
            if seed < len(maps):
                title = f"{deepest}, seed {seed + 1}"
                attention_map(other, maps[seed, -1], _probe(maps.shape[-1]), title)
        return fig

    return draw


def copy_figure(*names: str) -> Any:
    """What a uniform map costs, against the largest share of attention on one class of brackets."""

    def draw(results: Results) -> "Figure":
        fig = figure(7.8, 3.2)
        left, right = fig.subplots(1, 2, width_ratios=[1.2, 1])
        for name, colour in zip(present(results, names), PALETTE, strict=False):
            cost = cost_of_uniform(results, name)
            left.plot(favourite(results, name), 100 * cost, "o", color=colour, label=name)
        left.axvline(0.8, ls="--", lw=1, color="0.5")
        left.axhline(5, ls="--", lw=1, color="0.5")
        left.set_xlabel("largest attention on one class of brackets")
        left.set_ylabel("points lost with uniform attention")
        left.legend(fontsize=8)
        name = present(results, names)[-1]
        seed = int(np.argmax(favourite(results, name)))
        layer = int(np.argmax(favourites(results, name)[seed]))
        maps = results[name].arrays["probe"][seed, layer]
        title = f"{name}, seed {seed + 1}, layer {layer + 1}"
        attention_map(right, maps, _probe(maps.shape[-1]), title)
        return fig

    return draw
