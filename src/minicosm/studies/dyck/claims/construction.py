"""Exact models, and where the printed proofs need a correction (Sections 2.2.2, 2.2.5)."""

from minicosm.lab import (
    Erratum,
    Outcome,
    Results,
    Table,
    all_of,
    holds,
    least,
    refuted,
    rows,
    worst,
)

from .. import trials
from ..figures import theory as figures
from ..study import OTHER, STUDY, THESIS
from .sentences import EXACT, IDENTITY, PRINTED, power

claim = STUDY.section(__doc__)

claim(
    id="dyck/theorem-2.2.1-sufficiency",
    title="Every balanced attention matrix belongs to an exact model",
    source=f"{THESIS}, Theorem 2.2.1 (sufficiency)",
    statement=(
        "If the embeddings of all brackets with depths and of the start token are linearly "
        "independent and $M$ is balanced, some values $W_V$ and an MLP of six layers make one "
        "layer output the next-token probabilities of every prefix of any length: with uniform "
        "attention, with random balanced attention, with one-hot and with random embeddings, for "
        "several numbers of types and depths, also for one type and for depth one, where every $M$ "
        "is balanced."
    ),
    criterion=EXACT,
    trials=trials.constructions,
    uses=("dyck/residual-leak", "dyck/relu-lemmas"),
    figure=figures.lengths,
    check=holds("Theorem 2.2.1, sufficiency"),
)


@claim(
    id="dyck/theorem-2.2.1-width",
    title="The MLP has width $O(k^2 D^2)$",
    source=f"{THESIS}, Theorem 2.2.1 (sufficiency)",
    statement="The widest of the three stages of the MLP has at most $2(kD)^2$ units.",
    criterion=(
        "The largest width divided by $(kD)^2$ is at most 2 for $(k, D) = (2, 4)$, $(3, 4)$ and "
        "$(2, 8)$."
    ),
    trials=trials.constructions,
    kind="lemma",
)
def width(results: Results) -> Outcome:
    widths = rows(results, "Theorem 2.2.1, width")
    columns = ("types", "depth", "stage 1", "stage 2", "stage 3")
    table = Table(
        "units per stage", columns, tuple(zip(*(widths[name] for name in columns), strict=True))
    )
    shares = {"largest share of $(kD)^2$": worst(widths["share"])}
    return all_of(holds("Theorem 2.2.1, width")(results), numbers=shares, tables=(table,))


claim(
    id="dyck/residual-leak-as-printed",
    title="Directions orthogonal to ones and $v$ show the stack",
    source=f"{THESIS}, proof of Theorem 2.2.1 (sufficiency; {OTHER}, Section 3.6.4.1)",
    statement=(
        r"With $b_n$ orthogonal to the vector of ones and to the $v$ of Lemma 2.2.16 only, the coordinate "
        r"$\langle b_n, \mathrm{LN}(a) + x \rangle$ of a bracket that is not on the stack is zero, and the "
        "model is exact."
    ),
    criterion=f"Fails if a model built so is off by more than {PRINTED:g} on some prefix.",
    trials=trials.constructions,
    kind="lemma",
    expected="fails",
    erratum=Erratum(
        "gap",
        "The display after Eq. 2.69 has 0 for brackets that are not on the stack; but $x$, the "
        "embedding of the last token, has components along the $b_n$ too. If they are also chosen "
        "orthogonal to the embeddings of closed brackets of positive depth the proof goes through, "
        "and $2kD + 1$ dimensions still suffice. Checked by building both models with Gaussian "
        "embeddings.",
        corrected_by="dyck/residual-leak",
    ),
    check=refuted("residual leak as printed"),
)

claim(
    id="dyck/residual-leak",
    title="With the additional orthogonality nothing leaks and the model is exact",
    source=f"corrects {THESIS}, proof of Theorem 2.2.1 (sufficiency)",
    statement=(
        "With $b_n$ orthogonal also to the embeddings of closed brackets of positive depth, in "
        "$2kD + 1$ dimensions with Gaussian embeddings, no coordinate leaks and predictions are "
        "exact."
    ),
    criterion=f"{EXACT} The largest leak is at most {power(IDENTITY)}.",
    trials=trials.constructions,
    kind="lemma",
    check=holds("exact without a leak", "residual leak"),
)


