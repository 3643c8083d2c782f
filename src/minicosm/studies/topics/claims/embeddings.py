"""Topics in token embeddings: Sections 2.1.3 and 2.1.7.2."""

from typing import Any

import numpy as np

from minicosm.lab import (
    Erratum,
    Estimate,
    Outcome,
    Results,
    Table,
    above,
    all_above,
    all_below,
    all_of,
    all_within,
    below,
    holds,
    refuted,
)

from ..figures.embeddings import draw_grams, draw_rank
from ..readings import estimates, if_full, if_trained, statistic
from ..recipes import CELLS, cell
from ..study import STUDY, THESIS
from ..trials import embeddings, trained
from .losses import gained

claim = STUDY.section(__doc__)

GRAMS = tuple(cell("2.1", name) for name in CELLS)
ALONE = "embeddings alone"

claim(
    id="topics/theorem-2.1.1",
    title="Embeddings alone can hold the topics",
    source=f"{THESIS}, Sections 2.1.3 and 2.1.7.2, Theorem 2.1.1",
    statement=(
        r"With uniform attention and $W^V = I$ optimal embeddings of width $d \ge T$ have Gram matrices $E$ "
        r"whose sums over the own topic exceed those over every other topic by $\frac{1}{1-(1-p_c)p_m}$."
    ),
    criterion=(
        "Three constructed Gram matrices in every random world meet all conditions and the least loss to "
        "$10^{-9}$; minimisers that L-BFGS finds for $d = T$ and $d = T + 2$ meet item 3 to $10^{-6}$."
    ),
    trials=embeddings,
    check=holds("Theorem 2.1.1", "Theorem 2.1.1, found"),
    uses=("topics/lemma-2.1.1", "topics/lemma-2.1.1-only"),
)

claim(
    id="topics/theorem-2.1.1-any-d",
    title="Embeddings of any width can hold the topics",
    source=f"{THESIS}, Sections 2.1.3 and 2.1.7.2, Theorem 2.1.1",
    statement="The conditions of Theorem 2.1.1 hold at the optimum for every embedding width $d$.",
    criterion="A width at which the minimiser found misses item 3 by more than $10^{-6}$ refutes it.",
    trials=embeddings,
    check=refuted("Theorem 2.1.1 for every width"),
    expected="fails",
    erratum=Erratum(
        "missing hypothesis",
        r"The proof takes the minimiser over all matrices $E$, while $E = W^{E\top} W^E$ has rank at most "
        r"$d$, and item 3 needs rank $T$. It holds from $d = T$ on; for $d < T$ the best loss and contrast "
        "are those of the corrected claim. The widths of the source's experiments are larger.",
        corrected_by="topics/embedding-rank",
    ),
)

claim(
    id="topics/embedding-rank",
    title="Each missing dimension costs the same",
    source=f"corrected from {THESIS}, Section 2.1.3, Theorem 2.1.1",
    statement=(
        r"For $d \le T$ the least loss is $1 - \frac{1}{\tau v} + \frac{(T-d)(T-\tau)}{\tau v T (T-1)}$ and "
        r"the mean contrast of topic sums is $c_3 \frac{d-1}{T-1}$."
    ),
    criterion="Both to $10^{-6}$ for every $d \\le T$ in random worlds with $T$ from 3 to 6, by L-BFGS.",
    trials=embeddings,
    check=holds("Embeddings of less rank"),
    figure=draw_rank,
    kind="relation",
)

claim(
    id="topics/embedding-example",
    title="The simplest optimal embedding as printed",
    source=f"{THESIS}, Section 2.1.7.2, end of the proof of Theorem 2.1.1",
    statement=r"$E^* = \frac{1}{1-(1-p_c)p_m} I$ of size $Tv + 1$ is optimal, with all $u_i = 0$.",
    criterion="A world in which its loss exceeds the least loss by more than $10^{-9}$ refutes it.",
    trials=embeddings,
    check=refuted("Simplest embedding as printed"),
    expected="fails",
    erratum=Erratum(
        "constant",
        r"With $u_0 = 0$ the theorem's own item 1(a) says $E_{00} = 0$: the mask is never a label, and the "
        r"entry $\frac{1}{a}$ there costs $(k/a)^2$.",
        corrected_by="topics/embedding-example-mask",
    ),
)

