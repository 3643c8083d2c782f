"""How attention differs between seeds, and whether it looks like a stack."""

from itertools import pairwise

from minicosm.lab import (
    Check,
    Outcome,
    Results,
    Table,
    all_above,
    all_below,
    all_of,
    at_least,
    below,
    only_if,
)

from .. import readings, trials
from ..figures.experiments import heat_maps, layer_figure, variation_figure
from ..study import STUDY, THESIS
from .length import NOT_LEARNED, TOO_SHORT, solved

PROBE, SENTENCE = 16, 19
PRINTED = {
    trials.GPT: 2.27,
    trials.GPT_LINEAR: 2.20,
    trials.MINIMAL: 0.24,
    trials.PREFIXES: 0.34,
    trials.GPT_PREFIXES: 14.51,
    trials.GPT_PREFIXES_LINEAR: 11.92,
}


def _table(results: Results) -> Table:
    return Table(
        "Attention of the last layer",
        ("model", "least accuracy", "variation", "printed", "on the stack's top", "stack-like seeds"),
        tuple(
            (
                arm,
                readings.least_accuracy(results, arm),
                readings.variation(results, arm),
                PRINTED.get(arm),
                readings.mean(results, arm, "stack_mean"),
                readings.stack_like(results, arm),
            )
            for arm in results
        ),
        note=(
            "Variation between seeds on the probe string, with the jackknife's 95% interval; random "
            f"attention has {readings.random_level(PROBE):.3f}. Stack-like: the last open bracket has "
            "the largest weight for more than 90% of the closed ones."
        ),
    )  # fmt: skip


def _varies(share: float) -> Check:
    """The variation of the GPT-2 models exceeds this share of that of random attention."""

    def check(results: Results) -> Outcome:
        level = share * readings.random_level(PROBE)
        models = [arm for arm in results if readings.config_of(results, arm).model == "gpt"]
        outcome = all_of(
            all_above(
                "variation", {arm: readings.variation(results, arm) for arm in models}, level
            ),
            numbers={"random, or its share": level},
            tables=(_table(results),),
        )
        return only_if(readings.learned(results), NOT_LEARNED, outcome)

    return check


STUDY.claim(
    id="dyck/attention-varies",
    title="Attention of equally good models differs from seed to seed",
    source=f"{THESIS}, Section 2.2.3.2",
    statement=(
        "Two-layer GPT-2 models trained on complete strings, without positions and with linear ones, "
        "differ in their second-layer attention by at least half of what independent random attention "
        "does, on the string that has every type and depth."
    ),
    criterion=(
        "The 95% interval (jackknife over seeds) of the variation minus half of the random one lies "
        "above 0 for both (fails: one lies below)."
    ),
    trials=trials.arms(trials.GPT, trials.GPT_LINEAR),
    figure=heat_maps(trials.GPT, trials.GPT_LINEAR),
    kind="figure",
    check=_varies(0.5),
)

STUDY.claim(
    id="dyck/standard-solved",
    title="Two-layer models solve the language, whatever their attention",
    source=f"{THESIS}, Figure 2.11",
    statement=(
        "Every two-layer GPT-2 model of the comparison, without positions and with linear ones, "
        "answers at least 97% of the closing queries at the lengths of training."
    ),
    criterion="Holds if every seed reaches 0.97.",
    trials=trials.arms(trials.GPT, trials.GPT_LINEAR),
    kind="experiment",
    check=solved,
)


@STUDY.claim(
    id="dyck/uniform-suffices",
    title="Uniform attention solves the language",
    source=f"{THESIS}, footnote 11 of Section 2.2.2.1",
    statement=(
        "Two-layer models whose attention is fixed to be uniform answer at least 99% of the closing "
        "queries at the lengths of training."
    ),
    criterion="Holds if the mean over seeds reaches 0.99, fails if its 95% interval lies below.",
    trials=trials.arms(trials.GPT_UNIFORM),
    kind="experiment",
)
def uniform_suffices(results: Results) -> Outcome:
    accuracy = readings.mean(results, trials.GPT_UNIFORM, "within")
    decided = accuracy.value >= 0.99 or accuracy.high < 0.99
    outcome = all_of(
        at_least("mean accuracy", accuracy.value, 0.99),
        numbers={
            "accuracy": accuracy,
            "on hard queries": readings.mean(results, trials.GPT_UNIFORM, "within_hard"),
        },
    )
    outcome = only_if(decided, "The interval of the accuracy includes 0.99.", outcome)
    return only_if(readings.trained(results), TOO_SHORT, outcome)


