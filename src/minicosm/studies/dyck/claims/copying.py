"""The copy task: attention that looks meaningful and is not used."""

from minicosm.lab import Outcome, Results, Table, above, all_of, at_least, only_if, worst

from ..figures.experiments import copy_figure
from ..readings import column, config_of, cost_of_uniform, favourite, mean, trained
from ..study import STUDY, THESIS
from ..trials import COPY_DEEP, COPY_SHALLOW, arms
from .length import TOO_SHORT

CLASS, POINTS = 0.8, 0.05


def _wanted(results: Results, arm: str) -> float:
    """What the source reports as reached."""
    return 0.9 if config_of(results, arm).layers == 1 else 0.96


def _copies(results: Results) -> list[Outcome]:
    """For every arm whether all of its seeds copy."""
    return [
        above(f"least, {arm}", column(results, arm, "copied"), _wanted(results, arm))
        for arm in results
    ]


@STUDY.claim(
    id="dyck/copy-solved",
    title="Models copy their input",
    source=f"{THESIS}, Figures 2.19 and 2.20",
    statement=(
        "Trained to put out the bracket that they read, one-layer models name more than 90% of the "
        "brackets and four-layer models more than 96%."
    ),
    criterion="Holds if every seed does.",
    trials=arms(COPY_SHALLOW, COPY_DEEP),
    kind="experiment",
)
def solved(results: Results) -> Outcome:
    return only_if(trained(results), TOO_SHORT, all_of(*_copies(results)))


@STUDY.claim(
    id="dyck/misleading-heads",
    title="Some attention maps single out a class of brackets and do not matter",
    source=f"{THESIS}, Figures 2.19 to 2.21",
    statement=(
        "Among models that copy, at least one has a map with more than 80% of its attention on one "
        "class of brackets, and loses less than 5 points of accuracy when every map is replaced by a "
        "uniform one."
    ),
    criterion=(
        "Holds if such a seed exists among those trained; fails if maps with such a class exist and "
        "all of them matter; undecided if no map has one."
    ),
    trials=arms(COPY_SHALLOW, COPY_DEEP),
    figure=copy_figure(COPY_SHALLOW, COPY_DEEP),
    kind="figure",
)
def misleading(results: Results) -> Outcome:
    cells = []
    singled = idle = 0
    for arm in results:
        share = favourite(results, arm)
        single = share > CLASS
        useless = single & (cost_of_uniform(results, arm) < POINTS)
        singled += int(single.sum())
        idle += int(useless.sum())
        cells.append(
            (
                arm, len(share), int(single.sum()), int(useless.sum()), mean(results, arm, "copied"),
                mean(results, arm, "copied_uniform"), worst(share),
            )
        )  # fmt: skip
    table = Table(
        "Attention of models that copy",
        ("model", "seeds", "single out a class", "of these idle", "accuracy", "uniform attention",
         "largest share"),
        tuple(cells),
    )  # fmt: skip
    outcome = all_of(
        at_least("of these, seeds that need none", idle, 1.0),
        numbers={"seeds whose map singles out a class": singled},
        tables=(table,),
    )
    outcome = only_if(singled > 0, "No map singles out a class.", outcome)
    copies = all_of(*_copies(results)).verdict == "holds"
    return only_if(copies, "Some model does not copy its input.", outcome)
