"""Pictures of the exact suites: coefficients, students that cannot fit, batches that reveal the support."""

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ...common.figures import errors as error_panel
from ..readings import batch_sizes, coefficient_sizes, sides, student_losses

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def majority_figure(results: Results) -> "Figure":
    """Exact coefficients over the printed order, and over the corrected one: least and largest over d."""
    fig = figure(4.8, 3.0)
    ax = fig.subplots()
    for name, label, colour in (
        ("Order of the majority coefficients as printed", "as printed", PALETTE[1]),
        ("Order of the majority coefficients", "corrected", PALETTE[0]),
    ):
        found = rows(results, name)
        i = np.asarray(found["i"], float)
        low, high = (np.asarray(found[side], float) for side in ("least", "largest"))
        ax.vlines(i, low, high, color=colour, lw=5, label=label)
        ax.plot(i, high, "_", color=colour, ms=12)
    ax.axhline(1, color="0.5", lw=0.8)
    ax.set_yscale("log")
    ax.set_xticks(np.unique(i))
    ax.set_xlabel("degree $i$")
    ax.set_ylabel("exact over stated, d = 21 to 201")
    ax.legend()
    return fig


def coefficients_figure(results: Results) -> "Figure":
    """Linear coefficients after one step against the width, with the printed bound."""
    table = coefficient_sizes(results)
    fig = figure(3.4 * len(table) + 0.6, 3.0)
    axes = fig.subplots(1, len(table), squeeze=False, sharey=True)[0]
    for ax, ((d, k), by) in zip(axes, table.items(), strict=True):
        m = np.array(list(by), float)
        on, off = (np.array([pair[i] for pair in by.values()]) for i in (0, 1))
        ax.loglog(m, on, "o-", color=PALETTE[0], label="on the support")
        ax.loglog(m, off, "s-", color=PALETTE[2], label="off the support")
        ax.loglog(
            m, 0.45 / (k * np.sqrt(m)), "--", color="0.5", lw=1, label=r"$0.45 / (k\sqrt{m})$"
        )
        ax.axhline(1 / (8 * k), color=PALETTE[1], lw=1.2, label="printed bound $1/8k$")
        ax.set_title(f"d = {d}, k = {k}", fontsize="medium")
        ax.set_xlabel("width $m$")
    axes[0].set_ylabel("root mean square of $E f^{(1)} x_u$")
    axes[-1].legend(fontsize=7.5)
    return fig


def student_gradient_figure(results: Results) -> "Figure":
    """How far a student's first gradient is from one vector for all neurons; and how much larger that vector
    is on the support than off it, start by start."""
    found = rows(results, "Student's first gradient")
    fig = figure(8.0, 3.5)
    left, right = fig.subplots(1, 2)
    shown = np.array([np.nan if error is None else error for error in found["error"]], float)
    error_panel(left, shown, None, found["tolerance"][0])
    left.set_xlabel("networks, sorted")
    left.set_ylabel("largest error of the student's gradient")
    table = rows(results, "Linear coefficients")
    d, k, on, off = (np.asarray(table[name], float) for name in ("d", "k", "on", "off"))
    for (dim, size), colour, mark in zip(
        sorted(set(zip(d, k, strict=True))), PALETTE, "os", strict=False
    ):
        here = (d == dim) & (k == size)
        label = f"$d = {dim:g}$, $k = {size:g}$"
        right.loglog(off[here], on[here], mark, ms=3.5, mew=0, alpha=0.6, color=colour, label=label)
        ends = np.array([off[here].min(), off[here].max()])
        ratio = (dim - size) / (size - 1)
        line = f"{ratio:.3g} times"
        right.loglog(ends, ratio * ends, "-", lw=1.2, color=colour, label=line)
    ends = np.array([off.min(), off.max()])
    right.loglog(ends, ends, "--", lw=1, color="0.5", label="equal")
    right.set_xlabel("root mean square of $c_j$ off the support")
    right.set_ylabel("on the support")
    right.legend()
    return fig


def unequal_figure(results: Results) -> "Figure":
    """The sixteen inputs of the example by `<c, x>` and label; and the best losses of students of many
    teachers against how unequal their coefficients are."""
    fig = figure(8.4, 3.6)
    left, right = fig.subplots(1, 2)
    x = np.array(list(product([1, -1], repeat=4)))
    place, label = x @ [1, 1, 0.5, 0.5], x.prod(axis=1)
    values = np.unique(place)
    for sign, colour, name in ((1, PALETTE[0], "$y = 1$"), (-1, PALETTE[1], "$y = -1$")):
        counts = [sign * int(((place == value) & (label == sign)).sum()) for value in values]
        left.bar(values, counts, 0.7, color=colour, label=name)
    left.axhline(0, lw=0.8, color="0.5")
    left.set_xticks(values)
    left.set_ylim(-2.6, 4.4)
    counted = range(-2, 5, 2)
    left.set_yticks(counted, [str(abs(count)) for count in counted])
    left.grid(axis="x", visible=False)
    left.set_xlabel(r"$\langle c, x \rangle$, $c = (1, 1, 1/2, 1/2)$")
    left.set_ylabel("inputs")
    left.set_title("two values carry both labels", fontsize="medium")
    left.legend()

    found = rows(results, "Theorem 23, student as printed")
    size, ratio, loss = (
        np.array([np.nan if value is None else value for value in found[name]], float)
        for name in ("k", "largest over least", "loss")
    )
    for k, colour, mark in zip(np.unique(size), (PALETTE[0], PALETTE[3]), "os", strict=False):
        here = size == k
        right.semilogx(ratio[here], loss[here], mark, ms=4, mew=0, alpha=0.7, color=colour,
                       label=f"teachers, $k = {k:g}$")  # fmt: skip
    least = rows(results, "Theorem 23, unequal coefficients")["least loss"][0]
    right.semilogx([2], [least], "*", ms=13, color=PALETTE[1], label="the example")
    right.set_ylim(-0.04)
    right.set_xlabel("largest over least coefficient on the support")
    right.set_ylabel("best hinge loss of the student")
    right.set_title("students of one-step teachers", fontsize="medium")
    right.legend()
    return fig


