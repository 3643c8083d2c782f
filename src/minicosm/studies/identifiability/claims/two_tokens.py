"""Beyond pairwise prediction: Section 2.2.2.2, Theorem 7 and Proposition 1."""

from minicosm.lab import Outcome, Results, all_of, all_true, at_most, holds, only_if, rows

from ...common.figures import statement_figure
from ..readings import ENOUGH, all_solved, enough
from ..study import STUDY, THESIS
from ..trials import students_and_two_tokens, two_tokens

claim = STUDY.section(__doc__)

TASKS = {
    "x1": ("x2,x3|x1", r"x_2 \otimes x_3 | x_1"),
    "x2": ("x1,x3|x2", r"x_1 \otimes x_3 | x_2"),
    "x3": ("x1,x2|x3", r"x_1 \otimes x_2 | x_3"),
}

for name, (task, formula) in TASKS.items():
    claim(
        id=f"identifiability/theorem-7-{name}",
        title=f"Two tokens from one determine the HMM: {task}",
        source=f"{THESIS}, Section 2.2.2.2, Theorem 7",
        statement=(
            f"Under Assumptions 5, 6 and 7 the optimal predictor of ${formula}$ determines $(O, T)$ up to "
            f"a relabelling "
            "of the states."
        ),
        criterion=(
            "From the exact predictor simultaneous diagonalisation returns the parameters to $10^{-8}$, "
            "in every random "
            r"world with $\sigma_{\min}(O) \sigma_{\min}(T)^2 > 10^{-3}$."
        ),
        trials=two_tokens,
        uses=("identifiability/kruskal",),
        check=holds(f"Theorem 7, {task}"),
        figure=statement_figure(f"Theorem 7, {task}"),
    )


@claim(
    id="identifiability/kruskal",
    title="The rank-one terms of the predictors are unique",
    source=f"{THESIS}, Section 2.2.1.4, Proposition 1, and Section 2.2.3.1",
    statement=(
        r"Factors $A, B, C$ of $R$ columns are determined by $\sum_i A_i \otimes B_i \otimes C_i$ up to a "
        r"shared permutation and scaling of columns if $k_A + k_B + k_C \ge 2R + 2$. In a world under "
        r"Assumptions 5 to 7 all "
        "three Kruskal ranks of the predictors' tensors are $k$."
    ),
    criterion=(
        "In every random world the Kruskal ranks, by all subsets of columns, are $k$, and the terms are "
        "found again to $10^{-8}$; with two states that emit alike, or a chain without memory, recovery "
        "refuses."
    ),
    trials=two_tokens,
    kind="lemma",
)
def kruskal(results: Results) -> Outcome:
    return all_of(
        holds("Proposition 1", "Recovery refuses")(results),
        all_true("tensors of full Kruskal rank", rows(results, "Kruskal ranks")["full"]),
    )


def _identifies(task: str, *statements: str) -> object:
    def check(results: Results) -> Outcome:
        fits = at_most("largest distance of a student", all_solved(results, task), 1e-6)
        few = "Too few students reached zero loss."
        return all_of(holds(*statements)(results), only_if(enough(results, (task,)), few, fits))

    return check


STUDENTS = (
    "and no student with zero loss (residual below $10^{-9}$) is more than $10^{-6}$ away. Undecided with "
    "fewer than "
    f"{ENOUGH} such students in a world."
)

claim(
    id="identifiability/causal-identifies",
    title="The next token from two determines the HMM",
    source=f"added to {THESIS}, Theorem 7",
    statement=(
        r"The predictor of $x_3$ from $x_1$ and $x_2$, which a causal language model learns, determines "
        r"$(O, T)$ up to a "
        "relabelling: its chain of pairs has the law of two neighbours as its stationary law."
    ),
    criterion=(
        r"The parameters are recovered to $10^{-8}$ in every random world with $\sigma_{\min}(O) "
        r"\sigma_{\min}(T)^2 > "
        "10^{-3}$, no direction is unseen, " + STUDENTS
    ),
    trials=students_and_two_tokens,
    uses=("identifiability/theorem-7-x1",),
    check=_identifies("x3|x1,x2", "Theorem 7, x3|x1,x2", "Unseen, x3|x1,x2"),
)

claim(
    id="identifiability/cloze-identifies",
    title="The token between two others determines the HMM locally",
    source=f"added to {THESIS}, Theorem 7",
    statement="The predictor of $x_2$ from $x_1$ and $x_3$ leaves no direction of parameters unseen.",
    criterion="No direction is unseen in any random world, " + STUDENTS,
    trials=students_and_two_tokens,
    check=_identifies("x2|x1,x3", "Unseen, x2|x1,x3"),
)
