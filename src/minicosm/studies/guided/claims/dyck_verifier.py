"""Trained bracket generators: their errors out of distribution, and a linear probe that sees them."""

import numpy as np

from minicosm.lab import Estimate, Outcome, Table, Verdict

from ...common.checks import Results
from ...common.statistics import all_above
from ..figures.trained import plane_figure, training_figure
from ..study import STUDY
from .trained_trials import PAPER, column, numbers, sandbox, worst


@STUDY.claim(
    id="guided/dyck-closing-learned",
    title="The bracket generators close brackets right in distribution",
    source=f"{PAPER}, Section 3.2.1.1",
    statement=(
        "Where a bracket closes in a string of the training law, every generator gives the right one "
        "a larger probability than the wrong one in at least 99.9% of cases."
    ),
    criterion="Every generator reaches 0.999.",
    trials=sandbox,
    figure=training_figure,
    kind="experiment",
)
def closing(results: Results) -> Outcome:
    found = column(results, "closing")
    loss = results["sandbox"].arrays["history_loss"][-1]
    return Outcome(
        "holds" if found.min() >= 0.999 else "fails",
        {
            "closing accuracy": Estimate.of(found),
            "least": float(found.min()),
            "loss at the end of training, mean": float(np.mean(loss)),
        },
        (_table(results),),
    )


@STUDY.claim(
    id="guided/dyck-errors-out-of-distribution",
    title="Prompts of another law make the bracket generators err now and then",
    source=f"{PAPER}, Section 3.2.1.1",
    statement=(
        "Where square brackets are as frequent as round ones were in training, nucleus sampling at .9 "
        "completes between 1% and 10% of the prompts wrongly."
    ),
    criterion=(
        "The 95% interval over generators lies within 0.01 and 0.10 (fails: outside). Generators are kept "
        "at the first end of a chunk at which the error without truncation is at most 0.05."
    ),
    trials=sandbox,
    kind="experiment",
)
def out_of_distribution(results: Results) -> Outcome:
    error = Estimate.of(column(results, "ood"))
    verdict: Verdict = "undecided"
    if error.low > 0.01 and error.high < 0.10:
        verdict = "holds"
    elif error.high < 0.01 or error.low > 0.10:
        verdict = "fails"
    return Outcome(verdict, {"share of wrong completions": error}, (_table(results),))


def _table(results: Results) -> Table:
    found = numbers(results)
    names = ("kept_step", "kept_ood", "closing", "asked", "wrong", "ood")
    return Table(
        "The generators",
        (
            "step kept at",
            "error when kept, exact law",
            "closing accuracy",
            "prompts",
            "wrong",
            "share",
        ),
        tuple(zip(*(found[name] for name in names), strict=True)),
        note="Prompts are completed by nucleus sampling at .9 until enough mistakes are found.",
    )


@STUDY.claim(
    id="guided/dyck-linear-verifier",
    title="A linear probe on the hidden state tells wrong prefixes from right ones",
    source=f"{PAPER}, Section 3.2.1.2",
    statement=(
        "On prefixes that it has not seen, a linear probe of the generator's last layer at the last "
        "token is right in at least 80% of cases, half of which end in the first wrong token."
    ),
    criterion="The 95% interval over generators of the accuracy lies above 0.80 (fails: below).",
    trials=sandbox,
    kind="experiment",
)
def linear_verifier(results: Results) -> Outcome:
    every = np.asarray(numbers(results)["probe"], float)
    accuracy = Estimate.of(every.mean(axis=1))
    return Outcome(
        all_above([accuracy], 0.80),
        {
            "accuracy, held out": accuracy,
            "deviation over splits": float(every.std(axis=1, ddof=1).mean()),
            "mistakes of a generator, mean": float(column(results, "mistakes").mean()),
        },
    )


@STUDY.claim(
    id="guided/dyck-errors-cluster",
    title="Hidden states of mistakes form a few clusters",
    source=f"{PAPER}, Figure 3.1",
    statement=(
        "A linear probe separates wrong prefixes from right ones with an accuracy of at least 0.8, and the "
        "mean silhouette of the wrong ones in two to six clusters exceeds that of as many prefixes of "
        "both kinds."
    ),
    criterion=(
        "The 95% interval over generators of the accuracy lies above 0.8 and that of the difference of "
        "silhouettes above 0 (fails: one lies below)."
    ),
    trials=sandbox,
    figure=plane_figure,
    kind="figure",
)
def clusters(results: Results) -> Outcome:
    accuracy = Estimate.of(np.asarray(numbers(results)["probe"], float).mean(axis=1))
    wrong, mixed = (column(results, "silhouette", name) for name in ("errors", "shuffled"))
    gain = Estimate.of(wrong - mixed)
    return Outcome(
        worst([all_above([accuracy], 0.8), all_above([gain])]),
        {
            "silhouette of mistakes minus that of shuffled labels": gain,
            "silhouette of mistakes": Estimate.of(wrong),
            "probe accuracy": accuracy,
        },
    )
