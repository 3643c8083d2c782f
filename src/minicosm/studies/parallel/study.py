"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "Y. Li's thesis"

STUDY = Study(
    name="parallel",
    title="Masked pseudolikelihood, block dynamics and parallel decoding",
    source=(
        "Y. Li: PhD thesis, Chapter 4; from Y. Li, A. Kirchmeyer, A. Mehta, Y. Qin, B. Dadachev, K. "
        "Papineni, S. Kumar, A. Risteski: Promises and pitfalls of generative masked language modeling. "
        "ICML 2024"
    ),
    about=(
        "A masked language model learns how hidden positions follow from the others and generates by "
        "running a Markov chain built from what it learned. In laws that can be written out, both are "
        "exact: how much a masked example teaches, how fast the chain mixes, what a Transformer that "
        "decodes all positions at once can do and what it cannot. Every theorem is run on Ising worlds "
        "and others; translators that refine all positions at once are trained in a world of phrases."
    ),
    headlines=(
        "parallel/figure-4.2",
        "parallel/theorem-4.1.2",
        "parallel/corollary-4.1.1",
        "parallel/figure-4.3",
        "parallel/exact-stutter",
        "parallel/near-token-by-token",
    ),
    live=("parallel/figure-4.2", "parallel/figure-4.3"),
    misprints=(
        "Definition 4.1.1: the Fisher information is printed as the covariance of the gradient of "
        r"$p_\theta$; it is that of the gradient of $\log p_\theta$.",
        "Lemma 4.3.1: the list of states has $(0, 0)$ twice; the last is $(1, 1)$.",
        r"Remark after Lemma 4.1.1: Markov's inequality gives $100 \operatorname{tr}(\Gamma) / n$ with "
        "probability 0.99, printed without the 100; what is used later (Remark 4.1.2) is the mean, "
        r"$\operatorname{tr}(\Gamma) / n$.",
        "Proof of Corollary 4.1.1: the last term of $(-1 + |C|/4)^2$ is $|C|^2 / 16$, printed "
        "$|C|^2 / 4$; the line after it follows either way.",
        r"Proof of Corollary 4.3.1: $\epsilon$ is $\sqrt{2^{N-1} |\Omega|^N / (m \delta)}$, printed with "
        "$2^{3N-1}$; the corollary has the right bound.",
    ),
    aliases=("parallel-decoding",),
)
