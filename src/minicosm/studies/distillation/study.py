"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="distillation",
    title="Progressive distillation: what a teacher's checkpoints tell a small student",
    source=(
        "B. Liu: PhD thesis, Section 4.2; from A. Panigrahi, B. Liu, S. Malladi, A. Risteski, S. Goel: "
        "Progressive distillation induces an implicit curriculum. ICLR 2025"
    ),
    about=(
        "A small student learns from checkpoints of a large teacher's own training, one after the other, "
        "and gets there sooner than from the labels or from the final teacher. In worlds whose features "
        "are known one can see why: during its phase transition the teacher leaks simple features of the "
        "solution (products of few variables of a parity's support, short n-grams of a grammar) that "
        "neither the labels nor the trained teacher show. The theorems run with their constants, and "
        "teachers and students are trained side by side on the same inputs."
    ),
    headlines=(
        "distillation/before-labels",
        "distillation/one-checkpoint",
        "distillation/low-degree-spike",
        "distillation/theorem-23-batch",
        "distillation/two-checkpoints",
        "distillation/reliance-rises-and-falls",
    ),
    misprints=(
        r"Claim 7: the minus belongs to the gradient of the loss $\ell$; it is printed in front of "
        r"that of $f y$ too.",
        "Claim 8: the gradients are those of $f y$; the factor $y$ is left out.",
        r"Algorithm 2, $\lambda_1 = 1$: the decay is decoupled from the rate, "
        r"$w \leftarrow (1 - \lambda_1) w - \eta_1 g$; of the printed penalty it would be "
        r"$1 / (2 \eta_1)$.",
        r"Lemma 65 and Corollary 5, batch $B_1$: $|\zeta_{k-1}|^{-2}$, printed with the exponent 2; "
        "Corollary 3 and the totals have it right.",
        r"Lemma 64, item 2: off the support the bound is $(k-1)/(k(d-k))$, printed $1/(kd)$; the lemma "
        "survives.",
        "Lemma 64, end of item 1: the sum runs over $m/2$ pairs, printed over $m$ neurons.",
        "Section 4.2.6: that $k$ is even is said in the proof of Lemma 64 only, and that the gap needs "
        "$d > 2k - 1$ is not said.",
        "Section 4.2.7.3: $c(i, j)$ is the sign of bit $j$ of $i - 1$; text and Figure 4.19 have it "
        "right.",
        "Figure 4.20: the same class is called 0 and 1.",
        "Section 4.2.8.5: the grid of $T$ has 15000, more than the run of 4000 steps; the caption of "
        "Figure 4.7 has 500, 1000, 2000.",
        "Definition 26: a level is a distance from the root; its example, Figure 4.6 and the losses of "
        "GPT-2 count from the leaves.",
        "Section 4.2.9: the window begins at $i - n + 2$ in the text and at $i - n + 1$ in Equation "
        "4.100 and in the definition; Equation 4.101 is shifted by one.",
        r"Proposition 9, concrete example: with $W_Q = W_K$ and $p_n = e_3$ the last token is attended "
        r"to as well unless $d \in S$; the proof before it is right.",
    ),
    aliases=("progressive-distillation",),
)