claim(
    id="topics/embedding-example-mask",
    title="The simplest optimal embedding",
    source=f"corrected from {THESIS}, Section 2.1.7.2, end of the proof of Theorem 2.1.1",
    statement=r"$E^* = \frac{1}{1-(1-p_c)p_m} \operatorname{diag}(0, 1, \dots, 1)$ is optimal.",
    criterion="It has the least loss to $10^{-9}$ in every random world.",
    trials=embeddings,
    check=holds("Simplest embedding"),
    kind="relation",
)

claim(
    id="topics/nonnegative-across",
    title="Words of different topics are not opposed on average",
    source=f"added to {THESIS}, Section 2.1.3, Theorem 2.1.1",
    statement=(
        "At an optimum the mean inner product of words of different topics is not negative, unlike the "
        "entries of the block value matrix."
    ),
    criterion="For minimisers found by L-BFGS under 20 random maskings it is at least $-10^{-6}$.",
    trials=embeddings,
    check=holds("No negative mean across topics"),
    kind="relation",
)


@claim(
    id="topics/figure-2.1",
    title="Trained embeddings of one topic have larger inner products",
    source=f"{THESIS}, Section 2.1.5.1, Figure 2.1",
    statement=(
        r"When all parts are trained, $W^{E\top} W^E$ has blocks for topics, under cross-entropy and squared "
        "loss, by SGD and by Adam."
    ),
    criterion=(
        "In each of the four cells the 95% interval of the mean inner product of different words of one "
        "topic less that of words of different topics lies above 0, and this contrast is more than 3 "
        "deviations of random labels in every run; before training it is below 2% of the diagonal. Undecided "
        "if a model has not learned (held-out loss at most 3.5 nats, or 0.955)."
    ),
    trials=trained(*GRAMS),
    figure=draw_grams,
    kind="figure",
    uses=("topics/theorem-2.1.1",),
)
def grams(results: Results) -> Outcome:
    start = [
        np.abs(statistic(results, arm, "off_diagonal", "start"))
        / statistic(results, arm, "diagonal", "start")
        for arm in GRAMS
    ]
    columns = ("diagonal", "same", "different", "off_diagonal_z")
    lines: Any = tuple(
        (arm, *(Estimate.of(statistic(results, arm, column)) for column in columns))
        for arm in GRAMS
    )
    outcome = all_of(
        all_above("same topic less different", estimates(results, GRAMS, "off_diagonal")),
        above("least z", [statistic(results, arm, "off_diagonal_z") for arm in GRAMS], 3.0),
        below("largest share of the diagonal before training", start, 0.02),
        tables=(
            Table("mean inner products", ("cell", "own", "same topic", "different", "z"), lines),
        ),
        remark="The diagonal alone proves nothing: it is there before training.",
    )
    return if_trained(results, GRAMS, outcome)


@claim(
    id="topics/embedding-only",
    title="Embeddings that are trained alone land on the predicted Gram matrix",
    source=f"{THESIS}, Section 2.1.3, Theorem 2.1.1",
    statement=(
        r"With $W^V = I$, uniform attention, the bias of the theorem and squared loss, trained embeddings "
        r"have mean inner products $\frac{1}{a v}$ within a topic and 0 between topics."
    ),
    criterion=(
        r"The intervals of the mean within a topic (diagonal included) lie within 3% of $\frac{1}{a v}$, and "
        "those between topics within 0.005 of 0."
    ),
    trials=trained(ALONE),
    kind="experiment",
    uses=("topics/theorem-2.1.1",),
)
def alone(results: Results) -> Outcome:
    wanted = 1 / (0.865 * results[ALONE].config.words)
    block, different = (
        Estimate.of(statistic(results, ALONE, name)) for name in ("block", "different")
    )
    outcome = all_of(
        all_within("within a topic", block, 0.03 * wanted, around=wanted),
        all_within("between topics", different, 0.005),
        numbers={"1/(a v)": wanted},
    )
    return if_full(results, if_trained(results, (ALONE,), outcome))


@claim(
    id="topics/embedding-only-loss",
    title="Training embeddings alone is only slightly worse",
    source=f"{THESIS}, Section 2.1.3",
    statement=(
        "The squared loss of a model whose embeddings alone are trained is less than 10% above that of one "
        "whose parts are all trained."
    ),
    criterion=(
        "The 95% interval of the relative excess on held-out documents lies below 10%: holds; above: fails."
    ),
    trials=trained(ALONE, GRAMS[3], bayes=True),
    kind="experiment",
)
def alone_loss(results: Results) -> Outcome:
    outcome = gained(results, ALONE, GRAMS[3], all_below)
    return if_trained(results, (ALONE, GRAMS[3]), outcome)
