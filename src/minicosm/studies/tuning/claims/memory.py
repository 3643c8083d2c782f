"""Section 4.1: an attention head on worlds with memory."""

from minicosm.lab import Estimate, Outcome

from ...common.checks import COUNTED, EXACT, TOLERANCE, Results, always, identity, never_close
from ...common.figures import identity_figure
from ..study import STUDY
from .checks import IDENTITY, PAPER, suite

MEMORY = suite("memory")
SEARCH = suite("memory", "search", factor=3)


@STUDY.claim(
    id="memory/theorem-4.3",
    title="An attention head finds the memory where states are recoverable",
    source=f"{PAPER}, Theorem 4.3",
    statement=(
        "Under Assumptions 4.2 and 3.2 there is an attention head whose output on every x in R is "
        "mean_{i in I^} G_i(x)[x_i] mu.P[M_j*|x], where I^ are the positions i at which "
        "supp P[H_i|x_-i] lies in H*; so it gives the label of every x in R."
    ),
    criterion=IDENTITY + " The attended set is I^ on every x in R (near ties counted apart).",
    trials=MEMORY,
    figure=identity_figure("suite", "theorem-4.3", TOLERANCE),
)
def theorem_4_3(results: Results) -> Outcome:
    outcome = identity("theorem-4.3")(results)
    rows = results["suite"].numbers["theorem-4.3"]
    share = sum(rows["sequences"]) / (sum(rows["sequences"]) + sum(rows["skipped"]))
    return Outcome(outcome.verdict, {**outcome.numbers, "share of sampled x in R": share})


STUDY.claim(
    id="memory/lemma-d.2",
    title="The head attends exactly to the sure positions",
    source=f"{PAPER}, Lemma D.2",
    statement="For x in R the attended set I equals I^ = {i: supp P[H_i|x_-i] in H*}.",
    criterion=COUNTED
    + " Positions that are unsure by less than the tie tolerance of 1e-9 may be attended too.",
    trials=MEMORY,
    kind="lemma",
)(identity("lemma-d.2", tolerance=0.0))

STUDY.claim(
    id="memory/claim-d.3",
    title="Keys and values read joint laws off the outputs",
    source=f"{PAPER}, Claim D.3",
    statement=(
        "(Theta1 G_i)_(j*,s) = Pr(H_i=(j*,s)|x_-i), ||Theta1 G_i||_1 = 1 and "
        "(Theta2_s G_i)_m = Pr(M_j*=m, H_i=(j*,s)|x_-i) at every position of every possible x."
    ),
    criterion=EXACT,
    trials=MEMORY,
    kind="lemma",
    figure=identity_figure("suite", "claim-d.3", TOLERANCE),
)(identity("claim-d.3"))

STUDY.claim(
    id="memory/lemma-d.4",
    title="The value is the label's score times a positive number",
    source=f"{PAPER}, Lemma D.4",
    statement="For x in R and i in I^ the value is G_i(x)[x_i] mu.P[M_j*|x].",
    criterion=EXACT,
    trials=MEMORY,
    kind="lemma",
    figure=identity_figure("suite", "lemma-d.4", TOLERANCE),
)(identity("lemma-d.4"))

STUDY.claim(
    id="memory/proposition-d.1",
    title="Outputs are mixtures of emission columns",
    source=f"{PAPER}, Proposition D.1",
    statement="P[X_i|x_-i] = sum_{m,j,s} W[:,m,j,s] Pr(M_j=m, H_i=(j,s)|x_-i).",
    criterion=EXACT
    + " One side from whole sequences, the other by sums over configurations and paths.",
    trials=MEMORY,
    kind="lemma",
    figure=identity_figure("suite", "proposition-d.1", TOLERANCE),
)(identity("proposition-d.1"))

