"""One token from another: Section 2.2.2.1 and Theorem 6."""

from minicosm.lab import Outcome, Results, all_of, all_true, at_least, at_most, holds, only_if, rows

from ..figures.tasks import atlas_figure, twins_figure
from ..readings import ENOUGH, all_solved, enough, solved, worlds_of
from ..study import STUDY, THESIS
from ..trials import (
    OURS,
    PAIRWISE,
    TWO_TOKENS,
    atlas,
    pairwise,
    students,
    students_and_atlas,
)

claim = STUDY.section(__doc__)

claim(
    id="identifiability/theorem-4",
    title="One token from another does not identify a discrete HMM",
    source=f"{THESIS}, Section 2.2.2.1, Theorem 4 for t = 2",
    statement=(
        r"There are HMMs $(O, T)$ and $(\tilde O, \tilde T)$ that satisfy Assumptions 5 to 7, differ "
        r"after every relabelling, and have the same optimal predictor of $x_2$ from $x_1$."
    ),
    criterion=(
        "The predictors of a named pair differ by at most $10^{-12}$ and its parameters by more than 0.1 "
        "after the best relabelling; every random world has such a partner with parameters more than "
        "$10^{-3}$ away."
    ),
    trials=pairwise,
    check=holds("Theorem 4"),
)

claim(
    id="identifiability/theorem-4-later",
    title="Nor does a later token",
    source=f"{THESIS}, Section 2.2.2.1, Theorem 4 for t > 2",
    statement=(
        "For every $t > 2$ there are two such HMMs, with the same emissions, that have the same optimal "
        "predictor of $x_t$ from $x_1$."
    ),
    criterion=(
        "For gaps of 2 to 30 and of 1000 the predictors differ by at most $10^{-12}$, the parameters by "
        "more than $10^{-3}$."
    ),
    trials=pairwise,
    uses=("identifiability/claim-1",),
    check=holds("Theorem 4, later tokens"),
)

claim(
    id="identifiability/claim-1",
    title="A chain is not determined by a power of it",
    source=f"{THESIS}, Section 2.2.2.1, Claim 1, and Section 2.2.3.3",
    statement=(
        r"For every $t \ge 2$ there are doubly stochastic matrices $T \ne \tilde T$ of full rank with "
        r"$T^t = \tilde T^t$."
    ),
    criterion=(
        "For $t$ from 2 to 30 and 1000 the powers agree to $10^{-12}$, the second matrix is doubly "
        "stochastic to $10^{-12}$, and the matrices differ by more than $10^{-3}$."
    ),
    trials=pairwise,
    check=holds("Claim 1"),
    kind="lemma",
)

claim(
    id="identifiability/theorem-6",
    title="All pairwise tasks together do not identify a discrete HMM",
    source=f"{THESIS}, Section 2.2.2.2, Theorem 6",
    statement=(
        r"There are HMMs with $\tilde O \ne O$, both under Assumptions 5 to 7, that agree on $x_2 | x_1$, "
        r"$x_1 | x_2$, $x_3 | x_1$ and $x_1 | x_3$."
    ),
    criterion=(
        "A pair with rational entries agrees without rounding at all gaps up to 7, in both directions, "
        "and its parameters are more than 0.1 apart; every random world with three to six states has a "
        "partner that agrees to $10^{-12}$ and is more than $10^{-3}$ away."
    ),
    trials=pairwise,
    check=holds("Theorem 6", "Theorem 6, in fractions"),
    figure=twins_figure,
)

claim(
    id="identifiability/printed-pair",
    title="The printed pair of Equation 2.47",
    source=f"{THESIS}, Section 2.2.3.2, Equation 2.47",
    statement="The two worlds that are printed agree on all pairwise tasks and differ.",
    criterion=(
        "All pairwise predictors up to seven steps apart agree to $10^{-7}$, parameters differ by more "
        "than 0.05, and each predictor of two tokens differs by more than $10^{-4}$."
    ),
    trials=pairwise,
    uses=("identifiability/theorem-6",),
    check=holds("The printed pair"),
    kind="lemma",
)


@claim(
    id="identifiability/gauge",
    title="Worlds that agree on pairs differ by a change of basis of the states",
    source=f"added to {THESIS}, Section 2.2.3.2 (Equations 2.43 and 2.44, in general)",
    statement=(
        r"If two HMMs have the same predictor of $x_2$ from $x_1$, then $O = \tilde O S$ and $\tilde T = "
        r"S T S^\top$ for an $S$ whose rows and columns sum to one; if they agree on all pairwise tasks, "
        r"$S$ is orthogonal."
    ),
    criterion=(
        "For every student with zero loss (residual below $10^{-9}$) on $x_2 | x_1$ and on all pairs, "
        "this holds to "
        f"$10^{{-8}}$. Undecided with fewer than {ENOUGH} students in a world."
    ),
    trials=students,
)
def gauge(results: Results) -> Outcome:
    parts = []
    paired = ("x2|x1", "pairs on 3", "pairs on 8")
    for task in paired:
        joins = [
            results[world].numbers[task]["gauge"]
            for world in worlds_of(results)
            if task in results[world].numbers
        ]
        parts.append(at_most(f"joined to, {task}", [j["error"] for j in joins], 1e-8))
        if task != "x2|x1":
            off = [j["orthogonality"] for j in joins]
            parts.append(at_most(f"orthogonal to, {task}", off, 1e-8))
    found = all_of(*parts, numbers={"students": sum(len(all_solved(results, t)) for t in paired)})
    return only_if(enough(results, paired), "Too few students reached zero loss.", found)


