"""Fitting by masked pseudolikelihood: Lemma 4.1.1, Figures 4.1 and 4.2."""

from typing import Any

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    TrialResult,
    above,
    all_of,
    at_least,
    at_most,
)

from ..figures.information import estimation_figure
from ..readings import standard_errors
from ..study import STUDY, THESIS
from ..trials import both_fits, figure_4_1, figure_4_2

claim = STUDY.section(__doc__)

WITHIN = 4  # standard errors


def _figure_check(results: Results) -> Outcome:
    (found,) = results.values()
    examples, traces = found.config.examples, found.numbers["traces"]
    errors = found.arrays["errors"]
    at, last = examples.index(1000), examples.index(5000)
    one, two, three, four = errors[:, at].mean(axis=1)
    off = [standard_errors(errors[k, last], traces[k]) for k in range(4)]
    off += [standard_errors(errors[k, at, :40], traces[k]) for k in range(4)]
    ordered = {
        r"$\mathrm{err}(1) / \mathrm{err}(2)$": one / two,
        r"$\mathrm{err}(2) / \mathrm{err}(3)$": two / three,
    }
    if errors.shape[2] >= 500:
        ordered[r"$\mathrm{err}(3) / \mathrm{err}(4)$"] = three / four
    return all_of(
        *(above(name, ratio, 1.0) for name, ratio in ordered.items()),
        at_least(r"$\mathrm{err}(1) / \mathrm{err}(4)$", one / four, 2.0),
        at_most(r"$\mathrm{err}(1) / \mathrm{err}(4)$", one / four, 3.8),
        at_least(r"$\mathrm{err}(2) / \mathrm{err}(4)$", two / four, 1.15),
        at_most(r"$\mathrm{err}(2) / \mathrm{err}(4)$", two / four, 2.0),
        at_most("most standard errors from theory", off, WITHIN),
        at_most("fits that did not converge", found.numbers["failed"], 0),
        numbers={"repetitions": errors.shape[2]},
        tables=(_table(found),),
    )


def _table(found: TrialResult) -> Table:
    errors, traces = found.arrays["errors"], found.numbers["traces"]
    lines = tuple(
        (n, k + 1, Estimate.of(errors[k, i]), traces[k], standard_errors(errors[k, i], traces[k]))
        for i, n in enumerate(found.config.examples)
        for k in range(4)
    )
    columns = ("n", "k", "simulated", "theory", "standard errors apart")
    return Table("$n |error|^2$", columns, lines, "The theory is that of large n.")


def _figure_claim(number: str, coupling: float, trials: Any, title: str, theory: str) -> None:
    claim(
        id=f"parallel/figure-{number}",
        title=title,
        source=f"{THESIS}, Section 4.2.1.1, Figure {number}",
        statement=(
            f"Fitting four spins with $J = {coupling:g}$ by masked pseudolikelihood with one mask per "
            "example, the squared error falls with $k$ at equal data size."
        ),
        criterion=(
            "At $n = 1000$: mean errors strictly ordered $k = 1 > 2 > 3$ and $k = 2 > 4$ (with 500 "
            "repetitions or more $k = 3 > 4$ too), "
            r"$\operatorname{err}(1) / \operatorname{err}(4) \in [2.0, 3.8]$ and "
            r"$\operatorname{err}(2) / \operatorname{err}(4) \in [1.15, 2.0]$ (theory "
            f"{theory}). $n$ times the mean error within {WITHIN} standard errors of the trace of the "
            "covariance, for every $k$: at $n = 1000$ in the first 40 repetitions, at $n = 5000$ in all. "
            "Every fit converged."
        ),
        trials=trials,
        uses=("parallel/theorem-4.1.1",),
        check=_figure_check,
        figure=estimation_figure,
        kind="figure",
    )


_figure_claim(
    "4.1", 0.05, figure_4_1, "Masking more helps: four weakly coupled spins", "2.79 and 1.52"
)
_figure_claim(
    "4.2", 0.3, figure_4_2, "Masking more helps: four spins with two modes", "2.68 and 1.44"
)


@claim(
    id="parallel/averaged-masks",
    title="With all masks averaged the effect of Figures 4.1 and 4.2 is gone",
    source=f"added to {THESIS}, Section 4.2.1.1, Figures 4.1 and 4.2",
    statement=(
        "If every sequence is used with all its masks, or with fresh masks in every epoch, the errors for "
        "all $k$ are those of maximum likelihood: masking more helps only with one mask per example."
    ),
    criterion=(
        "On the same sequences the mean error for each $k$ is within 3% of that for $k = 4$, for every $n$."
    ),
    trials=both_fits,
    kind="control",
    figure=estimation_figure,
)
def averaged(results: Results) -> Outcome:
    parts = []
    for found in results.values():
        mean = found.arrays["averaged"].mean(axis=2)
        name = f"largest relative difference, $J = {found.config.coupling:g}$"
        parts.append(at_most(name, np.abs(mean / mean[3] - 1), 0.03))
    return all_of(*parts)


@claim(
    id="parallel/lemma-4.1.1",
    title="Masked estimates are asymptotically normal with the covariance stated",
    source=f"{THESIS}, Section 4.1.2, Lemma 4.1.1",
    statement=(
        r"$\sqrt{n} (\hat\theta - \theta)$ tends to a normal law of covariance $\Gamma$, for every $k$ and "
        r"both worlds: $n \|\hat\theta - \theta\|^2$ has the mean $\operatorname{tr} \Gamma$, and $n "
        r"(\hat\theta - \theta)^\top \Gamma^{-1} (\hat\theta - \theta)$ the mean $d$ and the variance $2d$ "
        r"of $\chi^2$ with $d = 10$ degrees of freedom."
    ),
    criterion=f"At $n = 5000$ all three are within {WITHIN} standard errors for all eight.",
    trials=both_fits,
    kind="lemma",
)
def normality(results: Results) -> Outcome:
    off, means, variances = [], [], []
    for found in results.values():
        d = found.numbers["parameters"]
        for k in range(4):
            off.append(standard_errors(found.arrays["errors"][k, -1], found.numbers["traces"][k]))
            form = found.arrays["forms"][k, -1]
            # of chi-squared: variance 2 d, fourth central moment 12 d (d + 4)
            means.append(abs(form.mean() - d) / np.sqrt(2 * d / len(form)))
            spread = np.sqrt((12 * d * (d + 4) - (2 * d) ** 2) / len(form))
            variances.append(abs(form.var(ddof=1) - 2 * d) / spread)
    return all_of(
        at_most("standard errors of the trace", off, WITHIN),
        at_most("standard errors of the mean", means, WITHIN),
        at_most("standard errors of the variance", variances, WITHIN),
        numbers={"cases": len(off)},
    )
