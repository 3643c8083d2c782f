"""Two stages of training: Sections 2.1.4.1 and 2.1.6.1, Figures 2.4 and 2.9."""

import numpy as np

from minicosm.lab import (
    Outcome,
    Results,
    Table,
    above,
    all_of,
    at_least,
    at_most,
    least,
    only_if,
)

from ..figures.dynamics import draw_deep, draw_gradients, draw_two_stages
from ..readings import at_step, doubled, if_full
from ..study import STUDY, THESIS
from ..trials import deep, gradients, trained

claim = STUDY.section(__doc__)

SQUARED, CROSS, DEFAULTS = (
    "two stages, squared",
    "two stages, cross-entropy",
    "defaults, squared",
)
GROWN, FLAT, LATER = 20.0, 1.25, 5.0


@claim(
    id="topics/gradient-scaling",
    title="Near zero the gradient of values is larger by the square of the size",
    source=f"{THESIS}, Section 2.1.6.1",
    statement=(
        r"If all matrices start at size $\sigma$, $\nabla_{W^K} L$ has the factors $W^Q$ and $W^V$ and "
        r"$\nabla_{W^V} L$ none: the ratio of their norms grows as $\sigma^{-2}$; the same for queries."
    ),
    criterion=(
        r"$\|\nabla_{W^V}\| / \|\nabla_{W^K}\| \cdot \sigma^2$ varies by at most 5% over "
        r"$\sigma = 10^{-1}, \dots, 10^{-4}$ in every seed, and so with queries (cross-entropy)."
    ),
    trials=gradients,
    figure=draw_gradients,
    kind="relation",
)
def scaling(results: Results) -> Outcome:
    ratios = results["gradients"].numbers["ratios"]
    spread = {
        name: [np.ptp(row) / np.mean(row) for row in np.asarray(rows, float)]
        for name, rows in ratios.items()
    }
    return all_of(
        at_most("largest relative variation, keys", spread["key"], 0.05),
        at_most("largest relative variation, queries", spread["query"], 0.05),
        numbers={"ratio at the smallest size, first seed": ratios["key"][0][-1]},
    )


@claim(
    id="topics/figure-2.4",
    title="Values are learned first, keys and queries later",
    source=f"{THESIS}, Section 2.1.4.1, Figure 2.4",
    statement=(
        r"From a start near zero training has two stages: $\|W^V\|$ grows while $\|W^K\|$ and $\|W^Q\|$ stay "
        r"close to 0, then these grow while $\|W^V\|$ stays relatively flat."
    ),
    criterion=(
        r"With $t_1$ the first step at which $\|W^K\|$ has doubled: $\|W^V(t_1)\| \ge 20 \|W^V(0)\|$, on "
        r"$[t_1, 4 t_1]$ the largest $\|W^V\|$ is at most 1.25 times the smallest, and $\|W^K\|$ grows at "
        r"least 5 times; the same with $W^Q$; in every seed (squared loss, SGD)."
    ),
    trials=trained(SQUARED),
    figure=draw_two_stages,
    kind="figure",
    uses=("topics/gradient-scaling",),
)
def two_stages(results: Results) -> Outcome:
    found = results[SQUARED]
    steps, value = np.asarray(found.numbers["steps"], float), found.arrays["value"]
    parts, numbers = [], {}
    for name in ("key", "query"):
        norms = found.arrays[name]
        when = doubled(steps, norms)
        ends = 4 * when
        within = (steps[:, None] >= when) & (steps[:, None] <= ends)
        late = ends <= steps[-1]
        flat = [
            np.max(norm[inside]) / np.min(norm[inside]) if ok else np.nan
            for norm, inside, ok in zip(value.T, within.T, late, strict=True)
        ]
        growth = at_step(steps, norms, np.where(late, ends, np.nan)) / at_step(steps, norms, when)
        parts += [
            at_least(
                f"growth of values until {name} doubles",
                at_step(steps, value, when) / value[0],
                GROWN,
            ),
            at_most(f"variation of values after that ({name})", flat, FLAT),
            at_least(f"growth of {name} after that", growth, LATER),
        ]
        numbers[f"steps until {name} doubles"] = least(when)
    return if_full(results, all_of(*parts, numbers=numbers))


