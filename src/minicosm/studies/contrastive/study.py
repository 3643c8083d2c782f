"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="contrastive",
    title="Contrastive learning of diffusions",
    source=(
        "B. Liu: Guiding machine learning design with insights from simple sandboxes. PhD thesis "
        "(CMU-ML-24-110), 2024, Section 2.1; from B. Liu, P. Ravikumar, A. Risteski: Contrastive learning "
        "of strong-mixing continuous-time stochastic processes. AISTATS 2021"
    ),
    about=(
        "Tell the next observation of a diffusion from a draw of a contrast law: the best classifier "
        "knows the transition kernel. How long must the trajectory be, what does a small loss say about "
        "the learned kernel, and what does the contrast law cost? For Ornstein-Uhlenbeck diffusions "
        "everything has a closed form, for other potentials a grid makes everything a finite sum. The "
        "source has no experiments here; those on samples and networks are ours."
    ),
    headlines=(
        "contrastive/lemma-1",
        "contrastive/theorem-2",
        "contrastive/price-of-q",
        "contrastive/closer-q",
        "contrastive/learns-the-kernel",
        "contrastive/local-q-learned",
    ),
    misprints=(
        "Equation 2.11, third line: the numerator is the probability given $y = 1$, printed with $y = 0$.",
        r"Equation 2.21: the power of the logarithm is $-3/4$, printed $-3/2$.",
        r"Equation 2.22: the remainder of the Taylor expansion is $\int_0^\delta (\delta - s) / (1 + s)^2 "
        r"\, ds$.",
        r"Equation 2.24: $p^5$ is $p^4$, and a factor $\delta^2$ is lost, in a term that is not needed.",
        r"Equations 2.31 and 2.32: absolute values are missing; the population risk on $p_*$ is at most "
        r"twice the excess, $4 \epsilon_{tr}$, which the $O$ absorbs.",
        r"Equation 2.34: $C_l$, $C_u$, $C_1$ and $C_2$ are mixed; at $\eta = \rho / (10 C_u)$ a bracket "
        r"is zero, so $\eta$ must be "
        "less.",
        r"Footnote 2: the factor $L$ is missing; Section 2.1.1.2: $L_1, L_2$ are $L_0, L_1$ and "
        r"$\mathbb{R}^n$ is $\mathbb{R}^d$.",
    ),
)
