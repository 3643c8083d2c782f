"""Pictures of trained generators with verifiers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure

from ...common.figures import legend_right, mean_and_half
from ..readings import GROUPS, TOP_PS, cell, column, config, errors, names

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def training_figure(results: Results) -> "Figure":
    """Error out of distribution along training, and where each generator was kept."""
    fig = figure(5.2, 3.0)
    ax = fig.subplots()
    for one in results.values():
        kept = zip(one.numbers["kept_step"], one.numbers["kept_ood"], strict=True)
        for error, (step, then) in zip(one.arrays["history_ood"].T, kept, strict=True):
            (line,) = ax.semilogy(one.arrays["history_steps"], 100 * error, lw=1)
            ax.plot(step, 100 * then, "o", color=line.get_color())
    ax.set_xlabel("step")
    ax.set_ylabel("errors out of distribution, per cent")
    return fig


def stride_figure(results: Results) -> "Figure":
    """Accuracy against the stride for every quota, one panel for each mode."""
    sizes = config(results)
    modes = (*sizes.modes, "perfect, printed")
    baseline = column(results, "quota", "baseline", "nucleus")
    fig = figure(2.1 * len(modes) + 0.8, 2.9)
    axes = np.atleast_1d(fig.subplots(1, len(modes), sharey=True))
    for ax, mode in zip(axes, modes, strict=True):
        for i, q in enumerate(sizes.quotas):
            cells = [cell(results, "accuracy", mode, quota=q, stride=b) for b in sizes.strides]
            mean, half = zip(*map(mean_and_half, cells), strict=True)
            x = np.array(sizes.strides) + 0.12 * (i - 1)
            ax.errorbar(x, mean, yerr=half, fmt=f"{'os^'[i % 3]}-", capsize=2, label=f"quota {q}")
        ax.axhline(100 * np.mean(baseline), ls="--", lw=1, color="0.5")
        ax.set_xticks(sizes.strides)
        ax.set_title(mode)
        ax.set_xlabel("stride")
    axes[0].set_ylabel("right completions, per cent")
    axes[0].set_ylim(0, 105)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    return fig


def unseen_figure(results: Results) -> "Figure":
    """Errors on fresh prompts for every way to decode."""
    arms = names(results, "unseen")
    fig = figure(6.4, 3.0)
    ax = fig.subplots()
    for i, (top_p, colour) in enumerate(zip(TOP_PS, PALETTE, strict=False)):
        cells = [errors(results, arm, top_p) for arm in arms]
        mean, half = zip(*map(mean_and_half, cells), strict=True)
        y = np.arange(len(arms)) + 0.36 * i
        ax.barh(y, mean, 0.34, xerr=half, color=colour, label=f"top_p {top_p}", capsize=2)
    ax.set_yticks(np.arange(len(arms)) + 0.18, arms)
    ax.invert_yaxis()
    ax.set_xlim(0)
    ax.set_xlabel("wrong completions of fresh prompts, per cent")
    ax.legend()
    return fig


def plane_figure(results: Results) -> "Figure":
    """Hidden states of the first generator in the plane: principal, and t-SNE as in Figure 3.1."""
    from minicosm.adaptation.probes import principal_plane
    from minicosm.adaptation.tsne import tsne

    first = next(iter(results.values()))
    states, labels = (first.arrays[n] for n in ("states", "labels"))
    fig = figure(8.0, 3.6)
    for ax, (title, draw) in zip(
        fig.subplots(1, 2),
        {"principal coordinates": principal_plane, "t-SNE": tsne}.items(),
        strict=True,
    ):
        points = draw(states)
        for label, name, colour in (
            (1, "right prefix", PALETTE[4]),
            (0, "first wrong token", PALETTE[1]),
        ):
            ax.plot(*points[labels == label].T, ".", ms=4, alpha=0.55, color=colour, label=name)
        ax.set_title(title)
        ax.set_xticks([])
        ax.set_yticks([])
    handles, kinds = ax.get_legend_handles_labels()
    fig.legend(handles, kinds, loc="outside lower center", ncols=2, markerscale=2)
    return fig


def trade_off_figure(results: Results) -> "Figure":
    """Accuracy and diversity against the calls for a completion, one mark for each sampler, open where
    leaves are exact."""
    fig = figure(8.0, 3.2)
    axes = fig.subplots(1, 2)
    marks, exact = "os^vDP*X", ", exact leaves"
    samplers = names(results, "trade_off")
    kinds = list(dict.fromkeys(name.removesuffix(exact) for name in samplers))
    for name in samplers:
        i = kinds.index(name.removesuffix(exact))
        label = "no verifier" if name == "none" else name
        calls = column(results, "trade_off", name, "calls").mean()
        for ax, what, scale in zip(axes, ("accuracy", "distinct"), (100, 1), strict=True):
            mean = scale * column(results, "trade_off", name, what).mean()
            ax.plot(calls, mean, marks[i % len(marks)], ms=7, ls="", label=label,
                    color=PALETTE[i % len(PALETTE)],
                    mfc="none" if name.endswith(exact) else None)  # fmt: skip
    for ax, label in zip(axes, ("right, per cent", "different of ten"), strict=True):
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ticks = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= n <= high]
        ax.set_xticks(ticks, map(str, ticks))
        ax.set_xticks([], minor=True)
        ax.set_xlabel("calls for a completion")
        ax.set_ylabel(label)
    legend_right(axes[1])
    return fig


def distinct_figure(results: Results) -> "Figure":
    """Different correct test cases against the calls spent, mean over generators."""
    first = next(iter(results.values()))
    curves = {
        name: np.concatenate([one.arrays[name] for one in results.values()])
        for name in first.arrays
    }
    fig = figure(8.6, 3.4)
    axes = fig.subplots(1, 3, sharey=True)
    for ax, (title, group) in zip(axes, GROUPS.items(), strict=True):
        _distinct(ax, curves[f"baseline {group}"], "no verifier", PALETTE[0])
        _distinct(ax, curves[f"guided {group}"], "Algorithm 1", PALETTE[1])
        ax.set_title(title)
        ax.set_xlabel("thousand calls of the generator")
        ax.set_xlim(0)
        ax.set_ylim(0)
    # The limits stand: blocks take up to eight times as many calls, and their slope tells enough.
    for i, count in enumerate(config(results).blocks):
        name = f"block best of {count}"
        _distinct(axes[0], curves[name], name, PALETTE[2 + i])
    axes[0].set_ylabel("different correct cases")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return fig


def _distinct(ax: Any, curves: np.ndarray, label: str, colour: str) -> None:
    """`curves[member, 0]` are the calls of every text, `curves[member, 1]` its new cases."""
    calls, new = np.cumsum(curves, axis=2).mean(axis=0)
    ax.plot(calls / 1000, new, label=label, color=colour)