@STUDY.claim(
    id="dyck/minimal-varies-less",
    title="A minimal first layer leaves less variation",
    source=f"{THESIS}, Section 2.2.3.2",
    statement=(
        "With a minimal first layer (one-hot pairs of bracket and depth) the variation of attention "
        "between seeds is at most 0.4 of that of two-layer GPT-2 models, on complete strings."
    ),
    criterion=(
        "The 95% interval of 0.4 times the variation of GPT-2 minus that of the minimal models lies "
        "above 0 (fails: below)."
    ),
    trials=trials.arms(trials.MINIMAL, trials.GPT),
    figure=variation_figure(trials.MINIMAL, trials.GPT),
    kind="experiment",
)
def varies_less(results: Results) -> Outcome:
    small, large = (
        readings.variation(results, trials.MINIMAL),
        readings.variation(results, trials.GPT),
    )
    outcome = all_of(
        all_above("GPT-2 minus 2.5 times minimal", readings.difference(large, small, 1 / 0.4)),
        numbers={"minimal": small, "GPT-2": large},
        tables=(_table(results),),
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


STUDY.claim(
    id="dyck/prefixes-vary-more",
    title="On prefixes, attention of two-layer models varies more than at random",
    source=f"{THESIS}, Section 2.2.3.4",
    statement=(
        "Two-layer GPT-2 models trained on prefixes, without positions and with linear ones, differ in "
        "their second-layer attention by more than independent random attention does."
    ),
    criterion=(
        "The 95% interval (jackknife over seeds) of the variation minus the random one lies above 0 "
        "for both (fails: one lies below)."
    ),
    trials=trials.arms(trials.GPT_PREFIXES, trials.GPT_PREFIXES_LINEAR, trials.PREFIXES),
    figure=heat_maps(trials.GPT_PREFIXES, trials.GPT_PREFIXES_LINEAR),
    kind="figure",
    check=_varies(1.0),
)


def _few_stacks(results: Results) -> Outcome:
    shares = {arm: readings.stack_like(results, arm) for arm in results}
    outcome = all_of(
        below("largest share of stack-like seeds", shares, 0.25),
        numbers={f"stack-like seeds, {arm}": share for arm, share in shares.items()},
        tables=(_table(results),),
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


LOOKUPS = (trials.MINIMAL, trials.BARE, trials.MINIMAL_SUM, trials.MINIMAL_YAO)
for _name, _arms, _what, _where in (
    ("standard", (trials.GPT, trials.GPT_LINEAR), "Two-layer GPT-2 models", "Figure 2.11"),
    ("lookup", LOOKUPS, "Models with a minimal first layer, of all four kinds,", "Figure 2.12"),
):
    STUDY.claim(
        id=f"dyck/{_name}-not-stack-like",
        title=f"{_what.split(',')[0]} seldom attend like a stack",
        source=f"{THESIS}, {_where}",
        statement=(
            f"{_what} are stack-like in fewer than a quarter of the seeds: closed brackets of positive "
            "depth attend most to the last open bracket in more than 90% of cases."
        ),
        criterion="Holds if fewer than 25% of the seeds of each kind have a rate above 0.9.",
        trials=trials.arms(*_arms),
        figure=heat_maps(*_arms),
        kind="figure",
        check=_few_stacks,
    )


@STUDY.claim(
    id="dyck/table-2.6",
    title="Variation between seeds grows from layer to layer",
    source=f"{THESIS}, Table 2.6 (two types, depth 4)",
    statement=(
        "In blocks with a residual after the norm, the variation of attention on prefixes of length 19 "
        "is below 0.5 in layer 1, larger in each further layer, and in the top layer above that of "
        "random attention; for two layers and for three."
    ),
    criterion=(
        "All of these differences have 95% intervals (jackknife over seeds) on the stated side; fails "
        "if one lies on the other side."
    ),
    trials=trials.arms(trials.TWO_LAYERS, trials.THREE_LAYERS),
    figure=layer_figure(trials.TWO_LAYERS, trials.THREE_LAYERS),
    kind="experiment",
)
def grows(results: Results) -> Outcome:
    level = readings.random_level(SENTENCE)
    layers = {arm: readings.layer_variations(results, arm) for arm in results}
    steps = {
        f"layer {i + 2} minus layer {i + 1}, {arm}": readings.difference(after, before)
        for arm, each in layers.items()
        for i, (before, after) in enumerate(pairwise(each))
    }
    table = Table(
        "Variation on 40 prefixes of length 19",
        ("model", "layer", "variation"),
        tuple((arm, i + 1, value) for arm, each in layers.items() for i, value in enumerate(each)),
        note=f"Random attention has {level:.3f}.",
    )
    outcome = all_of(
        all_below("first layer", {arm: each[0] for arm, each in layers.items()}, 0.5),
        all_above("step", steps),
        all_above("top layer", {arm: each[-1] for arm, each in layers.items()}, level),
        numbers={f"least accuracy, {arm}": readings.least_accuracy(results, arm) for arm in results}
        | {"random": level},
        tables=(table,),
    )
    return only_if(readings.trained(results), TOO_SHORT, outcome)
