"""Why refinement stutters, and what attention says about it: Sections 4.2.3 and 4.2.4, Tables 4.4 and 4.5,
in the fertility world."""

from typing import Any

import numpy as np

from minicosm.lab import (
    Cell,
    Estimate,
    Outcome,
    Results,
    Table,
    all_above,
    all_below,
    all_of,
    all_within,
    least,
    percent,
)

from ..figures.refinement import attention_figure, stutter_figure
from ..readings import (
    after,
    apart,
    if_learned,
    neighbours,
    of_seeds,
    points,
    refiners,
    searched,
)
from ..study import STUDY, THESIS
from ..trials import DATA, EXACT, MARGINALS, OPEN, every_translator, open_and_exact, refining
from .refinement import MARGIN, UNLEARNED

claim = STUDY.section(__doc__)


@claim(
    id="parallel/stutter",
    title="Refinement stutters at least twice as often",
    source=f"{THESIS}, Section 4.2.3, in the fertility world",
    statement=(
        "Given the true length, four passes repeat a token at more than twice the share of neighbouring "
        "pairs at which decoding token by token does, where the length leaves the target open."
    ),
    criterion=(
        "Share of equal pairs before clean-up, refinement less twice token by token, seed by seed, in "
        "points: both 95% intervals (peaked, undistilled) lie above 0: holds; one below: fails; otherwise "
        "undecided." + UNLEARNED
    ),
    trials=every_translator,
    figure=stutter_figure,
    kind="experiment",
)
@if_learned
def stutter(results: Results) -> Outcome:
    over: dict[str, Estimate] = {}
    lines: list[tuple[Cell, ...]] = []
    for data in DATA:
        causal = searched(results, data, "stutter_share")
        given = {n: after(results, data, n, "given_length_stutter") for n in (1, 4)}
        free = {n: after(results, data, n, "stutter_share") for n in (1, 4)}
        both = of_seeds(results, data, "joint", "4", "stutter_share")
        if data in OPEN:
            over[data] = points(given[4], 2 * causal)
        shares = (given[1], given[4], free[1], free[4], both, causal)
        lines.append((data, *map(percent, shares)))
    columns = (
        "data", "true length, 1 pass", "true length, 4 passes", "best of five lengths, 1 pass",
        "best of five lengths, 4 passes", "the same, chosen by length and tokens", "token by token",
    )  # fmt: skip
    table = Table("neighbouring pairs that are equal (per cent)", columns, tuple(lines))
    return all_of(
        all_above("refinement less twice token by token", over),
        tables=(table, _scores_table(results)),
        remark=(
            "The true length is given because the score of the tokens alone prefers lengths at which "
            "nothing is left open; this was found in a first run. Distilled targets are certain given their "
            "length, so that there is nothing to repeat."
        ),
    )


def _scores_table(results: Results) -> Table:
    """What comes out of passes if the tokens alone choose the hypothesis, or the length too; and the
    entropy that the exact marginals have at the chosen length and at the true one, summed over positions."""
    lines: list[tuple[Cell, ...]] = []
    for arm in refiners(results):
        left = [Estimate.of(of_seeds(results, arm, n)) for n in ("entropy", "entropy_given_length")]
        for score, rule in (("tokens", "passes"), ("length and tokens", "joint")):
            valid, length, repeats = (
                of_seeds(results, arm, rule, "4", name) for name in ("valid", "length", "stutter")
            )
            entropies = left if score == "tokens" else (None, None)
            cells = (percent(valid), Estimate.of(length), Estimate.of(repeats), *entropies)
            lines.append((arm, score, *cells))
    columns = (
        "decoder", "chosen by", "valid (per cent)", "mean length", "repeats per 1000 tokens",
        "nats open at the chosen length", "at the true length",
    )  # fmt: skip
    return Table("the score of hypotheses, four passes", columns, tuple(lines))


