"""The optimum and what a small loss says: Sections 2.1.1.3 and 2.1.1.4.2, Lemmas 1 and 6, Theorems 2 and
3."""

from itertools import pairwise

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    above,
    all_of,
    at_least,
    at_most,
    counterexample,
    holds,
    rows,
    worst,
)

from ..figures.loss import kernels_figure, optimum_figure, ratio_figure
from ..readings import only, where
from ..study import STUDY, THESIS
from ..trials import losses

claim = STUDY.section(__doc__)

claim(
    id="contrastive/lemma-1",
    title="The best classifier knows the transition kernel",
    source=f"{THESIS}, Section 2.1.1.3, Lemma 1, and Equation 2.12",
    statement=(
        r"The optimum of the contrastive objective is $h^* = p_* / (p_* + q)$, also for a $q$ that "
        r"depends on the anchor, and $q h^* / (1 - h^*) = p_*$."
    ),
    criterion=(
        "On grids of two potentials, with three gaps and four contrast laws, the posterior of the label "
        "is $h^*$, the loss of ten random classifiers exceeds its by the mean of $(h - h^*)^2$, and the "
        "inverse returns the kernel, to $10^{-9}$."
    ),
    trials=losses,
    check=holds("Lemma 1"),
    figure=optimum_figure,
    kind="lemma",
)


@claim(
    id="contrastive/theorem-2",
    title="Near the truth a small loss is a small divergence",
    source=f"{THESIS}, Section 2.1.1.4.2, Theorem 2",
    statement=(
        r"If $p / p_* \in [\Delta_{\min}, 7/6]$ and the population loss is $2 \epsilon_{tr}$ above the "
        r"optimum, then $\mathbb{E}_\pi KL(p_* \| p) \le 2 (1 + c_q)^5 \epsilon_{tr} / \Delta_{\min}^2$."
    ),
    criterion=(
        "No violation on random kernels over two to five states; and the bound says something: the "
        "largest share of it that a divergence takes is above 0.1."
    ),
    trials=losses,
    uses=("contrastive/lemma-1",),
    figure=kernels_figure,
)
def theorem_2(results: Results) -> Outcome:
    shares = rows(results, "Theorem 2")["largest share of the bound"]
    return all_of(
        holds("Theorem 2")(results), above("largest share of the bound", worst(shares), 0.1)
    )


claim(
    id="contrastive/theorem-2-sharper",
    title="With a better power of the contrast",
    source=f"added to {THESIS}, proof of Theorem 2",
    statement=(
        r"The same with $c_q^{-2}$ in front: with $u = p_* / (p_* + q)$ the second derivative of the loss "
        r"is at least $2 u^2 (1 - u)^3 \ge 2 c_q^2 / (1 + c_q)^5$."
    ),
    criterion="No violation on the same kernels.",
    trials=losses,
    uses=("contrastive/theorem-2",),
    check=holds("Theorem 2, sharper"),
)


@claim(
    id="contrastive/c-q-is-infinite",
    title="On the whole line no fixed contrast law is close to the kernel",
    source=f"added to {THESIS}, Equation 2.4 (the scope of Theorem 2)",
    statement=(
        r"For the Ornstein-Uhlenbeck diffusion and $q = N(0, 1)$ the constant $c_q$, taken over $[-r, "
        r"r]^2$, grows without bound in "
        "$r$: Theorem 2 speaks of bounded domains."
    ),
    criterion="From each of $r = 1, 2, 3$ to the next it grows at least tenfold.",
    trials=losses,
    kind="relation",
)
def infinite(results: Results) -> Outcome:
    found = rows(results, "c_q")
    fixed, local = (where(found, "c_q", contrast=name) for name in ("fixed", "local"))
    growth = [second / first for first, second in pairwise(fixed)]
    return all_of(
        at_least("least growth per unit", growth, 10.0),
        numbers={"$c_q$ at $r = 4$": fixed[-1], "$c_q$ at $r = 4$, local": local[-1]},
    )


