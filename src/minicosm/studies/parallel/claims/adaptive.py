"""Masks that look at the sequence: Sections 4.1.2.3 and 4.3.3."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    Table,
    above,
    agrees,
    all_of,
    at_most,
    holds,
    refuted,
    rows,
)

from ..readings import median
from ..study import STUDY, THESIS
from ..trials import masking

claim = STUDY.section(__doc__)

claim(
    id="parallel/proposition-4.1.1",
    title="The Dirichlet form of adaptive block dynamics",
    source=f"{THESIS}, Section 4.1.2.3, Proposition 4.1.1",
    statement=(
        r"For functions of $x$, $\mathcal{E}(f, g) = \mathbb{E}_{x,K} \operatorname{Cov}(f, g \mid x_{-K}, "
        r"K)$, $\mathcal{E}$ being the Dirichlet form of the chain of $x$."
    ),
    criterion="The largest error over all worlds is at most $10^{-10}$.",
    trials=masking,
    check=holds("Proposition 4.1.1"),
)

claim(
    id="parallel/theorem-4.1.3",
    title="The same bound for masks that look at the sequence",
    source=f"{THESIS}, Section 4.1.2.3, Theorem 4.1.3",
    statement=(
        r"$\Gamma \preceq C \mathcal{I}^{-1}$ for adaptive masks, with $C$ the Poincaré constant of the "
        "chain of $x$."
    ),
    criterion=(
        r"The largest eigenvalue of $\mathcal{I} \Gamma$ is at most $C (1 + 10^{-9})$ in every world."
    ),
    trials=masking,
    uses=("parallel/lemma-4.1.1", "parallel/lemma-4.3.3", "parallel/proposition-4.1.1"),
    check=holds("Theorem 4.1.3"),
)

claim(
    id="parallel/pairs-as-printed",
    title="The adaptive chain on pairs $(x, K)$ is ergodic",
    source=f"{THESIS}, Sections 4.3.3.3 and 4.3.3.4, Equation 4.26 and the proof of Theorem 4.1.3",
    statement=(
        "The chain of Equation 4.26 on pairs $(x, K)$, which redraws $x_K$ and keeps $K$, is ergodic, as the "
        "Dirichlet form of Definition 4.1.4 asks: functions of $(x, K)$ have a Poincaré inequality."
    ),
    criterion="Fails if in one world with several masks the support falls into parts.",
    trials=masking,
    check=refuted("Equation 4.26 as printed"),
    expected="fails",
    erratum=Erratum(
        "gap",
        "Definition 4.1.8 draws $K$ in every step; Equation 4.26 keeps it, so that its chain falls into one "
        "part per mask, and with two masks or more no finite $C$ exists. The proof also reads "
        r"$\operatorname{Var}(f)$ as $v^\top \mathcal{I} v$, where $f$ is the masked score and "
        r"$\operatorname{Var}(f)$ its own second moment. Both are mended by the chain of $x$ alone with "
        r"$g(x) = v^\top \nabla \log p(x)$, which differs from $f$ by a function of $(x_{-K}, K)$: the "
        "theorem stands, and is run on random worlds and masks. The formula of Proposition 4.1.1 is "
        "right for either chain.",
        corrected_by="parallel/theorem-4.1.3",
    ),
)


@claim(
    id="parallel/lemma-4.3.1",
    title="Which positions are hidden is evidence",
    source=f"{THESIS}, Section 4.3.3.1, Lemma 4.3.1",
    statement=(
        r"In the world of two bits, $P(x_0 = 0 \mid x_1 = 0, K = \{0\}) = 6/7$ but "
        r"$P(x_0 = 0 \mid x_1 = 0) = 3/4$, and $P(x_1 = 0 \mid x_0 = 0, K = \{1\}) = 9/17$ but "
        r"$P(x_1 = 0 \mid x_0 = 0) = 3/5$."
    ),
    criterion="Each of the four is that fraction to $10^{-12}$.",
    trials=masking,
    kind="lemma",
)
def two_bits(results: Results) -> Outcome:
    found = rows(results, "Lemma 4.3.1")
    names = [name for name in found if "given" in name]
    table = Table("probabilities of 0 given 0", ("of", ""), tuple((n, found[n][0]) for n in names))
    return all_of(holds("Lemma 4.3.1")(results), tables=(table,))


claim(
    id="parallel/lemma-4.3.1-as-printed",
    title="9/13 is the law of the hidden coordinate",
    source=f"{THESIS}, Section 4.3.3.1, proof of Lemma 4.3.1",
    statement=(
        r"With $K = \{0\}$ the 9/13 of the proof is $P(x_K = 0 \mid x_{-K} = 0, K)$, the law of the "
        "coordinate that $K$ hides."
    ),
    criterion="Fails if the law of the hidden coordinate is not 9/13 to $10^{-12}$.",
    trials=masking,
    check=refuted("Lemma 4.3.1 as printed"),
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "constant",
        r"The lemma is right, and so is its example up to one index: with $K = \{0\}$ the proof takes the "
        r"law of $x_1$ given $x_0 = 0$, which is 9/13, but $K$ hides $x_0$. With $K = \{1\}$ the same line "
        "is 9/17 against 3/5, and with $x_0$ given $x_1$ it is 6/7 against 3/4; either shows the lemma. All "
        "are exact fractions.",
        corrected_by="parallel/lemma-4.3.1",
    ),
)


@claim(
    id="parallel/lemma-4.3.2",
    title="Averaging over masks gives back the plain conditional",
    source=f"{THESIS}, Section 4.3.3.1, Lemma 4.3.2",
    statement=(
        r"$p(x_K \mid x_{-K})$ is the mean of $p(x_K \mid x_{-K}, K')$ over $K' \sim P(\cdot \mid x_{-K})$: "
        "7/16 of 6/7 and 9/16 of 2/3 make 3/4 in the world of two bits."
    ),
    criterion=(
        "The fractions agree to $10^{-12}$, and the largest error in random worlds is at most $10^{-12}$."
    ),
    trials=masking,
    kind="lemma",
)
def average(results: Results) -> Outcome:
    bits = rows(results, "Lemma 4.3.1")
    names = ("mask {0} given x_1", "x_0 given x_1, mask {1}", "x_0 given x_1")
    fractions = agrees(
        "error with two bits", [bits[name] for name in names], (7 / 16, 2 / 3, 3 / 4), within=1e-12
    )
    return all_of(holds("Lemma 4.3.2")(results), fractions)


@claim(
    id="parallel/mask-is-evidence",
    title="Leaving the mask law out makes the adaptive estimator inconsistent",
    source=f"{THESIS}, Section 4.1.2.3, Remark 4.1.3",
    statement=(
        "With masks that look at the sequence, the gradient of the population loss at the truth is zero if "
        r"the model's conditional includes $P(K \mid x)$, and not zero if it is left out."
    ),
    criterion="At most $10^{-12}$ with it in every world; above $10^{-3}$ without it in the median world.",
    trials=masking,
    uses=("parallel/lemma-4.3.1",),
    kind="control",
)
def evidence(results: Results) -> Outcome:
    found = rows(results, "mask as evidence")
    return all_of(
        at_most("largest gradient with it", found["included"], 1e-12),
        above("median gradient without it", median(found["left_out"]), 1e-3),
        numbers={"worlds": found.count},
    )
