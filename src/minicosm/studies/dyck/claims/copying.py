"""The copy task: attention that looks meaningful and is not used."""

from minicosm.lab import Outcome, Results, Table, above, all_of, at_least, only_if, worst

from ..figures.experiments import copy_figure
from ..readings import column, config_of, cost_of_uniform, favourite, mean, trained
from ..study import STUDY, THESIS
from ..trials import COPY_DEEP, COPY_SHALLOW, arms
from .length import TOO_SHORT

claim = STUDY.section(__doc__)

CLASS, POINTS = 0.8, 0.05
ENOUGH = 40  # seeds: if 8% were so, none among them would have a chance of 4%


def _wanted(results: Results, arm: str) -> float:
    """What the source reports as reached."""
    return 0.9 if config_of(results, arm).layers == 1 else 0.96


def _copies(results: Results) -> list[Outcome]:
    """For every arm whether all of its seeds copy."""
    return [
        above(f"least, {arm}", column(results, arm, "copied"), _wanted(results, arm))
        for arm in results
    ]


@claim(
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


@claim(
    id="dyck/misleading-heads",
    title="Some attention maps single out a class of brackets and do not matter",
    source=f"{THESIS}, Figures 2.19 to 2.21",
    statement=(
        "Among models that copy, at least one has a map with more than 80% of its attention on one "
        "class of brackets (closed, open, or of one type), over the queries that see brackets inside and "
        "outside of the class, and loses less than 5 points of accuracy when every map is replaced by a "
        "uniform one."
    ),
    criterion=(
        f"Holds if such a seed exists among those trained. Fails if there is none among {ENOUGH} seeds or "
        "more, so that fewer than 8% of models are like that (95% confidence); undecided if there is none "
        "among fewer. The start token counts as attended to; shares among the brackets are shown beside."
    ),
    trials=arms(COPY_SHALLOW, COPY_DEEP),
    uses=("dyck/proposition-2.2.1", "dyck/copy-solved"),
    figure=copy_figure(COPY_SHALLOW, COPY_DEEP),
    kind="figure",
)
def misleading(results: Results) -> Outcome:
    cells = []
    seeds = found = 0
    for arm in results:
        share, among = favourite(results, arm), favourite(results, arm, "_brackets")
        idle = cost_of_uniform(results, arm) < POINTS
        useless = (share > CLASS) & idle
        seeds += len(share)
        found += int(useless.sum())
        cells.append(
            (
                arm, len(share), int((share > CLASS).sum()), int(useless.sum()), worst(share),
                int(((among > CLASS) & idle).sum()), worst(among), mean(results, arm, "copied"),
                mean(results, arm, "copied_uniform"),
            )
        )  # fmt: skip
    table = Table(
        "Attention of models that copy",
        ("model", "seeds", "single out a class", "of these idle", "largest share",
         "idle, among brackets", "largest share among brackets", "accuracy", "uniform attention"),
        tuple(cells),
    )  # fmt: skip
    outcome = all_of(
        at_least("seeds that single out a class and need none", found, 1.0),
        numbers={"seeds": seeds},
        tables=(table,),
    )
    decided = found > 0 or seeds >= ENOUGH
    outcome = only_if(decided, "No map singles out a class, of too few.", outcome)
    copies = all_of(*_copies(results)).verdict == "holds"
    return only_if(copies, "Some model does not copy its input.", outcome)
