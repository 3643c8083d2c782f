"""Grammars: lengths, ceilings, and a curriculum of n-grams. Sections 4.2.3 and 4.2.8."""

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    Table,
    agrees,
    all_above,
    all_of,
    all_true,
    at_most,
    only_if,
    percent,
    rows,
)

from .. import readings
from .. import sentence_readings as reading
from ..figures.grammar import horizons_figure, phases_figure, places_figure
from ..study import STUDY, THESIS
from ..trials import PLACES, lengths, sentences

claim = STUDY.section(__doc__)

GUARD = (
    " Only teachers count that have closed 65% of the gap between the loss of the unigram law and the exact "
    "one, and their students; with fewer than four the claim is undecided."
)
FEW = "Fewer than four have a teacher that has learned."


def guarded(results: Results, outcome: Outcome, count: int) -> Outcome:
    """The outcome, if enough teachers, or students of such, count."""
    return only_if(count >= readings.FEWEST, FEW, outcome)


@claim(
    id="distillation/grammar-lengths",
    title="The five grammars have the printed lengths",
    source=f"{THESIS}, Section 4.2.8.3",
    statement="The quantiles of the lengths of sentences (25, 50, 75 and 95%) are those printed.",
    criterion="All twenty are within 3 tokens of the exact ones.",
    trials=lengths,
    kind="control",
)
def grammar_lengths(results: Results) -> Outcome:
    found = rows(results, "Lengths")
    return agrees("largest difference in tokens", found["exact"], found["printed"], 3)


@claim(
    id="distillation/grammar-ceiling",
    title="No trained model is better than the exact law",
    source="our control",
    statement="The top-1 accuracy of every teacher and student is at most that of the exact predictor.",
    criterion="At most the exact predictor's on the same sentences plus two standard errors.",
    trials=sentences,
    figure=horizons_figure,
    kind="control",
)
def ceiling(results: Results) -> Outcome:
    ceiling = results["sentences"].numbers["ceiling"]
    excess = reading.above_ceiling(results)
    return all_of(at_most("largest excess", excess, 0.0), numbers={"ceiling": ceiling})


@claim(
    id="distillation/grammar-phases",
    title="The teacher's loss drops early and fast",
    source=f"{THESIS}, Section 4.2.3.1.2 and Figure 4.7 (left)",
    statement=(
        "The loss changes little in the first 5% of training, drops rapidly in the next 20%, and slowly "
        "from then on."
    ),
    criterion=(
        "For every teacher the shortest stretch of steps with a third of the drop of the log loss ends "
        "within the first 30% of training." + GUARD
    ),
    trials=sentences,
    figure=phases_figure,
    kind="figure",
)
def phases(results: Results) -> Outcome:
    outcome = at_most("latest end, as a share of steps", reading.steepest_third(results), 0.3)
    return guarded(results, outcome, len(reading.good_teachers(results)))


@claim(
    id="distillation/reliance-rises-and-falls",
    title="Reliance on neighbours rises, then falls",
    source=f"{THESIS}, Section 4.2.3.1.2 and Figure 4.7 (middle)",
    statement=(
        r"$L_\mathrm{robust}$ of the teacher for $n = 2$ is largest while the loss drops rapidly, and is "
        "smaller at the end."
    ),
    criterion=(
        "The 95% interval of the largest median less the last lies above 0.1, and every teacher's peak is "
        "between the steps at which the loss has made 10% and 80% of its drop: holds; the interval below "
        "0.1, or a peak elsewhere: fails; otherwise undecided." + GUARD
    ),
    trials=sentences,
    uses=("distillation/grammar-phases",),
    figure=phases_figure,
    kind="figure",
)
def rises_and_falls(results: Results) -> Outcome:
    curve = reading.reliance(results)
    fall = Estimate.of(curve.max(axis=0) - curve[-1])
    when = reading.peak_share(results)
    inside = (when >= reading.drop(results, 0.1)) & (when <= reading.drop(results, 0.8))
    outcome = all_of(
        all_above("largest less last", fall, 0.1), all_true("peaks inside", inside.tolist())
    )
    return guarded(results, outcome, len(reading.good_teachers(results)))


