"""Optimal values under uniform attention: Sections 2.1.4.2 and 2.1.7.1 to 2.1.7.5."""

from minicosm.lab import (
    Estimate,
    Outcome,
    Results,
    all_above,
    all_of,
    all_within,
    at_most,
    holds,
    rows,
)
from minicosm.studies.common.figures import statement_figure

from ..figures.matrices import draw_stage1
from ..study import STUDY, THESIS
from ..trials import finite, stage1

claim = STUDY.section(__doc__)

claim(
    id="topics/proposition-2.1.1",
    title="Frequencies of words after masking",
    source=f"{THESIS}, Section 2.1.7.5, Proposition 2.1.1",
    statement=(
        r"In an infinite document of $\tau$ topics a word of these topics has frequency "
        r"$\frac{1}{v \tau}(1 - (1 - p_c) p_m) + \frac{p_m p_r}{v T}$ after masking, any other word "
        r"$\frac{p_m p_r}{v T}$, and the mask $p_m (1 - p_c - p_r)$."
    ),
    criterion="Agrees with the channel, position by position, to $10^{-9}$ in every world, and sums to 1.",
    trials=stage1,
    check=holds("Proposition 2.1.1"),
    kind="lemma",
)

claim(
    id="topics/lemma-2.1.1",
    title="A family of value matrices has the least loss",
    source=f"{THESIS}, Section 2.1.7.1, Lemma 2.1.1; also Theorem 2.1.4",
    statement=(
        r"With uniform attention and squared loss every $W$ with $W_{00} = -c_2 u_0$, "
        r"$\sum_{l \in t} W_{0l} = u_0 v$, $W_{i0} = -c_1 - c_2 u_i$, own-topic sums $c_3 + u_i v$ and "
        r"other topic sums $u_i v$ has the least loss, $1 - \frac{1}{\tau v}$; it needs $\tau < T$."
    ),
    criterion="Random members of the family have the least loss to $10^{-9}$, in every random world.",
    trials=stage1,
    check=holds("Lemma 2.1.1"),
    figure=statement_figure("Lemma 2.1.1"),
    kind="lemma",
    uses=("topics/proposition-2.1.1",),
)

claim(
    id="topics/lemma-2.1.1-only",
    title="No other value matrix has the least loss",
    source=f"{THESIS}, Section 2.1.7.1, Lemma 2.1.1 and Claim 2.1.1; also Theorem 2.1.4",
    statement="The minimisers of the loss under uniform attention are exactly that family.",
    criterion=(
        r"Random minimisers $C M^+ + R (I - M M^+)$ meet every condition to $10^{-9}$, and missing one "
        "condition by 0.01 raises the loss by more than $10^{-9}$, in every random world."
    ),
    trials=stage1,
    check=holds("Lemma 2.1.1, only these", "Lemma 2.1.1, broken"),
    kind="lemma",
    uses=("topics/proposition-2.1.1",),
)

claim(
    id="topics/theorem-2.1.2",
    title="With a small penalty the optimal value matrix is one block matrix",
    source=f"{THESIS}, Sections 2.1.4.2 and 2.1.7.4, Theorem 2.1.2",
    statement=(
        r"As $\lambda \to 0$ the minimiser of $L(W^V) + \lambda \|W^V\|_F^2$ tends to the matrix with row 0 "
        r"zero, entries $-\frac{c_1 c_2 + c_3}{c_2^2 + Tv} < 0$ for words of different topics, "
        r"$\frac{c_3}{v}$ more, a positive number, for words of one topic, and "
        r"$\frac{c_2 c_3 - c_1 T v}{c_2^2 + T v}$ for the mask."
    ),
    criterion=(
        "In every random world the minimiser of least norm is the formula to $10^{-9}$, halving "
        r"$\lambda$ divides the distance of the ridge solution by 2 to 0.02, and the signs are as stated."
    ),
    trials=stage1,
    check=holds("Theorem 2.1.2", "Theorem 2.1.2, ridge", "Theorem 2.1.2, signs"),
    figure=draw_stage1,
    uses=("topics/lemma-2.1.1", "topics/lemma-2.1.1-only"),
)

