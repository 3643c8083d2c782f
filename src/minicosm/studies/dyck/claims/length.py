"""Balance and length generalisation: trained models with and without the contrastive term."""

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    all_above,
    all_below,
    all_of,
    all_within,
    at_least,
    only_if,
)

from .. import readings, trials
from ..figures.experiments import length_figure, scatter_figure
from ..study import STUDY, THESIS

claim = STUDY.section(__doc__)

NOT_LEARNED = "Some model has not learned to answer 97% of the queries at the lengths of training."
TOO_SHORT = "The models were trained for a few steps only."
LAST_TOKEN = f"The last token alone gives {readings.FLOOR} at 400-500 and one half on hard queries."


def _table(results: Results) -> Table:
    names = ("within", "long", "long_hard", "beta", "worst_ratio")
    return Table(
        "Closing accuracy and balance violation, mean over seeds with 95% intervals",
        ("model", r"length $\le 26$", "length 400-500", "hard queries", "violation", "worst term"),
        tuple((arm, *(readings.mean(results, arm, name) for name in names)) for arm in results),
        note=LAST_TOKEN,
    )


def solved(results: Results) -> Outcome:
    """Every seed of every arm answers enough of the queries at the lengths of training."""
    worst_seeds = {arm: readings.least_accuracy(results, arm) for arm in results}
    outcome = all_of(
        at_least("least accuracy", worst_seeds, readings.SOLVED),
        numbers={f"least accuracy, {arm}": value for arm, value in worst_seeds.items()}
        | {f"hard queries, {arm}": readings.mean(results, arm, "within_hard") for arm in results},
    )
    return only_if(readings.trained(results), TOO_SHORT, outcome)


claim(
    id="dyck/minimal-solved",
    title="Models with a minimal first layer solve the lengths of training",
    source=f"{THESIS}, Section 2.2.3.3",
    statement=(
        "Trained on complete strings and on prefixes, with the contrastive term and without, every "
        "seed answers at least 97% of the closing queries at the lengths of training."
    ),
    criterion="Holds if every seed of the four arms reaches 0.97.",
    trials=trials.arms(
        trials.MINIMAL, trials.MINIMAL_CONTRAST, trials.PREFIXES, trials.PREFIXES_CONTRAST
    ),
    kind="experiment",
    check=solved,
)


def _contrast(data: str, what: str, where: str, standard: str, contrast: str) -> None:
    """The two claims about the contrastive term, for one kind of strings."""
    pair = trials.arms(standard, contrast)

    @claim(
        id=f"dyck/{data}-contrast-balances",
        title=f"The contrastive term lowers the balance violation on {what}",
        source=f"{THESIS}, {where}",
        statement=(
            f"Trained on {what} with the contrastive term (factor 0.3), models have at most half the "
            "balance violation of models trained without."
        ),
        criterion=(
            "The 95% interval over seeds of the violation with the term minus half of that without, "
            "seed by seed, lies below 0 (fails: above)."
        ),
        trials=pair,
        uses=("dyck/theorem-2.2.1-necessity",),
        figure=scatter_figure(standard, contrast),
        kind="figure",
    )
    def lower(results: Results) -> Outcome:
        before, after = (readings.column(results, arm, "beta") for arm in (standard, contrast))
        outcome = all_of(
            all_below("contrastive minus half of standard", Estimate.of(after - 0.5 * before)),
            numbers={
                "violation, standard": readings.mean(results, standard, "beta"),
                "violation, contrastive": readings.mean(results, contrast, "beta"),
            },
            tables=(_table(results),),
        )
        return only_if(readings.learned(results), NOT_LEARNED, outcome)

    @claim(
        id=f"dyck/{data}-contrast-lengthens",
        title=f"The contrastive term improves length generalisation on {what}",
        source=f"{THESIS}, {where}",
        statement=(
            f"Trained on {what} with the contrastive term, models answer at least 4 points more of the "
            "closing queries at lengths 400 to 500 than models trained without."
        ),
        criterion=(
            "The 95% interval over seeds of the gain in accuracy, seed by seed, lies above 0.04 "
            "(fails: below)."
        ),
        trials=pair,
        uses=(f"dyck/{data}-contrast-balances",),
        figure=length_figure(standard, contrast),
        kind="figure",
    )
    def longer(results: Results) -> Outcome:
        outcome = all_of(
            all_above(
                "accuracy at 400-500, gain",
                readings.gain(results, contrast, standard, "long"),
                0.04,
            ),
            numbers={
                "on hard queries, gain": readings.gain(results, contrast, standard, "long_hard")
            },
            tables=(_table(results),),
        )
        return only_if(readings.learned(results), NOT_LEARNED, outcome)


