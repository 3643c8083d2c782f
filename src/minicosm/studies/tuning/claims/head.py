"""Section 3: linear heads on worlds without memory."""

from minicosm.lab import Outcome

from ...common.checks import EXACT, TOLERANCE, Results, always, both, identity, never_close
from ...common.figures import identity_figure
from ..study import STUDY
from .checks import IDENTITY, PAPER, suite

HEAD = suite("head")
WITHOUT = suite("head", "without")
PRINTED = suite("printed")

STUDY.claim(
    id="head-tuning/theorem-3.3",
    title="A linear head suffices when emissions are independent",
    source=f"{PAPER}, Theorem 3.3",
    statement=(
        "If the columns of W are linearly independent and the chain is ergodic with a start law that "
        "is positive everywhere, then for every mu the head b = (W^+)^T (mu * p0 / p1) on the model's "
        "output at a placeholder before x satisfies b.G = Pr(X_{1:t}=x) / Pr(X_{2:t+1}=x) mu.P[H_0|x] "
        "for every possible x, so it gives the label of every task."
    ),
    criterion=IDENTITY
    + " All sequences of a short length are tried, and sampled ones of 64 tokens.",
    trials=HEAD,
    figure=identity_figure("suite", "theorem-3.3", TOLERANCE),
)(both(identity("theorem-3.3"), identity("theorem-3.3-long")))

STUDY.claim(
    id="head-tuning/theorem-3.3-classes",
    title="The same for several classes",
    source=f"{PAPER}, Theorem 3.3, multiclass remark",
    statement=(
        "With one row of mu per class, one head per row gives scores whose argmax is the label of "
        "every possible sequence."
    ),
    criterion=IDENTITY,
    trials=HEAD,
    figure=identity_figure("suite", "theorem-3.3-classes", TOLERANCE),
)(identity("theorem-3.3-classes"))

STUDY.claim(
    id="head-tuning/proposition-3.4",
    title="Conditional independence factors a conditional law",
    source=f"{PAPER}, Proposition 3.4",
    statement=(
        "If U and V are independent given Z then P[U|V=v] = P[U|Z] P[Z|V=v], and a left inverse of "
        "P[U|Z] recovers P[Z|V=v]."
    ),
    criterion="Both identities hold to 1e-9 on random joints.",
    trials=HEAD,
    kind="lemma",
    figure=identity_figure("suite", "proposition-3.4", TOLERANCE),
)(both(identity("proposition-3.4"), identity("proposition-3.4", column="recovery")))

STUDY.claim(
    id="head-tuning/claim-b.1",
    title="Posteriors of H_i and H_0 differ by a diagonal matrix and a scalar",
    source=f"{PAPER}, Claim B.1",
    statement=(
        "For i >= 1, P[H_i | X_{i+1:T+i}=x] = r_x (p_i / p0) * P[H_0 | X_{1:T}=x] with "
        "r_x = Pr(X_{1:T}=x) / Pr(X_{i+1:T+i}=x), for every possible x; checked at i = 1, 2, 3."
    ),
    criterion=EXACT,
    trials=HEAD,
    kind="lemma",
    figure=identity_figure("suite", "claim-b.1", TOLERANCE),
)(identity("claim-b.1"))

STUDY.claim(
    id="head-tuning/claim-b.1-as-printed",
    title="Claim B.1 with the printed index T+1",
    source=f"{PAPER}, proof of Claim B.1, second line",
    statement="The same identity with Pr(X_{i+1:T+1}=x) in place of Pr(X_{i+1:T+i}=x), at i = 2.",
    criterion="Fails if some world is off by more than 1e-3.",
    trials=HEAD,
    kind="lemma",
    expected="fails",
    erratum=(
        "The second line of the proof prints T+1 for T+i. For i > 1 that event concerns fewer tokens "
        "than x has, and the two sides differ by its larger probability."
    ),
    corrected_by="head-tuning/claim-b.1",
)(never_close("claim-b.1-printed", "error"))