def students_figure(results: Results) -> "Figure":
    """Best losses of collinear students; errors of students by whether they found the support."""
    losses = student_losses(results)
    fig = figure(7.6, 3.0)
    left, right = fig.subplots(1, 2)
    for place, ((_, k, _), values) in enumerate(losses.items()):
        spread = np.linspace(-0.25, 0.25, len(values))
        left.plot(place + spread, np.sort(values), ".", color=PALETTE[k // 2 % len(PALETTE)], ms=5)
        left.plot([place - 0.3, place + 0.3], [np.median(values)] * 2, color="0.2", lw=1.5, ls="-",
                  label=None if place else "median")  # fmt: skip
    left.axhline(0.1, ls="--", lw=1, color="0.5", label="0.1")
    names = [f"({d}, {k})\nm = {m}" for d, k, m in losses]
    left.set_xticks(range(len(losses)), names, fontsize=7.5)
    left.set_ylabel("best hinge loss of the student")
    left.set_title("as printed, all output weights", fontsize="medium")
    left.legend(fontsize=7.5, loc="upper left")
    _errors(right, results)
    return fig


def _errors(ax: Any, results: Results) -> None:
    found = rows(results, "Students")
    for place, kind in enumerate(("as printed", "kept signs")):
        for side, whole in enumerate((True, False)):
            errors = [
                100 * error
                for name, error, recall in zip(
                    found["kind"], found["error"], found["recall"], strict=True
                )
                if name == kind and (recall == 1.0) == whole
            ]
            x = place + 0.35 * side - 0.17 + np.linspace(-0.1, 0.1, max(len(errors), 1))
            label = None if place else ("support found" if whole else "not found")
            ax.plot(x[: len(errors)], sorted(errors), ["o", "x"][side], ms=4, label=label,
                    color=PALETTE[side])  # fmt: skip
    ax.set_xticks([0, 1], ["as printed", "kept signs"])
    ax.set_xlim(-0.5, 1.5)
    ax.set_ylabel("errors on fresh inputs (%)")
    ax.set_title("regression as second stage, k = 4", fontsize="medium")
    ax.legend(fontsize=7.5)


def batches_figure(results: Results) -> "Figure":
    """The batch for 60% recall against d, from the teacher after one step and from labels."""
    fig = figure(4.8, 3.2)
    ax = fig.subplots()
    for source, colour, label in (
        ("labels", PALETTE[1], "from labels"),
        ("teacher", PALETTE[0], "from the one-step teacher"),
    ):
        dims = np.asarray(sides(results)[source][0], float)
        sizes = batch_sizes(results, source)
        seen = np.isfinite(sizes)
        ax.loglog(dims[seen], sizes[seen], "o-", color=colour, label=label)
    dims = np.asarray(sides(results)["labels"][0], float)
    sizes = batch_sizes(results, "labels")
    if np.isfinite(sizes[0]):
        ax.loglog(
            dims, sizes[0] * (dims / dims[0]) ** 3, "--", color="0.5", lw=1, label="$d^{k-1}$"
        )
    _plain(ax, [*sides(results)["labels"][0], *sides(results)["teacher"][0]])
    ax.set_xlabel("dimension $d$")
    ax.set_ylabel("batch for 60% recall of the support")
    ax.legend(fontsize=8)
    return fig


def leak_figure(results: Results) -> "Figure":
    """The batch for 75% recall against the leak of the final teacher."""
    fig = figure(4.4, 3.0)
    ax = fig.subplots()
    leaks = np.asarray(sides(results)["leak"][0], float)
    sizes = batch_sizes(results, "leak")
    seen = np.isfinite(sizes)
    ax.loglog(leaks[seen], sizes[seen], "o-", color=PALETTE[0], label="measured")
    if seen.any():
        first = np.flatnonzero(seen)[0]
        line = sizes[first] * (leaks / leaks[first]) ** -2
        ax.loglog(leaks, line, "--", color="0.5", lw=1, label=r"$\epsilon^{-2}$")
    _plain(ax, leaks)
    ax.set_xlabel(r"leak $\epsilon$ of the teacher $y + \epsilon \sum_S x_j$")
    ax.set_ylabel("batch for 75% recall")
    ax.legend()
    return fig


def _plain(ax: Any, ticks: Any) -> None:
    """Only these ticks, as plain numbers."""
    from matplotlib.ticker import NullFormatter, NullLocator

    values = sorted(set(ticks))
    ax.set_xticks(values, [f"{value:g}" for value in values], fontsize=7.5)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
