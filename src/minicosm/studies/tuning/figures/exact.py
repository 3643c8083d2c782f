"""Figure 3 on exact models."""

from typing import TYPE_CHECKING

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import curve, legend_right
from ..readings import PRINTED_HEAD, PRINTED_PROMPT, differences, same_size, vanilla, with_memory
from ..trials import STATES, TOKENS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_3_left(results: Results) -> "Figure":
    """Accuracy against the number of states, with the published means as open marks."""
    fig = figure(8.2, 3.8)
    ax = fig.subplots()
    lines = (
        ("prompt_20", "prompt, 20 rows", PALETTE[0], "o-"),
        ("prompt_1", "prompt, 1 row", PALETTE[3], "s--"),
        ("head", "linear head", PALETTE[1], "o-"),
        ("constructed", "head of Theorem 3.3", PALETTE[2], "^:"),
        ("majority", "majority label", PALETTE[4], "-"),
    )
    for name, label, colour, style in lines:
        column = vanilla(results, name)
        curve(ax, list(column), list(column.values()), label, color=colour, fmt=style, ms=4)
    for printed, label, colour in (
        (PRINTED_PROMPT, "published, prompt", PALETTE[0]),
        (PRINTED_HEAD, "published, head", PALETTE[1]),
    ):
        sizes = [size for size in vanilla(results, "head") if size in printed]
        values = [printed[size] for size in sizes]
        ax.plot(sizes, values, "o", ms=6, mfc="none", mec=colour, label=label)
    ax.axvline(TOKENS, lw=0.8, ls=":", color="0.5")
    ax.text(
        TOKENS, 0.02, " as many states as tokens", transform=ax.get_xaxis_transform(), fontsize=8
    )
    ax.set_xlabel("hidden states |H|")
    ax.set_ylabel("test accuracy (%)")
    legend_right(ax)
    return fig


def controls(results: Results) -> "Figure":
    """What regressions on the tokens reach, with the tuned head and prompt."""
    fig = figure(8.2, 3.6)
    ax = fig.subplots()
    lines = (
        ("first_tokens", "five tokens, no model", PALETTE[2], "o-"),
        ("histogram", "token counts, no model", PALETTE[4], "s--"),
        ("prompt_20", "prompt, 20 rows", PALETTE[0], "o-"),
        ("head", "linear head", PALETTE[1], "o-"),
        ("posterior", "exact posterior", PALETTE[3], ":"),
    )
    for name, label, colour, style in lines:
        column = vanilla(results, name)
        curve(ax, list(column), list(column.values()), label, color=colour, fmt=style, ms=4)
    ax.set_xlabel("hidden states |H|")
    ax.set_ylabel("test accuracy (%)")
    legend_right(ax)
    return fig


def figure_3_right(results: Results) -> "Figure":
    """Accuracy against the total number of states, with memory and without."""
    sizes = [STATES * m for m in with_memory(results, "attention_fast")]
    fig = figure(6.4, 3.6)
    ax = fig.subplots()
    lines = (
        ("attention_fast", "memory, attention head", PALETTE[0], "o-"),
        ("mean_output", "memory, mean output + LR", PALETTE[3], "s--"),
        ("histogram", "memory, token counts, no model", PALETTE[2], "^:"),
    )
    for name, label, colour, style in lines:
        columns = with_memory(results, name)
        curve(ax, sizes, list(columns.values()), label, color=colour, fmt=style, ms=4)
    alone = [values for m, values in same_size(results, "head").items() if STATES * m in sizes]
    curve(ax, sizes, alone, "no memory, linear head", color=PALETTE[1], fmt="o-", ms=4)
    ax.set_xlabel("states in total, |M||H|")
    ax.set_ylabel("test accuracy (%)")
    ax.set_xticks(sizes)
    ax.legend(fontsize=8)
    return fig


def every_size(results: Results) -> "Figure":
    """Accuracy of head and prompt against the number of states, with the published means as open marks; and
    their difference."""
    prompt, head = vanilla(results, "prompt_20"), vanilla(results, "head")
    fig = figure(8.4, 3.6)
    left, right = fig.subplots(1, 2)
    for column, printed, name, label, colour in (
        (prompt, PRINTED_PROMPT, "prompt", "prompt, 20 rows", PALETTE[0]),
        (head, PRINTED_HEAD, "head", "linear head", PALETTE[1]),
    ):
        curve(left, list(column), list(column.values()), label, color=colour, fmt="o-", ms=4)
        sizes = [size for size in column if size in printed]
        left.plot(
            sizes, [printed[size] for size in sizes], "o", ms=6, mfc="none", mec=colour,
            label=f"published, {name}",
        )  # fmt: skip
    left.set_ylabel("test accuracy (%)")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    gains = list(differences(results, "prompt_20", "head", least=0).values())[::-1]
    right.errorbar(
        list(prompt), [gain.value for gain in gains],
        yerr=[[gain.value - gain.low for gain in gains], [gain.high - gain.value for gain in gains]],
        fmt="o-", ms=4, color=PALETTE[2], capsize=2.5, elinewidth=1,
    )  # fmt: skip
    right.axhline(0, lw=1, color="0.5")
    right.set_ylabel("gain of the prompt, points")
    for ax in (left, right):
        ax.axvline(TOKENS, lw=0.8, ls=":", color="0.5")
        ax.set_xlabel("hidden states |H|")
    right.text(
        TOKENS, 0.02, " as many states as tokens", transform=right.get_xaxis_transform(), fontsize=8,
        ha="left",
    )  # fmt: skip
    return fig
