"""Proposition 2.2.1: attention maps that mean nothing."""

from minicosm.lab import Outcome, Results, all_of, holds, least, rows

from .. import trials
from ..figures.pruning import planted_maps
from ..study import STUDY, THESIS
from .sentences import UNCHANGED, power

claim = STUDY.section(__doc__)

claim(
    id="dyck/proposition-2.2.1",
    title="For any attention there is a head that ignores it",
    source=f"{THESIS}, Proposition 2.2.1",
    statement=(
        "For all key and query matrices of a Transformer there is a head (zero) for which its output "
        "is zero on every input, so the output need not depend on any attention pattern."
    ),
    criterion="The output is exactly zero on every input, for random models and random logits.",
    trials=trials.planted,
    kind="lemma",
    check=holds("Proposition 2.2.1"),
)

claim(
    id="dyck/planted-layer",
    title="Any attention map can be planted in any model without a trace in its output",
    source=f"stronger form of {THESIS}, Proposition 2.2.1",
    statement=(
        "To any Transformer of the theory one layer can be added, in any place, that attends by "
        r"any logits $x_{\mathrm{key}}^\top M x_{\mathrm{query}}$ and leaves the output as it is: "
        "$W_V = 0$ and an MLP that is the identity."
    ),
    criterion=(
        f"Outputs agree to {power(UNCHANGED)} (relative to their largest entry) and the planted "
        f"map is the softmax of the wanted logits to {power(UNCHANGED)}, on random models, logits "
        "and places."
    ),
    trials=trials.planted,
    check=holds("planted layer"),
)


@claim(
    id="dyck/planted-patterns",
    title="Maps that track the stack or read closed brackets only, in a model that only copies",
    source=f"stronger form of {THESIS}, Proposition 2.2.1 and Figure 2.20",
    statement=(
        "A model that copies its input through the residual stream can have a layer in which every "
        "bracket attends to the last bracket still open, as if it kept a stack; or one in which every "
        "position attends to the closed brackets before it, the pattern that was seen in trained "
        "copying models."
    ),
    criterion=(
        f"On every string the output is that without the map to {power(UNCHANGED)}, every bracket "
        "is copied, and the attention on what the map shows is at least 0.99."
    ),
    trials=trials.planted,
    uses=("dyck/planted-layer",),
    kind="control",
    figure=planted_maps,
)
def patterns(results: Results) -> Outcome:
    names = ("stack pattern", "closed pattern")
    scores = {f"least attention, {n}": least(rows(results, n)["score"]) for n in names}
    return all_of(holds(*names)(results), numbers=scores)
