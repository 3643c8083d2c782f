"""Pictures of pruned Transformers and of planted attention."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from .maps import attention_map, bracket

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBE = np.repeat([0, 1, 2, 3], 4)


def error_against_size(results: Results) -> "Figure":
    """The relative error of pruned models and what the proof's budget allows, per subset size."""
    models = {name: np.array(column) for name, column in rows(results, "pruning").items()}
    fig = figure(7.2, 3.4)
    ax = fig.subplots()
    for offers, color, label in (
        (1, PALETTE[4], "one offer of units"),
        (4, PALETTE[0], "up to four offers"),
    ):
        at = models["offers"] == offers
        shift = 0.25 * (1 if offers == 4 else -1)
        ax.semilogy(
            models["size"][at] + shift,
            models["relative error"][at],
            "o",
            ms=4,
            color=color,
            label=label,
        )
    at = models["offers"] == 4
    sizes = np.unique(models["size"])
    budget = [np.median(models["budget"][at & (models["size"] == size)]) for size in sizes]
    ax.semilogy(sizes, budget, "--", color=PALETTE[1], label="error budget (median)")
    start = np.median(models["relative error"][at & (models["size"] == sizes[0])])
    ideal = start * 2.0 ** -(sizes - sizes[0])
    ax.semilogy(sizes, ideal, ":", color="0.5", label="halved by every value")
    ax.axhline(1e-4, lw=1, color="0.5")
    ax.set_xticks(sizes)
    ax.set_xlabel("values per subset sum")
    ax.set_ylabel("$|\\tilde T(X) - T(X)| \\,/\\, |X|$, worst input")
    ax.legend(fontsize=8)
    return fig


def kept_entries(results: Results) -> "Figure":
    """Two random matrices, what is kept of them, and the target that their product gives."""
    arrays = results["suite"].arrays
    read = arrays["read"]
    product = _product(arrays["kept_up"][:, read], arrays["kept_down"])
    fig = figure(7.2, 4.2)
    axes = fig.subplots(2, 3, width_ratios=[3, 3, 1])
    panels = (
        ("random $W_2$ (units in use)", arrays["large_down"]),
        ("kept of $W_2$", arrays["kept_down"]),
        ("target", arrays["target_up"]),
        ("random $W_1^T$", arrays["large_up"].T),
        ("kept of $W_1^T$", arrays["kept_up"].T),
        ("product", product),
    )
    for ax, (title, matrix) in zip(axes.flat, panels, strict=True):
        image = ax.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu", aspect="auto", interpolation="none")
        ax.set_title(title, fontsize="medium")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.grid(False)
    fig.colorbar(image, ax=axes, shrink=0.6)
    return fig


def _product(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """What the pair does to positive inputs: units with positive weights, without the others."""
    return down @ np.where(up > 0, up, 0)


def planted_maps(results: Results) -> "Figure":
    """Two planted attention maps, and the outputs, which are those without them."""
    arrays = results["suite"].arrays
    fig = figure(7.4, 5.2)
    axes = fig.subplots(2, 2, height_ratios=[4, 1])
    for column, (name, title) in enumerate(
        (("stack", "planted: the last open bracket"), ("closed", "planted: closed brackets"))
    ):
        map_axis, output_axis = axes[:, column]
        attention_map(map_axis, arrays[f"{name}_map"], PROBE, title)
        output_axis.imshow(arrays[f"{name}_output"].T, vmin=0, vmax=1, aspect="auto")
        gap = np.abs(arrays[f"{name}_output"] - arrays["plain_output"]).max()
        output_axis.set_title(f"output; without the map it differs by {gap:.0e}", fontsize=7)
        output_axis.set_yticks(range(4), list(map(bracket, range(4))), fontsize=7)
        output_axis.set_xticks([])
        output_axis.grid(False)
    return fig
