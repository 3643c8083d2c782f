"""Section 3.1: a soft prompt and a linear head on worlds without memory."""

from minicosm.lab import Outcome, Results, all_of, all_true, at_most, holds, rows

from ...common.figures import statement_figure
from ..study import EXACT, IDENTITY, PAPER, STUDY
from ..trials import covering_search, head, prompt


@STUDY.claim(
    id="tuning/theorem-3.6",
    title="A prompt relaxes independence to the states that matter",
    source=f"{PAPER}, Theorem 3.6",
    statement=(
        "If the chain is regular and some B has H* = union of supp(A[:,b]) covering supp(mu) with "
        "independent emission columns, then the prompt row u = 1_B and the head "
        "b = sum_{h in H*} mu_h p0_h / c_h row_h(W[:,H*]^+), c = A(u * p1), satisfy "
        "b.G_2(u, placeholder, x) = Pr(x) / ||c * P[x|H_0]||_1 mu.P[H_0|x] for every possible x. Where "
        "the prompt rules x out, the output and the exact score are both zero. With one row of mu per "
        "class and H* covering all their supports, one prompt serves all classes."
    ),
    criterion=IDENTITY
    + " The worlds have more states than tokens, so that no world satisfies Assumption 3.1; outputs "
    "that the prompt rules out are exactly zero.",
    trials=prompt,
    figure=statement_figure("Theorem 3.6", scores="scores"),
)
def theorem_3_6(results: Results) -> Outcome:
    found = rows(results, "Theorem 3.6")
    zero = found["largest output when excluded"]
    names = ("Theorem 3.6", "Theorem 3.6, long sequences", "Theorem 3.6, three classes")
    return all_of(
        holds(*names)(results),
        at_most("largest output where the prompt rules x out", zero, 0),
        all_true("worlds where 3.1 fails", found["independent"], wanted=False),
        numbers={"sequences ruled out by the prompt": sum(found["excluded by the prompt"])},
    )


@STUDY.claim(
    id="tuning/lemma-c.1",
    title="A prompt row is a fake token",
    source=f"{PAPER}, Lemma C.1",
    statement=(
        "Message passing on (u, placeholder, e(x)) computes tau_i = P[H_i, X^_-i] of the HMM in which "
        "a fake token is emitted at position 1 with probabilities u, and for i > 1 the output is its "
        "conditional law, the zero vector if the context is impossible."
    ),
    criterion=(
        "Agreement with an explicit sum over hidden paths to 1e-9, for rows u with entries 0, 1 and "
        "between; outputs at impossible contexts are exactly zero."
    ),
    trials=prompt,
    kind="lemma",
    figure=statement_figure("Lemma C.1"),
)
def lemma_c1(results: Results) -> Outcome:
    found = rows(results, "Lemma C.1")
    return all_of(
        holds("Lemma C.1")(results),
        at_most("output at impossible contexts", found["output at impossible contexts"], 0),
        numbers={"impossible contexts": sum(found["impossible contexts"])},
    )


STUDY.claim(
    id="tuning/lemma-c.2",
    title="Prompt and text enter the posterior as a product",
    source=f"{PAPER}, Lemma C.2",
    statement=(
        "P[H_2 | fake token, x] = r_x (1 / p0) * (A (u * p1)) * P[H_0 | x] with "
        "r_x = Pr(x) / Pr(fake token, x)."
    ),
    criterion=EXACT + " Both sides are sums over hidden paths.",
    trials=prompt,
    check=holds("Lemma C.2"),
    kind="lemma",
    figure=statement_figure("Lemma C.2"),
)

STUDY.claim(
    id="tuning/equation-c.1",
    title="The two messages divided by the prior give the conditionals",
    source=f"{PAPER}, equation C.1",
    statement=(
        "With reversed kernels to the left and forward kernels to the right, tau_i is the product of the "
        "two messages divided by P[H_i] at inner positions, and W tau_i / ||tau_i||_1 = P[X_i | x_-i]."
    ),
    criterion=EXACT + " The referee is a sum over hidden paths.",
    trials=head,
    check=holds("Equation C.1"),
    kind="lemma",
    figure=statement_figure("Equation C.1"),
)

STUDY.claim(
    id="tuning/covering-search",
    title="The search for the essential states is exact",
    source="Assumption 3.5 as an algorithm",
    statement=(
        "Backtracking over columns of A finds sets (B, H*) of Assumption 3.5 exactly when some B "
        "exists among all subsets of states."
    ),
    criterion="It agrees with trying every B on every world of 6 states.",
    trials=covering_search,
    check=holds("Search for Assumption 3.5"),
    kind="lemma",
)

STUDY.claim(
    id="tuning/prompt-length",
    title="For the exact model prompt length is irrelevant",
    source="refinement of Section 3.1",
    statement=(
        "A prompt acts on the exact model only through c = A w with w >= 0, so every prompt of 20 rows "
        "equals some prompt of one row."
    ),
    criterion="The outputs of a random prompt of 20 rows and of the constructed single row agree to 1e-9.",
    trials=prompt,
    check=holds("Prompt length"),
    figure=statement_figure("Prompt length"),
)


@STUDY.claim(
    id="tuning/separable",
    title="A weaker condition suffices, and decides",
    source="refinement of Theorem 3.6",
    statement=(
        "Prompt and head solve a task whenever (W^T b) * (A w) is proportional to mu * p0 for some b "
        "and some w >= 0. In a world of 6 states where 3.3 and 3.6 do not apply, mu = (1, -2, .7) is "
        "solved so, and mu = (1, 2, -1.5) is not separable."
    ),
    criterion=(
        "Neither theorem applies; for the first task the construction is exact to 1e-9 on all "
        "sequences of length 6; for the second the linear program is infeasible."
    ),
    trials=prompt,
)
def separable(results: Results) -> Outcome:
    first, second = (rows(results, f"{kind} task") for kind in ("separable", "inseparable"))
    covered = [*first["covered"], *second["covered"]]
    heads = [*first["head"], *second["head"]]
    return all_of(
        holds("Theorem 3.6 under separability")(results),
        all_true("tasks to which 3.6 does not apply", covered, wanted=False),
        all_true("tasks to which 3.3 does not apply", heads, wanted=False),
        all_true("first task separable", first["separable"]),
        all_true("second task inseparable", second["separable"], wanted=False),
    )