@claim(
    id="contrastive/theorem-3",
    title="For any kernel a small loss is a small distance, with a local contrast law",
    source=(
        f"{THESIS}, Section 2.1.1.4.2, Theorem 3, for $q = N(x, \\sigma^2 I)$ with $\\sigma^2$ of the order "
        "of the gap"
    ),
    statement=(
        r"$\mathbb{E}_{\pi, p_*} |p - p_*| \le \sqrt{2 \epsilon_{tr}} O((\rho \eta^2)^{-d/4})$; by way of "
        r"$\mathbb{E} |p - p_*| \le \sqrt{2 \cdot \mathrm{excess}} \sqrt{\mathbb{E} (\max\{p, p_*\} + q)^4 "
        r"/ q^2}$, whose second factor is of the order $\eta^{-d/2}$."
    ),
    criterion=(
        r"For two Ornstein-Uhlenbeck kernels ($\rho = 1$ and 1.5) the inequality holds at six gaps from "
        r"0.1 to $10^{-6}$; the ratio of the distance to the root of the excess, times $\eta^{1/2}$, "
        r"changes by at most 3% from $10^{-3}$ to $10^{-6}$; and the "
        "moment times $\\eta^d$ is within 3% of its limit at $\\eta = 0.005$ ($d = 1$) and 0.002 ($d = 2$)."
    ),
    trials=losses,
    uses=("contrastive/lemma-6",),
    figure=ratio_figure,
)
def theorem_3(results: Results) -> Outcome:
    found = rows(results, "scaled ratio")
    gaps = (1e-3, 1e-4, 1e-5, 1e-6)
    local = [only(found, "ratio", contrast="local", gap=gap) for gap in gaps]
    flat = [abs(ratio / local[0] - 1) for ratio in local[1:]]
    moments = [abs(ratio - 1) for ratio in rows(results, "moment")["ratio"]]
    return all_of(
        holds("Theorem 3, Equation 2.32")(results),
        at_most("largest change of the scaled ratio", flat, 0.03),
        at_most("largest distance of the moment from its limit", moments, 0.03),
        numbers={"scaled ratio at 1e-6": local[-1]},
    )


@claim(
    id="contrastive/theorem-3-any-q-as-printed",
    title="For any kernel a small loss is a small distance, with any contrast law, as printed",
    source=f"{THESIS}, Section 2.1.1.4.2, Theorem 3 as printed",
    statement=(
        r"Theorem 3 names no $q$: the ratio of $\mathbb{E} |p - p_*|$ to $\sqrt{\epsilon_{tr}} \, "
        r"\eta^{-d/2}$ stays bounded as $\eta \to "
        "0$."
    ),
    criterion=(
        r"For $q = N(0, 1)$ the ratio at $\eta = 10^{-6}$ is more than three times that at $10^{-2}$: fails."
    ),
    trials=losses,
    expected="fails",
    erratum=Erratum(
        "missing hypothesis",
        r"The proof (Equation 2.34) takes $q = N(x, \sigma^2 I)$ with $\sigma^2 = C_l \eta / 2$, "
        "which moves with the anchor and narrows with the gap. For a $q(x')$ that does not, the "
        "excess is made where $p_*$ and $q$ are of one size, and the ratio grows about as "
        r"$\eta^{-1/4}$: from 0.71 to 4.8 between $10^{-2}$ and $10^{-6}$. Equation 2.4 asks for "
        r"$1/c_q \le p_*/q \le c_q$, which no $q(x')$ meets on all of $\mathbb{R}^d$; a contrast "
        "that moves is what the theorem needs.",
        corrected_by="contrastive/theorem-3",
    ),
    figure=ratio_figure,
)
def any_q(results: Results) -> Outcome:
    found = rows(results, "scaled ratio")
    wide, narrow = (only(found, "ratio", contrast="N(0, 1)", gap=gap) for gap in (1e-2, 1e-6))
    return counterexample("growth from 1e-2 to 1e-6", narrow / wide, 3.0)


claim(
    id="contrastive/remark-1",
    title="Bounded ratios bound the moment of Theorem 3",
    source=f"{THESIS}, Section 2.1.3.3, Remark 1",
    statement=(
        r"With the ratios of Theorem 2 the moment is at most $(2 c_q + 1)^4 \mathbb{E} p_*^2$, and at "
        r"most $(\Delta_{\max} c_q + 1)^4 c_q^{-2} \mathbb{E} p_*^2$ (ours)."
    ),
    criterion="No violation of either on the random kernels of Theorem 2.",
    trials=losses,
    check=holds("Remark 1"),
    kind="lemma",
)

claim(
    id="contrastive/lemma-6",
    title="A kernel lies between two Gaussians",
    source=f"{THESIS}, Section 2.1.3.3, Lemma 6 (Gobet 2002)",
    statement=(
        r"There are $c, C > 1$ with $\frac1c \eta^{-d/2} e^{-C \|z - z'\|^2 / \eta - C \eta \|z\|^2} \le "
        r"p_*^\eta(z, z') \le c \eta^{-d/2} e^{-\|z - z'\|^2 / (C \eta) + C \eta \|z\|^2}$."
    ),
    criterion=(
        r"With $c = 4$ and $C = 8$ no violation for points up to 3, for Ornstein-Uhlenbeck kernels of "
        r"three stiffnesses and the potential $x^2/2 + \log\cosh 2x$, at three gaps up to 1 each."
    ),
    trials=losses,
    check=holds("Lemma 6"),
    kind="lemma",
)
