"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="identifiability",
    title="Which hidden Markov model a masked prediction task identifies",
    source=(
        "B. Liu: Guiding machine learning design with insights from simple sandboxes. PhD thesis "
        "(CMU-ML-24-110), 2024, Section 2.2; from B. Liu, D. Hsu, P. Ravikumar, A. Risteski: Masked "
        "prediction: a parameter identifiability view. NeurIPS 2022"
    ),
    about=(
        "The optimal predictor of masked tokens is a function of the world's parameters. Can they be read "
        "off it? In hidden Markov worlds the answer is exact and depends on the task: one token from "
        "another leaves a continuum of discrete worlds, which can be counted and walked along; two tokens "
        "determine the world through the uniqueness of tensor decompositions; with Gaussian emissions one "
        "token suffices, and one task of two tokens does not. The source has no experiments here; "
        "students, samples and language models are ours."
    ),
    headlines=(
        "identifiability/zero-loss-students",
        "identifiability/atlas",
        "identifiability/twin-or-certificate",
        "identifiability/theorem-5",
        "identifiability/theorem-8-as-printed",
        "identifiability/language-model",
    ),
    misprints=(
        r"Section 2.2.2.1: $P(x_2 \mid h_2 = i) = O T_i$ is the law given $h_1 = i$, and $\phi(x_1) = "
        r"\mathbb{E}[h_1 \mid x_1]$, printed with $x_t$.",
        "Claim 3, the restatement of Claim 1: “any positive integer $t$” is $t \\ge 2$, as in Claim 1.",
        r"Proof of Claim 3: $\tilde T$ is printed twice without its factor $T$; Equation 2.48 has it.",
        r"Equations 2.52 and 2.53: the second-order term of the sine has one sign in each entry; the "
        r"entry (1, 2) of $R(\theta)$ is $-\theta + \theta^3/6 - \dots$. The conclusion holds for every "
        r"angle.",
        r"Proof of Theorem 5: $\tilde M = H \tilde M$ is $\tilde M = H M$.",
        r"Proof of Lemma 7: for $d = k$ the norm of $M^{-\top} 1$ is the root of $1^\top M^{-1} M^{-\top} "
        r"1$.",
        r"Proof of Lemma 8: the equations of an entry are $v_i^2 = v_i$, printed $v_i^2 = 1$; the sign is "
        r"then excluded "
        "as in the text.",
        r"Equation 2.74: $O$ is $M$; Equation 2.76: a factor $T^\top$ is carried over from Case 1.",
        r"Equation 2.47: “det(O) = 0.0110” of a $4 \times 3$ matrix is $\sqrt{\det(O^\top O)}$.",
    ),
)
