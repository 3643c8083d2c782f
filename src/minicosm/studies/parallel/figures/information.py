"""Pictures of what masks teach and what estimation makes of it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import where
from ..trials import COUPLINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = "osD^"


def estimation_figure(results: Results) -> "Figure":
    """Mean squared error with bars of half a deviation against n for every k, over exact lines; to
    the right, n times the error against k, one mask per example and all masks averaged."""
    found = list(results.values())
    fig = figure(8.4, 3.4 * len(found))
    axes = fig.subplots(len(found), 2, squeeze=False, width_ratios=(1.25, 1))
    for (left, right), one in zip(axes, found, strict=True):
        examples, traces = np.array(one.config.examples), one.numbers["traces"]
        errors, averaged = one.arrays["errors"], one.arrays["averaged"]
        fine = np.geomspace(examples[0] * 0.8, examples[-1] * 1.25, 50)
        for k, (row, trace, colour, mark) in enumerate(
            zip(errors, traces, PALETTE, MARKS, strict=False), start=1
        ):
            squared = row / examples[:, None]
            left.plot(fine, trace / fine, color=colour, lw=1.2, alpha=0.8)
            left.errorbar(
                examples * 1.05 ** (k - 2.5),
                squared.mean(axis=1),
                yerr=0.5 * squared.std(axis=1),
                fmt=mark,
                ms=4.5,
                capsize=2,
                elinewidth=0.9,
                color=colour,
                label=f"k = {k}",
            )
        left.set_xscale("log")
        left.set_yscale("log")
        left.set_xticks(examples, [f"{n:,}" for n in examples])
        left.minorticks_off()
        left.set_xlabel("training examples n")
        left.set_ylabel("squared parameter error")
        left.set_title(f"J = {one.config.coupling:g}: points simulated, lines exact")
        left.legend(title="positions hidden", title_fontsize=8, fontsize=8)
        _against_k(right, errors[:, -1], traces, averaged[:, -1], one.numbers["sandwich"])
        right.set_title(f"n = {examples[-1]:,}")
    return fig


def _against_k(
    ax: Any,
    errors: np.ndarray,
    traces: list[float],
    averaged: np.ndarray,
    sandwich: list[float],
) -> None:
    k = np.arange(1, len(traces) + 1)
    for sample, theory, colour, mark, label in (
        (errors, traces, PALETTE[0], "o", "one mask per example"),
        (averaged, sandwich, PALETTE[1], "s", "all masks averaged"),
    ):
        half = 1.96 * sample.std(axis=1, ddof=1) / np.sqrt(sample.shape[1])
        ax.plot(k, theory, color=colour, lw=1.2, alpha=0.8)
        ax.errorbar(
            k,
            sample.mean(axis=1),
            yerr=half,
            fmt=mark,
            ms=4.5,
            capsize=2,
            color=colour,
            label=label,
        )
    ax.set_xticks(k)
    ax.set_ylim(0)
    ax.set_xlabel("positions hidden k")
    ax.set_ylabel("n × mean squared error")
    ax.legend(fontsize=8)


def information_figure(results: Results) -> "Figure":
    """Trace of the covariance and Poincaré constant against k in the two worlds of the figures; to
    the right the eigenvalues of the whitened difference of neighbouring covariances in random worlds."""
    found = rows(results, "four spins")
    fig = figure(8.8, 3.1)
    left, middle, right = fig.subplots(1, 3)
    for J, colour, mark in zip(COUPLINGS.values(), PALETTE, "os", strict=False):
        k, trace, averaged, constant, inefficiency = (
            where(found, name, J=J)
            for name in ("k", "trace", "averaged", "constant", "inefficiency")
        )
        left.plot(k, trace, marker=mark, color=colour, label=f"J = {J:g}")
        left.plot(k, averaged, ":", color=colour, lw=1.3)
        middle.semilogy(k, constant, marker=mark, mfc="none", ms=8, color=colour)
        middle.semilogy(k, inefficiency, "x", color=colour, ms=7, mew=1.3)
    left.set_ylim(0)
    left.set_ylabel(r"$\mathrm{tr}\,\Gamma^k$")
    left.set_title("covariance (dots: averaged)", fontsize=9)
    left.legend(fontsize=8)
    middle.set_ylabel("constant")
    middle.set_title(r"$C_k$ and $\lambda_{\max}(I\,\Gamma^k)$ (crosses)", fontsize=9)
    for ax in (left, middle):
        ax.set_xticks([1, 2, 3, 4])
        ax.set_xlabel("positions hidden k")
    slacks = rows(results, "Theorem 4.1.1")["slack"]
    gaps = np.sort([slack for slack in slacks if slack is not None])
    right.plot(np.arange(1, len(gaps) + 1) / len(gaps), gaps, ".", ms=4, color=PALETTE[2])
    right.axhline(0, lw=0.8, color="0.5")
    right.set_xlabel("share of random worlds and k")
    right.set_ylabel("least eigenvalue")
    right.set_title(r"whitened $\Gamma^k-\Gamma^{k+1}$", fontsize=9)
    return fig


def larger_figure(results: Results) -> "Figure":
    """Trace against k in random graphs."""
    found = rows(results, "larger graphs")
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    sizes = sorted(set(found["N"]))
    for N, colour, mark in zip(sizes, PALETTE, "osD^v", strict=False):
        k, trace = (where(found, name, N=N) for name in ("k", "trace"))
        ax.loglog(k, trace, marker=mark, color=colour, label=f"{N} spins")
    ticks = sorted(set(found["k"]))
    ax.set_xticks(ticks, [str(k) for k in ticks])
    heights = [t for t in (20, 50, 100, 200, 500, 1000) if t >= 0.7 * min(found["trace"])]
    ax.set_yticks(heights, [str(t) for t in heights])
    ax.set_ylim(0.8 * min(found["trace"]), 1.25 * max(found["trace"]))
    ax.minorticks_off()
    ax.set_xlabel("positions hidden k")
    ax.set_ylabel(r"$\mathrm{tr}\,\Gamma^k$")
    ax.legend(fontsize=8)
    return fig
