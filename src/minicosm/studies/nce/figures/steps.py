"""Pictures of descent on the population losses: steps against R, step sizes and precision."""

from typing import TYPE_CHECKING

import numpy as np

from minicosm.lab import PALETTE, Results, figure, rows

from ..readings import NAMES, ordered, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def steps_figure(results: Results) -> "Figure":
    """Steps to the target against R: exponential, polynomial, linear."""
    fig = figure(7.0, 4.0)
    ax = fig.subplots()
    slow, damped, whole, ngd = (
        rows(results, name)
        for name in ("Theorem 17", "Theorem 18", "Newton with step size 1", "NGD")
    )
    for found, column, label, colour, style in (
        (damped, "steps", "Newton, damped (Theorem 18)", PALETTE[3], "D-"),
        (slow, "steps", "GD on NCE (Theorem 17)", PALETTE[1], "o-"),
        (ngd, "nce", "NGD on NCE", PALETTE[2], "s-"),
        (ngd, "exponential", "NGD on eNCE", PALETTE[0], "^-"),
        (whole, "steps", "Newton, step size 1", PALETTE[3], "D--"),
    ):
        ax.semilogy(
            ordered(found, "R"), ordered(found, column), style, ms=5, color=colour, label=label
        )
    if "other methods" in results["suite"].numbers:
        other = rows(results, "other methods")
        for name, style in (("adam", ":"), ("momentum", "-.")):
            label = {"adam": "Adam without epsilon", "momentum": "GD with momentum 0.9"}[name]
            ax.semilogy(
                ordered(other, "R"),
                ordered(other, name),
                style,
                lw=1.3,
                color=PALETTE[4],
                label=label,
            )
    R = np.array(ordered(slow, "R"), float)
    ax.semilogy(R, np.exp(R**2 / 8), lw=1, color="0.6")
    ax.text(R[-1] + 0.1, np.exp(R[-1] ** 2 / 8), "$e^{R^2/8}$", va="center", color="0.5")
    ax.set(xlabel="R, distance of the means", ylabel="steps until the target")
    ax.set_xticks(range(1, 9))
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def sweep_figure(results: Results) -> "Figure":
    """Least distance after all steps against the step size, in both precisions."""
    found, config = rows(results, "sweep"), results["suite"].config
    fig = figure(6.6, 3.4)
    axes = fig.subplots(1, 2, sharey=True)
    for ax, kind in zip(axes, ("nce", "exponential"), strict=True):
        for method, colour in (("gd", PALETTE[1]), ("ngd", PALETTE[2])):
            for precision, style, size, ink in (
                ("float64", "o-", 6, colour),
                ("float32", "x", 5, "black"),
            ):
                at = {"kind": kind, "method": method, "precision": precision}
                both = "float32" if method == "ngd" else None
                label = f"{NAMES[method]}, float64" if precision == "float64" else both
                ax.loglog(
                    where(found, "rate", **at), where(found, "best", **at), style, ms=size,
                    lw=1.3, color=ink, label=label,
                )  # fmt: skip
        ax.axhline(0.1, ls=":", lw=1, color="0.5")
        ax.text(
            0.98,
            0.105,
            "0.1 R",
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="bottom",
            fontsize=8,
        )
        ax.set(xlabel="step size", title=NAMES[kind])
    axes[0].set_ylabel(f"least distance after {config.steps} steps, in R")
    axes[0].legend(fontsize=8)
    return fig
