"""Mitigations: Section 3.5.4 (R4 to R7)."""

import numpy as np

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    all_above,
    all_below,
    all_of,
    all_within,
    at_least,
    only_if,
)

from .. import readings
from ..experiment_trials import (
    ALIBI,
    ALL_SIZES,
    INDIRECT,
    LONG,
    LONG_DROPOUT,
    LONG_MIXTURE,
    LONG_SHARP,
    MORE_STEPS,
    ROTARY,
    SHORT,
    SHORT_MIXTURE,
    SINUSOIDAL,
    arms,
)
from ..figures.remedies import remedy_figure, size_figure
from ..study import STUDY, THESIS
from .guards import IF_LEARNED, NOT_LEARNED, errors, if_learned

claim = STUDY.section(__doc__)

ORDERS = (
    r"Errors are compared as $\log_{10}((\mathrm{wrong} + \frac12)/(\mathrm{reads} + 1))$, with Welch's 95% "
    "interval over runs. "
)


@claim(
    id="flipflop/mixture",
    title="Training on rare strings works best",
    source=f"{THESIS}, Section 3.5.4.1 (R4)",
    statement=(
        "Training on a uniform mixture of FFL(.9), FFL(.98) and FFL(.1) leaves far fewer errors than "
        "training on FFL(.8), on sparse and on dense strings."
    ),
    criterion=(
        ORDERS
        + "Mixture less baseline, on dense strings of both lengths and on sparse ones of the longer: "
        "all intervals below -1 (ten times fewer): holds; one above -1: fails; otherwise undecided. Runs "
        "without any error are reported." + IF_LEARNED
    ),
    trials=arms(LONG, LONG_MIXTURE, SHORT, SHORT_MIXTURE),
    figure=remedy_figure,
    kind="experiment",
    uses=("flipflop/proposition-3", "flipflop/glitches"),
)
def mixture(results: Results) -> Outcome:
    orders = {
        "dense, short": readings.less(results, SHORT_MIXTURE, SHORT, "dense"),
        "dense, long": readings.less(results, LONG_MIXTURE, LONG, "dense"),
        "sparse, long": readings.less(results, LONG_MIXTURE, LONG, "sparse"),
    }
    outcome = all_of(
        all_below("orders of magnitude", orders, -1.0),
        tables=(errors(results),),
        remark=_little_to_gain(results, LONG, "sparse"),
    )
    return if_learned(results, outcome, LONG, LONG_MIXTURE, SHORT, SHORT_MIXTURE)


def _little_to_gain(results: Results, baseline: str, name: str) -> str:
    """Says so where most runs of the baseline that have learned are without an error on a set."""
    kept = readings.learned(results, baseline)
    erring = int(np.sum(readings.wrong(results, baseline, name)[kept] > 0))
    if 2 * erring >= len(kept):
        return ""
    return (
        f"Of {len(kept)} runs of the baseline that have learned, {erring} err on {name} strings at this "
        "size: there the criterion asks for fewer errors than none."
    )


def fewer(results: Results, arm: str, baseline: str, name: str) -> Outcome:
    """The arm has fewer errors than the baseline on a set."""
    orders = readings.less(results, arm, baseline, name)
    outcome = all_of(all_below(f"orders of magnitude, {name}", orders), tables=(errors(results),))
    return if_learned(results, outcome, arm, baseline)


@claim(
    id="flipflop/embedding-dropout",
    title="Dropout of embeddings helps on sparse strings",
    source=f"{THESIS}, Section 3.5.4.2 (R6) and Figure 3.31",
    statement="Large embedding dropout (.5) reduces errors on sparse strings by orders of magnitude.",
    criterion=(
        ORDERS
        + "With dropout .5 of embeddings less without, on sparse strings: the interval lies below 0: "
        "holds; above: fails; otherwise undecided." + IF_LEARNED
    ),
    trials=arms(LONG, LONG_DROPOUT),
    figure=remedy_figure,
    kind="experiment",
)
def embedding_dropout(results: Results) -> Outcome:
    return fewer(results, LONG_DROPOUT, LONG, "sparse")


@claim(
    id="flipflop/sharpening",
    title="Sharpened attention helps on sparse strings",
    source=f"{THESIS}, Section 3.5.4.2 (R6) and Figure 3.32",
    statement="Attention-sharpening losses reduce errors on sparse strings.",
    criterion=(
        ORDERS
        + "With an entropy penalty of .01 that rises linearly less without, on sparse strings: the "
        "interval lies below 0: holds; above: fails; otherwise undecided. Trained at the size of the source "
        "only." + IF_LEARNED
    ),
    trials=arms(LONG, LONG_SHARP),
    figure=remedy_figure,
    kind="experiment",
    uses=("flipflop/proposition-4",),
)
def sharpening(results: Results) -> Outcome:
    return fewer(results, LONG_SHARP, LONG, "sparse")


