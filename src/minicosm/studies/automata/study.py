"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="automata",
    title="Shortcuts to automata: how shallow Transformers simulate what recurrences compute step by step",
    source=(
        "B. Liu: PhD thesis, Sections 3.1 to 3.4; from B. Liu, J. T. Ash, S. Goel, A. Krishnamurthy, "
        "C. Zhang: Transformers learn shortcuts to automata. ICLR 2023"
    ),
    about=(
        "A finite semiautomaton reads one symbol a step and changes its state: the smallest model of "
        "reasoning step by step. A shallow Transformer can give all states in one pass with far fewer "
        "layers than steps. Every construction is compiled to explicit weights for any transition table, "
        "run against the exact states, and measured against the printed sizes; what cannot be compiled "
        "is refused with its reason. Transformers and recurrent networks are trained on the same "
        "automata to see whether training finds shortcuts, and how brittle they are."
    ),
    headlines=(
        "automata/theorem-10",
        "automata/theorem-11",
        "automata/theorem-12",
        "automata/depth-helps",
        "automata/shift-transformer",
    ),
    misprints=(
        r"Section 3.1, residual connections: the composition ends in $+ (\mathrm{id} + P)$; Section 3.2 "
        r"prints $\circ (\mathrm{id} + P)$.",
        "Section 3.1, padding: Theorems 1 and 2 are Theorems 10 and 11 of the thesis.",
        r"Proof of Lemma 11: the bias of the second layer is printed $-d_\mathrm{in}$; with "
        r"$-(d_\mathrm{in} - 1)$ a unit is 1 where all indicators are.",
        r"Lemma 14, display after the second layer: $g(q')$ for $f(q')$.",
        r"Theorem 10, choice of $\theta$ and of the values: with the printed $\rho_\theta$ the angle is "
        r"$+\pi 2^{l-1}/T$, and $W_V$ reads the dimensions $(q, \mathsf{R})$; the sentence after it says "
        "what is selected.",
        r"Lemma 15: the sum runs over $[t]$, printed $[T]$; the MLP maps $s$ to $(q_0 + 2Ts) \bmod n$, "
        r"printed $Ts \bmod n$.",
        r"Lemma 16, score: $c(j/T - 2 \cdot \mathbb{1}[\sigma_j = \bot])$ with the printed $W_Q$; the "
        "text leaves out the 2.",
        r"Proof of Lemma 22: the extremes of the suffix differ by $S$, printed $S + 1$.",
        r"Proof of Lemma 23: the value returned is $\log(2T - j)$ of the position $j$, printed with "
        r"$\gamma_j$ in its place.",
        r"Section 3.4.4.4: the second layer has $2S + 1$ heads, in one place printed $2S$; with "
        r"max-pooling the depth is $O(1)$, printed $O(S)$ after Theorem 12.",
        r"Theorem 12, step 2(d): $M_s$ says that $f_1(s)$ is the least, $f_1(s) \le f_{1,\min}$; printed "
        "with the sides exchanged, which is always true.",
        "Equation 3.1, wreath products: printed with the factors exchanged and $e_H$ as the last entry; "
        r"the paragraph after it has the homomorphism right, $\phi_h$ permutes entries by right "
        "multiplication.",
        "Section 3.3.1, group extensions: $Q_8$ is the smallest non-abelian group that is no split "
        "extension; $C_4$ is a smaller one. Section 3.4.5.1.1 prints it with the word.",
        r"Lemma 18, implementation: the $L_N$ layers after the change of basis are a copy of "
        r"$\mathrm{sim}_N$, printed $\mathrm{sim}_H$, and begin at $L_H + 2$.",
        r"Lemma 19: the sizes are for $\mathrm{repDim}_H = 1$; printed of the product.",
        r"Theorem 16, end of the proof: the recursion is on $H_i$, printed $K_i$ for the depth, and is "
        r"iterated $\log_2 |G|$ times, printed $\log_2 T$.",
        r"Lemma 20, last layer: $d_\mathrm{inv} = 2 \, \mathrm{repDim} + 1$, printed $\mathrm{repSize}$.",
    ),
    aliases=("shortcuts",),
)
