"""Pairs of words in models of text."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Estimate, Results, figure

from ..readings import pairs, ratios, sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "0.55"


def _dots(
    ax: Any, place: float, values: np.ndarray, colour: str, label: str | None, mark: str
) -> None:
    """The values of all seeds, and their mean with its interval."""
    mean = Estimate.of(values)
    half = mean.high - mean.value if np.isfinite(mean.high) else 0.0
    ax.plot(np.full(len(values), place), values, ".", color=colour, ms=4, alpha=0.4, ls="")
    ax.errorbar(
        [place], [mean.value], yerr=[half], fmt=mark, color=colour, ms=5, capsize=3, label=label
    )


def draw_pairs(results: Results) -> "Figure":
    """Table 2.3 as dots with intervals: cosines, and the ratio of attention; untrained models in grey."""
    fig = figure(8.2, 3.3)
    left, right = fig.subplots(1, 2)
    every = sizes(results)
    for place, size in enumerate(every):
        first = place == 0
        for at, (kind, colour) in enumerate((("same", PALETTE[0]), ("different", PALETTE[1]))):
            values = pairs(results, size, kind, "cosine")
            _dots(left, place + 0.16 * at, values, colour, f"{kind} topic" if first else None, "o")
            values = pairs(results, size, kind, "cosine", "untrained")
            label = "untrained" if first and at == 0 else None
            _dots(left, place + 0.16 * at + 0.34, values, GREY, label, "s")
        one = ratios(results, "same", "different", "attention")[size]
        several = ratios(results, "several, same", "several, different", "attention")[size]
        none = ratios(results, "same", "different", "attention", "untrained")[size]
        _dots(right, place, one, PALETTE[0], "one topic a word" if first else None, "o")
        _dots(right, place + 0.2, several, PALETTE[2], "several topics" if first else None, "D")
        _dots(right, place + 0.4, none, GREY, "untrained" if first else None, "s")
    for ax, name in ((left, "mean cosine"), (right, "attention, same over different")):
        ax.set_xticks([p + 0.2 for p in range(len(every))], [f"{s} words" for s in every])
        ax.set_ylabel(name)
        ax.grid(axis="x", visible=False)
        ax.legend(fontsize=8, loc="best")
    left.axhline(0, color="0.5", lw=0.8)
    right.axhline(1, color="0.5", lw=0.8)
    return fig


def draw_nine(results: Results) -> "Figure":
    """Cosines of nine words of three topics, in the first world."""
    matrix = next(iter(results.values())).arrays["nine"]
    fig = figure(4.2, 3.4)
    ax = fig.subplots()
    image = ax.imshow(matrix, cmap="PuOr_r", vmin=-1, vmax=1)
    ax.grid(False)
    words = next(iter(results.values())).numbers["nine words"]["words"]
    names = [f"{'abc'[k]}{i + 1}" for k, own in enumerate(words) for i in range(len(own))]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("words of three topics, a to c")
    fig.colorbar(image, ax=ax, shrink=0.85, label="cosine")
    return fig


def draw_cooccurrence(results: Results) -> "Figure":
    """Table 2.5: words of one topic against words that stand together most."""
    fig = figure(8.0, 3.1)
    every = sizes(results)
    for ax, measure in zip(fig.subplots(1, 2), ("cosine", "attention"), strict=True):
        for place, size in enumerate(every):
            for at, (kind, name) in enumerate(
                (("same", "same topic"), ("together", "together most"))
            ):
                label = name if place == 0 else None
                values = pairs(results, size, kind, measure)
                _dots(ax, place + 0.2 * at, values, PALETTE[at], label, "oD"[at])
        ax.set_xticks(
            [p + 0.1 for p in range(len(every))], [f"{s * (s - 1) // 2} pairs" for s in every]
        )
        ax.set_ylabel(f"mean {measure}")
        ax.grid(axis="x", visible=False)
        ax.legend(fontsize=8)
    return fig