@claim(
    id="parallel/stutter-is-bayes",
    title="Trained decoders stutter as much as exact ones",
    source=f"added to {THESIS}, Section 4.2.4, in the fertility world",
    statement=(
        "Given the true length, one pass of a trained decoder repeats a token at the same share of "
        "neighbouring pairs as the exact product decoder on the same sources."
    ),
    criterion=(
        "Peaked and undistilled: trained less exact, seed by seed: all 95% intervals within 0.05: holds; one "
        "outside: fails; otherwise undecided." + UNLEARNED
    ),
    trials=open_and_exact,
    uses=("parallel/exact-stutter",),
    kind="experiment",
)
@if_learned
def stutter_is_bayes(results: Results) -> Outcome:
    away: dict[str, Estimate] = {}
    shares: dict[str, Estimate] = {}
    for data in OPEN:
        trained = after(results, data, 1, "given_length_stutter")
        exact = after(results, MARGINALS[data], 1, "given_length_stutter")
        away[data] = Estimate.of(apart(trained, exact))
        shares[f"share of pairs, trained, {data}"] = Estimate.of(trained)
        shares[f"share of pairs, exact, {data}"] = Estimate.of(exact)
    return all_of(all_within("trained less exact", away, 0.05), numbers=shares)


@claim(
    id="parallel/one-pass-is-bayes",
    title="One trained pass comes close to the best product law",
    source=f"added to {THESIS}, Section 4.3.9, Propositions 4.1.3 and 4.3.5, in the fertility world",
    statement=(
        "Given the true length and random tokens, one pass of a trained decoder predicts each token nearly "
        "as the exact marginals do: no pass can predict better."
    ),
    criterion=(
        "Peaked and undistilled: mean total variation to the exact marginal, and share of right tokens, "
        "exact less trained, seed by seed. All 95% intervals below 0.1 and below 5 points: holds; one "
        "above: fails; otherwise undecided." + UNLEARNED
    ),
    trials=open_and_exact,
    uses=("parallel/proposition-4.1.3",),
    kind="experiment",
)
@if_learned
def one_pass(results: Results) -> Outcome:
    away = {data: Estimate.of(of_seeds(results, data, "law_tv")) for data in OPEN}
    fewer = {
        data: points(
            of_seeds(results, data, "marginal_accuracy"),
            of_seeds(results, data, "one_pass_accuracy"),
        )
        for data in OPEN
    }
    shown = {
        f"total variation to the posterior given the noise, {data}": Estimate.of(
            of_seeds(results, data, "posterior_tv")
        )
        for data in OPEN
    } | {
        f"total variation between the two exact laws, {data}": Estimate.of(
            of_seeds(results, EXACT[data], "law_tv")
        )
        for data in OPEN
    }
    return all_of(
        all_below("total variation to the marginals", away, 0.1),
        all_below("right tokens fewer, in points", fewer, MARGIN),
        numbers=shown,
    )


# -- Tables 4.4 and 4.5 ------------------------------------------------------------------------------

PAIRS = 30  # stuttering pairs that a seed must have to be judged
SELF = ("attention min", "attention mean", "attention max")
CROSS = ("tv mean", "cosine mean")
FREE, GIVEN = (
    "attention",
    "attention_given_length",
)  # hypotheses of the best length, of the true one
WHICH = {
    FREE: "In the best of five hypotheses",
    GIVEN: "In what is decoded with the true length given",
}
ENOUGH = "averaged over seeds, for data of the three with at least 30 repeats in every seed"


def _judged(results: Results, of: str) -> list[str]:
    """Data with enough stuttering pairs in every seed."""
    pairs = {
        data: neighbours(results, data, of, "cross", "tv mean")[0][:, 2].tolist() for data in DATA
    }
    return [data for data, counts in pairs.items() if least(counts) >= PAIRS]


