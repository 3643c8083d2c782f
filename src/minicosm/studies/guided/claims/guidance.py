"""Leaves reached first and plain guidance: what each does to errors, exactly and as horizons grow."""

from typing import Any

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    all_of,
    at_least,
    at_most,
    below,
    holds,
    rows,
)

from ..figures.amplification import amplification, monte_carlo
from ..readings import selected, table
from ..study import BOUND, DERIVED, IDENTITY, STUDY, VGB
from ..trials import amplify, trees

claim = STUDY.section(__doc__)

claim(
    id="guided/first-leaf-law",
    title="The first leaf is plain guidance with smoothed values",
    source=DERIVED,
    statement=(
        r"The first leaf that VGB reaches has the law of value-guided sampling with $W(u) = \hat "
        r"V(u) S(u) / (\hat V(u) + S(u))$, $S(u) = \sum_a \pi_{\mathrm{ref}}(a \mid u) W(ua)$, $W "
        r"= \tau$ at leaves; and the expected steps, lazy ones not counted, are $\sum_{|u|<H} w(u) "
        r"v(u)$. With exact values they are $\pi^*$ and $H^2$."
    ),
    criterion=f"{IDENTITY} Law and time against linear equations of the absorbed walk.",
    trials=trees,
    uses=("guided/vgb-stationary",),
    check=holds("first leaf", "first leaf of exact values"),
)

claim(
    id="guided/first-leaf-spread",
    title="The first leaf is off by a polynomial factor at most",
    source=DERIVED,
    statement=(
        r"With exact leaves and $1/\kappa \le r \le \kappa$, $\max_y (q/\pi^*) / \min_y (q/\pi^*) "
        r"\le \prod_{k<H} \frac{k + \kappa^2}{k + \kappa^{-2}}$, which is of order $H^{\kappa^2 - "
        r"\kappa^{-2}}$."
    ),
    criterion=BOUND,
    trials=trees,
    uses=("guided/first-leaf-law",),
    check=holds("spread of the first leaf"),
)

claim(
    id="guided/plain-product",
    title="Plain guidance multiplies errors",
    source=f"{VGB}, on error amplification, as an identity",
    statement=(
        r"Value-guided sampling has $\pi(y)/\pi^*(y) = \prod_h \frac{r(y_{1:h})}{\bar "
        r"r(y_{1:h-1})}$, $\bar r(u)$ the mean of $r$ over the next token under $\pi^*$, and "
        r"$\operatorname{KL}(\pi^* \,\|\, \pi) = \sum_h \mathbb{E}_{\pi^*}[\log \bar r - \log r]$."
    ),
    criterion=IDENTITY,
    trials=trees,
    check=holds("plain guidance"),
)


@claim(
    id="guided/weak-verifiers-stall",
    title="Feasibility is no value: it can stall VGB",
    source=DERIVED,
    statement=(
        "In the needle world with the perfect feasibility verifier as value, the first leaf takes "
        "$2^{D+2} - 4 - 3D$ steps (996 for $D = 8$, against 16 calls of tokenwise rejection) and "
        "the leaf has mass $2^{-D} / (2 (1 - 2^{-D}))$."
    ),
    criterion=IDENTITY,
    trials=trees,
    uses=("guided/first-leaf-law", "guided/vgb-leaf-mass"),
)
def stalls(results: Results) -> Outcome:
    data = rows(results, "feasibility stalls")
    columns = {
        "D": data["D"], "steps of VGB": data["steps"], "tokenwise calls": data["tokenwise"],
    }  # fmt: skip
    return all_of(holds(data.name)(results), tables=(table("needle world", columns),))


def _means(results: Results, name: str, **at: int) -> tuple[Estimate, Estimate, float]:
    """Means of plain guidance and of the first leaf over draws, and the ratio of the means."""
    data = rows(results, name)
    plain, first = (Estimate.of(selected(data, rule, **at)) for rule in ("plain", "first"))
    return plain, first, float(np.divide(first.value, plain.value))


