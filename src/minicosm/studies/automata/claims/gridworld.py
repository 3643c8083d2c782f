"""Gridworlds in two layers of attention: Section 3.4.4.4."""

from minicosm.lab import Erratum, Outcome, Results, Table, all_of, holds, least, refuted, rows

from ..figures.gridworld import draw_path
from ..readings import wrong_strings
from ..study import STUDY, THESIS
from ..trials import gridworlds

claim = STUDY.section(__doc__)

PLACE = f"{THESIS}, Section 3.4.4.4"
EXACT = r"no state differs and every value read is within $10^{-9}$ of a code"

claim(
    id="automata/algorithm-1",
    title="The state of a gridworld from free prefix sums",
    source=f"{PLACE}, Algorithm 1",
    statement=(
        r"Let $z_t$ be the sums of the moves as if there were no walls, after $S + 1$ moves to the left. "
        r"In the shortest suffix with $S + 1$ distinct sums, let $t_\mathrm{final}$ be the later of the "
        r"last minimum and the last maximum: the state is $z_T - z_{t_\mathrm{final}}$ plus 0 at a "
        r"minimum, $S$ at a maximum."
    ),
    criterion=(
        r"No state differs: on all strings of ten moves $-1, 0, +1$ for $S \le 3$, on random ones and on "
        r"such that stay at walls up to the longest length for $S \le 8$, from every start."
    ),
    trials=gridworlds,
    check=holds("Algorithm 1"),
)

claim(
    id="automata/lemma-22",
    title="The later extreme is at its wall",
    source=f"{PLACE}, Lemma 22",
    statement=(
        r"If the last minimum of that suffix is later than the last maximum, the state there is 0; "
        r"otherwise the state at the last maximum is $S$."
    ),
    criterion="On the same strings the state at no later extreme differs from its wall.",
    trials=gridworlds,
    check=holds("Lemma 22"),
    kind="lemma",
)


@claim(
    id="automata/lemma-23-as-printed",
    title="Heads without a match select $t$",
    source=f"{PLACE}, Lemma 23, and step 2(a) of the second MLP of Theorem 12",
    statement=(
        r"Head $s$ of the second layer, which looks for the sum $z_t + s - S$, returns $\log(2T - t)$ if "
        r"that was never reached. In step 2(a) heads that return this, the centre head among them, are "
        r"mapped to $\log 2T$, which does not affect the correctness."
    ),
    criterion="A head that returns something else refutes it.",
    trials=gridworlds,
    expected="fails",
    erratum=Erratum(
        "gap",
        r"A head whose value was never reached selects the latest position of the nearest value that "
        r"was, which is $t$ only if $z_t$ is that value: with $S = 2$ and one move to the right, the "
        r"head for $z_t - 2$ selects the position before. (For $S = 1$ the lemma is right.) So the test "
        r"of step 2(a) leaves such heads in. Mapping the centre head to $\log 2T$ does affect the "
        r"result: windows $s = 0$ and $s = S$, whose ends include it, can then never be the closest, and "
        r"these are the states $S$ and $0$. Both are repaired by means that the construction has: a head "
        r"is unmatched if the prefix sum it returns differs from the one it looks for, and the centre "
        r"head is left as it is.",
        corrected_by="automata/lemma-23",
    ),
    kind="lemma",
)
def selects_itself(results: Results) -> Outcome:
    lines = [
        wrong_strings(results, part) for part in ("unmatched heads", "centre head", "step 2(a)")
    ]
    columns = (
        "what is as printed",
        "strings with a wrong state",
        "strings",
        "wrong states",
        "states",
    )
    return all_of(
        refuted("Lemma 23 as printed")(results),
        tables=(Table("networks of Theorem 12 with step 2(a) as printed", columns, tuple(lines)),),
    )


claim(
    id="automata/lemma-23",
    title="Heads with a match look further back the further they are from the centre",
    source=f"{PLACE}, Lemma 23",
    statement=(
        r"Heads whose value was reached are an interval around the centre; each returns the latest "
        r"position of its value, and going out from the centre these are earlier and earlier. The other "
        r"heads return the latest position of the nearest value that was reached."
    ),
    criterion="With hard attention, no head at no position of the strings returns another position.",
    trials=gridworlds,
    check=holds("Lemma 23"),
    kind="lemma",
)


@claim(
    id="automata/theorem-12",
    title="A gridworld is read off in two layers of attention",
    source=f"{PLACE}, Theorem 12",
    statement=(
        r"The gridworld of $S + 1$ places is simulated with two layers of attention and $2S + 1$ heads, "
        r"where the second MLP has depth $O(\log S)$ and width $O(S)$, or depth $O(1)$ and width "
        r"$2^{O(S)}$; grids of more dimensions by copies side by side. Depth $O(1)$ and width $O(S)$ are "
        r"enough: the state is the number of $s < S$ for which $z_t + s - S$ was seen later than $z_t + "
        r"s + 1$."
    ),
    criterion=(
        rf"For $S \in \{{1, 2, 3, 8\}}$, every start and every length, {EXACT}: with all three MLPs, "
        rf"with softmax "
        r"($\beta = 40 T^3$) and with hard attention, and on square grids; no size is above what is "
        r"stated, and at every length a match is preferred to all other values and to earlier matches."
    ),
    trials=gridworlds,
    uses=("automata/algorithm-1", "automata/lemma-22", "automata/lemma-23"),
    figure=draw_path,
)
def two_layers(results: Results) -> Outcome:
    margins = rows(results, "Theorem 12, margins")
    readings = ("count", "deep", "wide")
    return all_of(
        holds(
            *(f"Theorem 12 ({read})" for read in readings),
            *(f"Theorem 12 ({read}, hard)" for read in readings),
            *(f"Theorem 12, sizes ({read})" for read in readings),
            "Theorem 12, two dimensions",
            "Theorem 12, margins",
        )(results),
        numbers={
            "least margin of a value, times $T^2$": least(margins["value"]),
            "least margin of recency": least(margins["recency"]),
        },
    )


@claim(
    id="automata/theorem-12-output-as-printed",
    title="The output of the closest window",
    source=f"{PLACE}, step 2(d) of the second MLP of Theorem 12",
    statement=(
        r"The state is $\sum_s M_s \left[B (S - s) + (1 - B)(2S + 1 - s)\right]$, where $M_s$ says that "
        r"window $s$ is the closest and $B$ that its upper end was reached later."
    ),
    criterion="A wrong state of the network that is otherwise repaired refutes it.",
    trials=gridworlds,
    expected="fails",
    erratum=Erratum(
        "constant",
        r"If the lower end is later ($B = 0$) the state is $0 + z_t - (z_t + s - S) = S - s$, as in the "
        r"other branch; $2S + 1 - s$ is larger by $S + 1$ and no state. With $S - s$ in both branches "
        r"all states are "
        "right.",
        corrected_by="automata/theorem-12",
    ),
)
def output(results: Results) -> Outcome:
    columns = (
        "what is as printed",
        "strings with a wrong state",
        "strings",
        "wrong states",
        "states",
    )
    lines = (wrong_strings(results, "output"),)
    return all_of(
        refuted("Theorem 12, output as printed")(results),
        tables=(Table("networks with the printed output", columns, lines),),
    )
