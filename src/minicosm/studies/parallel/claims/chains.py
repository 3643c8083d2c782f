"""Chains built from conditionals: their constants, and learning the joint law (Section 4.1.3)."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    Table,
    above,
    agrees,
    all_of,
    below,
    holds,
    refuted,
    rows,
    worst,
)

from ..figures.chains import one_pass_figure, rate_figure
from ..readings import median, where
from ..study import STUDY, THESIS
from ..trials import chains
from .digits import BOUNDS, ONE_PASS

claim = STUDY.section(__doc__)

claim(
    id="parallel/kernels",
    title="Block dynamics are reversible for the law that they sample",
    source=f"{THESIS}, Sections 4.1.2.2 and 4.1.2.3, Definitions 4.1.6 and 4.1.8",
    statement=(
        "Rows of all kernels are laws; block dynamics, adaptive or not, are reversible for $p$, and their "
        "eigenvalues lie in $[0, 1]$."
    ),
    criterion="The largest error over all worlds is at most $10^{-12}$ for each of the three.",
    trials=chains,
    check=holds("Definition 4.1.6", "rows are laws"),
    kind="lemma",
)

claim(
    id="parallel/chi-squared-decay",
    title="The Poincaré constant bounds the decay of chi-squared",
    source=f"{THESIS}, Section 4.1.2.2, remark after Definition 4.1.5",
    statement=(
        r"$\chi^2(p_t, p) \le (1 - 1/C)^{2t} \chi^2(p_0, p) \le e^{-2t/C} \chi^2(p_0, p)$ along block "
        "dynamics."
    ),
    criterion=(
        "No violation on any world in 20 steps from a random start (relative $10^{-9}$, absolute $10^{-13}$)."
    ),
    trials=chains,
    check=holds("chi-squared decay"),
)


@claim(
    id="parallel/definition-4.1.9",
    title="The block entropy constant has a certified bracket",
    source=f"{THESIS}, Section 4.1.3, Definition 4.1.9; bracket added",
    statement=(
        r"$\operatorname{KL}(r \,\|\, q) \le \bar C_{AT} \, \mathbb{E} \operatorname{KL}(r(\cdot \mid "
        r"x_{-K}, K) \,\|\, q(\cdot \mid x_{-K}, K))$ for all $r$, and $C \le \bar C_{AT} \le C \, "
        r"\frac{\log(1/q_{\min} - 1)}{1 - 2 q_{\min}}$, with $C$ the Poincaré constant."
    ),
    criterion=(
        "No random $r$ violates the inequality with the upper end, and no $r$ that ascent finds is above it."
    ),
    trials=chains,
)
def bracket(results: Results) -> Outcome:
    found = rows(results, "Definition 4.1.9, bracket")
    ratio = [a / b for a, b in zip(found["lower"], found["upper"], strict=True)]
    return all_of(
        holds("Definition 4.1.9", "Definition 4.1.9, bracket")(results),
        numbers={"median of lower over upper": median(ratio)},
    )


claim(
    id="parallel/proposition-4.3.1",
    title="A small masked loss means a small distance of the joint laws",
    source=f"{THESIS}, Section 4.3.4, Proposition 4.3.1",
    statement=(
        r"$\operatorname{KL}(r \,\|\, q) \le \bar C_{AT} L(q)$, with the masked loss $L$ in cross-entropy "
        "or, tighter, in KL."
    ),
    criterion="No violation by any random law, with the certified upper constant.",
    trials=chains,
    uses=("parallel/definition-4.1.9",),
    check=holds("Proposition 4.3.1", "Definition 4.1.9"),
)

claim(
    id="parallel/proposition-4.3.1-as-printed",
    title="The mean conditional KL is the masked loss",
    source=f"{THESIS}, Section 4.3.4, proof of Proposition 4.3.1",
    statement=(
        r"$\mathbb{E} \operatorname{KL}(r(\cdot \mid x_{-K}, K) \,\|\, q(\cdot \mid x_{-K}, K)) = "
        "L_{PL}(q)$, the masked cross-entropy."
    ),
    criterion="Fails if for one law the two differ by more than $10^{-3}$.",
    trials=chains,
    check=refuted("Proposition 4.3.1 as printed"),
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "constant",
        "Definition 4.1.2 has $L_{PL}$ in cross-entropy, Section 4.3.4 (also Equations 4.33 and 4.34) in KL. "
        "They differ by the masked cross-entropy of $r$ itself, a constant in $q$, which is why footnote 4 "
        "may call them equivalent for minimising. The inequality holds with either, since the constant is "
        "not negative (both are run); but only in KL does the bound on the distance go to zero.",
        corrected_by="parallel/proposition-4.3.1",
    ),
)

claim(
    id="parallel/kl-decay",
    title="The entropy constant bounds the decay of KL",
    source=f"corrected from {THESIS}, Section 4.1.3, remark after Definition 4.1.9",
    statement=(
        r"$\operatorname{KL}(p_t \,\|\, q) \le (1 - 1/\bar C_{AT})^t \operatorname{KL}(p_0 \,\|\, q)$ along "
        "block dynamics."
    ),
    criterion=(
        "No violation in 20 steps from random starts, with the certified upper constant, nor with $N / k$ in "
        "worlds of independent positions (relative $10^{-9}$, absolute $10^{-13}$)."
    ),
    trials=chains,
    uses=("parallel/definition-4.1.9",),
    check=holds("decay of KL"),
    figure=rate_figure,
)

claim(
    id="parallel/kl-decay-as-printed",
    title=r"KL decays at the rate $e^{-2/\bar C_{AT}}$",
    source=f"{THESIS}, Section 4.1.3, remark after Definition 4.1.9",
    statement=(
        r"$\operatorname{KL}(p_t \,\|\, q) \le e^{-2t/\bar C_{AT}} \operatorname{KL}(p_0 \,\|\, q)$ along "
        "block dynamics."
    ),
    criterion=(
        "Fails if in four independent bits with $P(1) = 10^{-4}$, started at all ones, KL is above it."
    ),
    trials=chains,
    check=refuted("decay of KL as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        r"Definition 4.1.9 gives the rate $e^{-t/\bar C_{AT}}$ in continuous time and $(1 - "
        r"1/\bar C_{AT})^t$ in steps, without the factor 2 of the remark (which writes $C_{AT}$; "
        r"only $\bar C_{AT}$ is defined). In four independent bits with $P(1) = 10^{-4}$, $\bar "
        "C_{AT} = 4$, KL is 0.252 of its start after four steps (0.297 after time 4 in "
        "continuous time); $e^{-2}$ is 0.135, the corrected bounds are $(3/4)^4 = 0.316$ and "
        "$e^{-1} = 0.368$.",
        corrected_by="parallel/kl-decay",
    ),
    figure=rate_figure,
)


LOOSE = (
    "The bound can be violated at these sizes, but little of it is used: the check finds a gross error of "
    "the formula, not a slight one."
)


@claim(
    id="parallel/theorem-4.1.4",
    title="The bound on learning the joint law holds, where it says something",
    source=f"{THESIS}, Section 4.1.3, Theorem 4.1.4",
    statement=(
        r"$\operatorname{TV}(\hat p, p) < \sqrt{\tfrac12 \bar C_{AT} (L + B \ln(1/\beta) + \epsilon)} + "
        r"\sqrt{|\Omega|^{3N} / (8 \delta n)}$ with probability $1 - \delta$, $L$ the masked loss in KL."
    ),
    criterion=(
        r"In two spins with $|\theta| \le 0.1$, $n = 10^6$ and $m = 10^{12}$, where the bound with the "
        r"certified constant is below 1: in every world it holds in at least the share $1 - \delta = 0.9$ of "
        "20 fits. At three sizes the bound is 181, 5.7 and 0.41 to 1%, as computed beforehand."
    ),
    trials=chains,
    uses=("parallel/equation-4.30", "parallel/lemma-4.3.5", "parallel/lemma-4.3.6"),
)
def joint_law(results: Results) -> Outcome:
    sizes = rows(results, "bound of Theorem 4.1.4")
    ratios = [bound / stated for bound, (*_, stated) in zip(sizes["bound"], BOUNDS, strict=True)]
    return all_of(
        holds("Theorem 4.1.4")(results),
        agrees("relative difference of three bounds", ratios, (1.0,) * len(BOUNDS), within=0.01),
        numbers={"largest distance over bound": _share(results, "Theorem 4.1.4", "distance")},
        remark=LOOSE,
    )


def _share(results: Results, name: str, measure: str) -> float:
    """How much of a bound is used up, in the worst world: 1 would be all of it."""
    found = rows(results, name)
    pairs = zip(found[f"largest {measure}"], found["bound"], strict=True)
    return worst([away / bound for away, bound in pairs])


@claim(
    id="parallel/lemma-4.3.5",
    title="The loss on sampled masks is close to that on all masks",
    source=f"{THESIS}, Section 4.3.4, Lemma 4.3.5 and Corollary 4.3.1",
    statement=(
        r"$|\hat L - \tilde L| < 2^N \epsilon \ln(1/\beta) + t/n$ except with probability "
        r"$2^{N-2} |\Omega|^N / (\epsilon^2 m) + 2 \exp(-2 t^2 / (n \ln^2(1/\beta)))$. With "
        r"$\epsilon = \sqrt{2^{N-1} |\Omega|^N / (m \delta)}$ and "
        r"$t = \sqrt{n \ln(4/\delta) / 2} \, \ln(1/\beta)$ this is "
        r"$\left(\sqrt{2^{3N-1} |\Omega|^N / (m \delta)} + \sqrt{\ln(4/\delta) / (2n)}\right) \ln(1/\beta)$ "
        r"with probability $1 - \delta$."
    ),
    criterion=(
        r"In two spins, $n = 10^4$, $m = 10^5$, where the bound is below $\ln(1/\beta)$: in every world at "
        "least the share 0.9 of 20 samples is inside. The corollary agrees to $10^{-12}$, relatively, for "
        "three sizes."
    ),
    trials=chains,
    kind="lemma",
)
def sampled_masks(results: Results) -> Outcome:
    return all_of(
        holds("Lemma 4.3.5", "Corollary 4.3.1")(results),
        numbers={"largest difference over bound": _share(results, "Lemma 4.3.5", "difference")},
        remark=LOOSE,
    )


claim(
    id="parallel/lemma-4.3.6",
    title="The empirical law is close to the true one",
    source=f"{THESIS}, Section 4.3.4, Lemma 4.3.6",
    statement=(
        r"$\operatorname{TV}(\tilde p, p) < \sqrt{|\Omega|^{3N} / (16 \delta n)}$ with probability "
        r"$1 - \delta$, $\tilde p$ being the empirical law."
    ),
    criterion=(
        r"The exact probability to be outside, summed over all samples, is at most $\delta$ for six small "
        "laws and sizes, wherever the bound is below the largest possible distance."
    ),
    trials=chains,
    check=holds("Lemma 4.3.6"),
    kind="lemma",
)

claim(
    id="parallel/equation-4.30",
    title="On every sample the learned law is as close as its masked loss says",
    source=f"{THESIS}, Section 4.3.4, Equation 4.30, with the loss in KL",
    statement=(
        r"$\operatorname{TV}(\tilde p, \hat p) \le \sqrt{\tfrac12 \bar C_{AT}(\hat p) \tilde L(\hat p)}$, "
        r"$\tilde p$ being the empirical law."
    ),
    criterion="No violation over fits of three and four spins for every $k$, with the certified constant.",
    trials=chains,
    uses=("parallel/proposition-4.3.1",),
    check=holds("Equation 4.30"),
)


@claim(
    id="parallel/independent-law",
    title="The independent parallel sampler has a stationary law, and it is another one",
    source=f"added to {THESIS}, Section 4.1.4, footnote to Definition 4.1.11",
    statement=(
        "For Ising worlds the chain is ergodic and reversible for "
        r"$\pi(x) \propto e^{h^\top x} \prod_i 2 \cosh(h_i + \sum_j J_{ij} x_j)$, which is not $p$."
    ),
    criterion=(
        "Reversible to $10^{-12}$ with positive entries in every world; "
        r"$\operatorname{TV}(\pi, p) > 10^{-3}$ in the median one."
    ),
    trials=chains,
    kind="lemma",
)
def parallel_law(results: Results) -> Outcome:
    distance = median(rows(results, "law of independent parallel")["distance"])
    return all_of(
        holds("law of independent parallel")(results),
        above("median distance from p", distance, 1e-3),
    )


@claim(
    id="parallel/one-pass",
    title="Two parallel passes are enough for one dominant mode, and ten are not for two equal ones",
    source=f"added to {THESIS}, Section 4.3.9, Remark 4.3.4",
    statement=(
        "From noise, the exact denoiser that keeps 15% comes close to the law of six coupled spins with one "
        "dominant mode ($J = 2$, $h = 0.3$) in two passes; with two equal modes ($J = 1$, $h = 0$) it is "
        "far from the law after ten, where independent parallel sampling is close."
    ),
    criterion=(
        r"Chances to be all equal and in $\mathcal{R}_1$, and total variation, after 1, 2 and 10 passes in "
        "three worlds (54 numbers) are those computed beforehand, to 0.001. Total variation below 0.05 "
        "after two passes with one mode; with two, above 0.8 after ten passes of the denoiser and below "
        "0.05 after ten of the independent sampler."
    ),
    trials=chains,
    uses=("parallel/proposition-4.1.3",),
    kind="experiment",
    figure=one_pass_figure,
)
def one_pass(results: Results) -> Outcome:
    found = rows(results, "one pass")
    denoised = {"chain": "denoiser 0.15"}
    equal = {"J": 1.0, "h": 0.0, "passes": 10}
    columns = ("J", "h", "chain", "passes", "equal", "mode", "distance")
    lines = zip(*(found[name] for name in columns), strict=True)
    table = Table(
        "from uniform noise",
        ("J", "h", "chain", "passes", "all equal", "R_1", "TV"),
        tuple(line for line in lines if line[3] in (1, 2, 10)),
    )
    stated = [number for rows in ONE_PASS.values() for row in rows for number in row]
    drawn = [
        where(found, name, J=J, h=h, chain=chain, passes=passes)
        for J, h, chain in ONE_PASS
        for passes in (1, 2, 10)
        for name in ("equal", "mode", "distance")
    ]
    return all_of(
        agrees("largest distance from the table", drawn, stated, within=0.001),
        below("one mode", where(found, "distance", J=2.0, h=0.3, passes=2, **denoised), 0.05),
        above("two modes", where(found, "distance", **equal, **denoised), 0.8),
        below(
            "two modes, independent", where(found, "distance", **equal, chain="independent"), 0.05
        ),
        tables=(table,),
    )
