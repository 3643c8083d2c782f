"""How the attention of exact models looks (Section 2.2.3.2)."""

from minicosm.lab import (
    Outcome,
    Results,
    Table,
    above,
    agrees,
    all_of,
    at_most,
    below,
    only_if,
    rows,
    worst,
)

from .. import trials
from ..figures import theory as figures
from ..study import STUDY, THESIS
from .sentences import ROUNDING, power

claim = STUDY.section(__doc__)

STATED = {0.5: 0.72, 1.0: 2.6, 2.0: 7.4, 4.0: 14.1}
EXACT_UP_TO = 2.0


def _by_spread(results: Results, name: str) -> dict[float, list[float]]:
    """One number of every draw, by the spread of the attention matrix."""
    models = rows(results, "exact models")
    pairs = list(zip(models["spread"], models[name], strict=True))
    return {spread: [value for other, value in pairs if other == spread] for spread in STATED}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


@claim(
    id="dyck/variation-of-exact-models",
    title="Exact models vary in attention as much as random patterns do",
    source=f"added to {THESIS}, Section 2.2.3.2",
    statement=(
        "Forty exact models with projected Gaussian attention matrices of deviation 0.5, 1, 2 and 4 "
        "have mean attention variation 0.72, 2.6, 7.4 and 14.1 on [[[[]]]](((()))): for 2 and above "
        "more than random patterns, which have 3.0."
    ),
    criterion=(
        "The mean over draws of forty is within 15% of each number; up to deviation 2 the models "
        f"tested are exact to {power(ROUNDING)} (at 4 the read-out's threshold is too small for "
        "double precision)."
    ),
    trials=trials.optima,
    uses=("dyck/theorem-2.2.1-sufficiency", "dyck/balance-projector", "dyck/random-variation"),
    figure=figures.variation,
)
def variation(results: Results) -> Outcome:
    means = {spread: _mean(v) for spread, v in _by_spread(results, "variation").items()}
    errors, stack = _by_spread(results, "error"), _by_spread(results, "stack_like")
    random = rows(results, "random patterns")["formula"][1]
    table = Table(
        "exact models by deviation of the attention matrix",
        ("deviation", "mean variation", "stated", "largest error", "share that is stack-like"),
        tuple((s, means[s], STATED[s], worst(errors[s]), _mean(stack[s])) for s in STATED),
    )
    shares = [means[spread] / stated for spread, stated in STATED.items()]
    tested = [value for spread, v in errors.items() if spread <= EXACT_UP_TO for value in v]
    outcome = all_of(
        agrees("largest relative distance", shares, [1] * len(shares), 0.15),
        at_most("largest error", tested, ROUNDING),
        above("variation at 2", means[2.0], random),
        numbers={f"variation at {spread:g}": value for spread, value in means.items()}
        | {"random patterns": random},
        tables=(table,),
    )
    models = results["suite"].config.models
    return only_if(models >= 40, f"{models} models of a spread are no forty.", outcome)


@claim(
    id="dyck/attention-of-exact-models",
    title="Exact models need not look at the stack",
    source=f"{THESIS}, Theorem 2.2.1 and Section 2.2.3.2",
    statement=(
        "Of exact models with random balanced attention fewer than a quarter attend most, at nine of "
        "ten closed brackets of positive depth, to the last bracket still open."
    ),
    criterion="The share with rate above 0.9 on [[[[]]]](((()))) is below 25% at every deviation.",
    trials=trials.optima,
    uses=("dyck/theorem-2.2.1-sufficiency", "dyck/balance-projector"),
    figure=figures.attention,
)
def attention(results: Results) -> Outcome:
    shares = {spread: _mean(v) for spread, v in _by_spread(results, "stack_like").items()}
    named = {f"share at deviation {spread:g}": share for spread, share in shares.items()}
    return all_of(below("largest share", shares, 0.25), numbers=named)


@claim(
    id="dyck/random-variation",
    title="The variation of random patterns in closed form",
    source=f"added to {THESIS}, Section 2.2.3.2",
    statement=(
        "Independent causal patterns whose rows are uniform on the simplex have mean variation "
        r"$2\,[2 (H_{N+1} - 1) - H_N]$, $H$ being harmonic numbers: 3.00 for 16 and 3.39 for 20 "
        "tokens."
    ),
    criterion="Within 4 standard errors of the mean of sampled patterns for 5, 16 and 20 tokens.",
    trials=trials.optima,
    kind="lemma",
)
def random_patterns(results: Results) -> Outcome:
    patterns = rows(results, "random patterns")
    digits = {16: 2.997, 20: 3.386}
    at = [i for i, length in enumerate(patterns["length"]) if length in digits]
    stated = [digits[patterns["length"][i]] for i in at]
    formula = [patterns["formula"][i] for i in at]
    return all_of(
        at_most("largest deviation in standard errors", patterns["deviation"], 4.0),
        agrees("largest distance from the digits stated", formula, stated, 5e-4),
        numbers={"formula at 16": formula[0], "spread of one pair": patterns["spread"][1]},
    )
