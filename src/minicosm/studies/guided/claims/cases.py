"""Test cases from trained generators on the exact stand-in: Tables 3.6 and 3.9 to 3.17."""

from typing import Any

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
    only_if,
)

from ..figures.trained import distinct_figure
from ..readings import (
    GROUPS,
    LEARNED,
    arm,
    cases_learned,
    column,
    config,
    exceeds,
    gain,
    names,
)
from ..study import STUDY, THESIS
from ..trials import cases

claim = STUDY.section(__doc__)

STAND_IN = "on the exact stand-in for the code model"
ONE = "one standard error over generators"
UNLEARNED = (
    f"Undecided if the generators' loss is on average more than {LEARNED} nats per token above the "
    "least possible."
)
THRESHOLDS = {"threshold .1": "", "threshold .5": ", threshold .5"}
PRINTED = {
    "guided .95": 0.714, "guided 1": 0.639, "guided 1, B 10": 0.622, "guided 1, T 1.2": 0.440,
    "guided .95, threshold .5": 0.676, "guided 1, threshold .5": 0.604,
    "guided 1, B 10, threshold .5": 0.604, "guided 1, T 1.2, threshold .5": 0.334,
    "guided .95, Q 10": 0.692, "perfect .95": 0.719, "perfect .95, Q 10": 0.717,
    "baseline .95": 0.660, "baseline 1": 0.504, "baseline 1, T 1.2": 0.269, "argmax": 0.013,
    "block best of 2": 0.684, "block best of 4": 0.623, "block best of 8": 0.559,
    "random .95": 0.663, "depth 2": 0.687, "depth 4": 0.699, "depth 8": 0.684,
    "baseline .95, misleading": 0.606, "guided .95, misleading": 0.710,
    "guided .95, misleading, threshold .5": 0.687, "no refill .95": 0.711,
    "no refill .95, threshold .5": 0.663,
}  # fmt: skip
"""Different correct cases in the source."""
GRID = {
    1.0: (0.080, 0.207, 0.399, 0.562, 0.504, 0.269), 0.95: (0.057, 0.176, 0.337, 0.523, 0.660, 0.584),
    0.9: (0.029, 0.147, 0.284, 0.466, 0.634, 0.630), 0.8: (0.021, 0.074, 0.212, 0.351, 0.511, 0.627),
    0.7: (0.018, 0.025, 0.101, 0.239, 0.353, 0.531),
}  # fmt: skip
"""The same of baselines, by top_p, for temperatures of 0.2, 0.4, ..., 1.2."""
MARGIN = 0.05
"""What counts as no difference in the share of different correct cases."""


def _judged(results: Results, outcome: Outcome) -> Outcome:
    """The outcome, if the generators have learned the task."""
    otherwise = f"The generators have not learned: their loss exceeds the least by {LEARNED} nats."
    return only_if(cases_learned(results), otherwise, outcome)


def _grid_arms(results: Results) -> dict[tuple[float, float], str]:
    return {(p, t): f"grid {p:g}, {t:g}" for p, t in config(results).grid}


def _blocks(results: Results) -> list[str]:
    return [f"block best of {count}" for count in config(results).blocks]


def _table(results: Results) -> Table:
    columns = "accuracy", "correct", "calls", "backtracks"
    shown = [n for n in names(results, "arms") if n not in _grid_arms(results).values()]
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (name, *(Estimate.of(arm(results, name, c)) for c in columns), PRINTED.get(name, ""))
        for name in sorted(shown, key=lambda n: -arm(results, n).mean())
    )
    return Table(
        "Test cases, best first",
        ("arm", "different correct", "correct", "calls", "backtracks", "source: different correct"),
        rows,
        note=(
            "Shares of all cases asked for; calls and backtracks of a text. Guided: quota 4, stride 4, "
            "threshold .1 unless it says so."
        ),
    )


def _grid(results: Results) -> tuple[Table, ...]:
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (top_p, t, Estimate.of(arm(results, name)), GRID[top_p][round(5 * t) - 1])
        for (top_p, t), name in _grid_arms(results).items()
    )
    columns = "top_p", "temperature", "different correct", "source"
    return (Table("Further baselines", columns, rows),) if rows else ()


def _probes(results: Results, what: str, kind: str) -> tuple[Table, ...]:
    """Accuracies of probes on prefixes that were held out."""
    rows = tuple((name, Estimate.of(column(results, what, name))) for name in names(results, what))
    return (Table(f"Probes by {kind}", (kind, "accuracy, held out"), rows),) if rows else ()