claim(
    id="topics/needs-several-documents",
    title="If every document has all topics, nothing tells them apart",
    source=f"added to {THESIS}, Section 2.1.4.2, Theorem 2.1.2",
    statement=(
        r"With $\tau = T$ the limit of ridge solutions is another matrix: $\tau < T$ is needed."
    ),
    criterion="In every random world with $T \\ge 2$ it differs from the formula by more than 0.01.",
    trials=stage1,
    check=holds("Theorem 2.1.2 with tau = T"),
    kind="control",
)

claim(
    id="topics/gradient-descent",
    title="Gradient descent reaches it along a closed form",
    source=f"added to {THESIS}, Section 2.1.4.1",
    statement=(
        r"Gradient descent on the Stage-1 loss from zero is $W_n = C M^+ (I - (I - 2 \eta M)^n)$ with "
        r"$M = \mathbb{E}[x x^\top]$ and $C = \mathbb{E}[y x^\top]$."
    ),
    criterion="Fifty steps taken one by one agree with it to $10^{-9}$, in every random world.",
    trials=stage1,
    check=holds("Stage 1, gradient descent"),
    kind="relation",
)


@claim(
    id="topics/limits-do-not-commute",
    title="Finite documents put a diagonal on the block matrix",
    source=f"added to {THESIS}, Sections 2.1.4.2 and 2.1.7.8, Figure 2.10",
    statement=(
        r"In documents of $N$ words the optimal value matrix is unique, and its diagonal exceeds the other "
        r"entries of the topic by $\frac{p_c}{1 - k_N}$, where $k_N = \frac{k}{1 - (1 - p_m)^N}$, however "
        r"large $N$ is; its entries for the mask are $\frac{1}{Tv}$. In infinite documents with a small "
        "penalty there is no such excess: the limits do not commute."
    ),
    criterion=(
        "Both to $10^{-9}$ in random worlds and at random lengths; moments of 40,000 sampled documents, as "
        "means over entries that are equal by symmetry, are within 4 standard errors of the exact ones."
    ),
    trials=finite,
    kind="relation",
    uses=("topics/theorem-2.1.2",),
)
def limits(results: Results) -> Outcome:
    return all_of(holds("Diagonal of finite documents")(results), _sampled(results, "all"))


@claim(
    id="topics/own-word",
    title="The diagonal is there because a kept word is in its own document",
    source=f"added to {THESIS}, Section 2.1.7.8, Figure 2.10",
    statement=(
        "If attention reads only positions that are not chosen, the optimal value matrix has equal entries "
        "within a topic, diagonal included."
    ),
    criterion=(
        "To $10^{-9}$ in random worlds and at random lengths; moments of sampled documents are within 4 "
        "standard errors of the exact ones."
    ),
    trials=finite,
    kind="relation",
)
def own_word(results: Results) -> Outcome:
    return all_of(holds("No excess without the own word")(results), _sampled(results, "unchosen"))


def _sampled(results: Results, keys: str) -> Outcome:
    found = rows(results, "sampled moments")
    errors = [e for e, k in zip(found["errors"], found["keys"], strict=True) if k == keys]
    return at_most("most standard errors of sampled moments", errors, 4.0)


@claim(
    id="topics/most-documents",
    title="Most documents of the synthetic data have two to four topics",
    source=f"{THESIS}, Section 2.1.5.1",
    statement=(
        r"With ten topics, Dirichlet parameter 0.1 and 100 to 150 words, most documents have words of 2 to "
        "4 topics."
    ),
    criterion=(
        "The 95% interval of the share of 10,000 documents lies above one half, and contains the exact share "
        "within 0.02."
    ),
    trials=finite,
    kind="experiment",
)
def most_documents(results: Results) -> Outcome:
    arrays, found = results["suite"].arrays, rows(results, "topics in a document")
    share = Estimate.of(arrays["present"].astype(float))
    return all_of(
        all_above("share of documents with 2 to 4 topics", share, 0.5),
        all_within("share of documents with 2 to 4 topics", share, 0.02, around=found["exact"][0]),
        numbers={
            "exact share": found["exact"][0],
            "mean number of topics": found["mean"][0],
            "share, topics of at least 5% of the words": float(arrays["large"].mean()),
        },
    )
