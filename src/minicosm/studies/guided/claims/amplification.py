"""Errors of a verifier against the horizon: plain guidance, the first leaf of VGB, `y^(T)`."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table

from ...common.checks import Results, identity
from ..figures.amplification import amplification, monte_carlo
from ..study import STUDY
from .exact_trials import DERIVED, VGB, rows, table
from .mixing import amplify

DIGITS = "Every number agrees to the digits given."


def _agree(found: list[float], wanted: tuple[float, ...], digits: float) -> bool:
    return all(abs(a - b) <= 0.51 * digits for a, b in zip(found, wanted, strict=True))


@STUDY.claim(
    id="guided/biased-coin-table",
    title="The biased coin by all rules",
    source=DERIVED,
    statement=(
        "Bias 0.5, H = 4, 6, 8, 10: plain guidance has TV .34375, .4453125, .529846, .580368 and KL "
        ".431523, .719205, 1.006887, 1.294569; the first leaf TV .156461, .166165, .170505, "
        ".173204 and KL .071559, .082271, .087746, .091048, after 18.1559, 42.0787, 76.2426, "
        "120.7483 steps; the leaves have mass 1/(2H)."
    ),
    criterion=DIGITS,
    trials=amplify,
    kind="lemma",
)
def biased_coin(results: Results) -> Outcome:
    found = rows(results, "biased coin table")
    holds = (
        _agree(found["tv_plain"], (0.34375, 0.4453125, 0.529846, 0.580368), 1e-6)
        and _agree(found["kl_plain"], (0.431523, 0.719205, 1.006887, 1.294569), 1e-6)
        and _agree(found["tv_first_leaf"], (0.156461, 0.166165, 0.170505, 0.173204), 1e-6)
        and _agree(found["kl_first_leaf"], (0.071559, 0.082271, 0.087746, 0.091048), 1e-6)
        and _agree(found["time"], (18.1559, 42.0787, 76.2426, 120.7483), 1e-4)
        and all(
            abs(2 * H * m - 1) < 1e-9 for H, m in zip(found["H"], found["leaf_mass"], strict=True)
        )
    )
    columns = {
        "H": found["H"], "TV plain": found["tv_plain"], "TV first leaf": found["tv_first_leaf"],
        "KL plain": found["kl_plain"], "KL first leaf": found["kl_first_leaf"], "steps": found["time"],
    }  # fmt: skip
    return Outcome("holds" if holds else "fails", {}, (table("biased coin, bias 0.5", columns),))


@STUDY.claim(
    id="guided/long-horizons",
    title="After thousands of tokens plain guidance is lost, the first leaf is not",
    source=DERIVED,
    statement=(
        "KL of plain guidance against first leaf: biased coin, H = 4096: 589.03 and .104047 for "
        "bias .5, 83.58 and .013377 for .2; delayed value, weight 3, H = 4, 8, 64, 1024: .392436, "
        ".915684, 8.241158, 133.8207 against .041843, .049776, .056600, .057487."
    ),
    criterion=DIGITS,
    trials=amplify,
    figure=amplification,
    kind="figure",
)
def long_horizons(results: Results) -> Outcome:
    coin, weak, late = (rows(results, n) for n in ("biased coin", "biased coin 0.2", "delayed"))
    at = [late["H"].index(H) for H in (4, 8, 64, 1024)]
    holds = (
        _agree([coin["plain"][-1], weak["plain"][-1]], (589.03, 83.58), 1e-2)
        and _agree([coin["first"][-1], weak["first"][-1]], (0.104047, 0.013377), 1e-6)
        and _agree([late["plain"][i] for i in at[:3]], (0.392436, 0.915684, 8.241158), 1e-6)
        and _agree([late["plain"][at[3]]], (133.8207,), 1e-4)
        and _agree([late["first"][i] for i in at], (0.041843, 0.049776, 0.056600, 0.057487), 1e-6)
    )
    columns = {
        "H": coin["H"], "coin, plain": coin["plain"], "coin, first leaf": coin["first"],
        "delayed, plain": late["plain"], "delayed, first leaf": late["first"], "coin, steps": coin["time"],
    }  # fmt: skip
    return Outcome(
        "holds" if holds else "fails",
        {"plain at 4096": coin["plain"][-1], "first leaf at 4096": coin["first"][-1]},
        (table("KL to the wanted law", columns),),
    )


STUDY.claim(
    id="guided/closed-forms",
    title="Closed forms, automaton states and enumerated trees agree",
    source=DERIVED,
    statement=(
        "KL of plain guidance and of the first leaf, leaf mass and time of the biased coin and of "
        "the delayed value are the same by closed form, by recursion over automaton states and by "
        "enumeration of the tree."
    ),
    criterion="The largest relative error is at most 1e-9.",
    trials=amplify,
    kind="control",
)(identity("closed-forms"))


def _mean(found: dict, **at: int) -> tuple[Estimate, Estimate, float]:
    """Means of plain and first leaf over draws, and the ratio of the means."""
    on = np.all([np.array(found[name]) == value for name, value in at.items()], axis=0)
    plain, first = np.array(found["plain"])[on], np.array(found["first"])[on]
    return Estimate.of(plain), Estimate.of(first), float(first.mean() / plain.mean())


@STUDY.claim(
    id="guided/linear-growth",
    title="Plain guidance amplifies errors linearly in the horizon, the first leaf does not",
    source=f"{VGB}, on error amplification",
    statement=(
        "In the biased-coin, delayed-value and independent-error worlds KL(pi* || plain) grows "
        "about linearly in H, and that of the first leaf is below 20% of it at H = 16."
    ),
    criterion=(
        "In each world plain guidance's KL at H = 16 is between 1.5 and 3 times that at H = 8 "
        "(means over draws), and the first leaf's is below 0.2 of it at H = 16."
    ),
    trials=amplify,
    figure=amplification,
)
def linear_growth(results: Results) -> Outcome:
    lines, holds = [], True
    for name in ("biased coin", "delayed", "independent errors"):
        found = rows(results, name)
        short, _, _ = _mean(found, H=8)
        long, first, ratio = _mean(found, H=16)
        growth = long.value / short.value
        holds &= 1.5 <= growth <= 3 and ratio < 0.2
        lines.append((name, short.value, long.value, growth, first.value, ratio))
    names = ("world", "plain, H = 8", "plain, H = 16", "growth", "first leaf, H = 16", "ratio")
    columns = dict(zip(names, map(list, zip(*lines, strict=True)), strict=True))
    return Outcome(
        "holds" if holds else "fails",
        {f"first leaf over plain, {line[0]}": line[-1] for line in lines},
        (table("KL to the wanted law", columns), _notes(results)),
    )


TEN_DRAWS: dict[str, dict[tuple[tuple[str, int], ...], tuple[float, float]]] = {
    "independent errors": {
        (("H", 4),): (0.141, 0.041),
        (("H", 8),): (0.397, 0.045),
        (("H", 12),): (0.579, 0.051),
        (("H", 16),): (0.859, 0.055),
    },
    "Monte-Carlo values": {
        (("N", 500), ("H", 6)): (0.0080, 0.0026),
        (("N", 500), ("H", 8)): (0.041, 0.017),
        (("N", 500), ("H", 10)): (0.161, 0.084),
        (("N", 10_000), ("H", 6)): (0.0003, 0.0001),
        (("N", 10_000), ("H", 8)): (0.0014, 0.0004),
        (("N", 10_000), ("H", 10)): (0.0059, 0.0020),
    },
}
"""KL of plain guidance and of the first leaf, means of ten draws made elsewhere, as printed."""


@STUDY.claim(
    id="guided/ten-draws",
    title="Means of ten draws made elsewhere come out again",
    source=DERIVED,
    statement=(
        "Mean KL of plain guidance and of the first leaf with independent lognormal errors (H = 4, 8, "
        "12, 16) and with values from 500 and 10,000 rollouts (H = 6, 8, 10) are those of ten other "
        "draws."
    ),
    criterion="Every mean over our draws is within 20% of the other, or within half its last digit.",
    trials=amplify,
    expected="fails",
    kind="control",
)
def ten_draws(results: Results) -> Outcome:
    lines = []
    for name, cases in TEN_DRAWS.items():
        for at, wanted in cases.items():
            means = _mean(rows(results, name), **dict(at))[:2]
            place = ", ".join(f"{n} = {v}" for n, v in at)
            for rule, mean, other in zip(("plain", "first leaf"), means, wanted, strict=True):
                digit = 5e-5 if other < 0.01 else 5e-4
                near = abs(mean.value - other) <= max(0.2 * other, digit)
                lines.append((f"{name}, {place}", rule, mean, other, "yes" if near else "no"))
    off = [line for line in lines if line[-1] == "no"]
    names = ("world", "rule", "ours", "ten draws", "within 20%")
    columns = {n: list(c) for n, c in zip(names, zip(*lines, strict=True), strict=True)}
    return Outcome(
        "fails" if off else "holds",
        {"means": len(lines), "off by more than 20%": len(off)},
        (table("KL to the wanted law", columns),),
    )


def _notes(results: Results) -> Table:
    """Independent errors at every horizon, beside means of ten draws made elsewhere."""
    found = rows(results, "independent errors")
    sizes = (4, 8, 12, 16)
    means = [_mean(found, H=H) for H in sizes]
    columns: dict[str, list[Any]] = {
        "H": list(sizes), "plain": [m[0] for m in means], "first leaf": [m[1] for m in means],
        "plain, ten other draws": [0.141, 0.397, 0.579, 0.859],
        "first leaf, ten other draws": [0.041, 0.045, 0.051, 0.055],
    }  # fmt: skip
    return table("independent lognormal errors, log-deviation 0.5", columns)


@STUDY.claim(
    id="guided/monte-carlo-values",
    title="With values estimated by rollouts the first leaf is better than plain guidance",
    source=f"{VGB}, on values from rollouts",
    statement=(
        "With tabular values from N rollouts the KL of the first leaf is below 70% of that of plain "
        "guidance, for H = 6, 8, 10 and N = 500, 10,000."
    ),
    criterion="The ratio of the means over draws is below 0.7 in all six cases.",
    trials=amplify,
    figure=monte_carlo,
)
def monte_carlo_values(results: Results) -> Outcome:
    found = rows(results, "Monte-Carlo values")
    cases = [(N, H) for N in (500, 10_000) for H in (6, 8, 10)]
    means = [_mean(found, N=N, H=H) for N, H in cases]
    columns: dict[str, list[Any]] = {
        "rollouts": [N for N, _ in cases], "H": [H for _, H in cases],
        "plain": [m[0] for m in means], "first leaf": [m[1] for m in means], "ratio": [m[2] for m in means],
        "plain, ten other draws": [0.0080, 0.041, 0.161, 0.0003, 0.0014, 0.0059],
        "first leaf, ten other draws": [0.0026, 0.017, 0.084, 0.0001, 0.0004, 0.0020],
    }  # fmt: skip
    worst = max(m[2] for m in means)
    return Outcome(
        "holds" if worst < 0.7 else "fails",
        {"largest ratio": worst},
        (table("KL to the wanted law", columns),),
    )


@STUDY.claim(
    id="guided/walk-reaches-target",
    title="After 6 H^2 steps VGB has the wanted law at the leaves",
    source=f"{VGB}, on y^(T)",
    statement=(
        "y^(T) with T = 6 H^2, given that it is a leaf, is within total variation 0.02 of pi* in "
        "the biased-coin, delayed, independent-error, Monte-Carlo and noisy-Dyck worlds."
    ),
    criterion="At most 0.02 in every world and horizon, and at most 1e-9 for the stationary law.",
    trials=amplify,
)
def walk(results: Results) -> Outcome:
    found = rows(results, "walk")
    columns = {
        "world": found["family"], "H": found["H"], "plain": found["plain"], "first leaf": found["first"],
        "y^(T)": found["tv"], "stationary": found["stationary"],
    }  # fmt: skip
    return Outcome(
        "holds" if max(found["tv"]) <= 0.02 and max(found["stationary"]) <= 1e-9 else "fails",
        {"largest total variation of y^(T)": max(found["tv"])},
        (table("total variation to the wanted law", columns),),
    )


@STUDY.claim(
    id="guided/some-zero-table",
    title="Feasibility as value, in the world of some zero",
    source=DERIVED,
    statement=(
        "For D = 2, 3, 6 plain guidance is at total variation 1/6, .107143, .015377, the first leaf "
        "at .066667, .044643, .009462, the stationary law of leaves at 0."
    ),
    criterion=DIGITS,
    trials=amplify,
    kind="lemma",
)
def some_zero(results: Results) -> Outcome:
    found = rows(results, "some zero")
    holds = (
        _agree(found["plain"], (1 / 6, 0.107143, 0.015377), 1e-6)
        and _agree(found["first"], (0.066667, 0.044643, 0.009462), 1e-6)
        and max(found["stationary"]) <= 1e-12
    )
    columns = {"D": found["D"], "plain": found["plain"], "first leaf": found["first"]}
    return Outcome("holds" if holds else "fails", {}, (table("total variation", columns),))


@STUDY.claim(
    id="guided/noisy-dyck-table",
    title="Brackets closed with errors, by all rules",
    source=DERIVED,
    statement=(
        "D = 6, p = .2, q = .5, errors .3 on square and .1 on round: Z = .636056, p' = .162791; "
        "with feasibility as value plain guidance is at total variation .083966, the first leaf at "
        ".031401, the stationary law at 0, with leaf mass .063409 and 43.2608 steps; with exact "
        "values 1/12 and 36."
    ),
    criterion=DIGITS,
    trials=amplify,
    kind="lemma",
)
def noisy_dyck(results: Results) -> Outcome:
    found = {name: values[0] for name, values in rows(results, "noisy Dyck table").items()}
    names = ("Z", "square", "tv_plain", "tv_first", "leaf_mass")
    holds = (
        _agree([found[n] for n in names], (0.636056, 0.162791, 0.083966, 0.031401, 0.063409), 1e-6)
        and _agree([found["time"]], (43.2608,), 1e-4)
        and found["tv_stationary"] <= 1e-12
        and abs(found["exact_mass"] - 1 / 12) <= 1e-9
        and abs(found["exact_time"] - 36) <= 1e-9
    )
    longer = rows(results, "noisy Dyck")
    columns = {
        "D": longer["H"], "KL plain": longer["plain"], "KL first leaf": longer["first"],
        "steps": longer["time"], "leaf mass": longer["leaf_mass"],
    }  # fmt: skip
    return Outcome("holds" if holds else "fails", found, (table("longer strings", columns),))


@STUDY.claim(
    id="guided/cost-table",
    title="What each sampler costs",
    source=DERIVED,
    statement=(
        "Before its first leaf VGB takes about H^2 steps where values are near the truth, but asks "
        "about few distinct prefixes: at H = 8 fewer than 3 H in every world."
    ),
    criterion="The expected number of distinct prefixes is below 3 H in every world.",
    trials=amplify,
    kind="experiment",
)
def costs(results: Results) -> Outcome:
    found = rows(results, "costs")
    titles = {
        "world": "world", "rejection": "rejection, calls", "tokenwise": "tokenwise, calls",
        "guided": "guided, calls", "steps": "VGB, steps", "prefixes": "VGB, distinct prefixes",
        "leaf_mass": "leaf mass", "kl_plain": "KL plain", "kl_first": "KL first leaf",
    }  # fmt: skip
    worst = max(p / H for p, H in zip(found["prefixes"], found["H"], strict=True))
    return Outcome(
        "holds" if worst < 3 else "fails",
        {"most distinct prefixes per token": worst},
        (table("expected cost at H = 8", {title: found[name] for name, title in titles.items()}),),
    )
