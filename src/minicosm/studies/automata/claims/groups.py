"""Solvable groups in constant depth: Sections 3.3.1 and 3.4.4.3.3."""

from minicosm.lab import Erratum, holds, refuted

from ..figures.groups import draw_group_depths
from ..study import STUDY, THESIS
from ..trials import groups

claim = STUDY.section(__doc__)

claim(
    id="automata/theorem-14",
    title="Composition factors do not depend on the series (Jordan and Hölder)",
    source=f"{THESIS}, Section 3.4.4.3.2, Theorem 14",
    statement=(
        "Any two composition series of a group have the same length and, up to order, the same factors."
    ),
    criterion=(
        "Of every group many series are drawn at random, each step a maximal normal subgroup. No series "
        "has another multiset of factors (order, and whether abelian) than the first."
    ),
    trials=groups,
    check=holds("Theorem 14"),
)

claim(
    id="automata/lemma-17",
    title="Groups side by side: every abelian group in one layer",
    source=f"{THESIS}, Section 3.4.4.3.3, Lemma 17",
    statement=(
        r"The direct product of groups is simulated in the largest of their depths; dimensions, heads "
        "and MLP widths add up. An abelian group, a product of cyclic ones, takes one layer."
    ),
    criterion=(
        r"For every abelian group of order at most 16 as a product of cyclic ones: no prefix product "
        r"differs, values read are within $10^{-9}$ of whole numbers, and no size is above the claim, "
        "depth 1."
    ),
    trials=groups,
    check=holds("Lemma 17", "Lemma 17, sizes"),
    kind="lemma",
    uses=("automata/lemma-15",),
)

claim(
    id="automata/lemma-18",
    title="Semidirect products in four stages",
    source=f"{THESIS}, Section 3.4.4.3.3, Lemma 18",
    statement=(
        r"$N \rtimes H$ is simulated in depth $\mathrm{depth}_N + \mathrm{depth}_H + 2$: prefix products "
        r"of $H$, $g_t \mapsto \phi_{h_{\le t}}^{-1}(g_t)$, prefix products of $N$, and $\phi_{h_{\le "
        "t}}$ back."
    ),
    criterion=(
        r"For $S_3$, $D_8$ to $D_{16}$, $A_4$, $S_4$ and $C_7 \rtimes C_3$: no prefix product differs, "
        r"values read are within $10^{-9}$ of whole numbers, and no size is above the claim."
    ),
    trials=groups,
    check=holds("Lemma 18", "Lemma 18, sizes"),
    kind="lemma",
    uses=("automata/lemma-11",),
)

claim(
    id="automata/lemma-19",
    title="Wreath products: copies that are permuted, simulated, and permuted back",
    source=f"{THESIS}, Section 3.4.4.3.3, Lemma 19",
    statement=(
        r"$N \wr H$ is simulated in depth $\mathrm{depth}_N + \mathrm{depth}_H + 2$ with $|H|$ copies of "
        r"$N$. The MLP that permutes copies has hidden units $\operatorname{relu}(B \, 1[h = v] + f_{i "
        r"v} - B)$ with $B \ge \mathrm{repSize}_N - 1$."
    ),
    criterion=(
        r"For $C_a \wr C_b$ with $2 \le a, b \le 7$: the codes of all prefix products of random words "
        r"are right to $10^{-9}$, with $B = \max\{|H|, \mathrm{repSize}_N - 1\}$; depth 4 and no size "
        "above the claim."
    ),
    trials=groups,
    check=holds("Lemma 19", "Lemma 19, sizes"),
    kind="lemma",
    uses=("automata/lemma-10", "automata/lemma-15", "automata/lemma-17"),
)

claim(
    id="automata/lemma-19-bias-as-printed",
    title="Wreath products with the bias of the order of H",
    source=f"{THESIS}, Section 3.4.4.3.3, Lemma 19, sizes of the re-indexing MLP",
    statement=r"The MLP that permutes copies has a second layer with the bias $\|b''_2\|_\infty = |H|$.",
    criterion=r"A code that is off by more than $10^{-9}$ for one $C_a \wr C_b$ refutes it.",
    trials=groups,
    check=refuted("Lemma 19, bias as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        "The bias must be at least the largest entry of a code of $N$, or units whose indicator is 0 stay "
        "on. "
        r"Where $\mathrm{repSize}_N \le |H| + 1$ the printed bias is enough; for $C_5 \wr C_2$ it is "
        "not. The bound $6nT$ of Theorem 16 covers the larger one.",
        corrected_by="automata/lemma-19",
    ),
    kind="lemma",
)

claim(
    id="automata/theorem-16",
    title="Solvable groups in depth 3 log |G|",
    source=f"{THESIS}, Section 3.4.4.3.3, Theorem 16",
    statement=(
        r"A solvable group $G$ of permutations of $n$ points is simulated at length $T$ in depth at most "
        r"$3 \log_2 |G|$, with $d \le 2|G|$, at most $2|G|$ heads of width 1, MLPs of at most $20 n T "
        r"|G|$ units and weights of at most $6 n T$."
    ),
    criterion=(
        r"For all solvable groups of the suite: no prefix product differs, values read are within "
        r"$10^{-9}$ of whole numbers, no size is above the claim, and exactly depth $3\ell - 2$ for a "
        r"series of $\ell$ steps, with codes of fewer than $|G|$ numbers."
    ),
    trials=groups,
    check=holds("Theorem 16", "Theorem 16, sizes", "Theorem 16, recursion"),
    figure=draw_group_depths,
    uses=("automata/lemma-15", "automata/lemma-19"),
)

claim(
    id="automata/example-7",
    title="Rubik's cube in a product of wreath products",
    source=f"{THESIS}, Section 3.3.1, Example 7",
    statement=(
        r"The group of Rubik's cube is a subgroup of $(C_3 \wr S_8) \times (C_2 \wr S_{12})$ of index 12."
    ),
    criterion=(
        "Every turn keeps corners and edges together and goes round the stickers of a corner, and the "
        "order that SymPy finds is the order of the product over 12. Undecided if SymPy is not installed."
    ),
    trials=groups,
    check=holds("Example 7"),
    kind="theorem",
)

claim(
    id="automata/barrington",
    title="Words over S_5 evaluate formulas",
    source=f"{THESIS}, Section 3.4.1.2, Theorem 13, by Barrington's construction",
    statement=(
        r"A formula with conjunctions nested $D$ deep becomes a word of at most $4^D$ permutations of "
        r"five points, each chosen by one input, whose product is a five-cycle if the formula is true "
        r"and the identity if not. So a network that simulates $S_5$ at length $4^D$ evaluates the "
        "formula."
    ),
    criterion=(
        "For all formulas of three inputs with conjunctions at most two deep (up to the order of halves) "
        "and 100 random ones three deep: no value is wrong for any inputs, no word is too long, and the "
        "network of Theorem 10 for five points, run on words of some of them, ends in the right state."
    ),
    trials=groups,
    check=holds("Barrington"),
)