@claim(
    id="flipflop/positions",
    title="Positions that are not trained help on dense strings",
    source=f"{THESIS}, Section 3.5.6.4 (R6) and Figure 3.32",
    statement=(
        "Non-trainable positions (sinusoidal, ALiBi, rotary) help on dense strings and have no clear benefit "
        "on sparse ones."
    ),
    criterion=(
        ORDERS
        + "Each of the three less learned positions: on dense strings all intervals below 0, and on "
        r"sparse ones all within $\pm .5$: holds; a dense one above 0: fails; otherwise undecided."
        + IF_LEARNED
    ),
    trials=arms(SHORT, SINUSOIDAL, ALIBI, ROTARY),
    figure=remedy_figure,
    kind="experiment",
)
def positions(results: Results) -> Outcome:
    kinds = (SINUSOIDAL, ALIBI, ROTARY)
    dense = {arm: readings.less(results, arm, SHORT, "dense") for arm in kinds}
    sparse = {arm: readings.less(results, arm, SHORT, "sparse") for arm in kinds}
    same = all_within("orders of magnitude, sparse", sparse, 0.5)
    same = only_if(
        same.verdict == "holds", "On sparse strings they are not shown to be alike.", same
    )
    outcome = all_of(
        all_below("orders of magnitude, dense", dense), same, tables=(errors(results),)
    )
    return if_learned(results, outcome, SHORT, *kinds)


@claim(
    id="flipflop/more-steps",
    title="More steps: better on sparse strings, worse on dense ones",
    source=f"{THESIS}, Section 3.5.6.3 (R5)",
    statement="Training for more steps improves sparse strings at the expense of dense ones.",
    criterion=(
        ORDERS
        + "Three times the steps less the baseline: the interval lies below 0 on sparse strings and "
        "above 0 on dense ones: holds; one on the other side: fails; otherwise "
        "undecided. Trained at the size "
        "of the source only." + IF_LEARNED
    ),
    trials=arms(SHORT, MORE_STEPS),
    figure=remedy_figure,
    kind="experiment",
)
def more_steps(results: Results) -> Outcome:
    outcome = all_of(
        all_below("orders of magnitude, sparse", readings.less(results, MORE_STEPS, SHORT, "sparse")),
        all_above("orders of magnitude, dense", readings.less(results, MORE_STEPS, SHORT, "dense")),
        tables=(errors(results),),
    )  # fmt: skip
    return if_learned(results, outcome, MORE_STEPS, SHORT)


@claim(
    id="flipflop/size",
    title="No monotone effect of the size",
    source=f"{THESIS}, Section 3.5.6.3 (R5)",
    statement=(
        "There is no discernible monotonic relation between the number of layers, the width or the number "
        "of heads of a Transformer and its error out of distribution."
    ),
    criterion=(
        "Spearman's correlations of layers, of width and of heads with the error on dense and on sparse "
        r"strings, over all runs that have learned, have 95% intervals (by resampling runs) within $\pm .3$: "
        "holds; one outside: fails; otherwise undecided. Trained at the size of the source only."
        + IF_LEARNED
    ),
    trials=arms(SHORT, *ALL_SIZES),
    figure=size_figure,
    kind="experiment",
)
def size(results: Results) -> Outcome:
    correlations = {
        f"{what}, {name}": _spearman(results, what, name)
        for what in ("layers", "width", "heads")
        for name in ("dense", "sparse")
    }
    outcome = all_of(all_within("correlation", correlations, 0.3), tables=(errors(results),))
    return if_learned(results, outcome, *(arm for arm in ALL_SIZES if arm in results))


def _spearman(results: Results, what: str, name: str) -> Estimate:
    """Of a size with the error, over all runs that have learned, resampling them."""
    from scipy.stats import rankdata, spearmanr

    x, y = [], []
    for arm in results:
        found = readings.log_errors(results, arm, name)
        y += found.tolist()
        x += [getattr(readings.config_of(results, arm), what)] * len(found)
    if len(set(x)) < 2 or len(set(y)) < 2:
        return Estimate(float("nan"), float("-inf"), float("inf"), len(x))
    rng, both = np.random.default_rng(0), np.array([x, y], float)
    drawn = np.stack([rng.integers(0, len(x), len(x)) for _ in range(1000)])
    ranks = rankdata(both[:, drawn], axis=2)
    ranks -= ranks.mean(axis=2, keepdims=True)
    spread = np.sqrt((ranks**2).sum(axis=2)).prod(axis=0)
    again = (
        ranks.prod(axis=0).sum(axis=1)[spread > 0] / spread[spread > 0]
    )  # else it is not defined
    low, high = np.percentile(again, [2.5, 97.5])
    return Estimate(float(spearmanr(x, y).statistic), float(low), float(high), len(x))


@claim(
    id="flipflop/nothing-eliminates",
    title="No indirect remedy is reliable",
    source=f"{THESIS}, Section 3.5.4.2 (R7) and Figure 3.25",
    statement="Despite many partial mitigations, nothing but other data eliminates attention glitches.",
    criterion=(
        "Of every indirect remedy that is trained at this size, a run that has learned "
        "has a wrong read on the "
        "sparse or the dense set: holds; a remedy without any: fails." + IF_LEARNED
    ),
    trials=arms(*INDIRECT),
    figure=remedy_figure,
    kind="experiment",
    uses=("flipflop/embedding-dropout", "flipflop/sharpening", "flipflop/positions"),
)
def nothing_eliminates(results: Results) -> Outcome:
    parts = []
    for arm in results:
        kept = readings.learned(results, arm)
        total = sum(readings.wrong(results, arm, name)[kept] for name in ("sparse", "dense"))
        hits = float(np.sum(total > 0)) if np.isfinite(total).all() else float("nan")
        part = at_least(f"runs with a wrong read, {arm}", [hits], 1)
        parts.append(only_if(readings.enough(results, arm), "", part))
    few = [arm for arm in results if not readings.enough(results, arm)]
    return all_of(*parts, tables=(errors(results),), remark=NOT_LEARNED if few else "")
