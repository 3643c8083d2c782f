"""Noise-contrastive estimation is convex in the extended parameter (Section 4.1.1)."""

from minicosm.lab import Outcome, Results, all_of, below, holds, rows

from ..figures.landscape import tied_figure
from ..readings import ordered
from ..study import STUDY, THESIS
from ..trials import families, landscape

claim = STUDY.section(__doc__)

claim(
    id="nce/lemma-44",
    title="The data's own parameter is the one minimiser",
    source=f"{THESIS}, Section 4.1.1.1, Lemma 44 (Gutmann and Hyvärinen)",
    statement=(
        r"The NCE loss is uniquely minimised at $P = P_*$. Where statistics are affinely dependent the "
        r"minimisers are many parameters of the one law $P_*$."
    ),
    criterion=(
        r"On random families, for NCE and eNCE: $\lVert\nabla L(\tau_*)\rVert \le 10^{-10}$ by "
        r"differentiating the loss, and $L(\tau) > L(\tau_*)$ at 20 random $\tau$; along the null space "
        r"of dependent statistics loss and "
        "density change by at most $10^{-9}$."
    ),
    trials=families,
    check=holds("Lemma 44", "Lemma 44, dependent statistics"),
    kind="lemma",
)

claim(
    id="nce/lemma-45",
    title="The loss is convex in the extended parameter",
    source=f"{THESIS}, Section 4.1.1.2, Lemma 45; for eNCE, Section 4.1.5",
    statement=(
        r"In an exponential family the NCE loss is convex in $\tau = [\theta, \alpha]$, and so is the "
        "eNCE loss."
    ),
    criterion=(
        "No Hessian, by differentiating the loss twice, at random parameters of random families and of "
        "two Gaussians has an eigenvalue below $-10^{-10}$ of its size."
    ),
    trials=families,
    check=holds("Lemma 45"),
    kind="lemma",
)


@claim(
    id="nce/free-partition",
    title="With the partition function tied to the parameter, convexity is lost",
    source=f"added to {THESIS}, Section 4.1.1.2, Lemma 45",
    statement=(
        r"Along $\alpha = A(\theta)$ the NCE loss of two Gaussians is not convex in $\theta$ for $R \ge "
        r"6$: that the "
        "log-partition is free is needed."
    ),
    criterion=(
        "The least second derivative along 257 values of the parameter is negative for every $R$ from "
        "6 on."
    ),
    trials=landscape,
    uses=("nce/lemma-45",),
    kind="lemma",
    figure=tied_figure,
)
def free_partition(results: Results) -> Outcome:
    found = rows(results, "tied partition, convexity")
    return all_of(
        below(
            r"largest of the least second derivatives, $R \ge 6$",
            ordered(found, "least", low=6),
            0.0,
        ),
        numbers={
            f"R = {R:g}": least
            for R, least in zip(found["R"], found["least"], strict=True)
            if R <= 8
        },
    )