STUDY.claim(
    id="memory/proposition-d.1-as-printed",
    title="Proposition D.1 with a joint law in place of a conditional one",
    source=f"{PAPER}, Proposition D.1, first display",
    statement="P[X_i|x_-i] = P[X_i|M_J,J,S] P[M_J,J,S, X_-i=x_-i].",
    criterion="Fails if some world is off by more than 1e-3.",
    trials=MEMORY,
    kind="lemma",
    expected="fails",
    erratum="The last factor joins X_-i = x_-i where it has to condition on it; it is off by Pr(x_-i).",
    corrected_by="memory/proposition-d.1",
)(never_close("proposition-d.1", "printed"))

STUDY.claim(
    id="memory/largest-set",
    title="Recoverable states need no search",
    source="Assumption 4.2 as an algorithm",
    statement=(
        "S* is admissible iff every column (m,j*,s), s in S*, lies outside the span of all other "
        "columns; so there is a largest S* and the admissible sets are its nonempty subsets."
    ),
    criterion="The sets found agree with the ranks of every subset on every world.",
    trials=SEARCH,
    kind="lemma",
)(always("coloops-4.2", "agrees"))

STUDY.claim(
    id="memory/largest-set-d.5",
    title="The same for the relaxed assumption",
    source="Assumptions 4.5 and D.5 as an algorithm",
    statement="The same with only the memory values in supp(mu) of the cell j* and all other cells.",
    criterion="The sets found agree with the ranks of every subset on every world.",
    trials=SEARCH,
    kind="lemma",
)(always("coloops-d.5", "agrees"))

RELATIONS = {
    "4.2-implies-d.5": ("4.2 gives D.5", "Assumption 4.2 gives D.5 for every mu"),
    "d.5-dense-is-4.2": ("D.5 for dense mu is 4.2", "Assumption D.5 for a mu without zeros is 4.2"),
    "3.1-implies-4.2": (
        "3.1 gives 4.2 with S* = S",
        "Independent emission columns give 4.2 with all syntax states",
    ),
}
for _id, (_column, _title) in RELATIONS.items():
    STUDY.claim(
        id=f"memory/relation-{_id}",
        title=_title,
        source=f"{PAPER}, Section 4",
        statement=f"{_title}, with a set S* at least as large.",
        criterion="The implication holds on every world.",
        trials=MEMORY,
        kind="relation",
    )(always(_column))


@STUDY.claim(
    id="memory/overlapping-spans",
    title="Where spans overlap the keys lose their meaning",
    source="converse to Theorem 4.3",
    statement=(
        "If a state outside H* emits a mixture of the columns of H*, Assumption 4.2 fails and the keys "
        "of the construction are no longer Pr(H_i in H*|x_-i)."
    ),
    criterion="On every such world the assumption fails, and Claim D.3 is off by more than 1e-3.",
    trials=MEMORY,
)
def overlapping(results: Results) -> Outcome:
    rows = results["suite"].numbers["overlapping"]
    right = sum(f and e > 1e-3 for f, e in zip(rows["condition_fails"], rows["error"], strict=True))
    return Outcome(
        "holds" if right == len(rows["error"]) else "fails",
        {
            "worlds as stated": right,
            "worlds": len(rows["error"]),
            "least error": min(rows["error"]),
        },
    )


@STUDY.claim(
    id="memory/outside-r",
    title="Outside R the head has no guarantee but is mostly right",
    source="beyond Theorem 4.3",
    statement="On possible sequences outside R the constructed head gives wrong labels on some.",
    criterion="Holds if some label outside R is wrong; fails if all are right.",
    trials=MEMORY,
    kind="experiment",
)
def outside(results: Results) -> Outcome:
    rows = results["suite"].numbers["outside"]
    wrong, compared = sum(rows["disagreements"]), sum(rows["compared"])
    if compared == 0:
        return Outcome("undecided", {"sequences outside R": 0})
    shares = [1 - w / c for w, c in zip(rows["disagreements"], rows["compared"], strict=True) if c]
    return Outcome(
        "holds" if wrong else "fails",
        {
            "share of right labels": 1 - wrong / compared,
            "sequences outside R": compared,
            "share per world": Estimate.of(shares),
        },
    )
