"""Section 3.1: a soft prompt and a linear head on worlds without memory."""

from minicosm.lab import (
    Cell,
    Outcome,
    Results,
    Rows,
    Table,
    all_above,
    all_below,
    all_of,
    all_true,
    at_most,
    holds,
    percent,
    rows,
)

from ...common.figures import statement_figure
from ..study import EXACT, IDENTITY, PAPER, STUDY
from ..trials import TOKENS, covering_search, head, prompt, simulations

claim = STUDY.section(__doc__)


@claim(
    id="tuning/theorem-3.6",
    title="A prompt relaxes independence to the states that matter",
    source=f"{PAPER}, Theorem 3.6",
    statement=(
        r"If the chain is regular and some $\mathcal{B}$ has "
        r"$\mathcal{H}^\star = \bigcup_{b \in \mathcal{B}} \operatorname{supp}(A_{:,b})$ covering "
        r"$\operatorname{supp}(\mu)$ with independent emission columns, then the prompt row "
        r"$u = \mathbb{1}_{\mathcal{B}}$ and the head $b = \sum_{h \in \mathcal{H}^\star} "
        r"\frac{\mu_h \, p_{0,h}}{c_h} \operatorname{row}_h(W_{:,\mathcal{H}^\star}^\dagger)$, "
        r"$c = A(u \odot p_1)$, satisfy $b^\top \overline{G}_2(u, \varnothing, x) = "
        r"\frac{\Pr(x)}{\|c \odot P[x \mid H_0]\|_1} \, \mu^\top P[H_0 \mid x]$ for every possible $x$, "
        r"$\varnothing$ being a placeholder. Where the prompt rules $x$ out, the output and the exact score "
        r"are both zero. With one row of $\mu$ per class and $\mathcal{H}^\star$ covering all their "
        "supports, one prompt serves all classes."
    ),
    criterion=IDENTITY
    + " The worlds have more states than tokens, so that no world satisfies Assumption 3.1; outputs "
    "that the prompt rules out are exactly zero.",
    trials=prompt,
    uses=("tuning/lemmas-c.1-and-c.2", "tuning/claim-b.1"),
    figure=statement_figure("Theorem 3.6", scores="scores"),
)
def theorem_3_6(results: Results) -> Outcome:
    found = rows(results, "Theorem 3.6")
    zero = found["largest output when excluded"]
    names = ("Theorem 3.6", "Theorem 3.6, long sequences", "Theorem 3.6, three classes")
    return all_of(
        holds(*names)(results),
        at_most("largest output where the prompt rules $x$ out", zero, 0),
        all_true("worlds where 3.1 fails", found["independent"], wanted=False),
        numbers={"sequences ruled out by the prompt": sum(found["excluded by the prompt"])},
    )


@claim(
    id="tuning/lemmas-c.1-and-c.2",
    title="A prompt row is a fake token, and enters the posterior as a factor",
    source=f"{PAPER}, Lemmas C.1 and C.2",
    statement=(
        r"C.1: message passing on $(u, \varnothing, e(x))$, $\varnothing$ being a placeholder, computes "
        r"$\tau_i = P[H_i, \hat X_{-i}]$ of the HMM in which a fake token $\tilde z$ is emitted at position "
        "1 with probabilities $u$, and for $i > 1$ the output is its conditional law, the zero vector if "
        r"the context is impossible. C.2: $P[H_2 \mid \tilde z, x] = r_x \frac{1}{p_0} \odot A(u \odot p_1) "
        r"\odot P[H_0 \mid x]$ with $r_x = \frac{\Pr(x)}{\Pr(\tilde z, x)}$."
    ),
    criterion=(
        "Agreement with explicit sums over hidden paths to $10^{-9}$, for rows $u$ with entries 0, 1 and "
        "between; outputs at impossible contexts are exactly zero."
    ),
    trials=prompt,
    uses=("tuning/equation-c.1",),
    kind="lemma",
    figure=statement_figure("Lemma C.1"),
)
def lemmas_c1_and_c2(results: Results) -> Outcome:
    found = rows(results, "Lemma C.1")
    return all_of(
        holds("Lemma C.1", "Lemma C.2")(results),
        at_most("output at impossible contexts", found["output at impossible contexts"], 0),
        numbers={"impossible contexts": sum(found["impossible contexts"])},
    )


