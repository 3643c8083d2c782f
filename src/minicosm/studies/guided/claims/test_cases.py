"""Test cases from trained generators on the exact stand-in: Tables 3.6 and 3.9 to 3.17."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table, Verdict

from ...common.checks import Results
from ...common.statistics import all_above, all_within
from ..figures.trained import distinct_figure
from ..study import STUDY
from .trained_trials import PAPER, arm, numbers, standard_error, test_cases, worst

STAND_IN = "on the exact stand-in for the code model"
GROUPS = {"top_p .95": ".95", "top_p 1": "1", "top_p 1, temperature 1.2": "1, T 1.2"}
ONE = "one standard error over generators"
LEARNED = 0.05
"""Nats per token. Generators that are further from the exact law have not learned the task, and no
claim about them is judged."""
UNLEARNED = (
    f" Undecided if the generators' loss is on average more than {LEARNED} nats per token above the "
    "least possible."
)
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
    "grid 1, 0.8": 0.562, "grid 0.95, 0.8": 0.523, "grid 0.95, 1.2": 0.584, "grid 0.9, 1": 0.634,
    "grid 0.9, 1.2": 0.630, "grid 0.8, 1.2": 0.627,
}  # fmt: skip
"""Different correct cases in the source."""


def _arms(results: Results, prefix: str = "") -> list[str]:
    return [name for name in numbers(results)["arms"][0] if name.startswith(prefix)]


def _judged(results: Results, verdict: Verdict) -> Verdict:
    """The verdict, if the generators have learned the task."""
    return verdict if np.mean(numbers(results)["excess"]) <= LEARNED else "undecided"


def _above(results: Results, found: Mapping[str, Estimate]) -> Verdict:
    """Holds if there are intervals and all lie above 0."""
    return _judged(results, all_above(found.values()) if found else "undecided")


def _table(results: Results) -> Table:
    columns = "accuracy", "correct", "calls", "backtracks"
    rows = tuple(
        (name, *(Estimate.of(arm(results, name, c)) for c in columns), PRINTED.get(name, ""))
        for name in sorted(_arms(results), key=lambda n: -arm(results, n).mean())
        if not name.startswith("grid")
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
        (
            *map(float, name.removeprefix("grid ").split(", ")),
            Estimate.of(arm(results, name)),
            PRINTED.get(name, ""),
        )
        for name in _arms(results, "grid")
    )
    columns = "top_p", "temperature", "different correct", "source"
    return (Table("Further baselines", columns, rows),) if rows else ()


def _probes(results: Results, what: str, title: str) -> tuple[Table, ...]:
    """Accuracies of probes on prefixes that were held out."""
    parts = numbers(results)[what]
    rows = tuple((name, Estimate.of([part[name] for part in parts])) for name in parts[0])
    return (Table(title, (title.split()[-1], "accuracy, held out"), rows),) if rows else ()


def _gain(results: Results, first: str, second: str, what: str = "accuracy") -> np.ndarray:
    return arm(results, first, what) - arm(results, second, what)


@STUDY.claim(
    id="guided/cases-backtracking-beats-baseline",
    title="Backtracking writes more different correct test cases",
    source=f"{PAPER}, Tables 3.6 and 3.13, {STAND_IN}",
    statement=(
        "At top_p .95, at top_p 1, and at top_p 1 with temperature 1.2, Algorithm 1 (quota 4, stride 4, "
        "threshold .1) writes more different correct cases than the same sampling without a verifier."
    ),
    criterion=(
        f"Every mean gain exceeds {ONE} (fails: the 95% interval of one lies below 0)." + UNLEARNED
    ),
    trials=test_cases,
    figure=distinct_figure,
    kind="figure",
)
def beats_baseline(results: Results) -> Outcome:
    gains = {n: _gain(results, f"guided {g}", f"baseline {g}") for n, g in GROUPS.items()}
    found = {f"gain, {name}": Estimate.of(gain) for name, gain in gains.items()}
    verdict: Verdict = "undecided"
    if any(e.high < 0 for e in found.values()):
        verdict = "fails"
    elif all(gain.mean() > standard_error(gain) for gain in gains.values()):
        verdict = "holds"
    exact = numbers(results)["exact_correct"]
    named: dict[str, Any] = found | {
        "loss of the generators above the least possible, nats per token": Estimate.of(
            numbers(results)["excess"]
        ),
        "correct lines of the exact law": exact[0],
        "for misleading names": exact[1],
    }
    return Outcome(_judged(results, verdict), named, (_table(results), *_grid(results)))


@STUDY.claim(
    id="guided/cases-calls-bounded",
    title="Backtracking costs at most quota times stride more calls",
    source=f"{PAPER}, Table 3.6, {STAND_IN}",
    statement=(
        "A text takes at most 16 calls more with Algorithm 1 (quota 4, stride 4) than without, in each of "
        "the three groups."
    ),
    criterion=(
        "Every 95% interval over generators of the mean difference lies below 16 (fails: one above)."
        + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def calls_bounded(results: Results) -> Outcome:
    more = {
        name: Estimate.of(_gain(results, f"guided {g}", f"baseline {g}", "calls"))
        for name, g in GROUPS.items()
    }
    verdict: Verdict = "undecided"
    if any(e.low > 16 for e in more.values()):
        verdict = "fails"
    elif all(e.high <= 16 for e in more.values()):
        verdict = "holds"
    found = {f"more calls, {name}": e for name, e in more.items()}
    return Outcome(_judged(results, verdict), found)


@STUDY.claim(
    id="guided/cases-blocks-cost-more",
    title="Block best-of-n finds fewer cases for its calls",
    source=f"{PAPER}, Tables 3.6 and 3.13, {STAND_IN}",
    statement=(
        "Block best-of-n with a line verifier has fewer different correct cases for a call than "
        "Algorithm 1, for every n."
    ),
    criterion=(
        "Every 95% interval over generators of the difference lies above 0 (fails: one below)."
        + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def blocks(results: Results) -> Outcome:
    def yields(name: str) -> np.ndarray:
        """Different correct cases for a thousand calls."""
        return 1000 * lines * arm(results, name) / arm(results, name, "calls")

    lines = numbers(results)["lines"]
    found = {
        f"more than {name}, for 1000 calls": Estimate.of(yields("guided .95") - yields(name))
        for name in _arms(results, "block")
    }
    each = {
        f"{name}, for 1000 calls": Estimate.of(yields(name))
        for name in ("guided .95", "baseline .95", *_arms(results, "block"))
    }
    return Outcome(_above(results, found), found | each, (_table(results),))


@STUDY.claim(
    id="guided/cases-verifier-must-know",
    title="It is the verifier that helps, not backtracking as such",
    source=f"{PAPER}, Table 3.9, {STAND_IN}",
    statement=(
        "Probes of every layer beat a verifier of random scores, which does as well as none within 0.05."
    ),
    criterion=(
        "The 95% interval over generators of every layer's gain over the random verifier lies above 0, and "
        "that of random minus none within ±0.05 (fails: one lies below or outside)." + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def verifier_must_know(results: Results) -> Outcome:
    layers = ["guided .95", *_arms(results, "layer")]
    gains = {
        f"gain over random, {'the usual layer' if n == 'guided .95' else n}": Estimate.of(
            _gain(results, n, "random .95")
        )
        for n in layers
    }
    chance = Estimate.of(_gain(results, "random .95", "baseline .95"))
    verdict = worst([all_above(gains.values()), all_within([chance], 0.05)])
    return Outcome(
        _judged(results, verdict),
        gains | {"random minus none": chance},
        _probes(results, "layer_accuracy", "Probes by layer"),
    )


@STUDY.claim(
    id="guided/cases-conservative-threshold",
    title="A conservative threshold uses a small quota better",
    source=f"{PAPER}, Table 3.10, {STAND_IN}",
    statement=(
        "With a quota of 4, Algorithm 1 that rejects below a score of .1 writes at least as many "
        "different correct cases as with .5, on average over four settings."
    ),
    criterion=(
        "The 95% interval over generators of the mean difference lies above 0 (fails: below)."
        + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def threshold(results: Results) -> Outcome:
    names = (*(f"guided {g}" for g in GROUPS.values()), "guided 1, B 10")
    each = {name: _gain(results, name, f"{name}, threshold .5") for name in names}
    mean = {"mean difference": Estimate.of(np.mean(list(each.values()), axis=0))}
    found = mean | {name: Estimate.of(gain) for name, gain in each.items()}
    return Outcome(_above(results, mean), found)


@STUDY.claim(
    id="guided/cases-depth-no-gain",
    title="Deeper probes gain nothing",
    source=f"{PAPER}, Table 3.11, {STAND_IN}",
    statement="Probes of more layers lead to no more different correct cases than the linear one.",
    criterion=(
        f"No mean gain exceeds {ONE} (fails: the 95% interval of one lies above 0; otherwise undecided)."
        + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def depth(results: Results) -> Outcome:
    gains = {name: _gain(results, name, "guided .95") for name in _arms(results, "depth")}
    found = {f"gain, {name}": Estimate.of(gain) for name, gain in gains.items()}
    verdict: Verdict = "undecided"
    if any(e.low > 0 for e in found.values()):
        verdict = "fails"
    elif gains and all(gain.mean() <= standard_error(gain) for gain in gains.values()):
        verdict = "holds"
    table = _probes(results, "depth_accuracy", "Probes by depth")
    return Outcome(_judged(results, verdict), found, table)


@STUDY.claim(
    id="guided/cases-perfect-verifier",
    title="The perfect verifier is at least as good as the trained one",
    source=f"{PAPER}, Table 3.12, {STAND_IN}",
    statement=(
        "With the perfect verifier, Algorithm 1 writes at least as many different correct cases as with "
        "the trained one, up to one standard error, at quotas 4 and 10."
    ),
    criterion=(
        f"Both mean differences exceed minus {ONE} (fails: the 95% interval of one lies below 0; otherwise "
        "undecided)." + UNLEARNED
    ),
    trials=test_cases,
    kind="control",
)
def perfect(results: Results) -> Outcome:
    gains = {
        "quota 4": _gain(results, "perfect .95", "guided .95"),
        "quota 10": _gain(results, "perfect .95, Q 10", "guided .95, Q 10"),
    }
    found = {f"perfect minus trained, {name}": Estimate.of(gain) for name, gain in gains.items()}
    verdict: Verdict = "undecided"
    if any(e.high < 0 for e in found.values()):
        verdict = "fails"
    elif all(gain.mean() >= -standard_error(gain) for gain in gains.values()):
        verdict = "holds"
    return Outcome(_judged(results, verdict), found)


@STUDY.claim(
    id="guided/cases-misleading-names",
    title="Misleading names hurt the baseline more",
    source=f"{PAPER}, Tables 3.14 and 3.15, {STAND_IN}",
    statement=(
        "For functions with misleading names, which no verifier was trained on, the baseline loses more "
        "different correct cases than Algorithm 1 does, with thresholds .1 and .5."
    ),
    criterion=(
        "Both 95% intervals over generators of the difference of losses lie above 0 (fails: one below)."
        + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def misleading(results: Results) -> Outcome:
    lost = _gain(results, "baseline .95", "baseline .95, misleading")
    found, kept = {}, {}
    for name in ("", ", threshold .5"):
        mine = _gain(results, f"guided .95{name}", f"guided .95, misleading{name}")
        label = name.removeprefix(", ") or "threshold .1"
        found[f"baseline loses more, {label}"] = Estimate.of(lost - mine)
        kept[f"loss of Algorithm 1, {label}"] = Estimate.of(mine)
    losses = {"loss of the baseline": Estimate.of(lost)} | kept
    return Outcome(_above(results, found), found | losses)


@STUDY.claim(
    id="guided/cases-refill-argmax",
    title="Refilling with the likeliest tokens writes more correct test cases than drawing them",
    source=f"{PAPER}, Table 3.17, {STAND_IN}",
    statement=(
        "Algorithm 1 writes more different correct cases if erased places are refilled with the likeliest "
        "tokens than if they are drawn, with thresholds .1 and .5."
    ),
    criterion=(
        "Both 95% intervals over generators of the difference lie above 0 (fails: one below)."
        + UNLEARNED
    ),
    trials=test_cases,
    kind="experiment",
)
def refill(results: Results) -> Outcome:
    found = {
        f"gain, {name.removeprefix(', ') or 'threshold .1'}": Estimate.of(
            _gain(results, f"guided .95{name}", f"no refill .95{name}")
        )
        for name in ("", ", threshold .5")
    }
    return Outcome(_above(results, found), found, (_table(results),))
