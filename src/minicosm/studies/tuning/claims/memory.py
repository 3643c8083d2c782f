"""Section 4.1: an attention head on worlds with memory."""

from minicosm.lab import (
    Outcome,
    Results,
    above,
    all_above,
    all_below,
    all_of,
    all_true,
    at_most,
    holds,
    paired,
    percent,
    rows,
)

from ...common.figures import statement_figure
from ..figures.memory import theorem_4_3_figure
from ..study import COUNTED, EXACT, IDENTITY, PAPER, STUDY
from ..trials import memory, recoverable_search

claim = STUDY.section(__doc__)


@claim(
    id="tuning/theorem-4.3",
    title="An attention head finds the memory where states are recoverable",
    source=f"{PAPER}, Theorem 4.3",
    statement=(
        "Under Assumptions 4.2 and 3.2 there is an attention head whose output on every "
        r"$x \in \mathcal{R}$ is $\operatorname{mean}_{i \in \hat{\mathcal{I}}} G_i(x)[x_i] "
        r"\, \mu^\top P[M_{j^\star} \mid x]$, where $\hat{\mathcal{I}}$ are the positions $i$ at which "
        r"$\operatorname{supp} P[H_i \mid x_{-i}]$ lies in $\mathcal{H}^\star$; so it gives the label of "
        r"every $x \in \mathcal{R}$."
    ),
    criterion=IDENTITY
    + r" The attended set is $\hat{\mathcal{I}}$ on every $x \in \mathcal{R}$ (near ties counted apart).",
    trials=memory,
    uses=("tuning/lemmas-d.2-to-d.4",),
    figure=theorem_4_3_figure,
)
def theorem_4_3(results: Results) -> Outcome:
    found = rows(results, "Theorem 4.3")
    share = 1 - sum(found["skipped"]) / sum(found["sequences"])
    return all_of(
        holds("Theorem 4.3")(results),
        at_most("sequences with another attended set", found["attended differs from sure"], 0),
        numbers={r"share of sampled $x$ in $\mathcal{R}$": share},
    )


claim(
    id="tuning/lemmas-d.2-to-d.4",
    title="The head attends to the sure positions and reads joint laws off the outputs there",
    source=f"{PAPER}, Lemma D.2, Claim D.3 and Lemma D.4",
    statement=(
        r"D.2: for $x \in \mathcal{R}$ the attended set $\mathcal{I}$ equals $\hat{\mathcal{I}}$, the "
        r"positions $i$ with $\operatorname{supp} P[H_i \mid x_{-i}] \subseteq \mathcal{H}^\star$. D.3: "
        r"$(\Theta^{(1)} G_i)_{(j^\star,s)} = \Pr(H_i=(j^\star,s) \mid x_{-i})$, "
        r"$\|\Theta^{(1)} G_i\|_1 = 1$ and "
        r"$(\Theta^{(2,s)} G_i)_m = \Pr(M_{j^\star}=m, H_i=(j^\star,s) \mid x_{-i})$ at every position of "
        r"every possible $x$. D.4: for $x \in \mathcal{R}$ and $i \in \hat{\mathcal{I}}$ the value is "
        r"$G_i(x)[x_i] \, \mu^\top P[M_{j^\star} \mid x]$."
    ),
    criterion=f"D.2: {COUNTED} Positions that are unsure by less than the tie tolerance of $10^{{-9}}$ may "
    f"be attended too. D.3 and D.4: {EXACT}",
    trials=memory,
    uses=("tuning/proposition-d.1",),
    check=holds("Lemma D.2", "Claim D.3", "Lemma D.4"),
    kind="lemma",
    figure=statement_figure("Claim D.3"),
)

