"""Two tokens with Gaussian emissions: Section 2.2.4.1, Theorem 8."""

from minicosm.lab import Erratum, Outcome, Results, all_of, holds, refuted

from ..figures.tasks import middle_figure
from ..readings import BLIND, blind_fits
from ..study import STUDY, THESIS
from ..trials import blind_and_gaussian, gaussian

claim = STUDY.section(__doc__)


@claim(
    id="identifiability/theorem-8",
    title="Two tokens from one: the ends identify, the middle has a reflected twin",
    source=f"{THESIS}, Section 2.2.4.1, Theorem 8, with the second solution of the middle token",
    statement=(
        r"Under Assumptions 5, 8 and 9 the optimal predictors of $x_2 \otimes x_3 | x_1$ and $x_1 \otimes "
        r"x_2 | x_3$ determine $(M, T)$ up to a relabelling. That of $x_1 \otimes x_3 | x_2$ has a second "
        r"solution, $(HM, \frac{2}{k} 1 1^\top - T)$, iff $M^\top M 1$ is proportional to $1$ and no "
        r"entry of $T$ exceeds $2/k$, and no other."
    ),
    criterion=(
        "The solutions that are computed from the predictors are exactly the predicted ones, to "
        "$10^{-6}$, in every world of six families; and fits from random starts that are exact are as "
        "many different worlds, in every world. Undecided with fewer than 3 exact fits in a world."
    ),
    trials=blind_and_gaussian,
    uses=("identifiability/lemma-7", "identifiability/kruskal"),
    figure=middle_figure,
)
def theorem_8(results: Results) -> Outcome:
    return all_of(
        holds("Theorem 8, ends", "Theorem 8, middle")(results), blind_fits(results, BLIND)
    )


claim(
    id="identifiability/theorem-8-as-printed",
    title="Every task of two tokens from one identifies, as printed",
    source=f"{THESIS}, Section 2.2.4.1, Theorem 8 as printed, for t1 = 2",
    statement=(
        r"Let $(t_1, t_2, t_3)$ be any permutation of $(1, 2, 3)$. Under Assumptions 5, 8 and 9, if the "
        r"optimal predictors of $x_{t_2} \otimes x_{t_3} | x_{t_1}$ are the same under $(M, T)$ and "
        r"$(\tilde M, \tilde T)$, then these are the same "
        "up to a permutation."
    ),
    criterion=(
        "Two worlds under Assumptions 5, 8 and 9 whose predictors are equal in exact arithmetic, and "
        "whose parameters are more than $10^{-9}$ apart after the best relabelling, refute it."
    ),
    trials=gaussian,
    check=refuted("Theorem 8 as printed"),
    figure=middle_figure,
    expected="fails",
    erratum=Erratum(
        "gap",
        r"It concerns the task $x_1 \otimes x_3 | x_2$ alone: every world with $k = 2$, and for "
        r"$k \ge 3$ those whose means have $M^\top M 1$ proportional to $1$ (orthonormal ones, "
        r"say) and whose $T$ has no entry above $2/k$; generic worlds with $k \ge 3$ are "
        r"identified. Kruskal's theorem recovers the columns of $MT$ and $MT^\top$ up to a "
        "scaling, too. Columns of probabilities fix it by their sums; here both factors may "
        r"change sign, and with $\tilde M \tilde T = -MT$ the column sums of $\tilde T$ are $+1$, "
        r"so that the elimination of $HM$ from the proof of Theorem 5, which uses $\tilde M "
        r"\tilde T = MT$, does not apply. Example: means $(e_1, e_2)$ with $T$ against $(-e_2, "
        r"-e_1)$ with $1 1^\top - T$, which is $T$ with its two rows exchanged. Theorems 5, 7 and "
        "9 stand, and so does Theorem 8 for $t_1 = 1$ and 3.",
        corrected_by="identifiability/theorem-8",
    ),
)

claim(
    id="identifiability/two-state-paradox",
    title="With two states, asking for more tokens identifies less",
    source=f"added to {THESIS}, Theorems 5 and 8",
    statement=(
        r"In a Gaussian HMM of two states with unit means $x_2 | x_1$ has one solution and $x_1 \otimes "
        r"x_3 | x_2$ two; in the second one $\mathbb{E}[x_1 | x_2]$ has the opposite sign, so that "
        r"predicting $x_1$ besides identifies."
    ),
    criterion=(
        "The computed solutions are one and two, the twin is more than 0.1 away, and its $\\mathbb{E}[x_1 "
        "| x_2]$ is the negative to $10^{-8}$, in every random world."
    ),
    trials=gaussian,
    uses=("identifiability/theorem-8", "identifiability/theorem-5"),
    check=holds("Two states"),
)