@claim(
    id="guided/linear-growth",
    title="Plain guidance amplifies errors linearly in the horizon, the first leaf does not",
    source=f"{VGB}, on error amplification",
    statement=(
        r"In the biased-coin, delayed-value and independent-error worlds $\operatorname{KL}(\pi^* "
        r"\,\|\, \text{plain})$ grows about linearly in $H$, and that of the first leaf is below "
        "20% of it at $H = 16$."
    ),
    criterion=(
        "In each world plain guidance's KL at $H = 16$ is between 1.5 and 3 times that at $H = 8$ "
        "(means over draws), and the first leaf's is below 0.2 of it at $H = 16$."
    ),
    trials=amplify,
    uses=("guided/plain-product", "guided/first-leaf-law"),
    figure=amplification,
)
def linear_growth(results: Results) -> Outcome:
    lines: dict[str, list[Any]] = {
        "world": [], "plain, $H = 8$": [], "plain, $H = 16$": [], "growth": [], "first leaf, $H = 16$": [],
        "ratio": [],
    }  # fmt: skip
    for name in ("biased coin", "delayed", "independent errors"):
        short, _, _ = _means(results, name, H=8)
        plain, first, ratio = _means(results, name, H=16)
        growth = float(np.divide(plain.value, short.value))
        row = (name, short.value, plain.value, growth, first.value, ratio)
        for column, value in zip(lines.values(), row, strict=True):
            column.append(value)
    coin, late = rows(results, "biased coin"), rows(results, "delayed")
    columns = {
        "$H$": coin["H"], "coin, plain": coin["plain"], "coin, first leaf": coin["first"],
        "delayed, plain": late["plain"], "delayed, first leaf": late["first"], "coin, steps": coin["time"],
    }  # fmt: skip
    return all_of(
        at_least("least growth of plain guidance", lines["growth"], 1.5),
        at_most("largest growth of plain guidance", lines["growth"], 3.0),
        below("largest ratio of the first leaf to plain guidance", lines["ratio"], 0.2),
        tables=(
            table("KL to the wanted law", lines),
            table("KL to the wanted law, long horizons", columns),
        ),
    )


@claim(
    id="guided/monte-carlo-values",
    title="With values estimated by rollouts the first leaf is better than plain guidance",
    source=f"{VGB}, on values from rollouts",
    statement=(
        "With tabular values from $N$ rollouts the KL of the first leaf is below 70% of that of "
        "plain guidance, for $H = 6, 8, 10$ and $N = 500$, 10,000."
    ),
    criterion="The ratio of the means over draws is below 0.7 in all six cases.",
    trials=amplify,
    uses=("guided/plain-product", "guided/first-leaf-law"),
    figure=monte_carlo,
)
def monte_carlo_values(results: Results) -> Outcome:
    cases = [(N, H) for N in (500, 10_000) for H in (6, 8, 10)]
    means = [_means(results, "Monte-Carlo values", N=N, H=H) for N, H in cases]
    plain, first, ratios = zip(*means, strict=True)
    columns: dict[str, Any] = {
        "rollouts": [N for N, _ in cases], "H": [H for _, H in cases], "plain": plain,
        "first leaf": first, "ratio": ratios,
    }  # fmt: skip
    largest = below("largest ratio", ratios, 0.7)
    return all_of(largest, tables=(table("KL to the wanted law", columns),))


COSTS = {
    "world": "world", "rejection": "rejection, calls", "tokenwise": "tokenwise, calls",
    "guided": "guided, calls", "steps": "VGB, steps", "prefixes": "VGB, distinct prefixes",
    "leaf_mass": "leaf mass",
}  # fmt: skip


@claim(
    id="guided/walk-reaches-target",
    title="After $6 H^2$ steps VGB has the wanted law at the leaves",
    source=f"{VGB}, on $y^{{(T)}}$",
    statement=(
        "$y^{(T)}$ with $T = 6 H^2$, given that it is a leaf, is within total variation 0.02 of "
        r"$\pi^*$ in the biased-coin, delayed, independent-error, Monte-Carlo and noisy-Dyck "
        "worlds."
    ),
    criterion=(
        "At most 0.02 in every world and horizon, and at most $10^{-9}$ for the stationary law."
    ),
    trials=amplify,
    uses=("guided/vgb-leaves", "guided/vgb-gap"),
)
def walk(results: Results) -> Outcome:
    data, costs = rows(results, "walk"), rows(results, "costs")
    columns = {
        "world": data["family"], "H": data["H"], "plain": data["plain"], "first leaf": data["first"],
        "$y^{(T)}$": data["tv"], "stationary": data["stationary"],
    }  # fmt: skip
    spent = {title: costs[name] for name, title in COSTS.items()}
    return all_of(
        at_most("largest total variation of $y^{(T)}$", data["tv"], 0.02),
        at_most("largest total variation of the stationary law", data["stationary"], 1e-9),
        tables=(
            table("total variation to the wanted law", columns),
            table("expected cost at $H = 8$, feasibility as value for needle and some zero", spent),
        ),
    )
