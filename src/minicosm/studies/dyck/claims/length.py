"""Balance and length generalisation: trained models with and without the contrastive term."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table, Verdict

from ...common.checks import Results
from ...common.statistics import all_above
from ..figures.experiments import FLOOR, length_figure, scatter_figure
from ..study import STUDY
from .trials import arms, column, mean

SOURCE = "Wen et al. 2023"
PAIRS = {
    "complete": ("minimal", "minimal, contrast"),
    "prefix": ("minimal, prefixes", "minimal, prefixes, contrast"),
}
SOLVED = 0.97
FOUND = {"complete": "complete strings", "prefix": "prefixes"}


def _table(results: Results) -> Table:
    rows: list[tuple[Any, ...]] = []
    for arm in results:
        names = ("within", "long", "long_hard", "beta", "worst_ratio")
        rows.append((arm, *(mean(results, arm, name) for name in names)))
    return Table(
        "Closing accuracy and balance violation, mean over seeds with 95% intervals",
        ("model", "length <= 26", "length 400-500", "hard queries", "violation", "worst term"),
        tuple(rows),
        note=f"The last token alone gives {FLOOR} at 400-500 and one half on hard queries.",
    )


def _solved(results: Results) -> bool:
    return all(column(results, arm, "within").min() >= SOLVED for arm in results)


def _ratio(before: np.ndarray, after: np.ndarray) -> Estimate:
    """`after - before / 2`, seed by seed."""
    return Estimate.of(after - 0.5 * before)


def _register(data: str) -> None:
    standard, contrast = PAIRS[data]
    trials, what = arms(standard, contrast), FOUND[data]
    where = "Figure 2.13" if data == "complete" else "Figure 2.17"

    def lower(results: Results) -> Outcome:
        margin = _ratio(column(results, standard, "beta"), column(results, contrast, "beta"))
        numbers = {
            "violation, standard": mean(results, standard, "beta"),
            "violation, contrastive": mean(results, contrast, "beta"),
            "contrastive minus half of standard": margin,
        }
        verdict: Verdict = (
            "holds" if margin.high < 0 else "fails" if margin.low > 0 else "undecided"
        )
        return Outcome(verdict, numbers, (_table(results),))

    def longer(results: Results) -> Outcome:
        pairs = {
            "accuracy at 400-500, gain": Estimate.of(
                column(results, contrast, "long") - column(results, standard, "long")
            ),
            "on hard queries, gain": Estimate.of(
                column(results, contrast, "long_hard") - column(results, standard, "long_hard")
            ),
        }
        verdict = all_above([pairs["accuracy at 400-500, gain"]], 0.04)
        numbers: dict[str, Any] = pairs | {
            "least accuracy within": min(column(results, arm, "within").min() for arm in results)
        }
        return Outcome(verdict, numbers, (_table(results),))

    def solved(results: Results) -> Outcome:
        least = {arm: float(column(results, arm, "within").min()) for arm in results}
        return Outcome(
            "holds" if _solved(results) else "fails",
            {f"least accuracy, {arm}": value for arm, value in least.items()},
        )

    STUDY.claim(
        id=f"dyck/{data}-solved",
        title=f"Models with a minimal first layer solve {what} at the lengths of training",
        source=f"{SOURCE}, Section 2.2.3.3",
        statement=(
            f"Trained on {what}, with the contrastive term and without, every seed answers at least 97% "
            "of the closing queries at the lengths of training."
        ),
        criterion="Holds if every seed of both arms reaches 0.97.",
        trials=trials,
        kind="experiment",
    )(solved)
    STUDY.claim(
        id=f"dyck/{data}-contrast-balances",
        title=f"The contrastive term lowers the balance violation on {what}",
        source=f"{SOURCE}, {where}",
        statement=(
            f"Trained on {what} with the contrastive term (factor 0.3), models have at most half the "
            "balance violation of models trained without."
        ),
        criterion=(
            "The 95% interval over seeds of the violation with the term minus half of that without, "
            "seed by seed, lies below 0 (fails: above)."
        ),
        trials=trials,
        figure=scatter_figure(standard, contrast),
        kind="figure",
    )(lower)
    STUDY.claim(
        id=f"dyck/{data}-contrast-lengthens",
        title=f"The contrastive term improves length generalisation on {what}",
        source=f"{SOURCE}, {where}",
        statement=(
            f"Trained on {what} with the contrastive term, models answer at least 4 points more of the "
            "closing queries at lengths 400 to 500 than models trained without."
        ),
        criterion=(
            "The 95% interval over seeds of the gain in accuracy, seed by seed, lies above 0.04 (fails: "
            "below)."
        ),
        trials=trials,
        figure=length_figure(standard, contrast),
        kind="figure",
    )(longer)


for _data in PAIRS:
    _register(_data)


def spearman(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Spearman's correlation with the 95% interval of Fisher's z, deviation `sqrt(1.06 / (n - 3))`."""
    from scipy.stats import spearmanr

    n = len(first)
    r = float(spearmanr(first, second).statistic)
    if n < 4 or not abs(r) < 1:
        return Estimate(r, -1.0, 1.0, n)
    half = 1.959964 * np.sqrt(1.06 / (n - 3))
    low, high = np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)
    return Estimate(r, float(low), float(high), n)


