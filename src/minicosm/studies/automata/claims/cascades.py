"""Every automaton as a cascade of groups and memories: Sections 3.4.1, 3.4.4.3.2 and 3.4.4.3.4."""

from minicosm.lab import Erratum, holds, refuted

from ..figures.cascades import draw_decomposition, draw_depth_matrix, draw_flows
from ..study import STUDY, THESIS
from ..trials import cascades

claim = STUDY.section(__doc__)

claim(
    id="automata/theorem-15",
    title="Every automaton is a cascade of permutation-reset automata (Krohn and Rhodes)",
    source=f"{THESIS}, Section 3.4.4.3.2, Theorem 15, by the holonomy decomposition that it cites",
    statement=(
        "Every automaton is run by a cascade of automata whose symbols permute or reset their states, in "
        "which the input of each depends on the symbol and on the states of earlier levels before the "
        "step."
    ),
    criterion=(
        "For the library and random automata of up to five states, over all coordinates that words lead "
        "to: no step decodes to a wrong state, every action permutes or resets, and none depends on "
        "anything else. The numbers of levels and states are those of this variant and are reported, not "
        "compared."
    ),
    trials=cascades,
    check=holds("Theorem 15"),
    figure=draw_decomposition,
)

claim(
    id="automata/definition-8",
    title="Solvability is decidable, and four states are always solvable",
    source=f"{THESIS}, Section 3.4.4.3.2, Definition 8, and Section 3.4.1.2",
    statement=(
        r"An automaton is solvable if the permutation groups of its decomposition are. All with $|Q| \le "
        r"4$ are, as their groups lie in $S_4$; $A_5$ on five points is not."
    ),
    criterion=(
        r"All automata of two symbols with at most three states and random ones with four come out "
        r"solvable, $A_5$ on five points does not, and the group at which its derived series stops has "
        "60 elements."
    ),
    trials=cascades,
    check=holds("Definition 8", "A_5 on five points"),
    figure=draw_flows,
    kind="theorem",
)

claim(
    id="automata/lemma-20",
    title="A group and a memory make a permutation-reset automaton",
    source=f"{THESIS}, Section 3.4.4.3.4, Lemma 20",
    statement=(
        r"A permutation-reset automaton with the solvable group $G$ is simulated in depth "
        r"$\mathrm{depth}_G + 2$: $q_t = \Phi(g_{\le t} \, g_{\le r}^{-1})(q_r)$ with $r$ the latest "
        r"reset, and the start as a reset at position 0; $d \le 2|G| + 4$ and heads of width at most "
        "$|G| + 2$."
    ),
    criterion=(
        r"For $S_4$ and $D_8$ on four points and random ones, with frequent, rare and no resets: no "
        r"state differs, values read are within $10^{-9}$ of a code, and no size is above the claim."
    ),
    trials=cascades,
    check=holds("Lemma 20", "Lemma 20, sizes"),
    kind="lemma",
    uses=("automata/lemma-11", "automata/lemma-16", "automata/theorem-16"),
)

claim(
    id="automata/lemma-20-size-as-printed",
    title="The width of Lemma 20 in terms of |G| + |Q|",
    source=f"{THESIS}, Section 3.4.4.3.4, Lemma 20",
    statement=(
        r"$d = \mathrm{dim}_G + \mathrm{repDim}_G + \mathrm{dim}_M \le |G| + |Q| + 4$, and heads have "
        r"width at most $|Q| + 3$."
    ),
    criterion="One network of the lemma that is larger refutes it.",
    trials=cascades,
    check=refuted("Lemma 20, sizes as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        r"By the recursion of Theorem 16 $\mathrm{dim}_G = \mathrm{repDim}_G + 2$ and "
        r"$\mathrm{repDim}_G < |G|$, so that the printed sums are at most $2|G| + 4$ and $|G| + "
        "2$. For $S_4$ on four points they are 48 and 24, where the printed bounds give 32 and "
        r"7. The embedding dimension of Theorem 11 is $O(\cdot)$ of the same.",
        corrected_by="automata/lemma-20",
    ),
    kind="lemma",
)

claim(
    id="automata/lemma-21",
    title="A cascade as a network: the wiring reads the position before",
    source=f"{THESIS}, Section 3.4.4.3.4, Lemma 21 with Definition 6",
    statement=(
        r"A cascade of $L$ levels is simulated in depth at most $L (\max_i \mathrm{depth}_i + 1) - 1$, "
        r"if the layer of wiring between two levels has a head that reads the states at $t - 1$."
    ),
    criterion=(
        r"For a memory that drives a counter and decompositions of random automata of up to four states: "
        r"no state differs, values read are within $10^{-9}$ of a code, and depth, dimensions (two more "
        "than printed, for positions) and heads are not above the claim."
    ),
    trials=cascades,
    check=holds("Lemma 21", "Lemma 21, sizes"),
    kind="lemma",
    uses=("automata/lemma-11", "automata/lemma-20"),
)

claim(
    id="automata/lemma-21-as-printed",
    title="A cascade as a network: the wiring reads its own position",
    source=f"{THESIS}, Section 3.4.4.3.4, Lemma 21, last layer of each subnetwork",
    statement=(
        r"The wiring layer has an identity attention block: its MLP maps the outputs of the components "
        r"at the position $t$ and $\sigma_t$ to $\phi^{(i)}(q^{(1)}, \dots, q^{(i-1)}, \sigma_t)$."
    ),
    criterion="A cascade of several levels of which one state is wrong refutes it.",
    trials=cascades,
    check=refuted("Lemma 21 as printed"),
    expected="fails",
    erratum=Erratum(
        "gap",
        r"Definition 6 has $\phi^{(i)}$ of the states before the transition, $q_{t-1}$; the outputs at "
        r"position $t$ are those after it. A memory followed by a counter that advances if the stored "
        r"bit is 1 goes from $(0, 0)$ to $(1, 0)$ on the input 1, and the printed wiring gives $(1, 1)$. "
        "A head that looks one position back repairs it; the depth stays as it is.",
        corrected_by="automata/lemma-21",
    ),
    kind="lemma",
)

claim(
    id="automata/theorem-11",
    title="Solvable automata in a depth that does not depend on the length",
    source=f"{THESIS}, Sections 3.4.1.1 and 3.4.4.3, Theorem 11",
    statement=(
        r"A solvable automaton is simulated at any length $T$ in a depth that does not depend on $T$ and "
        r"is at most $3 |Q|^2 \log_2 |Q| + 7 |Q|$."
    ),
    criterion=(
        r"For Grid$_4$, the flip-flop, $D_8$ and random automata of up to four states, compiled at "
        r"several lengths: no state differs, values read are within $10^{-9}$ of a code, the depth is "
        r"the same at all lengths and not above the bound. $A_5$ and $S_5$ are refused, with the perfect "
        "group of order 60."
    ),
    trials=cascades,
    check=holds("Theorem 11", "Theorem 11, depth at all T", "Theorem 11, depth", "refused"),
    figure=draw_depth_matrix,
    uses=("automata/theorem-15", "automata/definition-8", "automata/lemma-21"),
)
