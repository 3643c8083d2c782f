"""The copy task: attention that looks meaningful and is not used."""

from typing import Any

import numpy as np

from minicosm.lab import Outcome, Table, Verdict

from ...common.checks import Results
from ..figures.experiments import copy_figure
from ..study import STUDY
from .trials import arms, column, mean

SOURCE = "Wen et al. 2023"
DEEP, SHALLOW = "copy, 4 layers", "copy, 1 layer"
WANTED = {SHALLOW: 0.9, DEEP: 0.96}
CLASS, POINTS = 0.8, 0.05


@STUDY.claim(
    id="dyck/copy-solved",
    title="Models copy their input",
    source=f"{SOURCE}, Figures 2.19 and 2.20",
    statement=(
        "Trained to put out the bracket that they read, one-layer models name more than 90% of the "
        "brackets and four-layer models more than 96%."
    ),
    criterion="Holds if every seed does.",
    trials=arms(SHALLOW, DEEP),
    kind="experiment",
)
def _solved(results: Results) -> Outcome:
    least = {arm: float(column(results, arm, "copied").min()) for arm in results}
    verdict: Verdict = "holds" if all(least[arm] > WANTED[arm] for arm in least) else "fails"
    return Outcome(verdict, {f"least, {arm}": value for arm, value in least.items()})


def favourite(results: Results, arm: str) -> np.ndarray:
    """For each seed, the largest share of attention that some layer gives to one class of tokens:
    closed, open, or of one type."""
    kinds = [column(results, arm, name).max(axis=1) for name in ("on_closed", "on_open", "on_type")]
    return np.max(kinds, axis=0)


@STUDY.claim(
    id="dyck/misleading-heads",
    title="Some attention maps single out a class of brackets and do not matter",
    source=f"{SOURCE}, Figures 2.19 to 2.21",
    statement=(
        "Among models that copy, at least one has a map with more than 80% of its attention on one class "
        "of brackets, and loses less than 5 points of accuracy when every map is replaced by a uniform "
        "one."
    ),
    criterion=(
        "Holds if such a seed exists among those trained; fails if maps with such a class exist and all "
        "of them matter; undecided if no map has one."
    ),
    trials=arms(SHALLOW, DEEP),
    figure=copy_figure(SHALLOW, DEEP),
    kind="figure",
)
def _misleading(results: Results) -> Outcome:
    rows: list[tuple[Any, ...]] = []
    singled = idle = 0
    for arm in results:
        share = favourite(results, arm)
        loss = column(results, arm, "copied") - column(results, arm, "copied_uniform")
        single = share > CLASS
        singled += int(single.sum())
        idle += int((single & (loss < POINTS)).sum())
        rows.append(
            (
                arm, len(share), int(single.sum()), int((single & (loss < POINTS)).sum()),
                mean(results, arm, "copied"), mean(results, arm, "copied_uniform"),
                float(share.max()),
            )
        )  # fmt: skip
    verdict: Verdict = "holds" if idle else "fails" if singled else "undecided"
    table = Table(
        "Attention of models that copy",
        ("model", "seeds", "single out a class", "of these idle", "accuracy", "uniform attention",
         "largest share"),
        tuple(rows),
    )  # fmt: skip
    numbers = {
        "seeds whose map singles out a class": singled,
        "of these, seeds that need none": idle,
    }
    return Outcome(verdict, numbers, (table,))
