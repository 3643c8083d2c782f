"""How attention differs between seeds, and whether it looks like a stack."""

from minicosm.lab import (
    Check,
    Outcome,
    Results,
    Table,
    all_above,
    all_below,
    all_of,
    all_within,
    below,
    least,
    only_if,
)

from .. import readings, trials
from ..figures.experiments import heat_maps, layer_figure, variation_figure
from ..study import STUDY, THESIS
from .length import NOT_LEARNED, TOO_SHORT, solved

claim = STUDY.section(__doc__)

PROBE, SENTENCE = 16, 19
WAYS = ("distances", "dropped", "renormalised")
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
        "Variation of attention in the last layer",
        ("model", "least accuracy", "variation", "start dropped", "and renormalised", "printed",
         "at length 50"),
        tuple(
            (
                arm,
                readings.least_accuracy(results, arm),
                *(readings.variation(results, arm, way=way) for way in WAYS),
                PRINTED.get(arm),
                readings.variation(results, arm, strings="longer"),
            )
            for arm in results
        ),
        note=(
            "Between seeds on the probe string, with the jackknife's 95% interval: of the maps as they "
            "are, without the start token's row and column, and with rows that sum to one again after "
            f"that. Random attention has {readings.random_level(PROBE):.3f} with the start token and "
            f"{readings.random_level(PROBE, start=False):.3f} without; the source has 2.85. Last column: "
            "on random prefixes of length 50, where random attention has "
            f"{readings.random_level(50):.3f}."
        ),
    )  # fmt: skip


def _stacks(results: Results) -> Table:
    return Table(
        "Attention on the stack's top, last layer",
        ("model", "attention", "is the largest", "stack-like seeds", "without the start"),
        tuple(
            (
                arm,
                readings.mean(results, arm, "stack_mean"),
                readings.mean(results, arm, "stack_rate"),
                readings.stack_like(results, arm),
                readings.stack_like(results, arm, "stack_rate_brackets"),
            )
            for arm in results
        ),
        note=(
            "Of closed brackets of positive depth. Stack-like: the last open bracket has the largest "
            "weight for more than 90% of them, among the start token and all brackets, or (last column) "
            "among the brackets."
        ),
    )


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


claim(
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
        "above 0 for both (fails: one lies below). Maps and random patterns include the start token."
    ),
    trials=trials.arms(trials.GPT, trials.GPT_LINEAR),
    uses=("dyck/theorem-2.2.1-sufficiency", "dyck/standard-solved", "dyck/random-variation"),
    figure=heat_maps(trials.GPT, trials.GPT_LINEAR),
    kind="figure",
    check=_varies(0.5),
)

