"""How the attention of exact models looks (Section 2.2.3.2)."""

import numpy as np

from minicosm.lab import Outcome, Table

from ...common.checks import Results
from ..figures import theory as figures
from ..study import STUDY
from .theory_trials import PAPER, ROUNDING, rows, suite, verdict

OPTIMA = suite("constructions", "optima")


@STUDY.claim(
    id="dyck/variation-of-exact-models",
    title="Exact models vary in attention as much as random patterns do",
    source=f"added to {PAPER}, Section 2.2.3.2",
    statement=(
        "Forty exact models with projected Gaussian attention matrices of deviation 0.5, 1, 2 and 4 have "
        "mean attention variation 0.72, 2.6, 7.4 and 14.1 on [[[[]]]](((()))): for 2 and above more than "
        "random patterns, which have 3.0."
    ),
    criterion=(
        "The mean over draws of forty is within 15% of each number; up to deviation 2 the models tested are "
        f"exact to {ROUNDING:g} (at 4 the read-out's threshold is too small for double precision)."
    ),
    trials=OPTIMA,
    figure=figures.variation,
)
def variation(results: Results) -> Outcome:
    stated = {"0.5": 0.72, "1": 2.6, "2": 7.4, "4": 14.1}
    found = {sd: rows(results, f"variation {sd}") for sd in stated}
    means = {sd: float(np.mean(found[sd]["variation"])) for sd in stated}
    near = all(abs(means[sd] / stated[sd] - 1) <= 0.15 for sd in stated)
    exact = max(max(found[sd]["error"]) for sd in ("0.5", "1", "2")) <= ROUNDING
    random = rows(results, "random-variation")["formula"][1]
    table = Table(
        "exact models by deviation of the attention matrix",
        ("deviation", "mean variation", "stated", "largest error", "share that is stack-like"),
        tuple(
            (
                sd,
                means[sd],
                stated[sd],
                max(found[sd]["error"]),
                float(np.mean(found[sd]["stack_like"])),
            )
            for sd in stated
        ),
    )
    holds = near and exact and means["2"] > random
    numbers = {f"variation at {sd}": value for sd, value in means.items()}
    return Outcome("holds" if holds else "fails", {**numbers, "random patterns": random}, (table,))


@STUDY.claim(
    id="dyck/attention-of-exact-models",
    title="Exact models need not look at the stack",
    source=f"{PAPER}, Theorem 2.2.1 and Section 2.2.3.2",
    statement=(
        "Of exact models with random balanced attention fewer than a quarter attend most, at nine of ten "
        "closed brackets of positive depth, to the last bracket still open."
    ),
    criterion="The share with rate above 0.9 on [[[[]]]](((()))) is below 25% at every deviation.",
    trials=OPTIMA,
    figure=figures.attention,
)
def attention(results: Results) -> Outcome:
    shares = {
        sd: float(np.mean(rows(results, f"variation {sd}")["stack_like"]))
        for sd in ("0.5", "1", "2", "4")
    }
    named = {f"share at deviation {sd}": share for sd, share in shares.items()}
    return Outcome("holds" if max(shares.values()) < 0.25 else "fails", named)


@STUDY.claim(
    id="dyck/random-variation",
    title="The variation of random patterns in closed form",
    source=f"added to {PAPER}, Section 2.2.3.2",
    statement=(
        "Independent causal patterns whose rows are uniform on the simplex have mean variation "
        "2 [2 (H_{N+1} - 1) - H_N], H being harmonic numbers: 3.00 for 16 and 3.39 for 20 tokens."
    ),
    criterion="Within 4 standard errors of the mean of sampled patterns for 5, 16 and 20 tokens.",
    trials=OPTIMA,
    kind="lemma",
)
def random_patterns(results: Results) -> Outcome:
    found = rows(results, "random-variation")
    digits = abs(found["formula"][1] - 2.997) < 5e-4 and abs(found["formula"][2] - 3.386) < 5e-4
    return verdict(
        max(found["deviation"]) <= 4 and digits,
        largest_deviation_in_standard_errors=max(found["deviation"]),
        formula_at_16=found["formula"][1],
        measured_at_16=found["measured"][1],
        spread_of_one_pair=found["spread"][1],
    )