@claim(
    id="topics/two-stage-cross-entropy",
    title="With cross-entropy values come first too, and do not level off",
    source=f"added to {THESIS}, Section 2.1.4.1, Figure 2.4",
    statement=(
        r"With cross-entropy $\|W^V\|$ has grown 20 times when $\|W^K\|$ has doubled, and more than doubles "
        "again afterwards: the delay is there, the plateau is not."
    ),
    criterion=(
        r"$\|W^V(t_1)\| \ge 20 \|W^V(0)\|$ and $\|W^V(4 t_1)\| > 2 \|W^V(t_1)\|$ in every seed (SGD)."
    ),
    trials=trained(CROSS),
    figure=draw_two_stages,
    kind="control",
)
def cross_entropy(results: Results) -> Outcome:
    found = results[CROSS]
    steps, value = np.asarray(found.numbers["steps"], float), found.arrays["value"]
    when = doubled(steps, found.arrays["key"])
    late = np.where(4 * when <= steps[-1], 4 * when, np.nan)
    then = at_step(steps, value, when)
    outcome = all_of(
        at_least("growth of values until keys double", then / value[0], GROWN),
        above("growth of values after that", at_step(steps, value, late) / then, 2.0),
        numbers={"steps until keys double": least(when)},
    )
    return if_full(results, outcome)


@claim(
    id="topics/two-stage-defaults",
    title="At default settings there are no two stages",
    source=f"{THESIS}, Section 2.1.6.1",
    statement=(
        "The process is not usually visibly two-stage with common default hyperparameters: with Adam at "
        "0.001 from a start of 0.02 keys double no later than twice the step at which values do."
    ),
    criterion="In every seed, within 500 steps (squared loss); undecided where values never double.",
    trials=trained(DEFAULTS),
    kind="experiment",
)
def defaults(results: Results) -> Outcome:
    found = results[DEFAULTS]
    steps = found.numbers["steps"]
    keys, values = (doubled(steps, found.arrays[name]) for name in ("key", "value"))
    outcome = all_of(
        at_most("step of keys over step of values", keys / values, 2.0),
        numbers={"keys double at": least(keys), "values double at": least(values)},
    )
    known = bool(np.isfinite(values).all())
    return if_full(results, only_if(known, "The values of a run have not doubled.", outcome))


def _deep(results: Results, outcome: Outcome) -> Outcome:
    config = results["deep"].config
    enough = config.steps >= 1000 and config.layers >= 4
    return only_if(enough, "The model has fewer than 4 layers or 1,000 steps.", outcome)


@claim(
    id="topics/figure-2.9-first",
    title="In a deeper model values move first in every layer",
    source=f"{THESIS}, Section 2.1.6.1, Figure 2.9",
    statement=(
        "In a Transformer of 4 layers and 4 heads on text, whose keys, queries and values start near zero, "
        "the values of all layers grow much earlier than keys and queries."
    ),
    criterion=(
        "In every layer and seed the step at which values have doubled is at most a tenth of those of keys "
        "and of queries; what has not doubled by the end counts as later."
    ),
    trials=deep,
    figure=draw_deep,
    kind="figure",
)
def deep_first(results: Results) -> Outcome:
    steps, arrays = results["deep"].numbers["steps"], results["deep"].arrays
    when = {name: doubled(steps, arrays[name]) for name in ("key", "query", "value")}
    # A step that was never reached is later than the last: at least one measurement after it.
    last = 2 * steps[-1] - steps[-2]
    parts = [
        at_most(
            f"step of values over step of {name}",
            when["value"] / np.where(np.isinf(when[name]), last, when[name]),
            0.1,
        )
        for name in ("key", "query")
    ]
    numbers = {"values double at": least(when["value"]), "keys double first at": least(when["key"])}
    return _deep(results, all_of(*parts, numbers=numbers, tables=(_steps_table(when),)))


def _steps_table(when: dict[str, np.ndarray]) -> Table:
    layers = when["value"].shape[1]
    lines = tuple(
        (layer + 1, *(float(when[name][:, layer].mean()) for name in ("value", "key", "query")))
        for layer in range(layers)
    )
    return Table("steps until norms have doubled, mean of seeds", ("layer", "V", "K", "Q"), lines)


@claim(
    id="topics/figure-2.9-later",
    title="Later its keys and queries grow",
    source=f"{THESIS}, Section 2.1.6.1, Figure 2.9",
    statement="In Stage 2 the norms of keys and queries start to increase significantly.",
    criterion=(
        "In every seed keys and queries of at least 2 of the 4 layers have grown to 3 times their start by "
        "the end of training."
    ),
    trials=deep,
    figure=draw_deep,
    kind="figure",
)
def deep_later(results: Results) -> Outcome:
    arrays = results["deep"].arrays
    growth = np.minimum(*(arrays[name][-1] / arrays[name][0] for name in ("key", "query")))
    second = np.sort(growth, axis=1)[:, -2]
    turned = arrays["turned"]
    outcome = all_of(
        at_least("growth of the second layer by growth", second, 3.0),
        numbers={
            "rotation of values in ten steps, first": float(turned[1].mean()),
            "rotation of values in ten steps, last": float(turned[-1].mean()),
        },
    )
    return _deep(results, outcome)