@claim(
    id="guided/cases-backtracking-beats-baseline",
    title="Backtracking writes more different correct test cases",
    source=f"{THESIS}, Tables 3.6 and 3.13, Figures 3.3 and 3.4, {STAND_IN}",
    statement=(
        "At top_p .95, at top_p 1, and at top_p 1 with temperature 1.2, Algorithm 1 (quota 4, stride 4, "
        "threshold .1) writes more different correct cases than the same sampling without a verifier."
    ),
    criterion=(
        f"Every mean gain exceeds {ONE} (fails: the 95% interval of one lies below 0). {UNLEARNED}"
    ),
    trials=cases,
    figure=distinct_figure,
    kind="figure",
)
def beats_baseline(results: Results) -> Outcome:
    gains = {n: gain(results, f"guided {g}", f"baseline {g}") for n, g in GROUPS.items()}
    exact = next(iter(results.values())).numbers["exact_correct"]
    excess = Estimate.of(column(results, "excess"))
    outcome = all_of(
        exceeds("gain", gains),
        numbers={
            "loss of the generators above the least possible, nats per token": excess,
            "correct lines of the exact law": exact[0],
            "for misleading names": exact[1],
        },
        tables=(_table(results), *_grid(results)),
    )
    return _judged(results, outcome)


def _yields(results: Results, name: str) -> np.ndarray:
    """Different correct cases for a thousand calls."""
    asked = 1000 * config(results).lines
    return asked * arm(results, name) / arm(results, name, "calls")


@claim(
    id="guided/cases-query-efficient",
    title="Algorithm 1 has more cases for its calls than sampling without a verifier",
    source=f"{THESIS}, Section 3.2.2.3, Figures 3.3 and 3.4, {STAND_IN}",
    statement=(
        "In each of the three groups Algorithm 1 has more different correct cases for a call than the same "
        "sampling without a verifier."
    ),
    criterion=(
        "Every 95% interval over generators of the difference lies above 0 (fails: one below). "
        + UNLEARNED
    ),
    trials=cases,
    uses=("guided/cases-backtracking-beats-baseline",),
    kind="experiment",
)
def query_efficient(results: Results) -> Outcome:
    more = {
        group: Estimate.of(_yields(results, f"guided {g}") - _yields(results, f"baseline {g}"))
        for group, g in GROUPS.items()
    }
    return _judged(results, all_above("more for 1000 calls", more))


@claim(
    id="guided/cases-blocks-cost-more",
    title="Block best-of-$n$ has fewer cases for its calls",
    source=f"{THESIS}, Tables 3.6 and 3.13, {STAND_IN}",
    statement=(
        "Block best-of-$n$ with a line verifier has fewer different correct cases for a call than "
        "Algorithm 1, for every $n$."
    ),
    criterion=(
        "Every 95% interval over generators of the difference lies above 0 (fails: one below). "
        + UNLEARNED
    ),
    trials=cases,
    kind="experiment",
)
def blocks(results: Results) -> Outcome:
    arms = _blocks(results)
    guided = _yields(results, "guided .95")
    more = {name: Estimate.of(guided - _yields(results, name)) for name in arms}
    each = {
        f"{name}, for 1000 calls": Estimate.of(_yields(results, name))
        for name in ("guided .95", "baseline .95", *arms)
    }
    outcome = all_above("more for 1000 calls", more)
    return _judged(results, all_of(outcome, numbers=each, tables=(_table(results),)))


@claim(
    id="guided/cases-verifier-must-know",
    title="It is the verifier that helps, not backtracking as such",
    source=f"{THESIS}, Table 3.9, {STAND_IN}",
    statement=(
        "Probes of every layer beat a verifier of random scores, which does as well as none within 0.05."
    ),
    criterion=(
        "The 95% interval over generators of every layer's gain over the random verifier lies above 0, and "
        f"that of random minus none within ±0.05 (fails: one lies below or outside). {UNLEARNED}"
    ),
    trials=cases,
    kind="experiment",
)
def verifier_must_know(results: Results) -> Outcome:
    sizes = config(results)
    arms = {
        f"layer {i}": "guided .95" if i == sizes.layer else f"layer {i}"
        for i in range(1, sizes.layers + 1)
    }
    gains = {layer: Estimate.of(gain(results, n, "random .95")) for layer, n in arms.items()}
    chance = Estimate.of(gain(results, "random .95", "baseline .95"))
    outcome = all_of(
        all_above("gain over random", gains),
        all_within("random minus none", chance, MARGIN),
        tables=_probes(results, "layer_accuracy", "layer"),
    )
    return _judged(results, outcome)