@STUDY.claim(
    id="dyck/complete-violation-predicts",
    title="Across seeds, a lower balance violation goes with better length generalisation",
    source=f"{SOURCE}, Figure 2.13, standard training",
    statement=(
        "Among models trained on complete strings without the contrastive term, the rank correlation of "
        "balance violation and accuracy at lengths 400 to 500 is negative."
    ),
    criterion="The 95% interval of Spearman's correlation over seeds lies below 0 (fails: above).",
    trials=arms("minimal"),
    figure=scatter_figure("minimal"),
    kind="figure",
)
def _predicts(results: Results) -> Outcome:
    r = spearman(column(results, "minimal", "beta"), column(results, "minimal", "long"))
    hard = spearman(column(results, "minimal", "beta"), column(results, "minimal", "long_hard"))
    worst = spearman(column(results, "minimal", "worst_ratio"), column(results, "minimal", "long"))
    verdict: Verdict = "holds" if r.high < 0 else "fails" if r.low > 0 else "undecided"
    return Outcome(
        verdict,
        {
            "rank correlation": r,
            "with accuracy on hard queries": hard,
            "of the worst term with accuracy": worst,
        },
    )


@STUDY.claim(
    id="dyck/prefix-violation-does-not-predict",
    title="On prefixes, balance violation does not predict length generalisation across seeds",
    source=f"{SOURCE}, Figure 2.17, standard training",
    statement=(
        "Among models trained on prefixes without the contrastive term, the rank correlation of balance "
        "violation and accuracy at lengths 400 to 500 is not below -1/2."
    ),
    criterion="The 95% interval of Spearman's correlation over seeds lies above -0.5 (fails: below).",
    trials=arms("minimal, prefixes"),
    figure=scatter_figure("minimal, prefixes"),
    kind="figure",
)
def _does_not_predict(results: Results) -> Outcome:
    arm = "minimal, prefixes"
    r = spearman(column(results, arm, "beta"), column(results, arm, "long"))
    verdict: Verdict = "holds" if r.low > -0.5 else "fails" if r.high < -0.5 else "undecided"
    return Outcome(verdict, {"rank correlation": r})


OTHERS = ("residual inside", "attention alone", "gpt")


@STUDY.claim(
    id="dyck/other-blocks",
    title="Other blocks solve the lengths of training as well, and long strings no better",
    source=f"{SOURCE}, Appendix: variants of the architecture",
    statement=(
        "Trained on complete strings, models with the residual inside the norm and learned embeddings of "
        "pairs, with attention and no MLP, and two-layer GPT-2 models all answer at least 97% of the "
        "closing queries at the lengths of training, and fewer than 97% at lengths 400 to 500."
    ),
    criterion=(
        "Every seed reaches 0.97 within the lengths of training, and each 95% interval of the accuracy at "
        "400 to 500 lies below 0.97 (fails: a seed misses it, or an interval lies above)."
    ),
    trials=arms(*OTHERS),
    kind="experiment",
)
def _others(results: Results) -> Outcome:
    long = {arm: mean(results, arm, "long") for arm in results}
    rows = tuple(
        (
            arm,
            float(column(results, arm, "within").min()),
            long[arm],
            mean(results, arm, "long_hard"),
        )
        for arm in results
    )
    if not _solved(results) or any(estimate.low > SOLVED for estimate in long.values()):
        verdict: Verdict = "fails"
    else:
        below = all(estimate.high < SOLVED for estimate in long.values())
        verdict = "holds" if below else "undecided"
    table = Table(
        "Other blocks",
        ("model", "least accuracy, length <= 26", "length 400-500", "hard queries"),
        rows,
        note=f"The last token alone gives {FLOOR} at 400-500 and one half on hard queries.",
    )
    numbers = {f"accuracy at 400-500, {arm}": value for arm, value in long.items()}
    return Outcome(verdict, numbers, (table,))


LENGTHS, DECAYS = (28, 56, 112), (0.0, 1e-5, 1e-4)


@STUDY.claim(
    id="dyck/violation-falls-with-length",
    title="Trained on longer strings, models are more balanced",
    source=f"{SOURCE}, Corollary 2.2.2 (a trend; the corollary's hypothesis is never met in training)",
    statement=(
        "With weight decay 0, 1e-5 and 1e-4, the balance violation of models trained on prefixes of "
        "length N falls as N grows from 28 to 112, at equal numbers of tokens."
    ),
    criterion=(
        "For every decay the 95% interval over seeds of log(violation at 28 / violation at 112), seed "
        "by seed, lies above 0 (fails: one lies below)."
    ),
    trials=arms(*(f"length {n}, decay {d:g}" for d in DECAYS for n in LENGTHS)),
    kind="experiment",
)
def _falls(results: Results) -> Outcome:
    falls, rows = {}, []
    for decay in DECAYS:
        runs = {n: f"length {n}, decay {decay:g}" for n in LENGTHS}
        beta = {n: column(results, arm, "beta") for n, arm in runs.items() if arm in results}
        if not beta:
            continue
        falls[f"log ratio, decay {decay:g}"] = Estimate.of(np.log(beta[28] / beta[112]))
        rows += [(f"{decay:g}", n, Estimate.of(beta[n]), Estimate.of(n * beta[n])) for n in beta]
    table = Table(
        "Balance violation by training length",
        ("weight decay", "length N", "violation", "N times violation"),
        tuple(rows),
    )
    return Outcome(all_above(falls.values()), falls, (table,))
