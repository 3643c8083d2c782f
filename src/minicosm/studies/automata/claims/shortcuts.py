"""Every automaton in logarithmic depth; counters and memories in one layer: Sections 3.4.1, 3.4.4.2."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    Table,
    all_of,
    holds,
    least,
    refuted,
    rows,
    worst,
)

from ..figures.shortcuts import draw_depths
from ..study import STUDY, THESIS
from ..trials import shortcuts

claim = STUDY.section(__doc__)

EXACT = r"no state differs and every value read is within $10^{-9}$ of a code"


@claim(
    id="automata/definition-3",
    title="Four ways to the same states, in depths from $T$ to 2",
    source=f"{THESIS}, Section 3.4.1, Definition 3 and Theorems 10 to 12",
    statement=(
        r"A shortcut simulates an automaton in depth $o(T)$. For a gridworld of four places one step a "
        r"layer takes $T$ layers, Theorem 10 $\lceil \log_2 T \rceil$, the cascade of Theorem 11 as many "
        r"at every $T$, and Theorem 12 two."
    ),
    criterion=(
        f"At $T = 1, 2, 4, \\dots$ every compiled network has the stated depth; where it is run, {EXACT} "
        f"(one "
        "step a layer up to $T = 256$, the others up to the longest)."
    ),
    trials=shortcuts,
    figure=draw_depths,
)
def depths(results: Results) -> Outcome:
    found = rows(results, "Definition 3, depth")
    columns = ("construction", "length", "depth")
    lines = tuple(zip(*(found[name] for name in columns), strict=True))
    return all_of(
        holds("Definition 3, depth", "Definition 3, states")(results),
        tables=(Table("layers", columns, lines),),
    )


claim(
    id="automata/theorem-10",
    title="Every automaton has a shortcut of logarithmic depth",
    source=f"{THESIS}, Section 3.4.4.2, Theorem 10",
    statement=(
        r"Every semiautomaton is simulated at length $T$ by a Transformer of depth $\lceil \log_2 T "
        r"\rceil$, embedding dimension $2|Q| + 2$, two heads of width $|Q|$, MLPs of three layers and "
        r"width $|Q|^2 + |Q|$, and weights of at most $\max\{4|Q| + 2, 10 T \sqrt{\log |Q| + \log T}\}$."
    ),
    criterion=(
        "For the 19 automata that the source trains on and for random ones of up to six states, at lengths "
        f"that are powers of two and that are not: {EXACT}, on all strings where these are few, else on "
        "uniform ones, ones that repeat symbols and ones of the world's own law; and no size is above the "
        "claim."
    ),
    trials=shortcuts,
    uses=("automata/lemma-14", "automata/lemma-13", "automata/proposition-2"),
    check=holds("Theorem 10", "Theorem 10, sizes"),
    figure=draw_depths,
)

claim(
    id="automata/theorem-10-readout-as-printed",
    title="The state is read from any coordinate",
    source=f"{THESIS}, Section 3.4.4.2, last step of the proof of Theorem 10",
    statement=(
        r"At the final layer the $(q, \mathsf{R})$ dimensions at position $t$ hold $\delta(\cdot, "
        r"\sigma_t) \circ \dots \circ \delta(\cdot, \sigma_1) \circ (q \mapsto q_0)$, so that the state "
        r"can be read from $e_{(q, \mathsf{R})}$ for an arbitrary $q$."
    ),
    criterion="On random permutation automata, a state that one of the coordinates has wrong refutes it.",
    trials=shortcuts,
    check=refuted("Theorem 10, readout as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        r"At $t = T$, where $T$ is a power of two, the $T$ symbols that are composed are $\sigma_1, "
        r"\dots, \sigma_T$ and include no padding: coordinate $q$ holds $\delta(q, \sigma_{1:T})$. "
        r"Reading at $q = q_0$ is right at every position, and is what the construction of the corrected "
        r"claim does. All errors found are at $t = T$.",
        corrected_by="automata/theorem-10",
    ),
)


@claim(
    id="automata/theorem-10-sharpness",
    title="A hundredth of the sharpness is enough",
    source=f"{THESIS}, Section 3.4.4.2: the factor 100 in the choice of $\\gamma$",
    statement=(
        r"The source chooses $\gamma = 100\, T^2 (\log |Q| + \log T)$. For permutation automata of five "
        r"states the least factor for which all states are right is between 0.1 and 1."
    ),
    criterion=(
        "With factor 0.1 a state is wrong and with factor 1 none is, at every length, with hats and with "
        "the indicators of Lemma 10; the least factors are reported. (Neighbours get the weight $(|Q| "
        "T)^{-4.9 g}$ with factor $g$. The first version ran any random table; one whose start is a "
        "fixed point is right with every factor, so it was restricted to automata that forget nothing.)"
    ),
    trials=shortcuts,
    kind="experiment",
)
def sharpness(results: Results) -> Outcome:
    found = rows(results, "Theorem 10, sharpness")
    columns = ("length", "hats", "least factor", "deviation at 1")
    lines = tuple(zip(*(found[name] for name in columns), strict=True))
    return all_of(
        holds("Theorem 10, sharpness")(results),
        numbers={
            "least of the factors": least(found["least factor"]),
            "largest of the factors": worst(found["least factor"]),
        },
        tables=(Table("least factor g with all states right", columns, lines),),
    )


claim(
    id="automata/lemma-15",
    title="A counter in one layer",
    source=f"{THESIS}, Section 3.4.4.3.1, Lemma 15",
    statement=(
        r"The counter modulo $n$ is simulated in depth 1 with $d = 3$, one head of width 1, an MLP of "
        r"two layers and width $4nT$, and weights of at most $4nT + 2$."
    ),
    criterion=f"For $n \\le 8$, every start and every length, {EXACT}, and no size is above the claim.",
    trials=shortcuts,
    uses=("automata/lemma-10",),
    check=holds("Lemma 15", "Lemma 15, sizes"),
    kind="lemma",
)

claim(
    id="automata/lemma-16",
    title="A memory in one layer",
    source=f"{THESIS}, Section 3.4.4.3.1, Lemma 16",
    statement=(
        r"The memory of $m$ states is simulated in depth 1 with $d = 4$, one head of width 2, an MLP of "
        r"two layers and width $4m$, and, for large $T$, weights of at most $2 T \log(mT)$."
    ),
    criterion=(
        f"For $m \\le 8$, every start and every length, {EXACT}, and no size is above the claim; the "
        f"bound on the "
        r"weights, which is one for large $T$, is checked where $mT \ge 16$ and $2T \log(mT) \ge 8m + 2$."
    ),
    trials=shortcuts,
    uses=("automata/lemma-10", "automata/lemma-13"),
    check=holds("Lemma 16", "Lemma 16, sizes"),
    kind="lemma",
)
