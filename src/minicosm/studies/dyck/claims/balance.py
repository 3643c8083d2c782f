"""The balance condition: its projector and its measure (Sections 2.2.2, 2.2.3.3)."""

from minicosm.lab import Outcome, Results, agrees, all_of, holds, rows

from .. import trials
from ..study import STUDY, THESIS
from .sentences import IDENTITY, power

claim = STUDY.section(__doc__)


@claim(
    id="dyck/balance-projector",
    title="Balance leaves most of the attention matrix free, and every matrix has a nearest balanced one",
    source=f"added to {THESIS}, Definition 2.2.3",
    statement=(
        r"With $\Pi_\Delta$ the projector on the differences $e(\text{open}) - e(\text{closed})$ "
        r"of matched pairs and $\Pi_\Gamma$ that on differences of closed queries of positive "
        r"depth, $M - \Pi_\Delta M \Pi_\Gamma$ is balanced, equals $M$ if $M$ is balanced, and is "
        r"the nearest balanced matrix. With independent embeddings balance is $kD\,(k(D-1) - 1)$ "
        "independent linear conditions on $M$: 40 of 289 for two types, depth 4 and width 17."
    ),
    criterion=(
        f"Errors of at most {power(IDENTITY)} in every world and with every embedding; the rank of "
        "the conditions is that number in every world, and 249 dimensions are free in the first."
    ),
    trials=trials.balance,
    kind="lemma",
)
def projector(results: Results) -> Outcome:
    free = rows(results, "balance dimension")["free"]
    return all_of(
        holds("balance projector", "balance dimension")(results),
        agrees("free dimensions less 249", free[:1], [249] * len(free[:1]), 0.0),
    )


claim(
    id="dyck/violation-of-exact-models",
    title="Exact models have balance violation zero",
    source=f"{THESIS}, Section 2.2.3.3",
    statement=(
        r"For the models of Theorem 2.2.1 with random balanced attention every $\|S\| / P$ is "
        "zero; and adding to all logits of a query a number that depends on the query leaves the "
        r"violation $\beta$ of any model as it is."
    ),
    criterion=f"Errors of at most {power(IDENTITY)}.",
    trials=trials.balance,
    uses=("dyck/theorem-2.2.1-sufficiency",),
    check=holds("violation of an exact model", "violation of shifted logits"),
)