@STUDY.claim(
    id="head-tuning/row-rank-as-printed",
    title="Full row rank of W would suffice",
    source=f"{PAPER}, proof of Theorem 3.3",
    statement="If W has full row rank, some head on the model's output computes the label.",
    criterion=(
        "Fails if a world of full row rank has two possible sequences with outputs equal to 1e-12 and "
        "labels that differ with scores above 1e-6."
    ),
    trials=PRINTED,
    kind="lemma",
    expected="fails",
    erratum=(
        "The proof asks for full row rank; a left inverse needs full column rank. With two tokens and "
        "four states, two per emission law, outputs coincide where labels differ, so no head works."
    ),
    corrected_by="head-tuning/theorem-3.3",
)
def row_rank(results: Results) -> Outcome:
    rows = {name: column[0] for name, column in results["suite"].numbers["row-rank"].items()}
    opposite = rows["score_first"] > 1e-6 and rows["score_second"] < -1e-6
    shown = rows["row_rank"] == 2 and rows["output_gap"] < 1e-12 and opposite
    return Outcome(
        "fails" if shown else "holds",
        {
            "row rank": rows["row_rank"],
            "column rank": rows["column_rank"],
            "difference of outputs": rows["output_gap"],
            "exact scores": f"{rows['score_first']:.4f} and {rows['score_second']:.4f}",
        },
    )


@STUDY.claim(
    id="head-tuning/duplicate-emissions",
    title="Two states with one emission law cannot be told apart by a head",
    source="converse to Theorem 3.3",
    statement=(
        "If two states emit the same law, Assumption 3.1 fails, and for the task that contrasts them "
        "(with a stationary start) the pseudo-inverse head has the same score on every sequence."
    ),
    criterion="In every world the condition fails and the scores of all sequences agree to 1e-9.",
    trials=WITHOUT,
    kind="theorem",
)
def duplicates(results: Results) -> Outcome:
    rows = results["suite"].numbers["duplicates"]
    worst = max(rows["spread"])
    holds = all(rows["condition_fails"]) and worst <= TOLERANCE
    return Outcome(
        "holds" if holds else "fails",
        {"largest spread of scores": worst, "worlds": len(rows["spread"])},
    )


@STUDY.claim(
    id="head-tuning/per-task",
    title="Which tasks a linear head computes when emissions are dependent",
    source="refinement of Theorem 3.3",
    statement=(
        "For one task an exact linear head exists iff mu * p0 / p1 lies in the row space of W "
        "(given that the vectors P[x|H_0] span everything): rank-deficient worlds have it for tasks "
        "drawn in the row space, and for no generic task."
    ),
    criterion=(
        "In every world of rank 4 with 6 states the head exists and is exact to 1e-9 for the task in "
        "the row space, and the test finds none for a generic task."
    ),
    trials=WITHOUT,
)
def per_task(results: Results) -> Outcome:
    outcome = identity("task-inside")(results)
    inside = results["suite"].numbers["task-inside"]["exists"]
    outside = results["suite"].numbers["task-outside"]
    right = all(inside) and not any(outside["exists"])
    return Outcome(
        outcome.verdict if right else "fails",
        {
            **outcome.numbers,
            "heads found outside the row space": sum(outside["exists"]),
            "least residual outside": min(outside["residual"]),
        },
    )


@STUDY.claim(
    id="head-tuning/start-law",
    title="What Theorem 3.3 needs of the start law",
    source="refinement of Theorem 3.3",
    statement=(
        "The proof needs only that every state possible at time 0 is possible at time 1. A start law "
        "with zeros is harmless; a state that never comes back is not: then no linear head satisfies "
        "the identity for tasks that weigh it."
    ),
    criterion=(
        "Exact to 1e-9 on every world whose start law has a zero and satisfies the inclusion; on every "
        "world with a transient state the condition fails and so does the search for a head."
    ),
    trials=WITHOUT,
)
def start_law(results: Results) -> Outcome:
    outcome = identity("start-with-zeros")(results)
    transient = results["suite"].numbers["transient"]
    broken = all(results["suite"].numbers["start-with-zeros"]["regularity_fails"])
    right = broken and not any(transient["applies"]) and not any(transient["exists"])
    return Outcome(
        outcome.verdict if right else "fails",
        {**outcome.numbers, "transient worlds": len(transient["applies"])},
    )


STUDY.claim(
    id="head-tuning/implies-covering",
    title="Assumptions 3.1 and 3.2 give Assumption 3.5",
    source=f"{PAPER}, Section 3.1",
    statement="If 3.1 and 3.2 hold then 3.5 holds for every task, with B all states and H* all states.",
    criterion="The implication holds on every world, and its premise is met on every world.",
    trials=HEAD,
    kind="relation",
)(always("3.1-implies-3.5"))
