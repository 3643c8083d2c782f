"""How attention differs between seeds, and whether it looks like a stack."""

from itertools import pairwise
from typing import Any

import numpy as np

from minicosm.lab import Estimate, Outcome, Table, Verdict

from ...common.checks import Results
from ..figures.experiments import heat_maps, layer_figure, present, variation_figure
from ..study import STUDY
from .trials import arms, column, difference, mean, variation

SOURCE = "Wen et al. 2023"
STANDARD = ("gpt", "gpt, linear positions")
PREFIXES = ("gpt, prefixes", "gpt, prefixes, linear positions")
LOOKUPS = ("minimal", "bare, E1", "minimal, E2", "minimal, E3")
PROBE, SENTENCE = 16, 19
PRINTED = {
    "gpt": 2.27, "gpt, linear positions": 2.20, "minimal": 0.24, "minimal, prefixes": 0.34,
    "gpt, prefixes": 14.51, "gpt, prefixes, linear positions": 11.92,
}  # fmt: skip


def random_level(length: int) -> float:
    """The variation of independent random attention over a string of this length."""
    from minicosm.models.attention_patterns import random_variation

    return random_variation(length)


def _verdict(estimates: list[Estimate]) -> Verdict:
    """Holds if all lie above zero, fails if one lies below."""
    if any(estimate.high < 0 for estimate in estimates):
        return "fails"
    return "holds" if all(estimate.low > 0 for estimate in estimates) else "undecided"


def _table(results: Results) -> Table:
    rows = [
        (
            arm,
            float(column(results, arm, "within").min()),
            variation(results, arm),
            PRINTED.get(arm),
            mean(results, arm, "stack_mean"),
            float(np.mean(column(results, arm, "stack_rate") > 0.9)),
        )
        for arm in results
    ]
    return Table(
        "Attention of the last layer",
        (
            "model",
            "least accuracy",
            "variation",
            "printed",
            "on the stack's top",
            "stack-like seeds",
        ),
        tuple(rows),
        note=(
            "Variation between seeds on the probe string, with the jackknife's 95% interval; random "
            f"attention has {random_level(PROBE):.3f}. Stack-like: the last open bracket has the "
            "largest weight for more than 90% of the closed ones."
        ),
    )


@STUDY.claim(
    id="dyck/attention-varies",
    title="Attention of equally good models differs from seed to seed",
    source=f"{SOURCE}, Section 2.2.3.2",
    statement=(
        "Two-layer GPT-2 models trained on complete strings, without positions and with linear ones, "
        "differ in their second-layer attention by at least half of what independent random attention "
        "does, on the string that has every type and depth."
    ),
    criterion=(
        "The 95% interval (jackknife over seeds) of the variation minus half of the random one lies "
        "above 0 for both (fails: one lies below)."
    ),
    trials=arms(*STANDARD),
    figure=heat_maps("gpt", "gpt, linear positions"),
    kind="figure",
)
def _varies(results: Results) -> Outcome:
    half = random_level(PROBE) / 2
    found = {arm: variation(results, arm) for arm in present(results, STANDARD)}
    above = [Estimate(v.value - half, v.low - half, v.high - half, v.count) for v in found.values()]
    numbers = {f"variation, {arm}": value for arm, value in found.items()}
    return Outcome(_verdict(above), {**numbers, "half of random": half}, (_table(results),))


@STUDY.claim(
    id="dyck/standard-solved",
    title="Two-layer models solve the language, whatever their attention",
    source=f"{SOURCE}, Figure 2.11",
    statement=(
        "Every two-layer GPT-2 model of the comparison, without positions and with linear ones, answers "
        "at least 97% of the closing queries at the lengths of training."
    ),
    criterion="Holds if every seed reaches 0.97.",
    trials=arms(*STANDARD),
    kind="experiment",
)
def _solved(results: Results) -> Outcome:
    least: dict[str, Any] = {
        f"least, {arm}": float(column(results, arm, "within").min()) for arm in results
    }
    hard = {f"hard, {arm}": mean(results, arm, "within_hard") for arm in results}
    return Outcome("holds" if min(least.values()) >= 0.97 else "fails", least | hard)


@STUDY.claim(
    id="dyck/uniform-suffices",
    title="Uniform attention solves the language",
    source=f"{SOURCE}, footnote to Section 2.2.3.2",
    statement=(
        "Two-layer models whose attention is fixed to be uniform answer at least 99% of the closing "
        "queries at the lengths of training."
    ),
    criterion="Holds if the mean over seeds reaches 0.99, fails if its 95% interval lies below.",
    trials=arms("gpt, uniform attention"),
    kind="experiment",
)
def _uniform(results: Results) -> Outcome:
    found = mean(results, "gpt, uniform attention", "within")
    verdict: Verdict = (
        "holds" if found.value >= 0.99 else "fails" if found.high < 0.99 else "undecided"
    )
    hard = mean(results, "gpt, uniform attention", "within_hard")
    return Outcome(verdict, {"accuracy": found, "on hard queries": hard})


