"""What attention says about neighbours that repeat: Tables 4.4 and 4.5 in the fertility world."""

from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table, Verdict

from ...common.checks import Results
from ...common.statistics import all_above, all_within
from ..figures.refinement import attention_figure
from ..readings import DATA, of_seeds
from ..study import STUDY
from .refinement_trials import UNLEARNED, if_learned, translators
from .trials import PAPER

PAIRS = 30  # stuttering pairs that a seed must have to be judged


def _judged(results: Results, of: str) -> list[str]:
    """Data with enough stuttering pairs in every seed."""

    def pairs(data: str) -> np.ndarray:
        return _spreads(results, data, of, "cross", "tv mean")[0][:, 2]

    return [data for data in DATA if pairs(data).min() >= PAIRS]


def _spreads(
    results: Results, data: str, of: str, kind: str, measure: str
) -> tuple[np.ndarray, np.ndarray]:
    """[seed] of (mean, deviation, pairs): where pairs stutter, and elsewhere."""
    there, elsewhere = (
        of_seeds(results, data, of, kind, group, measure) for group in ("stutter", "other")
    )
    return there, elsewhere


def _attention_table(results: Results, of: str, kind: str, measures: tuple[str, ...]) -> Table:
    lines = []
    for data in DATA:
        found = [_spreads(results, data, of, kind, measure) for measure in measures]
        for group, name in enumerate(("at repeats", "elsewhere")):
            means = [spreads[group][:, 0] for spreads in found]
            pairs = int(found[0][group][:, 2].sum())
            cells = [Estimate.of(mean) if np.isfinite(mean).all() else None for mean in means]
            lines.append((data, name, pairs, *cells))
    columns = ("data", "pairs", "number of pairs", *measures)
    return Table(f"last decoder layer, {kind}-attention", columns, tuple(lines))


SELF = ("attention min", "attention mean", "attention max")
CROSS = ("tv mean", "cosine mean")
TRIALS = translators(*DATA)


ENOUGH = "averaged over seeds, for data of the three with at least 30 repeats in every seed"


def _table_4_4(of: str) -> Any:
    def check(results: Results) -> Outcome:
        found: dict[str, Estimate] = {}
        for data in _judged(results, of):
            for measure in SELF:
                there, elsewhere = _spreads(results, data, of, "self", measure)
                weights = np.stack([there[:, 2], elsewhere[:, 2]])
                variances = np.stack([there[:, 1] ** 2, elsewhere[:, 1] ** 2])
                pooled = np.sqrt((weights * variances).sum(axis=0) / weights.sum(axis=0))
                found[f"{measure}, {data}"] = Estimate.of((there[:, 0] - elsewhere[:, 0]) / pooled)
        verdict: Verdict = all_within(found.values(), 1.0) if found else "undecided"
        table = _attention_table(results, of, "self", (*SELF, "top-1", "top-2"))
        return Outcome(verdict, found or {"data with enough repeats": 0}, (table,))

    return check


def _table_4_5(of: str) -> Any:
    def check(results: Results) -> Outcome:
        found: dict[str, Estimate] = {}
        for data in _judged(results, of):
            for measure in CROSS:
                there, elsewhere = _spreads(results, data, of, "cross", measure)
                closer = Estimate.of(1 - there[:, 0] / elsewhere[:, 0])
                found[f"closer by, {measure}, {data}"] = closer
        verdict: Verdict = all_above(found.values(), 0.15) if found else "undecided"
        parts = ("min", "mean", "max")
        names = tuple(f"{kind} {part}" for kind in ("tv", "cosine") for part in parts)
        table = _attention_table(results, of, "cross", (*names, "top-1", "top-2"))
        return Outcome(verdict, found or {"data with enough repeats": 0}, (table,))

    return check


for name, of, which in (
    ("", "attention", "In the best of five hypotheses"),
    ("-given-length", "attention_told", "In what is decoded with the true length given"),
):
    STUDY.claim(
        id=f"refinement/table-4.4{name}",
        title="Neighbours that repeat attend to one another as others do"
        + (", the length given" if name else ""),
        source=f"{PAPER}, Table 4.4, in the fertility world",
        statement=(
            f"{which}, in the last decoder layer, the attention between two neighbouring positions (least, "
            "mean and largest over heads and directions) is the same where the two tokens are equal and "
            "where not."
        ),
        criterion=(
            f"Difference of the means in pooled standard deviations of pairs, {ENOUGH}: all 95% intervals "
            "within 1: holds; one outside: fails; otherwise, or without such data, undecided."
            + UNLEARNED
        ),
        trials=TRIALS,
        kind="experiment",
    )(if_learned(_table_4_4(of)))
    STUDY.claim(
        id=f"refinement/table-4.5{name}",
        title="Neighbours that repeat look at more similar places of the source"
        + (", the length given" if name else ""),
        source=f"{PAPER}, Table 4.5, in the fertility world",
        statement=(
            f"{which}, in the last decoder layer, what two neighbouring positions attend to in the source is "
            "closer, in mean total variation and cosine distance over heads, where the two tokens are equal."
        ),
        criterion=(
            f"1 - (mean at repeats) / (mean elsewhere), {ENOUGH}: all 95% intervals above 0.15: holds; one "
            "below: fails; otherwise, or without such data, undecided." + UNLEARNED
        ),
        trials=TRIALS,
        figure=attention_figure(of),
        kind="experiment",
    )(if_learned(_table_4_5(of)))