_contrast("complete", "complete strings", "Figure 2.13", trials.MINIMAL, trials.MINIMAL_CONTRAST)
_contrast("prefix", "prefixes", "Figure 2.17", trials.PREFIXES, trials.PREFIXES_CONTRAST)


@claim(
    id="dyck/complete-violation-predicts",
    title="Across seeds, a lower balance violation goes with better length generalisation",
    source=f"{THESIS}, Figure 2.13, standard training",
    statement=(
        "Among models trained on complete strings without the contrastive term, the rank correlation "
        "of balance violation and accuracy at lengths 400 to 500 is negative."
    ),
    criterion="The 95% interval of Spearman's correlation over seeds lies below 0 (fails: above).",
    trials=trials.arms(trials.MINIMAL),
    uses=("dyck/theorem-2.2.1-necessity",),
    figure=scatter_figure(trials.MINIMAL),
    kind="figure",
)
def predicts(results: Results) -> Outcome:
    hard = readings.rank_correlation(results, trials.MINIMAL, "beta", "long_hard")
    outcome = all_of(
        all_below(
            "rank correlation", readings.rank_correlation(results, trials.MINIMAL, "beta", "long")
        ),
        numbers={
            "with accuracy on hard queries": hard,
            "of the worst term with accuracy": readings.rank_correlation(
                results, trials.MINIMAL, "worst_ratio", "long"
            ),
        },
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


@claim(
    id="dyck/prefix-violation-does-not-predict",
    title="On prefixes, balance violation does not predict length generalisation across seeds",
    source=f"{THESIS}, Figure 2.17, standard training",
    statement=(
        "Among models trained on prefixes without the contrastive term, the rank correlation of "
        "balance violation and accuracy at lengths 400 to 500 is none, to within 1/2 on either side."
    ),
    criterion=(
        "Equivalent within 0.5: the 95% interval of Spearman's correlation over seeds lies in "
        "$-0.5$ to $0.5$ (fails: outside)."
    ),
    trials=trials.arms(trials.PREFIXES),
    figure=scatter_figure(trials.PREFIXES),
    kind="figure",
)
def does_not_predict(results: Results) -> Outcome:
    hard = readings.rank_correlation(results, trials.PREFIXES, "beta", "long_hard")
    outcome = all_of(
        all_within(
            "rank correlation",
            readings.rank_correlation(results, trials.PREFIXES, "beta", "long"),
            0.5,
        ),
        numbers={"with accuracy on hard queries": hard},
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


@claim(
    id="dyck/contrast-factor",
    title="The effect of the contrastive term does not hang on its factor",
    source=f"added to {THESIS}, Figure 2.13, where the factor is not given",
    statement=(
        "Trained on complete strings with factors 0.1, 0.3, 1 and 3 of the contrastive term, models have "
        "a smaller balance violation than without, and a higher accuracy at lengths 400 to 500."
    ),
    criterion=(
        "For every factor the 95% interval of the difference of means lies below 0 for the violation and "
        "above 0 for the accuracy (fails: one lies on the other side)."
    ),
    trials=trials.arms(trials.MINIMAL, trials.MINIMAL_CONTRAST, *trials.SWEEP),
    figure=scatter_figure(trials.MINIMAL, trials.MINIMAL_CONTRAST, *trials.SWEEP),
    kind="experiment",
)
def factor(results: Results) -> Outcome:
    def differences(name: str) -> dict[str, Estimate]:
        plain = readings.mean(results, trials.MINIMAL, name)
        return {
            f"factor {readings.config_of(results, arm).contrast:g}": readings.difference(
                readings.mean(results, arm, name), plain
            )
            for arm in results
            if arm != trials.MINIMAL
        }

    outcome = all_of(
        all_below("violation", differences("beta")),
        all_above("accuracy at 400-500", differences("long")),
        numbers={"seeds without the term": len(readings.column(results, trials.MINIMAL, "beta"))},
        tables=(_table(results),),
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


@claim(
    id="dyck/other-blocks",
    title="Other blocks solve the lengths of training as well, and long strings no better",
    source=f"{THESIS}, Section 2.2.5.8: variants of the architecture",
    statement=(
        "Trained on complete strings, models with the residual inside the norm and learned embeddings "
        "of pairs, with attention and no MLP, and two-layer GPT-2 models all answer at least 97% of "
        "the closing queries at the lengths of training, and fewer than 97% at lengths 400 to 500."
    ),
    criterion=(
        "Every seed reaches 0.97 within the lengths of training, and each 95% interval of the accuracy "
        "at 400 to 500 lies below 0.97 (fails: a seed misses it, or an interval lies above)."
    ),
    trials=trials.arms(trials.INSIDE, trials.ATTENTION, trials.GPT),
    kind="experiment",
)
def other_blocks(results: Results) -> Outcome:
    worst_seeds = {arm: readings.least_accuracy(results, arm) for arm in results}
    long = {arm: readings.mean(results, arm, "long") for arm in results}
    hard = {arm: readings.mean(results, arm, "long_hard") for arm in results}
    table = Table(
        "Other blocks",
        ("model", r"least accuracy, length $\le 26$", "length 400-500", "hard queries"),
        tuple((arm, worst_seeds[arm], long[arm], hard[arm]) for arm in results),
        note=LAST_TOKEN,
    )
    outcome = all_of(
        at_least("least accuracy at the lengths of training", worst_seeds, readings.SOLVED),
        all_below("accuracy at 400-500", long, readings.SOLVED),
        tables=(table,),
    )
    return only_if(readings.trained(results), TOO_SHORT, outcome)


@claim(
    id="dyck/corollary-2.2.2",
    title="The balance violation falls about as one over the length of the training strings",
    source=f"{THESIS}, Corollary 2.2.2 (a trend; the corollary's hypothesis is never met in training)",
    statement=(
        "With weight decay 0, $10^{-5}$ and $10^{-4}$, $N$ times the balance violation of models "
        "trained on prefixes of length $N$ stays bounded: from $N = 28$ to 112 it grows by less "
        "than a factor of 2, half way (on the log scale) between a violation of $C/N$ and one that "
        "does not fall with $N$."
    ),
    criterion=(
        r"For every decay the 95% interval over seeds of $\log_2(112\,\beta_{112} / "
        r"(28\,\beta_{28}))$, $\beta_N$ being the violation at length $N$, seed by seed, lies "
        "below 1 (fails: one lies above). The batch is the same at every length."
    ),
    trials=trials.arms(*trials.DECAYS),
    uses=("dyck/theorem-2.2.1-sufficiency", "dyck/theorem-2.2.2"),
    kind="experiment",
)
def falls_with_length(results: Results) -> Outcome:
    beta: dict[float, dict[int, np.ndarray]] = {}
    for arm in results:
        config = readings.config_of(results, arm)
        beta.setdefault(config.decay, {})[config.length] = readings.column(results, arm, "beta")
    growth = {
        f"decay {decay:g}": Estimate.of(np.log2(112 * by_length[112] / (28 * by_length[28])))
        for decay, by_length in beta.items()
    }
    table = Table(
        "Balance violation by training length",
        ("weight decay", "length N", "violation", "N times violation"),
        tuple(
            (f"{decay:g}", n, Estimate.of(values), Estimate.of(n * values))
            for decay, by_length in beta.items()
            for n, values in by_length.items()
        ),
    )
    outcome = all_of(
        all_below("log2 of the growth of N times violation", growth, 1.0), tables=(table,)
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)
