"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "Y. Li's thesis"
OTHER = "B. Liu's thesis"  # the same work is printed there, too

STUDY = Study(
    name="dyck",
    title="Bounded Dyck languages: balanced attention, and what looking at attention misses",
    source=(
        "Y. Li: PhD thesis (CMU-ML-25-120), Section 2.2; from K. Wen, Y. Li, B. Liu, A. Risteski: "
        "Transformers are uninterpretable with myopic methods: a case study with bounded Dyck "
        "grammars. NeurIPS 2023"
    ),
    about=(
        "Strings of nested brackets with a bounded depth, whose next-token law is known exactly. Which "
        "attention patterns can a Transformer have that predicts it perfectly at every length? Those "
        "that are balanced: one linear condition, which leaves uniform and random attention open. "
        "Every statement is run as an explicit model in double precision, next to those that are wrong "
        "as printed; small Transformers are trained to see how their attention differs from seed to "
        "seed and how balance goes with length generalisation."
    ),
    headlines=(
        "dyck/theorem-2.2.1-sufficiency",
        "dyck/pumping",
        "dyck/corollary-2.2.1",
        "dyck/theorem-2.2.3",
        "dyck/complete-contrast-lengthens",
        "dyck/attention-varies",
    ),
    misprints=(
        r"Definition 2.2.3 and Equation 2.51: depths $d$ of closed brackets run over $1, \dots, "
        r"D$; they exist for $0, \dots, D-1$, queries have depth $1, \dots, D-1$, and the query "
        "of $S$ at index $d$ has depth $d - 1$, as in Equation 2.52.",
        "Equations 2.49 to 2.53: $u$ is written with the query first; its definition (2.48) and "
        "the proof of sufficiency have the key first.",
        "Before Equation 2.49: the values are those of the keys, $W_V X_i$, printed with the last "
        r"column; and at the end of the proof the query is $\tau_{2j,d}$, printed $2j + 1$.",
        r"Theorem 2.2.1, necessity: the values are asked to be nonzero for $t \in [k]$; the "
        r"remark after the theorem says all tokens, and that is what is needed: $t \in [2k]$.",
        "Equation 2.55: the one-hot vector of a bracket with its depth is number $r(t, d)$ of "
        "Equation 2.60; with $(t - 1) D + d$ a closed bracket of depth 0 gets the vector of the "
        "open one of its type at depth $D$. Equation 2.56 needs $D + 1$ slots for depths $0, "
        r"\dots, D$, and 2.55 to 2.57 one for the start.",
        r"Corollary 2.2.2: the bound is on $\|S\|$ by $P$ with index $j$, printed $S$ and $P$ "
        "with index $i$.",
        "Definition 2.2.6: the maximum is over columns, as its formula has it; the words say rows.",
        "Equation 2.63 and after: the index of $b$ is $tD + d$; it is $(t - 1) D + d$, as there "
        "are $kD$ directions.",
        "Equation 2.70: attention averages, so that the counts are divided by $n + 1$; the norm "
        "removes the factor.",
        "Equation 2.80: the open bracket of the pair has depth $d'$, printed $d' - 1$.",
        r"Lemma 2.2.5: the closed form is $(\lambda_1 + \epsilon_1)(\lambda_2 + \epsilon_2) - "
        r"\lambda_1 \lambda_2$, as its proof has it; printed with $\epsilon_1$ and $\epsilon_2$ "
        "exchanged.",
        "Proof of Lemma 2.2.6: the approximation of $W_2$ is printed with a ReLU around it, which "
        "the network of the lemma does not have.",
        "Proof of Lemma 2.2.18: the $+M$ after the second ReLU has to go; with it every entry "
        "contributes.",
        "Proof of Lemma 2.2.20: $[I, -I]$ is printed with a transpose, with which the product is "
        "not defined.",
    ),
    aliases=("bounded-dyck",),
)
