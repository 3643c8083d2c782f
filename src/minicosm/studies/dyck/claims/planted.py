"""Proposition 2.2.1: attention maps that mean nothing."""

from typing import Any

from minicosm.lab import Outcome, ProfileName, Trial

from ...common.checks import Results, both, identity
from ..figures.pruning import planted_maps
from ..study import STUDY

PAPER = "Wen et al. 2023"
UNCHANGED = 1e-12


def planted(profile: ProfileName, seed: int) -> dict[str, Trial]:
    from ..suites import planted as suite

    models, strings = {"smoke": (3, 4), "laptop": (30, 100), "paper": (200, 1000)}[profile]
    worlds = ((2, 4),) if profile == "smoke" else ((2, 4), (3, 3))
    return {"suite": Trial(suite.run, suite.Planted(seed, models, strings, worlds))}


STUDY.claim(
    id="dyck/proposition-2.2.1",
    title="For any attention there is a head that ignores it",
    source=f"{PAPER}, Proposition 2.2.1",
    statement=(
        "For all key and query matrices of a Transformer there is a head (zero) for which its output "
        "is zero on every input, so the output need not depend on any attention pattern."
    ),
    criterion="The output is exactly zero on every input, for random models and random logits.",
    trials=planted,
    kind="lemma",
)(identity("proposition-2.2.1", tolerance=0.0))

STUDY.claim(
    id="dyck/planted-layer",
    title="Any attention map can be planted in any model without a trace in its output",
    source=f"stronger form of {PAPER}, Proposition 2.2.1",
    statement=(
        "To any Transformer of the theory one layer can be added, in any place, that attends by any "
        "logits x_key^T M x_query and leaves the output as it is: W_V = 0 and an MLP that is the "
        "identity."
    ),
    criterion=(
        f"Outputs agree to {UNCHANGED:g} (relative to their largest entry) and the planted map is the "
        f"softmax of the wanted logits to {UNCHANGED:g}, on random models, logits and places."
    ),
    trials=planted,
)(
    both(
        identity("planted", tolerance=UNCHANGED),
        identity("planted-map", tolerance=UNCHANGED),
    )
)


def _pattern(statement: str) -> Any:
    def check(results: Results) -> Outcome:
        rows = results["suite"].numbers[statement]
        holds = (
            max(rows["error"]) <= UNCHANGED
            and min(rows["accuracy"]) == 1
            and min(rows["score"]) >= 0.99
        )
        return Outcome(
            "holds" if holds else "fails",
            {
                "largest change of the output": max(rows["error"]),
                "least attention on what the map shows": min(rows["score"]),
                "the same under uniform attention": sum(rows["uniform"]) / len(rows["uniform"]),
                "share of brackets copied": min(rows["accuracy"]),
                "strings": len(rows["score"]),
            },
        )

    return check


_CRITERION = (
    f"On every string the output is that without the map to {UNCHANGED:g}, every bracket is copied, "
    "and the attention on what the map shows is at least 0.99."
)

STUDY.claim(
    id="dyck/planted-stack",
    title="A map that tracks the stack perfectly, in a model that only copies",
    source=f"stronger form of {PAPER}, Proposition 2.2.1",
    statement=(
        "A model that copies its input through the residual stream can have a layer in which every "
        "bracket attends to the last bracket still open, as if it kept a stack."
    ),
    criterion=_CRITERION,
    trials=planted,
    kind="control",
    figure=planted_maps,
)(_pattern("stack-pattern"))

STUDY.claim(
    id="dyck/planted-closed",
    title="A map that reads closed brackets only, in a model that only copies",
    source=f"stronger form of {PAPER}, Proposition 2.2.1 and Figure 2.20",
    statement=(
        "The same with a layer in which every position attends to the closed brackets before it: the "
        "pattern that was seen in trained copying models and does not inform their output."
    ),
    criterion=_CRITERION,
    trials=planted,
    kind="control",
    figure=planted_maps,
)(_pattern("closed-pattern"))
