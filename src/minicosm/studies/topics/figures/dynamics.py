"""Norms over the steps of training."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ..readings import doubled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = {"value": "$W^V$", "key": "$W^K$", "query": "$W^Q$"}


def draw_two_stages(results: Results) -> "Figure":
    """The norms of one arm, each seed a line, with the step at which keys have doubled; where there is a
    closed form of the first stage, the contrast of the values beside it."""
    ((_, found),) = results.items()
    steps = np.asarray(found.numbers["steps"], float)
    closed = "closed form" in found.arrays
    fig = figure(8.6 if closed else 5.0, 3.4)
    axes = fig.subplots(1, 2 if closed else 1, squeeze=False)[0]
    for (name, label), colour in zip(PARTS.items(), PALETTE, strict=False):
        for seed, norms in enumerate(found.arrays[name].T):
            axes[0].plot(
                steps, norms, color=colour, lw=1.1, alpha=0.8, ls="-",
                label=label if seed == 0 else None,
            )  # fmt: skip
    when = doubled(steps, found.arrays["key"])
    if np.isfinite(when).any():
        first = float(np.median(when[np.isfinite(when)]))
        axes[0].axvline(first, color="0.5", lw=1, ls=":")
        axes[0].text(first, 0.02, " keys have doubled", transform=axes[0].get_xaxis_transform(),
                     fontsize=8)  # fmt: skip
    axes[0].set(xlabel="steps", ylabel="Frobenius norm", yscale="log")
    axes[0].legend()
    if closed:
        ax = axes[1]
        for seed, path in enumerate(found.arrays["contrast"].T):
            ax.plot(steps, path, color=PALETTE[0], lw=1, alpha=0.7, ls="-",
                    label="trained" if seed == 0 else None)  # fmt: skip
        ax.plot(steps, found.arrays["closed form"], color=PALETTE[1], ls="--",
                label="closed form, uniform attention")  # fmt: skip
        ax.set(xlabel="steps", ylabel="$W^V$: same topic less different")
        ax.legend()
    return fig


def draw_gradients(results: Results) -> "Figure":
    """The ratio of gradients times the square of the size, against the size."""
    found = results["gradients"]
    fig = figure(4.6, 3.0)
    ax = fig.subplots()
    for (name, label), colour in zip(
        (("key", "keys"), ("query", "queries")), PALETTE, strict=False
    ):
        for seed, row in enumerate(found.numbers["ratios"][name]):
            ax.semilogx(
                found.config.sizes, row, marker="o", color=colour, ms=4, lw=1, ls="-",
                label=label if seed == 0 else None,
            )  # fmt: skip
    ax.set_ylim(0, None)
    ax.set(
        xlabel="size of the start, $\\sigma$",
        ylabel="$|\\nabla W^V| / |\\nabla W| \\cdot \\sigma^2$",
    )
    ax.legend()
    return fig


def draw_deep(results: Results) -> "Figure":
    """Norms of every layer; below, how far the values turn between measurements."""
    found = results["deep"]
    steps = np.asarray(found.numbers["steps"], float)
    layers = found.arrays["value"].shape[2]
    fig = figure(2.35 * layers + 0.6, 4.3)
    axes = fig.subplots(2, layers, sharex=True, sharey="row", height_ratios=(2, 1), squeeze=False)
    for layer in range(layers):
        ax = axes[0, layer]
        for (name, label), colour in zip(PARTS.items(), PALETTE, strict=False):
            for seed, norms in enumerate(found.arrays[name][:, :, layer].T):
                show = label if seed == 0 and layer == layers - 1 else None
                ax.plot(steps, norms, color=colour, lw=1.1, alpha=0.8, ls="-", label=show)
        ax.set_yscale("log")
        ax.set_title(f"layer {layer + 1}")
        for turned in found.arrays["turned"][:, :, layer].T:
            axes[1, layer].plot(steps[1:], turned, color=PALETTE[3], lw=0.9, alpha=0.8, ls="-")
        axes[1, layer].set_yscale("log")
        axes[1, layer].set_xlabel("steps")
    axes[0, -1].legend(fontsize=8)
    axes[0, 0].set_ylabel("Frobenius norm")
    axes[1, 0].set_ylabel("rotation of $W^V$")
    return fig