claim(
    id="identifiability/atlas",
    title="What a task cannot see can be counted",
    source=f"added to {THESIS}, Theorems 4, 6 and 7",
    statement=(
        "In a generic world of $k$ states, $x_2 | x_1$ and $x_3 | x_1$ each leave $(k - 1)^2$ directions "
        "of parameters unseen, all pairwise tasks on three tokens and on eight $(k - 1)(k - 2) / 2$, and "
        "each task that joins three tokens none."
    ),
    criterion=(
        "The number of singular values of the Jacobian below $10^{-7}$ of the largest is this number, for "
        "nine tasks at nine sizes."
    ),
    trials=atlas,
    uses=("identifiability/gauge",),
    check=holds("Atlas"),
    figure=atlas_figure,
    kind="relation",
)


@claim(
    id="identifiability/twin-or-certificate",
    title="Every task has a twin world or a certificate",
    source=f"added to {THESIS}, Theorems 4, 6 and 7",
    statement=(
        "Walking along the directions that a task does not see gives a second world with the same optimal "
        "predictor; where there are none, the world is determined locally."
    ),
    criterion=(
        "In the named world, for each of the four pairwise tasks a twin is found whose predictors differ "
        "by at most $10^{-12}$ and whose parameters differ by more than 0.1 after the best relabelling; "
        "for each of the five tasks that join three tokens the Jacobian has full rank."
    ),
    trials=pairwise,
    uses=("identifiability/atlas",),
    figure=twins_figure,
    kind="relation",
)
def twin_or_certificate(results: Results) -> Outcome:
    twins, certificates = rows(results, "Twins"), rows(results, "Certificates")
    return all_of(
        holds("Twins", "Certificates")(results),
        all_true("pairwise tasks with a twin", [task in twins["task"] for task in PAIRWISE]),
        all_true(
            "others with a certificate",
            [task in certificates["task"] for task in (*TWO_TOKENS, *OURS)],
        ),
    )


@claim(
    id="identifiability/two-states",
    title="With two states all pairs identify, one step does not",
    source=f"added to {THESIS}, Theorem 6",
    statement=(
        "For $k = 2$ the pairwise tasks on three tokens determine the parameters (there are no "
        "rotations), while $x_2 | x_1$ leaves one direction unseen."
    ),
    criterion=(
        "The numbers of unseen directions are 0 and 1 in every world; no student with zero loss on all "
        "pairs is more than $10^{-6}$ away, and on $x_2 | x_1$ at least half are more than 0.01 away, in "
        "every world. Undecided with "
        f"fewer than {ENOUGH} such students."
    ),
    trials=students_and_atlas,
    uses=("identifiability/atlas",),
    kind="relation",
)
def two_states(results: Results) -> Outcome:
    exact = holds("Two states, x2|x1", "Two states, pairs on 3")(results)
    apart = [
        sum(d > 0.01 for d in found) / len(found)
        for world in worlds_of(results)
        if (found := solved(results, "x2|x1", world))
    ]
    fits = all_of(
        at_most("largest distance, pairs on 3", all_solved(results, "pairs on 3"), 1e-6),
        at_least("least share that is more than 0.01 away, x2|x1", apart, 0.5),
    )
    few = "Too few students reached zero loss."
    return all_of(exact, only_if(enough(results, ("x2|x1", "pairs on 3")), few, fits))


claim(
    id="identifiability/marginals",
    title="The law of a token can be read off the predictor of the next",
    source=f"added to {THESIS}, Section 2.2.2.2 (which leaves open whether marginals can be extracted)",
    statement=(
        "The marginal law of a token is the stationary law of the predictor of $x_2$ from $x_1$, read as "
        "a chain of tokens."
    ),
    criterion="The two differ by at most $10^{-9}$ in every random world.",
    trials=pairwise,
    check=holds("Marginals"),
    kind="lemma",
)

claim(
    id="identifiability/one-visible-token",
    title="Nothing that one visible token says tells the twins apart",
    source=f"added to {THESIS}, Theorem 6",
    statement=(
        "In the pair of worlds that agree on all pairs, the law of every hidden token given one visible "
        "token is the same; given two it is not. Masks that are filled one by one, as masked language "
        "models do, add nothing to one visible token."
    ),
    criterion=(
        "For sequences of five tokens, given one visible token the laws differ by at most $10^{-12}$, "
        "given two by more than 0.05 somewhere."
    ),
    trials=pairwise,
    uses=("identifiability/theorem-6",),
    check=holds("One visible token"),
)
