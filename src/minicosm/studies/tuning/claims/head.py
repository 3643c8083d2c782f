"""Section 3: linear heads on worlds without memory."""

from minicosm.lab import Outcome, Results, all_of, all_true, holds, least, rows

from ...common.figures import statement_figure
from ..study import EXACT, IDENTITY, PAPER, STUDY
from ..trials import head, without

claim = STUDY.section(__doc__)

claim(
    id="tuning/theorem-3.3",
    title="A linear head suffices when emissions are independent",
    source=f"{PAPER}, Theorem 3.3",
    statement=(
        "If the columns of $W$ are linearly independent and the chain is ergodic with a start law that "
        r"is positive everywhere, then for every $\mu$ the head "
        r"$b = (W^\dagger)^\top (\mu \odot p_0 / p_1)$ on the model's output at a placeholder before $x$ "
        r"satisfies $b^\top G = \frac{\Pr(X_{1:t}=x)}{\Pr(X_{2:t+1}=x)} \, \mu^\top P[H_0 \mid x]$ "
        r"for every possible $x$, so it gives the label of every task; with one row of $\mu$ per class, "
        "the argmax of one head per row does."
    ),
    criterion=IDENTITY
    + " All sequences of a short length are tried, with a sign and with three classes, and sampled "
    "ones of 64 tokens.",
    trials=head,
    uses=("tuning/proposition-3.4", "tuning/claim-b.1"),
    check=holds("Theorem 3.3", "Theorem 3.3, long sequences", "Theorem 3.3, three classes"),
    figure=statement_figure("Theorem 3.3", scores="scores"),
)

claim(
    id="tuning/proposition-3.4",
    title="Conditional independence factors a conditional law",
    source=f"{PAPER}, Proposition 3.4",
    statement=(
        r"If $U$ and $V$ are independent given $Z$ then $P[U \mid V=v] = P[U \mid Z] \, P[Z \mid V=v]$, "
        r"and a left inverse of $P[U \mid Z]$ recovers $P[Z \mid V=v]$."
    ),
    criterion="Both identities hold to $10^{-9}$ on random joints.",
    trials=head,
    check=holds("Proposition 3.4"),
    kind="lemma",
    figure=statement_figure("Proposition 3.4"),
)

claim(
    id="tuning/claim-b.1",
    title="Posteriors of $H_i$ and $H_0$ differ by a diagonal matrix and a scalar",
    source=f"{PAPER}, Claim B.1",
    statement=(
        r"For $i \ge 1$, $P[H_i \mid X_{i+1:T+i}=x] = r_x \frac{p_i}{p_0} \odot P[H_0 \mid X_{1:T}=x]$ with "
        r"$r_x = \frac{\Pr(X_{1:T}=x)}{\Pr(X_{i+1:T+i}=x)}$, for every possible $x$; checked at "
        "$i = 1, 2, 3$."
    ),
    criterion=EXACT,
    trials=head,
    check=holds("Claim B.1"),
    kind="lemma",
    figure=statement_figure("Claim B.1"),
)


@claim(
    id="tuning/duplicate-emissions",
    title="Two states with one emission law cannot be distinguished by a head",
    source="converse to Theorem 3.3",
    statement=(
        "If two states emit the same law, Assumption 3.1 fails, and for the task that contrasts them "
        "(with a stationary start) the pseudo-inverse head has the same score on every sequence."
    ),
    criterion="In every world the condition fails and the scores of all sequences agree to $10^{-9}$.",
    trials=without,
    uses=("tuning/theorem-3.3",),
)
def duplicates(results: Results) -> Outcome:
    fails = all_true("worlds where 3.1 fails", rows(results, "Equal emission laws")["applies"])
    return all_of(holds("Equal emission laws")(results), fails)


@claim(
    id="tuning/head-for-one-task",
    title="Which tasks a linear head computes when emissions are dependent",
    source="refinement of Theorem 3.3",
    statement=(
        r"For one task an exact linear head exists iff $\mu \odot p_0 / p_1$ lies in the row space of $W$ "
        r"(given that the vectors $P[x \mid H_0]$ span everything): rank-deficient worlds have it for tasks "
        "drawn in the row space, and for no generic task."
    ),
    criterion=(
        "In every world of rank 4 with 6 states the head exists and is exact to $10^{-9}$ for the task in "
        "the row space, and the test finds none for a generic task."
    ),
    trials=without,
    uses=("tuning/theorem-3.3",),
)
def per_task(results: Results) -> Outcome:
    generic = rows(results, "generic task")
    return all_of(
        holds("Theorem 3.3 for one task")(results),
        all_true(
            "tasks in the row space with a head", rows(results, "task in the row space")["exists"]
        ),
        all_true("generic tasks without a head", generic["exists"], wanted=False),
        numbers={"least residual of a generic task": least(generic["residual"])},
    )


@claim(
    id="tuning/start-law",
    title="What Theorem 3.3 needs of the start law",
    source="refinement of Theorem 3.3",
    statement=(
        "The proof needs only that every state possible at time 0 is possible at time 1. A start law "
        "with zeros is harmless; a state that never comes back is not: then no linear head satisfies "
        "the identity for tasks that weigh it."
    ),
    criterion=(
        "Exact to $10^{-9}$ on every world whose start law has a zero and satisfies the inclusion; on every "
        "world with a transient state the condition fails and so does the search for a head."
    ),
    trials=without,
    uses=("tuning/theorem-3.3",),
)
def start_law(results: Results) -> Outcome:
    transient = rows(results, "transient state")
    zeros = rows(results, "start with zeros")["regular"]
    return all_of(
        holds("Theorem 3.3, start with zeros")(results),
        all_true("start laws with a zero", zeros, wanted=False),
        all_true("transient worlds where the condition fails", transient["applies"], wanted=False),
        all_true("transient worlds without a head", transient["exists"], wanted=False),
    )


claim(
    id="tuning/all-states",
    title="Under Assumptions 3.1 and 3.2 the prompt may be all ones",
    source=f"{PAPER}, Section 3.1",
    statement=(
        r"If 3.1 and 3.2 hold then 3.5 holds for every task with $\mathcal{B}$ and $\mathcal{H}^\star$ all "
        r"states; the prompt is $u = \mathbf{1}$, and Theorem 3.6 becomes Theorem 3.3 one position later."
    ),
    criterion="The implication holds on every world. " + IDENTITY,
    trials=head,
    uses=("tuning/theorem-3.6", "tuning/theorem-3.3"),
    check=holds("Assumptions 3.1 and 3.2 give 3.5", "Theorem 3.6, all states"),
    kind="relation",
    figure=statement_figure("Theorem 3.6, all states"),
)