def accuracies(results: Results) -> Table:
    """Top-1 accuracy by arm and horizon."""
    config = reading.sentences_config(results)
    lines = []
    for horizon in config.horizons:
        for arm in results["sentences"].numbers["accuracy"][str(horizon)]:
            lines.append((arm, horizon, percent(reading.top_accuracy(results, arm, horizon))))
    return Table("Top-1 accuracy of students (%)", ("arm", "steps", "accuracy"), tuple(lines))


@claim(
    id="distillation/grammar-progressive",
    title="Progressive distillation is better than one-shot at a short horizon",
    source=f"{THESIS}, Figure 4.4 (right) and (R4)",
    statement=(
        "At the shortest horizon a student that follows three early checkpoints and then the final teacher "
        "has a higher top-1 accuracy than one that follows the final teacher throughout."
    ),
    criterion=(
        "The 95% interval of the paired difference in points lies above 0: holds; below 0.5: fails; "
        "otherwise undecided." + GUARD
    ),
    trials=sentences,
    figure=horizons_figure,
    kind="figure",
)
def grammar_progressive(results: Results) -> Outcome:
    horizon = reading.shortest(results)
    gap = Estimate.of(reading.points(results, "progressive", "one-shot", horizon))
    better, tiny = all_above("points", gap), all_above("points", gap, 0.5)
    outcome = better if better.verdict == "holds" else tiny
    return guarded(
        results, all_of(outcome, tables=(accuracies(results),)), len(reading.taught(results))
    )


@claim(
    id="distillation/grammar-gap-shrinks",
    title="The gain of progressive distillation shrinks with the horizon",
    source=f"{THESIS}, Section 4.2.8.6 and Figure 4.27",
    statement="The gain over one-shot distillation is smaller at the longest horizon than at the shortest.",
    criterion=(
        "The 95% interval of the paired gain at the shortest horizon less that at the longest, in points, "
        "lies above 0: holds; below: fails; otherwise undecided." + GUARD
    ),
    trials=sentences,
    uses=("distillation/grammar-progressive",),
    figure=horizons_figure,
    kind="figure",
)
def gap_shrinks(results: Results) -> Outcome:
    gains = [
        reading.points(results, "progressive", "one-shot", horizon)
        for horizon in (reading.shortest(results), reading.longest(results))
    ]
    outcome = all_above("points", Estimate.of(gains[0] - gains[1]))
    several = only_if(len(reading.sentences_config(results).horizons) > 1, "One horizon.", outcome)
    return guarded(results, several, len(reading.taught(results)))


@claim(
    id="distillation/grammar-best-checkpoint",
    title="The best single checkpoint is where reliance on neighbours peaks",
    source=f"{THESIS}, (R4) and Figure 4.7 (right)",
    statement=(
        "Of five single checkpoints, the one whose students are best at the shortest horizon is the one "
        r"nearest to the peak of the teacher's $L_\mathrm{robust}$, or a neighbour of it."
    ),
    criterion=(
        "The numbers of the two checkpoints (at 1/16, 1/8, 1/4, 1/2 and 3/4 of the teacher's steps), by mean "
        "accuracy and by distance on logarithmic scale, differ by at most 1." + GUARD
    ),
    trials=sentences,
    uses=("distillation/reliance-rises-and-falls",),
    figure=places_figure,
    kind="figure",
)
def best_checkpoint(results: Results) -> Outcome:
    best, peak = reading.best_place(results)
    names = [*PLACES, "unknown"]
    outcome = all_of(
        at_most("cells between them", abs(best - peak) if best >= 0 else None, 1),
        numbers={"best": names[best], "nearest to the peak": names[peak]},
        tables=(accuracies(results),),
    )
    return guarded(results, outcome, len(reading.taught(results)))
