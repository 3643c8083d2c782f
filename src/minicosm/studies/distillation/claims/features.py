"""What students of a grammar know, and how many heads they need. Sections 4.2.3.1 and 4.2.8.6."""

import numpy as np

from minicosm.lab import Estimate, Outcome, Results, Table, all_above, all_of, percent

from .. import sentence_readings as reading
from ..figures.features import heads_figure, tree_figure
from ..study import STUDY, THESIS
from ..trials import sentences
from .grammar import GUARD, guarded

claim = STUDY.section(__doc__)

ARMS = ("labels", "one-shot", "progressive")
GRAMS = (2, 3, 4, 5)


def features_table(results: Results) -> Table:
    lines: list[tuple[str | Estimate, ...]] = []
    for arm in ARMS:
        robust = [Estimate.of(reading.student_reliance(results, arm, n)) for n in GRAMS]
        probes = [percent(row) for row in reading.probe_accuracy(results, arm).T]
        lines.append((arm, *robust, *probes))
    heights = range(2, 2 + len(lines[0]) - 1 - len(GRAMS))
    names = (
        *(rf"$L_\mathrm{{robust}}$, $n = {n}$" for n in GRAMS),
        *(f"probe, height {h} (%)" for h in heights),
    )
    return Table("Features of students at the shortest horizon", ("arm", *names), tuple(lines))


@claim(
    id="distillation/grammar-features",
    title="Progressive distillation improves the features of a student",
    source=f"{THESIS}, (R5) and Figure 4.8",
    statement=(
        r"At the shortest horizon progressive students have a lower $L_\mathrm{robust}$ for $n = 2, ..., 5$ "
        "than one-shot students, and probes find non-terminals of the two highest heights below the root "
        "more often in their contextual embeddings."
    ),
    criterion=(
        "The 95% intervals of all six paired differences, each counted so that progressive is better, lie "
        "above 0: holds; one below: fails; otherwise undecided." + GUARD
    ),
    trials=sentences,
    figure=tree_figure,
    kind="figure",
)
def features(results: Results) -> Outcome:
    gains = {
        rf"$L_\mathrm{{robust}}$, $n = {n}$": Estimate.of(
            reading.student_reliance(results, "one-shot", n)
            - reading.student_reliance(results, "progressive", n)
        )
        for n in GRAMS
    }
    better = reading.probe_accuracy(results, "progressive")
    plain = reading.probe_accuracy(results, "one-shot")
    heights = np.shape(better)[1]
    for h in range(heights)[-2:]:
        gains[f"probe, height {h + 2}"] = Estimate.of(better[:, h] - plain[:, h])
    outcome = all_of(all_above("gain", gains), tables=(features_table(results),))
    return guarded(results, outcome, len(reading.taught(results)))


@claim(
    id="distillation/grammar-heads",
    title="Models with more heads learn a grammar sooner and better",
    source=f"{THESIS}, Figure 4.26",
    statement=(
        "From labels a model with eight heads reaches 80% of its final accuracy earlier than one with four, "
        "and its final accuracy is higher."
    ),
    criterion=(
        "The 95% intervals of the paired difference of the logarithms of those steps, four heads less eight, "
        "and of the difference of final accuracies, eight less four, lie above 0: holds; one below: fails; "
        "otherwise undecided."
    ),
    trials=sentences,
    figure=heads_figure,
    kind="figure",
)
def heads(results: Results) -> Outcome:
    few, many = (reading.head_times(results, size) for size in ("small", "large"))
    tops = [reading.head_tops(results, size) for size in ("small", "large")]
    return all_of(
        all_above("log ratio of steps", Estimate.of(np.log(few / many))),
        all_above("points at the end", percent(tops[1] - tops[0])),
        numbers={"steps, few heads": float(np.mean(few)), "steps, many": float(np.mean(many))},
    )
