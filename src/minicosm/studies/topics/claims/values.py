"""Trained value matrices: Sections 2.1.5.1, 2.1.5.2 and 2.1.7.8."""

from typing import Any

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    above,
    all_above,
    all_below,
    all_of,
    all_within,
    at_least,
)

from ..figures.matrices import draw_descent, draw_diagonal, draw_values
from ..readings import estimates, if_full, if_trained, statistic
from ..recipes import CELLS, cell
from ..study import STUDY, THESIS
from ..trials import trained
from .losses import gained

claim = STUDY.section(__doc__)

WEAK = ("weak, cross-entropy", "weak, squared")
STAGE1, JOINT = "stage 1", "joint, squared"
LOSSES = {
    "cross-entropy": ("uniform, cross-entropy", "Table 2.1, Adam 0.01"),
    "squared": ("uniform, squared", JOINT),
}


def _table(results: Results, arms: tuple[str, ...]) -> Table:
    columns = ("block", "different", "contrast", "z")
    lines: Any = tuple(
        (arm, *(Estimate.of(statistic(results, arm, column)) for column in columns)) for arm in arms
    )
    return Table("mean entries of the value matrix", ("cell", *columns), lines)


def _figure_claim(figure: str, title: str, what: str, uses: tuple[str, ...]) -> None:
    arms = tuple(cell(figure, name) for name in CELLS)

    def check(results: Results) -> Outcome:
        outcome = all_of(
            all_above("contrast", estimates(results, arms, "contrast")),
            above("least z", [statistic(results, arm, "z") for arm in arms], 3.0),
            tables=(_table(results, arms),),
        )
        return if_trained(results, arms, outcome)

    guard = "4.2" if figure == "2.2" else "3.5"
    claim(
        id=f"topics/figure-{figure}",
        title=title,
        source=f"{THESIS}, Section 2.1.5, Figure {figure}",
        statement=(
            f"{what}, trained value matrices have blocks for topics under cross-entropy and squared loss, "
            "by SGD and by Adam."
        ),
        criterion=(
            "In each of the four cells the 95% interval of the mean entry of a block less that of entries of "
            "different topics lies above 0, and it is more than 3 deviations of random labels in every run. "
            f"Undecided if a model has not learned (held-out loss at most {guard} nats, or 0.955)."
        ),
        trials=trained(*arms),
        check=check,
        figure=draw_values(arms),
        kind="figure",
        uses=uses,
    )


_figure_claim(
    "2.2",
    "The trained value matrix has blocks, with a penalty",
    "With one-hot embeddings, uniform attention and a penalty of $10^{-4}$ on the norm",
    ("topics/theorem-2.1.2",),
)
_figure_claim(
    "2.5",
    "The trained value matrix has blocks, without a penalty",
    "With one-hot embeddings and uniform attention",
    ("topics/lemma-2.1.1",),
)
_figure_claim(
    "2.6",
    "The trained value matrix has blocks when attention is trained too",
    "With one-hot embeddings and attention that is trained as well",
    (),
)


@claim(
    id="topics/figure-2.5-weak",
    title="At the printed rate SGD leaves weak blocks that are real",
    source=f"{THESIS}, Section 2.1.5.2, captions of Figures 2.5 and 2.6",
    statement=(
        "After SGD at rate 0.01 the blocks are very weak, and the mean of their entries differs from that of "
        "other entries by far more than chance."
    ),
    criterion=(
        "In every run of 1,500 steps, under cross-entropy and under squared loss, the contrast is more than "
        "5 deviations of random labels. Models need not have learned; undecided in a smaller world."
    ),
    trials=trained(*WEAK),
    kind="experiment",
)
def weak(results: Results) -> Outcome:
    ratios = {
        f"block over different, {arm}": Estimate.of(
            statistic(results, arm, "block") / np.abs(statistic(results, arm, "different"))
        )
        for arm in WEAK
    }
    outcome = all_of(
        above("least z", [statistic(results, arm, "z") for arm in WEAK], 5.0),
        numbers=ratios,
        tables=(_table(results, WEAK),),
        remark="The printed factor of over 10 has the noise of few entries in its denominator.",
    )
    return if_full(results, outcome)