claim(
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


@claim(
    id="dyck/uniform-suffices",
    title="Uniform attention solves the language",
    source=f"{THESIS}, footnote 11 of Section 2.2.2.1",
    statement=(
        "Two-layer models whose attention is fixed to be uniform answer at least 99% of the closing "
        "queries at the lengths of training."
    ),
    criterion="The 95% interval of the mean over seeds lies above 0.99 (fails: below).",
    trials=trials.arms(trials.GPT_UNIFORM),
    uses=("dyck/corollary-2.2.1",),
    kind="experiment",
)
def uniform_suffices(results: Results) -> Outcome:
    outcome = all_of(
        all_above("accuracy", readings.mean(results, trials.GPT_UNIFORM, "within"), 0.99),
        numbers={"on hard queries": readings.mean(results, trials.GPT_UNIFORM, "within_hard")},
    )
    return only_if(readings.trained(results), TOO_SHORT, outcome)


@claim(
    id="dyck/variation-numbers",
    title="How large the variation of attention is",
    source=f"{THESIS}, Section 2.2.3.2",
    statement=(
        "On the string that has every type and depth the variation of attention between seeds is 2.27 "
        "for two-layer GPT-2 models without positions, 2.20 with linear ones, and 0.24 with a minimal "
        "first layer (embedding 2.55), up to 40%, as much as details of the models that are not printed "
        "may change it."
    ),
    criterion=(
        "The 95% interval (jackknife over seeds) of each variation divided by the printed one lies in "
        "0.6 to 1.4 (fails: one lies outside). The maps include the start token; without it the numbers "
        "are in the table."
    ),
    trials=trials.arms(trials.GPT, trials.GPT_LINEAR, trials.MINIMAL),
    figure=variation_figure(trials.GPT, trials.GPT_LINEAR, trials.MINIMAL),
    kind="experiment",
)
def variation_numbers(results: Results) -> Outcome:
    shares = {
        arm: readings.ratio(readings.variation(results, arm), PRINTED[arm]) for arm in results
    }
    outcome = all_of(
        all_within("of the printed", shares, 0.4, around=1.0),
        numbers={f"variation, {arm}": readings.variation(results, arm) for arm in results},
        tables=(_table(results),),
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


@claim(
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


claim(
    id="dyck/prefixes-vary-more",
    title="On prefixes, attention of two-layer models varies more than at random",
    source=f"{THESIS}, Section 2.2.3.4",
    statement=(
        "Two-layer GPT-2 models trained on prefixes, without positions and with linear ones, differ in "
        "their second-layer attention by more than independent random attention does."
    ),
    criterion=(
        "The 95% interval (jackknife over seeds) of the variation minus the random one lies above 0 "
        "for both (fails: one lies below). Maps and random patterns include the start token."
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
        tables=(_stacks(results),),
    )
    return only_if(readings.learned(results), NOT_LEARNED, outcome)


LOOKUPS = (trials.MINIMAL, trials.BARE, trials.MINIMAL_SUM, trials.MINIMAL_YAO)
for _name, _arms, _what, _where in (
    ("standard", (trials.GPT, trials.GPT_LINEAR), "Two-layer GPT-2 models", "Figure 2.11"),
    ("lookup", LOOKUPS, "Models with a minimal first layer, of all four kinds,", "Figure 2.12"),
):
    claim(
        id=f"dyck/{_name}-not-stack-like",
        title=f"{_what.split(',')[0]} seldom attend like a stack",
        source=f"{THESIS}, {_where}",
        statement=(
            f"{_what} are stack-like in fewer than a quarter of the seeds: closed brackets of positive "
            "depth attend most to the last open bracket in more than 90% of cases."
        ),
        criterion=(
            "Holds if fewer than 25% of the seeds of each kind have a rate above 0.9, the start token "
            "being among what is attended to."
        ),
        trials=trials.arms(*_arms),
        figure=heat_maps(*_arms),
        kind="figure",
        check=_few_stacks,
    )


ENOUGH_SEEDS = 4


@claim(
    id="dyck/table-2.6",
    title="Variation between seeds grows from layer to layer",
    source=f"{THESIS}, Table 2.6",
    statement=(
        r"In blocks with a residual after the norm, $x + \mathrm{N}(\mathrm{attention}(x))$, "
        "trained to more than 97% accuracy, the variation of attention on prefixes of length 19 is "
        "below 0.5 in layer 1, larger in each further layer, and in the top layer above that of "
        "random attention; for two layers and for three (with two types and depth 4; at the size "
        "of the source also three types and depth 8)."
    ),
    criterion=(
        "All of these differences have 95% intervals (jackknife over seeds) on the stated side; fails "
        "if one lies on the other side. Seeds below 97% are left out, as in the source; with fewer than "
        f"{ENOUGH_SEEDS} left it is undecided. Maps and random patterns include the start token."
    ),
    trials=trials.arms(*trials.TABLE),
    figure=layer_figure(*trials.TABLE),
    kind="experiment",
)
def grows(results: Results) -> Outcome:
    level = readings.random_level(SENTENCE)
    layers = {arm: readings.layer_variations(results, arm) for arm in results}
    steps = {
        f"layer {i + 2} minus layer {i + 1}, {arm}": step
        for arm in results
        for i, step in enumerate(readings.layer_steps(results, arm))
    }
    learned = {arm: len(readings.solved_seeds(results, arm)) for arm in results}
    ways = {
        arm: [readings.layer_variations(results, arm, way) for way in WAYS[1:]] for arm in results
    }
    table = Table(
        "Variation on 40 prefixes of length 19",
        ("model", "seeds that learned", "layer", "variation", "start dropped", "and renormalised"),
        tuple(
            (arm, learned[arm], i + 1, value, *(way[i] for way in ways[arm]))
            for arm, each in layers.items()
            for i, value in enumerate(each)
        ),
        note=(
            f"Random attention has {level:.3f} with the start token, "
            f"{readings.random_level(SENTENCE, start=False):.3f} without; the source has 3.33."
        ),
    )
    outcome = all_of(
        all_below("first layer", {arm: each[0] for arm, each in layers.items()}, 0.5),
        all_above("step", steps),
        all_above("top layer", {arm: each[-1] for arm, each in layers.items()}, level),
        numbers={f"seeds that learned, {arm}": count for arm, count in learned.items()}
        | {"random": level},
        tables=(table,),
    )
    enough = readings.trained(results) and least(learned) >= ENOUGH_SEEDS
    return only_if(enough, "Too few models have learned the language.", outcome)
