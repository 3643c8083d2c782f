"""The study's name, its source, its main findings and the misprints of the source."""

from minicosm.lab import Study

THESIS = "B. Liu's thesis"

STUDY = Study(
    name="nce",
    title="The optimisation landscape of noise-contrastive estimation",
    source=(
        "B. Liu: PhD thesis (CMU-ML-24-110), Section 4.1; from B. Liu, E. Rosenfeld, P. Ravikumar, "
        "A. Risteski: Analyzing and improving the optimization landscape of noise-contrastive estimation. "
        "ICLR 2022"
    ),
    about=(
        "Noise-contrastive estimation (NCE) fits an unnormalised model by telling data from a known "
        "noise. Where the two are far apart it fails, and already two Gaussians show why: the loss of "
        "the whole population is exponentially flat around the solution. Dividing gradients by their "
        "norm (NGD), and an exponential loss (eNCE), repair it. In exponential families loss, "
        "gradient and Hessian are exact wherever they underflow, so every statement is run: on "
        "Gaussians and random finite families, with the steps that descent takes, then with samples, "
        "then with networks on images."
    ),
    headlines=(
        "nce/figure-4.1",
        "nce/theorem-17",
        "nce/newton-undamped",
        "nce/condition-numbers",
        "nce/figure-4.2-ngd",
        "nce/figure-4.3-nce",
    ),
    live=("nce/figure-4.2-ngd",),
    misprints=(
        r"Section 4.1.3: $\tau_*$ is printed $[R, -\frac{R^2}{2} - \log\sqrt{2\pi}]$; the line before "
        "it, and all that follows, has the second entry without the minus signs.",
        r"Proposition 8: $L(\tau) - L(\tau^*) = R e^{-R^2/8} \delta^2$ is a bound, $\le$; its proof "
        "bounds the Hessian.",
        r"Equations 4.4 to 4.6: the term along $\tau_* - \tau_t$ changes its sign, and $=$ stands for "
        "an inequality between norms; the conclusion is right.",
        r"Theorem 19 allows every $\eta \le \gamma$ but its count is that of $\eta = \gamma$, which "
        r"the proof sets; a smaller step has $\lVert\tau_0 - \tau_*\rVert^2 / (2\gamma\eta - \eta^2)$.",
        r"Lemma 51: $\gamma \frac{\delta}{\lVert g \rVert}$ is $\gamma \frac{g}{\lVert g \rVert}$, as "
        "in Equation 4.9.",
        r"Corollary 2: $R \ll 1$ is $R \gg 1$, as everywhere else.",
        r"Section 4.1.5: the NCE loss of a sample is $\log(1 + e^{-y \psi(x)})$, printed with the "
        "reciprocal inside the logarithm.",
        "Lemma 59 speaks of a step of gradient descent; its proof and use are about a Newton step.",
        "Equation 4.62: $R^3$ in the last denominator is $R^2$, as in the line after it, where "
        r"$\kappa(b, c)$ is left out.",
        r"Theorem 20: the second form of $C$ is meant for $\gamma_{\min} \lVert\bar\delta\rVert < "
        r"\lambda_{\min}$; beyond it is negative.",
        "Lemma 60 cites Assumptions 11 and 12; its proof uses Assumption 13.",
        "Equations 4.66 and 4.67: squares of norms are written as norms; the bound that follows has "
        "the squares.",
    ),
    aliases=("nce-landscape", "noise-contrastive-estimation"),
)
