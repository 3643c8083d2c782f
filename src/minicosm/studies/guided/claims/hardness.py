"""Constrained generation without a verifier and with one (Section 3.1)."""

from minicosm.lab import Erratum, Outcome, Results, above, all_of, at_most, holds, refuted, rows

from ..figures.calls import calls_figure
from ..readings import selected, table
from ..study import IDENTITY, STUDY, THESIS
from ..trials import constraints

claim = STUDY.section(__doc__)

claim(
    id="guided/theorem-3.1.1-as-printed",
    title="Finding a hidden parity takes $2^{D-1}$ queries",
    source=f"{THESIS}, Theorem 3.1.1",
    statement=(
        "In the secret-parity world every algorithm, randomised or not, needs at least $2^{D-1}$ "
        "expected queries on some secret."
    ),
    criterion=(
        "Fails if for some $D$ the expected queries of a search in random order are fewer, for "
        "every secret."
    ),
    trials=constraints,
    check=refuted("Theorem 3.1.1 as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        "The exponential growth, which is the message of the theorem, stands; the constant is "
        "about half as large. The proof draws the secret uniformly from $N = 2^{D-1}$ strings, "
        "and its expected place in any order of search is then $(N + 1)/2$; the last place, with "
        "which Remark 3.5.1 argues, is the worst case of one fixed order. If the secret itself "
        "must be asked about, $(N + 1)/2$ queries are needed and enough; if the last one left "
        "may be concluded, $(N + 1)/2 - 1/N$. Checked by an exact recursion for the optimum and "
        "by simulated searches.",
        corrected_by="guided/theorem-3.1.1",
    ),
)


@claim(
    id="guided/theorem-3.1.1",
    title="Finding a hidden parity takes half of $2^{D-1}$ queries",
    source=f"{THESIS}, Theorem 3.1.1 and its proof, with its constant",
    statement=(
        "With $N = 2^{D-1}$ secrets the least worst-case expected number of queries is $(N + 1)/2 "
        "- 1/N$: a search in random order attains it for every secret, and no search does better. "
        "Queries of fewer than $D - 1$ bits have answers of the same law for all secrets."
    ),
    criterion=(
        "The optimum by recursion equals the formula exactly, laws of answers differ by at most "
        "$10^{-9}$, and the simulated mean is within 3 standard errors for $D = 1, 2, 3, 5, 8$."
    ),
    trials=constraints,
)
def theorem_3_1_1(results: Results) -> Outcome:
    data, exact = rows(results, "searches"), rows(results, "Theorem 3.1.1")
    columns = {
        "D": data["D"], "exact": exact["queries"], "simulated": data["mean"],
        "standard error": data["error"],
    }  # fmt: skip
    return all_of(
        holds("Theorem 3.1.1", "short queries tell nothing")(results),
        at_most("largest distance in standard errors", data["distance"], 3.0),
        tables=(table("expected queries", columns),),
    )


claim(
    id="guided/verifier-calls",
    title=r"A perfect process verifier solves the task in $\lvert\Sigma\rvert D$ calls to it",
    source=f"{THESIS}, remark after Proposition 3.1.1",
    statement=(
        "If the verifier accepts a prefix iff some completion lies in $A$ and has positive "
        "probability (which for a generator without zeros is Definition 3.1.3), trying tokens in "
        r"order solves constrained generation with at most $|\Sigma| D$ calls to the verifier and "
        "none to the generator."
    ),
    criterion=(
        "In the secret-parity world the string is right for every secret and takes at most $2D$ "
        "calls."
    ),
    trials=constraints,
    check=holds("calls to the verifier"),
    kind="lemma",
)


@claim(
    id="guided/theorem-3.1.2",
    title="A solver of constrained generation solves knapsack",
    source=f"{THESIS}, Theorem 3.1.2",
    statement=(
        "For uniform bits and $A$ the solutions of a knapsack instance, a sampler with a perfect "
        "process verifier returns a solution iff there is one; membership in $A$ is a sum."
    ),
    criterion=(
        "Right on every instance, zero weights, $c = 0$ and unreachable targets included, against "
        "the enumeration of all $2^D$ choices. Hardness itself cannot be tested."
    ),
    trials=constraints,
)
def theorem_3_1_2(results: Results) -> Outcome:
    solutions = rows(results, "Theorem 3.1.2")["solutions"]
    solvable = sum(count > 0 for count in solutions)
    return all_of(holds("Theorem 3.1.2")(results), numbers={"solvable": solvable})