@STUDY.claim(
    id="dyck/minimal-varies-less",
    title="A minimal first layer leaves less variation",
    source=f"{SOURCE}, Section 2.2.3.2",
    statement=(
        "With a minimal first layer (one-hot pairs of bracket and depth) the variation of attention "
        "between seeds is at most 0.4 of that of two-layer GPT-2 models, on complete strings."
    ),
    criterion=(
        "The 95% interval of 0.4 times the variation of GPT-2 minus that of the minimal models lies above "
        "0 (fails: below)."
    ),
    trials=arms("minimal", "gpt"),
    figure=variation_figure("minimal", "gpt"),
    kind="experiment",
)
def _less(results: Results) -> Outcome:
    small, large = variation(results, "minimal"), variation(results, "gpt")
    margin = difference(large, small, 1 / 0.4)
    numbers = {"minimal": small, "GPT-2": large, "GPT-2 minus 2.5 times minimal": margin}
    return Outcome(_verdict([margin]), numbers, (_table(results),))


@STUDY.claim(
    id="dyck/prefixes-vary-more",
    title="On prefixes, attention of two-layer models varies more than at random",
    source=f"{SOURCE}, Section 2.2.3.4",
    statement=(
        "Two-layer GPT-2 models trained on prefixes, without positions and with linear ones, differ in "
        "their second-layer attention by more than independent random attention does."
    ),
    criterion=(
        "The 95% interval (jackknife over seeds) of the variation minus the random one lies above 0 for "
        "both (fails: one lies below)."
    ),
    trials=arms(*PREFIXES, "minimal, prefixes"),
    figure=heat_maps("gpt, prefixes", "gpt, prefixes, linear positions"),
    kind="figure",
)
def _prefixes(results: Results) -> Outcome:
    level = random_level(PROBE)
    found = {arm: variation(results, arm) for arm in present(results, PREFIXES)}
    above = [
        Estimate(v.value - level, v.low - level, v.high - level, v.count) for v in found.values()
    ]
    numbers = {f"variation, {arm}": value for arm, value in found.items()}
    return Outcome(_verdict(above), {**numbers, "random": level}, (_table(results),))


def _few_stacks(results: Results) -> Outcome:
    shares = {arm: float(np.mean(column(results, arm, "stack_rate") > 0.9)) for arm in results}
    verdict: Verdict = "holds" if max(shares.values()) < 0.25 else "fails"
    numbers = {f"stack-like seeds, {arm}": share for arm, share in shares.items()}
    return Outcome(verdict, numbers, (_table(results),))


for _name, _arms, _what, _where in (
    ("standard", STANDARD, "Two-layer GPT-2 models", "Figure 2.11"),
    ("lookup", LOOKUPS, "Models with a minimal first layer, of all four kinds,", "Figure 2.12"),
):
    STUDY.claim(
        id=f"dyck/{_name}-not-stack-like",
        title=f"{_what.split(',')[0]} seldom attend like a stack",
        source=f"{SOURCE}, {_where}",
        statement=(
            f"{_what} are stack-like in fewer than a quarter of the seeds: closed brackets of positive "
            "depth attend most to the last open bracket in more than 90% of cases."
        ),
        criterion="Holds if fewer than 25% of the seeds of each kind have a rate above 0.9.",
        trials=arms(*_arms),
        figure=heat_maps(*_arms),
        kind="figure",
    )(_few_stacks)


def _layers(results: Results, arm: str) -> list[Estimate]:
    count = results[arm].arrays["sentence_distances"].shape[1]
    return [variation(results, arm, layer, "sentence") for layer in range(count)]


@STUDY.claim(
    id="dyck/higher-layers-vary-more",
    title="Variation between seeds grows from layer to layer",
    source=f"{SOURCE}, Table 2.6 (two types, depth 4)",
    statement=(
        "In blocks with a residual behind the norm, the variation of attention on prefixes of length 19 is "
        "below 0.5 in layer 1, larger in each further layer, and in the top layer above that of random "
        "attention; for two layers and for three."
    ),
    criterion=(
        "All of these differences have 95% intervals (jackknife over seeds) on the stated side; fails if "
        "one lies on the other side."
    ),
    trials=arms("residual, 2 layers", "residual, 3 layers"),
    figure=layer_figure("residual, 2 layers", "residual, 3 layers"),
    kind="experiment",
)
def _grows(results: Results) -> Outcome:
    level = random_level(SENTENCE)
    margins, rows = [], []
    numbers: dict[str, Any] = {}
    for arm in results:
        found = _layers(results, arm)
        first, top = found[0], found[-1]
        margins.append(Estimate(0.5 - first.value, 0.5 - first.high, 0.5 - first.low, first.count))
        margins += [difference(after, before) for before, after in pairwise(found)]
        margins.append(Estimate(top.value - level, top.low - level, top.high - level, top.count))
        rows += [(arm, i + 1, value) for i, value in enumerate(found)]
        numbers[f"top layer, {arm}"] = top
        numbers[f"least accuracy, {arm}"] = float(column(results, arm, "within").min())
    table = Table(
        "Variation on 40 prefixes of length 19", ("model", "layer", "variation"), tuple(rows),
        note=f"Random attention has {level:.3f}.",
    )  # fmt: skip
    return Outcome(_verdict(margins), {**numbers, "random": level}, (table,))