@claim(
    id="dyck/independence-as-printed",
    title="Independence at each depth is enough",
    source=f"{THESIS}, Theorem 2.2.1 (sufficiency; {OTHER}, Section 3.6.4.1, Theorem 1)",
    statement=(
        "If at every depth the $2k + 1$ embeddings of brackets and start token are linearly "
        "independent and $M$ is balanced, some values and MLP predict exactly."
    ),
    criterion=(
        "Fails if there are such embeddings and two prefixes with different laws whose inputs to "
        "the MLP agree to $10^{-12}$ for random balanced $M$ and random values."
    ),
    trials=trials.constructions,
    expected="fails",
    erratum=Erratum(
        "missing hypothesis",
        "The proof uses that all $2kD + 1$ embeddings together are independent ($E$ has full "
        "column rank), which is probably what is meant; the theorem asks for the $2k + 1$ of "
        "each depth. One-hot tokens without the depth are independent at each depth, but ([() "
        "and [(() hold the same brackets and end alike: no attention without positions tells "
        "them apart, and one is closed by ], the other by ).",
        corrected_by="dyck/theorem-2.2.1-sufficiency",
    ),
)
def independence(results: Results) -> Outcome:
    draws = rows(results, "independence as printed")
    return all_of(
        refuted("independence as printed")(results),
        numbers={
            "distance of inputs": worst(draws["distance of inputs"]),
            "distance of laws": least(draws["distance of laws"]),
        },
    )


# -- embeddings -----------------------------------------------------------------------------------


claim(
    id="dyck/embeddings",
    title="The three embeddings, with depth 0 and a start token",
    source=f"corrects {THESIS}, Equations 2.55 to 2.57",
    statement=(
        "All rows differ; over brackets with depths the ranks are $2kD$, $2k + D$ and $2k + 2$, so "
        "that only the first satisfies Theorem 2.2.1."
    ),
    criterion="Rows are distinct and the ranks are these in every world.",
    trials=trials.constructions,
    kind="lemma",
    check=holds("embeddings 2.55 to 2.57"),
)

# -- Corollary 2.2.1 and other constructions ------------------------------------------------------


@claim(
    id="dyck/corollary-2.2.1",
    title="Uniform attention in both layers predicts exactly",
    source=f"{THESIS}, Corollary 2.2.1",
    statement=(
        "A Transformer that reads tokens after a start token, without positions and with uniform "
        "causal attention in both layers, outputs the next-token probabilities at every length. "
        r"Its first layer averages $+1$, $-1$ and the start token's slot to $(\text{depth}, 1, 0, "
        r"\dots) / (n + 1)$, whose norm together with the token tells brackets with depths apart, "
        "and its MLP turns that into their one-hot vectors."
    ),
    criterion=(
        f"{EXACT} Embeddings after the first layer and uniform attention to {power(IDENTITY)}."
    ),
    trials=trials.constructions,
    uses=("dyck/theorem-2.2.1-sufficiency", "dyck/relu-lemmas"),
    figure=figures.lengths,
)
def corollary(results: Results) -> Outcome:
    distance = rows(results, "Corollary 2.2.1, first layer")["distance"]
    return all_of(
        holds("Corollary 2.2.1", "Corollary 2.2.1, first layer")(results),
        numbers={"least distance of what the MLP tells apart": least(distance)},
    )


claim(
    id="dyck/identity-layers",
    title="Further layers may do nothing",
    source=f"{THESIS}, Section 2.2.5.2",
    statement="Layers with values zero and an MLP that is the identity leave exact models exact.",
    criterion=EXACT,
    trials=trials.constructions,
    kind="lemma",
    check=holds("identity layers"),
)


@claim(
    id="dyck/geometric",
    title="Independent embeddings are not necessary to read the stack",
    source=f"added to {THESIS}, Theorem 2.2.1",
    statement=(
        "With the additive embedding of token and depth, whose vectors are dependent, the balanced "
        r"logit $d \ln \rho$ of the key's depth and values $x_t$, $-\rho x_t$ give $\sum_s \rho^s "
        "x_{j_s}$, $j_s$ being the type at depth $s$, whose largest entry is the type on top for "
        r"every $\rho \ge 2$ and every length."
    ),
    criterion=r"No wrong argmax at any position with an open bracket, $\rho = 2$ and 3.",
    trials=trials.constructions,
)
def geometric(results: Results) -> Outcome:
    margins = rows(results, "geometric attention")["margin"]
    margin = {"smallest margin": least(margins)}
    return all_of(holds("geometric attention")(results), numbers=margin)
