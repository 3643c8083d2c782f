"""The figures of the claims about pretrained models."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import curve, legend_right
from ..readings import PRINTED_HEAD, PRINTED_PROMPT, Column, same_size, vanilla, with_memory
from ..trials import STATES, TOKENS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, GREY = PALETTE


Line = tuple[str, str, str, str]
"""A number's name, its label, colour and style."""


def _lines(
    ax: Any, lines: Sequence[Line], read: Callable[[str], Column], factor: int = 1, first: int = 0
) -> list[int]:
    """Means with intervals against `factor` times the size, side by side so that the intervals can be
    distinguished; lines without round marks (controls) have means only. Returns the places."""
    places: list[int] = []
    for i, (name, label, colour, style) in enumerate(lines, first):
        column = read(name)
        places, values = [factor * size for size in column], list(column.values())
        if style.startswith("o"):
            open_marks = {"mfc": "none"} if style.endswith("--") else {}
            moved = np.asarray(places) + 0.3 * (i - 1.5)
            curve(ax, moved, values, label, color=colour, fmt=style, ms=4, **open_marks)
        else:
            means = [100 * np.mean(v) for v in values]
            ax.plot(places, means, style, ms=4, color=colour, label=label)
    return places


def trained_left(results: Results) -> "Figure":
    """Accuracy against the number of states on pretrained (solid) and exact models (dashed)."""
    fig = figure(8.2, 4.2)
    ax = fig.subplots()
    lines = (
        ("trained_prompt", "prompt, pretrained", BLUE, "o-"),
        ("exact_prompt", "prompt, exact model", BLUE, "o--"),
        ("trained_head", "head, pretrained", ORANGE, "o-"),
        ("exact_head", "head, exact model", ORANGE, "o--"),
        ("first_tokens", "five tokens, no model", GREEN, "s:"),
        ("histogram", "token counts, no model", PURPLE, "s:"),
        ("majority", "majority label", GREY, "-"),
    )
    sizes = _lines(ax, lines, lambda name: vanilla(results, name))
    shown = [s for s in sizes if s in PRINTED_HEAD]
    for printed, what, colour in (
        (PRINTED_PROMPT, "prompt", BLUE),
        (PRINTED_HEAD, "head", ORANGE),
    ):
        ax.plot(
            shown, [printed[s] for s in shown], "D", ms=7, mfc="none", mec=colour,
            label=f"published, {what}",
        )  # fmt: skip
    ax.axvline(TOKENS, lw=0.8, ls=":", color="0.5")
    ax.text(TOKENS, 0.02, " 10 tokens", transform=ax.get_xaxis_transform(), fontsize=8)
    ax.set_xlabel("hidden states |H|")
    ax.set_ylabel("test accuracy (%)")
    ax.set_ylim(50, 102)
    legend_right(ax)
    return fig


def trained_right(results: Results) -> "Figure":
    """Accuracy against the total number of states, with memory and without."""
    fig = figure(8.2, 3.8)
    ax = fig.subplots()
    lines: tuple[Line, ...] = (
        ("trained_attention", "memory, attention, pretrained", BLUE, "o-"),
        ("exact_attention", "memory, attention, exact", BLUE, "o--"),
        ("histogram", "memory, token counts, no model", GREEN, "s:"),
        ("majority", "memory, majority label", GREY, "-"),
    )
    sizes = _lines(ax, lines, lambda name: with_memory(results, name), STATES)
    lines = (
        ("trained_head", "no memory, head, pretrained", ORANGE, "o-"),
        ("exact_head", "no memory, head, exact", ORANGE, "o--"),
    )
    _lines(ax, lines, lambda name: same_size(results, name), STATES, first=2)
    ax.set_xlabel("states in total, |M||H|")
    ax.set_ylabel("test accuracy (%)")
    ax.set_xticks(sizes)
    ax.set_ylim(50, 102)
    legend_right(ax)
    return fig


def pretraining_curves(results: Results) -> "Figure":
    """Excess loss over Bayes' optimum and total variation at the mask along pretraining."""
    fig = figure(8.2, 3.2)
    axes = fig.subplots(1, 2)
    sizes = sorted({r.config.hidden for r in results.values()})
    colours = dict(zip(sizes, _shades(len(sizes)), strict=True))
    for ax, name, label in (
        (axes[0], "checkpoint_excess", "excess loss over the exact model (nats)"),
        (axes[1], "checkpoint_tv", "total variation at the mask"),
    ):
        seen = set()
        for result in results.values():
            size = result.config.hidden
            ax.semilogy(
                result.arrays["checkpoint_step"], result.arrays[name], "-", lw=1.2,
                color=colours[size], label=None if size in seen else f"|H| = {size}",
            )  # fmt: skip
            seen.add(size)
        ax.set_xlabel("steps of pretraining")
        ax.set_ylabel(label)
    legend_right(axes[1])
    return fig


def _shades(count: int) -> list:
    """Colours in order, for sizes."""
    from matplotlib import colormaps

    return [colormaps["viridis"](0.05 + 0.8 * i / max(count - 1, 1)) for i in range(count)]


def distance_and_accuracy(results: Results) -> "Figure":
    """The best head's accuracy, relative to the exact model's, at every checkpoint of every run, against
    the excess loss and against the total variation at the mask."""
    fig = figure(8.2, 3.4)
    left, right = fig.subplots(1, 2)
    runs = [r for r in results.values() if r.config.hidden > TOKENS]
    sizes = sorted({r.config.hidden for r in runs})
    colours = dict(zip(sizes, _shades(len(sizes)), strict=True))
    for ax, name, what in (
        (left, "checkpoint_excess", "excess loss (nats), falling"),
        (right, "checkpoint_tv", "total variation at the mask, falling"),
    ):
        for r in runs:
            gap = 100 * (r.arrays["checkpoint_best"].mean(1) - np.mean(r.numbers["exact_best"]))
            ax.plot(r.arrays[name], gap, "o", ms=3, color=colours[r.config.hidden])
        ax.axhline(0, lw=0.8, ls="--", color="0.5")
        ax.set_xscale("log")
        ax.invert_xaxis()
        ax.set_xlabel(what)
    for size, colour in colours.items():
        left.plot([], [], "o", ms=3, color=colour, label=f"|H| = {size}")
    left.set_ylabel("best head, points over the exact model's")
    left.legend(fontsize=8)
    return fig


def prompt_effect(results: Results) -> "Figure":
    """How much prompts change the output, how much of it a change of prior explains, and what mass
    the states have that the label depends on."""
    fig = figure(8.2, 3.2)
    left, right = fig.subplots(1, 2)
    for ax, lines, label in (
        (
            left,
            (
                ("prompt_change", "changed by the prompt", BLUE, "o-"),
                ("prompt_misfit", "not a change of prior", ORANGE, "o-"),
                ("bare_misfit", "the same without a prompt", GREY, "s:"),
            ),
            "total variation (%)",
        ),
        (
            right,
            (
                ("relevant_before", "without a prompt", GREY, "s:"),
                ("relevant_after", "prompt, pretrained", BLUE, "o-"),
                ("relevant_exact", "prompt, exact model", BLUE, "o--"),
            ),
            "mass of the label's states (%)",
        ),
    ):
        _lines(ax, lines, lambda name: vanilla(results, name))
        ax.set_xlabel("hidden states |H|")
        ax.set_ylabel(label)
        ax.set_ylim(0, 100)
        ax.legend(fontsize=8)
    return fig