@claim(
    id="topics/stage-1-value",
    title="The trained value matrix is the exact optimum of finite documents",
    source=f"{THESIS}, Section 2.1.4.2; the optimum is that of topics/limits-do-not-commute",
    statement=(
        "With uniform attention and squared loss the contrast of the trained value matrix and the excess of "
        "its diagonal are those of the optimum for documents of 100 to 150 words."
    ),
    criterion=(
        "The 95% interval of the contrast lies within 3% of the exact value (0.1145), that of the diagonal "
        r"less the rest of the topic within 20% of $\frac{p_c}{1-k}$ (0.1136)."
    ),
    trials=trained(STAGE1),
    kind="experiment",
    uses=("topics/limits-do-not-commute",),
)
def stage1_value(results: Results) -> Outcome:
    exact = results[STAGE1].numbers["exact"]
    contrast, excess = exact["contrast"], exact["excess"]
    diagonal = statistic(results, STAGE1, "diagonal") - statistic(results, STAGE1, "same")
    outcome = all_of(
        all_within(
            "contrast",
            Estimate.of(statistic(results, STAGE1, "contrast")),
            0.03 * contrast,
            around=contrast,
        ),
        all_within("diagonal excess", Estimate.of(diagonal), 0.2 * excess, around=excess),
        numbers={"exact contrast": contrast, "exact excess": excess},
        tables=(_table(results, (STAGE1,)),),
    )
    return if_full(results, if_trained(results, (STAGE1,), outcome))


@claim(
    id="topics/stage-1-descent",
    title="On its way there it follows the closed form of gradient descent",
    source=f"added to {THESIS}, Section 2.1.4.1",
    statement=(
        "The contrast of the value matrix over the steps of SGD at uniform attention is that of gradient "
        "descent on the expected loss of documents of 100 to 150 words."
    ),
    criterion=(
        "At about 100, 300, 1,000 and 4,000 steps the 95% interval of the contrast lies within 5% of its "
        "limit around the closed form."
    ),
    trials=trained(STAGE1),
    figure=draw_descent,
    kind="experiment",
    uses=("topics/gradient-descent",),
)
def stage1_descent(results: Results) -> Outcome:
    found = results[STAGE1]
    steps, contrast = np.asarray(found.numbers["steps"]), found.arrays["contrast"]
    limit = found.numbers["exact"]["contrast"]
    parts = []
    for wanted in (100, 300, 1000, 4000):
        at = int(np.abs(steps - wanted).argmin())
        estimate = {f"step {steps[at]}": Estimate.of(contrast[at])}
        exact = float(found.arrays["closed form"][at])
        parts.append(all_within("contrast", estimate, 0.05 * limit, around=exact))
    return if_full(results, all_of(*parts, numbers={"limit": limit}))


@claim(
    id="topics/frozen-attention-loss",
    title="Freezing attention costs only slightly more",
    source=f"{THESIS}, Section 2.1.4.2",
    statement=(
        "The loss with uniform attention is less than 10% above that of models whose attention is trained "
        "too, under cross-entropy and under squared loss."
    ),
    criterion=(
        "The 95% intervals of the relative excess on held-out documents lie below 10%: holds; one above: "
        "fails."
    ),
    trials=trained(*(arm for pair in LOSSES.values() for arm in pair), bayes=True),
    kind="experiment",
)
def frozen_attention(results: Results) -> Outcome:
    parts = [gained(results, less, more, all_below) for less, more in LOSSES.values()]
    outcome = all_of(
        *parts,
        remark="In shares of the possible gain the difference is larger for the squared loss.",
    )
    return if_trained(results, [arm for pair in LOSSES.values() for arm in pair], outcome)


@claim(
    id="topics/figure-2.10",
    title="Without a penalty the value matrix often has a diagonal",
    source=f"{THESIS}, Section 2.1.7.8, Figure 2.10",
    statement=(
        "Without a penalty the trained value matrix sometimes shows a diagonal pattern: entries of the "
        "diagonal are at least three times those of other words of the topic."
    ),
    criterion="In the majority of runs (squared loss, attention trained, Adam 0.003) they are.",
    trials=trained(JOINT),
    figure=draw_diagonal,
    kind="figure",
)
def diagonal(results: Results) -> Outcome:
    ratio = statistic(results, JOINT, "diagonal") / statistic(results, JOINT, "same")
    share: Any = np.where(np.isnan(ratio), np.nan, ratio >= 3)
    outcome = all_of(
        at_least("share of runs", share.mean(), 0.5 + 1e-9),
        numbers={"diagonal over same topic": Estimate.of(ratio), "runs": len(ratio)},
        tables=(_table(results, (JOINT,)),),
    )
    return if_full(results, if_trained(results, (JOINT,), outcome))