claim(
    id="tuning/equation-c.1",
    title="The two messages divided by the prior give the conditionals",
    source=f"{PAPER}, equation C.1",
    statement=(
        r"With reversed kernels to the left and forward kernels to the right, $\tau_i$ is the product of "
        "the two messages divided by $P[H_i]$ at inner positions, and "
        r"$W \tau_i / \|\tau_i\|_1 = P[X_i \mid x_{-i}]$."
    ),
    criterion=EXACT + " The referee is a sum over hidden paths.",
    trials=head,
    check=holds("Equation C.1"),
    kind="lemma",
    figure=statement_figure("Equation C.1"),
)

claim(
    id="tuning/covering-search",
    title="The search for the essential states is exact",
    source="Assumption 3.5 as an algorithm",
    statement=(
        r"Backtracking over columns of $A$ finds sets $(\mathcal{B}, \mathcal{H}^\star)$ of Assumption 3.5 "
        r"exactly when some $\mathcal{B}$ exists among all subsets of states."
    ),
    criterion=r"It agrees with trying every $\mathcal{B}$ on every world of 6 states.",
    trials=covering_search,
    check=holds("Search for Assumption 3.5"),
    kind="lemma",
)

claim(
    id="tuning/prompt-length",
    title="For the exact model prompt length is irrelevant",
    source="refinement of Section 3.1",
    statement=(
        r"A prompt acts on the exact model only through $c = A w$ with $w \ge 0$, so every prompt of 20 rows "
        "equals some prompt of one row."
    ),
    criterion=(
        "The outputs of a random prompt of 20 rows and of the constructed single row agree to $10^{-9}$."
    ),
    trials=prompt,
    uses=("tuning/lemmas-c.1-and-c.2",),
    check=holds("Prompt length"),
    figure=statement_figure("Prompt length"),
)


@claim(
    id="tuning/separable",
    title="A weaker condition suffices, and decides",
    source="refinement of Theorem 3.6",
    statement=(
        r"Prompt and head solve a task whenever $(W^\top b) \odot (A w)$ is proportional to $\mu \odot p_0$ "
        r"for some $b$ and some $w \ge 0$. In a world of 6 states where 3.3 and 3.6 do not apply, "
        r"$\mu = (1, -2, 0.7)$ is solved so, and $\mu = (1, 2, -1.5)$ is not separable."
    ),
    criterion=(
        "Neither theorem applies; for the first task the construction is exact to $10^{-9}$ on all "
        "sequences of length 6; for the second the linear program is infeasible."
    ),
    trials=prompt,
    uses=("tuning/theorem-3.6", "tuning/prompt-length"),
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


@claim(
    id="tuning/assumption-3.5-in-simulations",
    title="Which worlds of the simulations satisfy Assumption 3.5",
    source=f"{PAPER}, Assumption 3.5, on the worlds and tasks of Appendix E",
    statement=(
        "With at most 10 states Assumption 3.5 holds in more than 90% of the simulated worlds, with 25 or "
        "30 in none. Counting only transitions of at least .01, and emissions as independent only if "
        "their singular values are within a factor $10^3$, it holds with 25 or 30 states in some worlds, but "
        "in fewer than half."
    ),
    criterion=(
        r"The 95% interval of the share of worlds lies above 90% at every $|\mathcal{H}| \le 10$; no world "
        "satisfies the strict form at 25 or more; the interval of the thresholded form lies above 0 and "
        "below 50% there (one on the other side: fails)."
    ),
    trials=simulations,
    kind="experiment",
)
def in_simulations(results: Results) -> Outcome:
    sizes: dict[int, Rows] = {
        size: rows(results, f"|H|={size}") for size in results["suite"].config.sizes
    }
    few = [size for size in sizes if size <= TOKENS]
    many = [size for size in sizes if size >= 25]
    strict = {f"$|H| = {size}$": percent(sizes[size]["strict"]) for size in few}
    numeric = {f"$|H| = {size}$": percent(sizes[size]["numeric"]) for size in many}
    columns = {
        "independent": "W independent",
        "usable": "and cond(W) < 1e3",
        "shared": "states share a top token",
        "strict": "3.5 strict",
        "numeric": "3.5 thresholded",
        "emission": "mean top emission",
        "transition": "mean top transition",
    }
    shown: tuple[tuple[Cell, ...], ...] = tuple(
        (size, *(percent(found[name]) for name in columns)) for size, found in sizes.items()
    )
    return all_of(
        all_above("strict", strict, 90),
        at_most("worlds with the strict form", [sum(sizes[size]["strict"]) for size in many], 0),
        all_above("thresholded", numeric),
        all_below("thresholded", numeric, 50),
        tables=(Table("Worlds of Appendix E, per cent", ("$|H|$", *columns.values()), shown),),
    )
