"""What masked examples teach: Sections 4.1.2.1 and 4.1.2.2."""

from minicosm.lab import holds

from ..figures.information import information_figure, larger_figure
from ..study import STUDY, THESIS
from ..trials import masking

claim = STUDY.section(__doc__)

claim(
    id="parallel/lemma-4.1.2",
    title="The curvature of the masked loss is the covariance of its score",
    source=f"{THESIS}, Section 4.1.2.1, Lemma 4.1.2",
    statement=(
        "At the truth the Hessian of the masked loss equals the covariance of the masked score, whose mean "
        "is zero, for masks that do not look at the sequence."
    ),
    criterion=(
        "The largest error is at most $10^{-6}$ for the Hessian by differences and $10^{-12}$ for the mean "
        "score."
    ),
    trials=masking,
    check=holds("Lemma 4.1.2", "Lemma 4.1.2, mean score"),
    kind="lemma",
)

claim(
    id="parallel/lemma-4.3.3",
    title="The same for masks that look at the sequence",
    source=f"{THESIS}, Section 4.3.3.2, Lemma 4.3.3",
    statement=(
        r"With the mask as evidence, $p(x_K \mid x_{-K}, K)$, the Hessian of the masked loss at the truth "
        "equals the covariance of the masked score, whose mean is zero, for adaptive masks."
    ),
    criterion=(
        "The largest error is at most $10^{-6}$ for the Hessian by differences and $10^{-12}$ for the mean "
        "score."
    ),
    trials=masking,
    uses=("parallel/lemma-4.1.2",),
    check=holds("Lemma 4.3.3", "Lemma 4.3.3, mean score"),
    kind="lemma",
)

claim(
    id="parallel/theorem-4.1.1",
    title="Masking more teaches more, with one mask per example",
    source=f"{THESIS}, Section 4.1.2.1, Theorem 4.1.1",
    statement=(
        "For uniform masks of $k$ positions, one per example, "
        r"$\mathcal{I}^{k+1} = \mathcal{I}^k + \mathbb{E}[g g^\top]$ with $g$ the score of one more position "
        r"given the visible ones; so the asymptotic covariances fall, $\Gamma^{k+1} \preceq \Gamma^k$."
    ),
    criterion=(
        "The identity holds to $10^{-12}$ (of the largest entry, if that is above 1), the information gained "
        "has no eigenvalue below $-10^{-10}$ of the largest, and the whitened difference of the covariances "
        "none below $-10^{-8}$, in every world whose information has a condition number below $10^8$."
    ),
    trials=masking,
    uses=("parallel/lemma-4.1.1", "parallel/lemma-4.1.2"),
    check=holds(
        "Theorem 4.1.1", "Theorem 4.1.1, chain rule", "Theorem 4.1.1, order of informations"
    ),
    figure=information_figure,
)

claim(
    id="parallel/larger-graphs",
    title="Masking more helps in sparse random graphs too",
    source=f"{THESIS}, Section 4.1.2.1, Theorem 4.1.1",
    statement=(
        "In random graphs of up to 14 spins the asymptotic covariances fall from $k = 1$ to 2, 3 and $N$."
    ),
    criterion=(
        "Differences of informations have no eigenvalue below $-10^{-10}$ of the largest, and the whitened "
        "differences of the covariances none below $-10^{-8}$."
    ),
    trials=masking,
    uses=("parallel/theorem-4.1.1",),
    check=holds("Theorem 4.1.1, larger graphs", "order of informations, larger graphs"),
    figure=larger_figure,
    kind="experiment",
)

claim(
    id="parallel/proposition-4.3.6",
    title="The masked loss of an exponential family is convex",
    source=f"{THESIS}, Section 4.3.11, Proposition 4.3.6",
    statement="The masked loss is a convex function of the parameters, for every mask law.",
    criterion=(
        "On random segments of three sizes in every world, for uniform, Bernoulli, block and adaptive masks, "
        "twice the loss in the middle is at most the sum at the ends (to $10^{-12}$ of it)."
    ),
    trials=masking,
    check=holds("Proposition 4.3.6"),
    kind="lemma",
)

claim(
    id="parallel/theorem-4.1.2",
    title="A chain that mixes fast goes with an estimator that is efficient",
    source=f"{THESIS}, Section 4.1.2.2, Theorem 4.1.2",
    statement=(
        r"$\Gamma \preceq C \mathcal{I}^{-1}$, with $C$ the Poincaré constant of the block dynamics of the "
        "same masks."
    ),
    criterion=(
        r"The largest eigenvalue of $\mathcal{I} \Gamma$ is at most $C (1 + 10^{-9})$ in every world, for "
        "every $k$ and for random blocks."
    ),
    trials=masking,
    uses=("parallel/theorem-4.1.3",),
    check=holds("Theorem 4.1.2"),
    figure=information_figure,
)

claim(
    id="parallel/poincare-falls-with-k",
    title="Hiding k positions mixes at least k times as fast",
    source=f"{THESIS}, Section 4.1.4, remark after Definition 4.1.10 (from Lee 2023)",
    statement=r"$C_k \le C_1 / k$ for the $k$-Gibbs sampler.",
    criterion="No violation on any world, with a relative tolerance of $10^{-9}$.",
    trials=masking,
    check=holds("C_k <= C_1 / k"),
)