@claim(
    id="guided/cases-conservative-threshold",
    title="A conservative threshold uses a small quota better",
    source=f"{THESIS}, Table 3.10, {STAND_IN}",
    statement=(
        "With a quota of 4, Algorithm 1 that rejects below a score of .1 writes at least as many "
        "different correct cases as with .5, on average over four settings."
    ),
    criterion=(
        "The 95% interval over generators of the mean difference lies above 0 (fails: below). "
        + UNLEARNED
    ),
    trials=cases,
    kind="experiment",
)
def threshold(results: Results) -> Outcome:
    arms = (*(f"guided {g}" for g in GROUPS.values()), "guided 1, B 10")
    each = {name: gain(results, name, f"{name}, threshold .5") for name in arms}
    mean = Estimate.of(np.mean(list(each.values()), axis=0))
    shown = {name: Estimate.of(values) for name, values in each.items()}
    return _judged(results, all_of(all_above("mean difference", mean), numbers=shown))


@claim(
    id="guided/cases-depth-no-gain",
    title="Deeper probes gain nothing",
    source=f"{THESIS}, Table 3.11, {STAND_IN}",
    statement=(
        "Probes of 2, 4 and 8 matrices lead to no more different correct cases than the linear one, up to "
        f"{MARGIN}."
    ),
    criterion=(
        f"Every 95% interval over generators of the gain lies below {MARGIN} (fails: one above). {UNLEARNED}"
    ),
    trials=cases,
    kind="experiment",
)
def depth(results: Results) -> Outcome:
    arms = [f"depth {depth}" for depth in config(results).depths]
    gains = {name: Estimate.of(gain(results, name, "guided .95")) for name in arms}
    shown = _probes(results, "depth_accuracy", "depth")
    return _judged(results, all_of(all_below("gain", gains, MARGIN), tables=shown))


@claim(
    id="guided/cases-perfect-verifier",
    title="The perfect verifier is at least as good as the trained one",
    source=f"{THESIS}, Table 3.12, {STAND_IN}",
    statement=(
        "With the perfect verifier, Algorithm 1 writes at least as many different correct cases as with "
        "the trained one, up to one standard error, at quotas 4 and 10."
    ),
    criterion=(
        f"Both mean differences are at least minus {ONE} (fails: the 95% interval of one lies below 0; "
        f"otherwise undecided). {UNLEARNED}"
    ),
    trials=cases,
    kind="control",
)
def perfect(results: Results) -> Outcome:
    gains = {
        "quota 4": gain(results, "perfect .95", "guided .95"),
        "quota 10": gain(results, "perfect .95, Q 10", "guided .95, Q 10"),
    }
    return _judged(results, exceeds("perfect minus trained", gains, errors=-1.0))


@claim(
    id="guided/cases-misleading-names",
    title="Misleading names hurt the baseline more",
    source=f"{THESIS}, Tables 3.14 and 3.15, {STAND_IN}",
    statement=(
        "For functions with misleading names, which no verifier was trained on, the baseline loses more "
        "different correct cases than Algorithm 1 does, with thresholds .1 and .5."
    ),
    criterion=(
        "Both 95% intervals over generators of the difference of losses lie above 0 (fails: one below). "
        + UNLEARNED
    ),
    trials=cases,
    kind="experiment",
)
def misleading(results: Results) -> Outcome:
    lost = gain(results, "baseline .95", "baseline .95, misleading")
    mine = {
        label: gain(results, f"guided .95{end}", f"guided .95, misleading{end}")
        for label, end in THRESHOLDS.items()
    }
    more = {label: Estimate.of(lost - values) for label, values in mine.items()}
    shown = {"loss of the baseline": Estimate.of(lost)} | {
        f"loss of Algorithm 1, {label}": Estimate.of(values) for label, values in mine.items()
    }
    return _judged(results, all_of(all_above("baseline loses more", more), numbers=shown))


@claim(
    id="guided/cases-refill-argmax",
    title="Refilling with the likeliest tokens writes more correct test cases than drawing them",
    source=f"{THESIS}, Table 3.17, {STAND_IN}",
    statement=(
        "Algorithm 1 writes more different correct cases if erased places are refilled with the likeliest "
        "tokens than if they are drawn, with thresholds .1 and .5."
    ),
    criterion=(
        "Both 95% intervals over generators of the difference lie above 0 (fails: one below). "
        + UNLEARNED
    ),
    trials=cases,
    kind="experiment",
)
def refill(results: Results) -> Outcome:
    gains = {
        label: Estimate.of(gain(results, f"guided .95{end}", f"no refill .95{end}"))
        for label, end in THRESHOLDS.items()
    }
    return _judged(results, all_of(all_above("gain", gains), tables=(_table(results),)))
