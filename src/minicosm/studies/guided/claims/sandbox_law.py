"""The Dyck sandbox: its law (Definition 3.2.1) and how different ideal completions are (Section 3.2.1.9)."""

from minicosm.lab import Outcome, Results, all_of, holds, rows

from ..readings import selected, table
from ..study import IDENTITY, STUDY, THESIS
from ..trials import sandbox_law

claim = STUDY.section(__doc__)

claim(
    id="guided/equation-3.4",
    title="Equations 3.3 and 3.4 are the law of the process of Remark 3.2.1",
    source=(
        f"{THESIS}, Definition 3.2.1 and Remark 3.2.1, with $d(w_{{1:i}}) < D - i$ in Equation 3.4"
    ),
    statement=(
        "Weighing a balanced string by $q$ for each opening at depth above one and $1 - q$ for "
        "each closing with $d(w_{1:i}) < D - i$, those that were not forced, the weights sum to "
        "one and are the probabilities of the process."
    ),
    criterion=IDENTITY,
    trials=sandbox_law,
    check=holds("Equation 3.4"),
    kind="lemma",
)

STATED = range(25, 32)  # brackets of the prompts that Section 3.2.1.1 describes


def _ideal(results: Results, lengths: range) -> float:
    """How many of ten ideal completions differ, for prompts of uniform length."""
    data = rows(results, "ideal diversity")
    values = [selected(data, "distinct", prefix=length)[0] for length in lengths]
    return float(sum(values)) / len(lengths)


@claim(
    id="guided/ideal-diversity",
    title="Ideal completions are as different whichever bracket is the frequent one",
    source=f"added to {THESIS}, Section 3.2.1.9",
    statement=(
        "The expected number of different ones among ten ideal completions is the same for $p = "
        "0.2$ and $p = 0.8$: what is ideal for prompts out of distribution is ideal for those of "
        "the training law."
    ),
    criterion="The same to $10^{-9}$ for prompts of 18 to 31 of 32 brackets.",
    trials=sandbox_law,
    uses=("guided/equation-3.4",),
    kind="lemma",
)
def ideal_diversity(results: Results) -> Outcome:
    data = rows(results, "ideal diversity")
    columns = {"prefix": data["prefix"], "distinct of ten": data["distinct"]}
    return all_of(
        holds("ideal diversity")(results),
        numbers={
            "mean for prompts of 25 to 31": _ideal(results, STATED),
            "mean for prompts of 18 to 31": _ideal(results, range(18, 32)),
        },
        tables=(table("ideal diversity", columns),),
    )
