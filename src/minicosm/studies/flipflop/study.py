"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="flipflop",
    title="Attention glitches: Transformers that almost remember one bit",
    source=(
        "B. Liu: PhD thesis, Section 3.5; from B. Liu, J. T. Ash, S. Goel, A. Krishnamurthy, C. Zhang: "
        "Exposing attention glitches with flip-flop language modeling. NeurIPS 2023"
    ),
    about=(
        "A flip-flop string writes bits, ignores others and reads the last one written: the smallest task "
        "of memory. Its laws, its optimal losses and the errors of every n-gram model are exact, and small "
        "networks that solve it are written down. Transformers and LSTMs are trained on strings of one "
        "density, and their wrong reads are counted on strings that are sparser and denser, with and "
        "without the remedies of the source; on the automaton itself one sees where attention goes."
    ),
    headlines=(
        "flipflop/glitches",
        "flipflop/lstm",
        "flipflop/mixture",
        "flipflop/proposition-3",
        "flipflop/proposition-5-exact",
        "flipflop/simulation-drift",
    ),
    misprints=(
        r"Section 3.5.2: more than $3 \times 10^5$ sequences are sampled; predictions (reads) are meant, as "
        "the caption of Figure 3.25 and Section 3.5.6.2 have it.",
        r"Equation 3.6 and the display of $f(x)$ in Proposition 3: $W_V$ is printed before the softmax as "
        "well; it stands after it only.",
        r"Proposition 3, scores of layer 2, first line: the factor $c/T$ is $c$, as in the second line.",
        r"Proposition 5, (3.8) to (3.14): transposes are missing in $W_{Qe}^\top W_{Ke}$ and "
        r"$W_{Ke}^\top W_{Qp}$, $p_t$ is $t/C$, printed $i/C$, and the last token is called the last write.",
        "Footnote 46: the weights that sum to $10^{-7}$ are those that are not on recent reads; printed: "
        "not on the most recent write.",
        "Section 3.5.6.5: that none of the mitigations reaches 100% is (R7), printed (R5).",
    ),
    aliases=("flip-flop", "glitches"),
)