claim(
    id="tuning/proposition-d.1",
    title="Outputs are mixtures of emission columns",
    source=f"{PAPER}, Proposition D.1",
    statement=(
        r"$P[X_i \mid x_{-i}] = \sum_{m,j,s} W_{:,(m,j,s)} \Pr(M_j=m, H_i=(j,s) \mid x_{-i})$."
    ),
    criterion=EXACT
    + " One side from whole sequences, the other by sums over configurations and paths.",
    trials=memory,
    check=holds("Proposition D.1"),
    kind="lemma",
    figure=statement_figure("Proposition D.1"),
)

claim(
    id="tuning/recoverable-search",
    title="Recoverable states need no search",
    source="Assumptions 4.2, 4.5 and D.5 as an algorithm",
    statement=(
        r"$\mathcal{S}^\star$ is admissible for 4.2 iff every column $(m, j^\star, s)$, "
        r"$s \in \mathcal{S}^\star$, lies outside the span of all other columns; so there is a largest "
        r"$\mathcal{S}^\star$ and the admissible sets are its nonempty subsets. The same holds for 4.5 and "
        r"D.5, with only the memory values in $\operatorname{supp}(\mu)$ of the cell $j^\star$."
    ),
    criterion="The sets found agree with the ranks of every subset on every world.",
    trials=recoverable_search,
    check=holds("Largest set of Assumption 4.2", "Largest set of Assumption D.5"),
    kind="lemma",
)

claim(
    id="tuning/recoverable-relations",
    title="How the assumptions of Section 4 are related",
    source=f"{PAPER}, Section 4",
    statement=(
        r"Assumption 4.2 gives D.5 for every $\mu$, with a set $\mathcal{S}^\star$ at least as large; D.5 "
        r"for a $\mu$ without zeros is 4.2; independent emission columns (3.1) give 4.2 with all syntax "
        "states."
    ),
    criterion="Each implication holds on every world that satisfies its premise.",
    trials=recoverable_search,
    check=holds(
        "Assumption 4.2 gives D.5",
        "Assumption D.5 for a dense mu is 4.2",
        "Assumption 3.1 gives 4.2",
    ),
    kind="relation",
)


@claim(
    id="tuning/overlapping-spans",
    title="Where spans overlap the keys lose their meaning",
    source="converse to Theorem 4.3",
    statement=(
        r"If a state outside $\mathcal{H}^\star$ emits a mixture of the columns of $\mathcal{H}^\star$, "
        "Assumption 4.2 fails and the keys of the construction are no longer "
        r"$\Pr(H_i \in \mathcal{H}^\star \mid x_{-i})$."
    ),
    criterion="On every such world the assumption fails, and Claim D.3 is off by more than $10^{-3}$.",
    trials=memory,
)
def overlapping(results: Results) -> Outcome:
    found = rows(results, "Claim D.3 with overlapping spans")
    return all_of(
        all_true("worlds where 4.2 fails", found["assumption"], wanted=False),
        above("least error of Claim D.3", found["error"], 1e-3),
    )


@claim(
    id="tuning/outside-r",
    title=r"Outside $\mathcal{R}$ the head has no guarantee but is mostly right",
    source="beyond Theorem 4.3",
    statement=(
        r"On possible sequences outside $\mathcal{R}$ the constructed head is wrong on some, and right more "
        "often than the more frequent label."
    ),
    criterion=(
        "The 95% interval over worlds of the share of right labels lies below 100%, and that of its lead "
        "over the more frequent label of the same sequences above 0 (one reversed: fails)."
    ),
    trials=memory,
    kind="experiment",
)
def outside(results: Results) -> Outcome:
    found = rows(results, "outside R")
    names = ("disagreements", "majority", "compared")
    worlds = [row for row in zip(*(found[name] for name in names), strict=True) if row[2]]
    right = [1 - wrong / compared for wrong, _, compared in worlds]
    frequent = [most / compared for _, most, compared in worlds]
    return all_of(
        all_below("right, per cent", percent(right), 100),
        all_above("lead over the more frequent label in points", paired(right, frequent)),
        numbers={"labels compared": sum(found["compared"])},
    )