claim(
    id="guided/superincreasing",
    title="Superincreasing knapsacks are solved greedily",
    source=f"{THESIS}, Section 3.5.1, with the strict inequality",
    statement=(
        "If every weight exceeds the sum of those before it, taking from the largest down what still fits "
        "decides the instance, and there is at most one solution."
    ),
    criterion="Right on every instance, against exact counting.",
    trials=constraints,
    check=holds("superincreasing weights"),
    kind="lemma",
)


@claim(
    id="guided/proposition-3.1.1",
    title=r"A needle in a haystack: $2^D\,D$ calls without a verifier, $2D$ with it",
    source=f"{THESIS}, Proposition 3.1.1; restarts and other sets of bits added",
    statement=(
        r"If $A$ is one string of $D$ fair bits, rejection takes $2^D\,D$ expected calls, "
        "tokenwise rejection with the perfect verifier $2D$, and starting over at the first "
        "rejected token $2^{D+1} - 2$. For the solutions of any solvable knapsack tokenwise "
        "rejection takes between $D$ and $2D$."
    ),
    criterion=(
        "The three costs, by dynamic programming, differ from these by at most $10^{-9}$ "
        "relatively; no knapsack is outside by more than $10^{-9}$."
    ),
    trials=constraints,
    figure=calls_figure,
)
def proposition_3_1_1(results: Results) -> Outcome:
    data = rows(results, "Proposition 3.1.1")
    columns = {name: data[name] for name in ("D", "rejection", "restart", "tokenwise")}
    check = holds("Proposition 3.1.1", "tokenwise calls of uniform bits")
    return all_of(check(results), tables=(table("expected calls", columns),))


@claim(
    id="guided/proposition-3.1.2",
    title="Tokenwise rejection does not sample the restricted law",
    source=f"{THESIS}, Proposition 3.1.2, with its distance",
    statement=(
        r"With $A$ all strings but $1 \dots 1$ and $D \ge 2$, tokenwise rejection gives $1 \dots "
        "10$ the probability $2^{-(D-1)}$ and every other string of $A$ the probability $2^{-D}$; "
        "its total variation from uniform on $A$ is $(2^D - 2) / (2^D (2^D - 1))$, which is "
        "positive."
    ),
    criterion=(
        r"Law and distance agree to $10^{-12}$ for $D = 2, \dots, 8$, and every distance is "
        "positive."
    ),
    trials=constraints,
)
def proposition_3_1_2(results: Results) -> Outcome:
    data = rows(results, "Proposition 3.1.2")
    distances = selected(data, "distance", applies=True)
    return all_of(
        holds("Proposition 3.1.2")(results),
        above("least distance from the restricted law", distances, 0.0),
    )


claim(
    id="guided/lagged-error",
    title="Backtracking helps iff it reaches back before the mistake",
    source=f"added to {THESIS}, Algorithm 1",
    statement=(
        r"If a mistake of probability $\delta$ is noticed $L$ tokens later, Algorithm 1 is right "
        r"with probability $1 - \delta$ for strides $B \le L$. For $B > L$ and any quota it is "
        r"always right with $D + B \delta$ expected calls with the argmax refill, and right with "
        r"probability $1 - \delta^{Q+1}$ without refill."
    ),
    criterion=IDENTITY,
    trials=constraints,
    check=holds("lagged errors"),
    kind="lemma",
)

claim(
    id="guided/largest-query-count",
    title="Backtracking takes at most $QB$ queries more",
    source=f"{THESIS}, Algorithm 1 and Table 3.13",
    statement=(
        "A string of $D$ tokens takes at most $D + QB$ queries with quota $Q$ and stride $B$."
    ),
    criterion="No string that can be drawn takes more, in any world.",
    trials=constraints,
    check=holds("calls of Algorithm 1"),
    kind="lemma",
)