def _attention_table(results: Results, of: str, kind: str, measures: tuple[str, ...]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for data in DATA:
        found = [neighbours(results, data, of, kind, measure) for measure in measures]
        for group, name in enumerate(("at repeats", "elsewhere")):
            means = [pair[group][:, 0] for pair in found]
            pairs = int(found[0][group][:, 2].sum())
            cells = [Estimate.of(mean) if np.isfinite(mean).all() else None for mean in means]
            lines.append((data, name, pairs, *cells))
    columns = ("data", "pairs", "number of pairs", *measures)
    given = ", true length given" if of == GIVEN else ""
    return Table(f"last decoder layer, {kind}-attention{given}", columns, tuple(lines))


@claim(
    id="parallel/table-4.4",
    title="Neighbours that repeat attend to one another as others do, within one deviation",
    source=f"{THESIS}, Section 4.2.4, Table 4.4, in the fertility world",
    statement=(
        f"{WHICH[FREE]}, in the last decoder layer, the attention between two neighbouring positions (least, "
        "mean and largest over heads and directions) is the same, within one pooled standard deviation of "
        "pairs, where the two tokens are equal and where not."
    ),
    criterion=(
        f"Difference of the means in pooled standard deviations of pairs, {ENOUGH}: all 95% intervals "
        "within 1: holds; one outside: fails; otherwise, or without such data, undecided."
        + UNLEARNED
    ),
    trials=refining,
    kind="experiment",
)
@if_learned
def table_4_4(results: Results) -> Outcome:
    found: dict[str, Estimate] = {}
    for data in _judged(results, FREE):
        for measure in SELF:
            there, elsewhere = neighbours(results, data, FREE, "self", measure)
            weights = np.stack([there[:, 2], elsewhere[:, 2]])
            variances = np.stack([there[:, 1] ** 2, elsewhere[:, 1] ** 2])
            pooled = np.sqrt((weights * variances).sum(axis=0) / weights.sum(axis=0))
            found[f"{measure}, {data}"] = Estimate.of((there[:, 0] - elsewhere[:, 0]) / pooled)
    columns = (*SELF, "top-1", "top-2")
    tables = tuple(_attention_table(results, of, "self", columns) for of in WHICH)
    return all_of(all_within("pooled deviations apart", found, 1.0), tables=tables)


def _table_4_5(of: str) -> Any:
    @if_learned
    def check(results: Results) -> Outcome:
        found: dict[str, Estimate] = {}
        for data in _judged(results, of):
            for measure in CROSS:
                there, elsewhere = neighbours(results, data, of, "cross", measure)
                found[f"{measure}, {data}"] = Estimate.of(1 - there[:, 0] / elsewhere[:, 0])
        exact = {
            f"closer by, exact alignment posterior, {measure}, {data}": _closer(
                results, data, measure
            )
            for data in _judged(results, GIVEN)
            for measure in CROSS
            if of == GIVEN
        }
        parts = ("min", "mean", "max")
        names = tuple(f"{kind} {part}" for kind in ("tv", "cosine") for part in parts)
        table = _attention_table(results, of, "cross", (*names, "top-1", "top-2"))
        return all_of(all_above("closer by", found, 0.15), numbers=exact, tables=(table,))

    return check


def _closer(results: Results, data: str, measure: str) -> Estimate:
    """The same for the exact law of the source place that a position comes from, at the same pairs."""
    there, elsewhere = (
        of_seeds(results, data, "alignment", group, measure)[:, 0] for group in ("stutter", "other")
    )
    return Estimate.of(1 - there / elsewhere)


for name, of, title in (
    ("", FREE, "Neighbours that repeat look at more similar places of the source"),
    ("-given-length", GIVEN, "The same with the true length given, where repeats are many"),
):
    claim(
        id=f"parallel/table-4.5{name}",
        title=title,
        source=f"{THESIS}, Section 4.2.4, Table 4.5, in the fertility world",
        statement=(
            f"{WHICH[of]}, in the last decoder layer, what two neighbouring positions attend to in the "
            "source is closer, in mean total variation and cosine distance over heads, where the two tokens "
            "are equal."
        ),
        criterion=(
            r"$1 - (\text{mean at repeats}) / (\text{mean elsewhere})$, "
            f"{ENOUGH}: all 95% intervals above 0.15: holds; one "
            "below: fails; otherwise, or without such data, undecided." + UNLEARNED
        ),
        trials=refining,
        check=_table_4_5(of),
        figure=attention_figure(of),
        kind="experiment",
    )
